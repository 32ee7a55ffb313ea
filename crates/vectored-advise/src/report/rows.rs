//! Findings and listed calls in words.
//!
//! Texts from outside (programs, paths, reasons of a loaded file) are escaped here for a terminal;
//! Markdown and HTML escape what means something to them.

use vectored_machine::model::{DescriptorKind, Operation};
use vectored_report::{Choices, Item, Sentence, words};

use crate::advisor::operation_of;
use crate::advisor::runs::barriers::REOPENED;
use crate::advisor::wording::remedies::{option_of, remedies, reopening, runtime_of};
use crate::advisor::wording::sentences::{flushed, serves};
use crate::languages::language_of;
use crate::model::{Finding, FindingKey, FindingKind, Grade, SiteCalls, Tally, Uncounted};
use crate::report::figures::{seconds, shortened, span};

/// The most characters of a source or a path that are shown.
pub(super) const SHOWN_CHARACTERS: usize = 60;

/// The most characters of a call site that are shown: a function, a path and a line.
const SHOWN_SITE: usize = 100;

/// The most characters of a pattern that are shown: a loaded file may have a long pattern.
const SHOWN_PATTERN: usize = 160;

pub(super) const SHOWN_SENTENCE: usize = 300;

/// The most characters of an action that are shown. An action names each call before which a buffer is flushed.
const SHOWN_ACTION: usize = 1500;

const NAMED_SITES: usize = 4;

/// A finding. If a finding in `before` has the same remedy, the text refers to that finding. The headline is
/// `saves 812 ms [700, 910]; no other call between them`.
pub(super) fn item(finding: &Finding, before: &[Item]) -> Item {
    let Finding { key, tally, .. } = finding;
    let (saving, interval) = span(
        finding.saving_s,
        finding.saving_low_s,
        finding.saving_high_s,
    );
    let is_paced = key.grade == Grade::ReadsAhead;
    let at_most = if is_paced && tally.merged_calls_most == 0 { "at most " } else { "" };
    let grade = match key.grade {
        _ if key.kind.is_stall() => stalled(tally),
        grade => between(grade, key.kind).to_owned(),
    };
    let (language, texts) = match option_of(key, tally) {
        Some(option) => ("Option".to_owned(), vec![option]),
        None => remedies(key, tally),
    };
    let choices = Choices {
        label: language.into(),
        texts: texts.into_iter().map(Into::into).collect(),
    };
    let same = before
        .iter()
        .position(|one| one.choices.as_ref() == Some(&choices));
    let how = same.map(|same| format!(" How: as in finding {}.", same + 1));
    let action = shortened(&finding.action, SHOWN_ACTION) + &how.unwrap_or_default();
    let site = sites(key, tally).map(|site| format!("called from {site}"));
    let mut lines = vec![location(key, tally)];
    lines.extend(site.into_iter().chain([action]));
    Item {
        title: shortened(&finding.pattern, SHOWN_PATTERN).into(),
        headline: format!("saves {at_most}{saving} {interval}; {grade}").into(),
        lines: lines.into_iter().map(Into::into).collect(),
        choices: same.is_none().then_some(choices),
    }
}

pub(super) fn listed(one: &Uncounted) -> Sentence {
    let location = location(&one.key, &one.tally);
    let sites = sites(&one.key, &one.tally);
    let sites = sites.map_or(String::new(), |sites| format!(", called from {sites}"));
    let text = format!("{}; {location}{sites}", listed_reason(one));
    Sentence::of(shortened(&one.pattern, SHOWN_PATTERN), text)
}

fn awaited(tally: &Tally) -> &'static str {
    if serves(tally) { "requests" } else { "answers" }
}

/// `99 of 100 waited 42.9 ms each`.
fn stalled(tally: &Tally) -> String {
    let stall = tally.stall.unwrap_or_default();
    let each_s = stall.waited_ns as f64 / 1e9 / stall.stalls.max(1) as f64;
    format!(
        "{} of {} {} came after {}",
        words::grouped(stall.stalls),
        words::grouped(tally.runs),
        awaited(tally),
        seconds(each_s),
    )
}

fn between(grade: Grade, kind: FindingKind) -> &'static str {
    match grade {
        // The calls before a seek and its transfer do not matter.
        Grade::Adjacent | Grade::HarmlessBetween if kind == FindingKind::SeekThenTransfer => {
            "an lseek right before each call"
        }
        Grade::Adjacent => "no other call between them",
        Grade::HarmlessBetween => "between them only calls that cannot observe the data",
        Grade::ReadsAhead => {
            "all bytes had arrived; a larger buffer reads ahead, so nothing else may read this stream"
        }
        // Findings of these grades are never counted.
        Grade::Crossing | Grade::Unknown => "what lies between the calls is not known",
    }
}

/// Why a finding is not counted, and the most that it would save.
fn listed_reason(one: &Uncounted) -> String {
    let runtime = runtime_of(&one.key, &one.tally);
    let mut reason = shortened(brief(&one.reason), SHOWN_SENTENCE);
    if one.reason.starts_with(REOPENED) {
        reason += &format!(" ({})", reopening(runtime, &one.key.program));
    }
    let saving = match one.at_most_s.filter(|saving| *saving > 0.0) {
        Some(saving) => seconds(saving),
        None => return reason,
    };
    if let Some(stall) = one.tally.stall {
        let (waited, all) = (words::grouped(stall.stalls), words::grouped(one.tally.runs));
        return format!(
            "{waited} of {all} {} may have waited {saving} in all; {reason}",
            awaited(&one.tally)
        );
    }
    if let Some(option) = option_of(&one.key, &one.tally) {
        return format!("{reason}; {option} would save at most {saving}");
    }
    let threads = language_of(runtime).threads;
    let (place, end) = match operation_of(&one.key) {
        Operation::Read => (0, String::new()),
        Operation::Write => (1, flushed(one.key.target, &one.tally) + ","),
    };
    match threads.get(place) {
        Some(remedy) if reason.starts_with("several threads") => {
            format!("{reason}; if {remedy}{end} saves at most {saving}")
        }
        _ => format!("{reason}; merging them would save at most {saving}"),
    }
}

/// Whether a reason not to count calls asks the user for another log.
pub(super) fn is_lack_of_the_log(reason: &str) -> bool {
    reason.contains("trace again")
}

/// A reason in short, to stand beside calls. If the log lacks something, a note names the remedy, once.
fn brief(reason: &str) -> &str {
    let begin = reason.split_once(": ").map(|(begin, _)| begin);
    begin
        .filter(|_| is_lack_of_the_log(reason))
        .unwrap_or(reason)
}

pub(super) fn program_in_words(name: &str) -> String {
    shortened(
        if name.is_empty() { "a program" } else { name },
        SHOWN_CHARACTERS,
    )
}

fn target_in_words(target: DescriptorKind) -> &'static str {
    match target {
        DescriptorKind::File => "file",
        DescriptorKind::Pipe => "pipe",
        DescriptorKind::Unix => "Unix socket",
        DescriptorKind::Tcp => "TCP socket",
        DescriptorKind::Datagram => "datagram socket",
        DescriptorKind::Unknown => "unknown",
    }
}

/// `python3 (process 1234), descriptor 3, file /tmp/log`.
fn location(key: &FindingKey, tally: &Tally) -> String {
    let program = program_in_words(&key.program);
    let processes = match tally.processes {
        0 | 1 if tally.process == 0 => String::new(),
        0 | 1 => format!(" (process {})", tally.process),
        many => format!(" ({} processes)", words::grouped(many)),
    };
    let leads = target_in_words(key.target);
    let path = match &tally.path {
        // strace shows sockets and pipes as `pipe:[4711]`, `TCP:[…]`, `UNIX-STREAM:[…]`.
        Some(path) if path.contains(":[") => shortened(path, SHOWN_CHARACTERS),
        Some(path) => format!("{leads} {}", shortened(path, SHOWN_CHARACTERS)),
        None if key.target == DescriptorKind::Unknown => "of unknown kind".to_owned(),
        None => format!("a {leads}"),
    };
    let files = (tally.files.len() as u64).saturating_add(tally.more_files);
    let others = match (files, tally.openings) {
        (0, 2..) => format!(" and others, {} in all", words::grouped(tally.openings)),
        (0 | 1, 0 | 1) => String::new(),
        (1, many) => format!(", {} openings", words::grouped(many)),
        (2.., _) if tally.files.iter().all(|file| file.path == tally.path) => String::new(),
        (2, _) => " and 1 other".to_owned(),
        (many, _) => format!(" and {} others", words::grouped(many - 1)),
    };
    let comma = match (key.target, &tally.path) {
        (DescriptorKind::Unknown, None) => "",
        _ => ",",
    };
    format!(
        "{program}{processes}, descriptor {}{comma} {path}{others}",
        tally.descriptor
    )
}

fn sites(key: &FindingKey, tally: &Tally) -> Option<String> {
    let all = &tally.sites;
    if all.len() < 2 {
        let site = key.site.as_ref();
        return site.map(|site| shortened(site, SHOWN_SITE));
    }
    let one = |site: &SiteCalls| {
        let calls = words::count(site.calls as usize, "call");
        format!("{} ({calls})", shortened(&site.site, SHOWN_SITE))
    };
    let mut named: Vec<String> = all.iter().take(NAMED_SITES).map(one).collect();
    if all.len() > NAMED_SITES {
        named.push(format!("{} more", all.len() - NAMED_SITES));
    }
    Some(named.join(", "))
}
