//! An advisory as a document.

use vectored_report::{Block, Document, Item, Sentence, Tone, visible, words};

use crate::model::{Advisory, Finding, Uncounted};
use crate::report::answer::answer;
use crate::report::figures::{seconds, shortened};
use crate::report::notes::notes;
use crate::report::rows::{SHOWN_CHARACTERS, item, listed};

const LEAD: &str = "\
Each system call has a cost. This page counts the calls of a program that could be merged into one, by gathering several \
buffers or by using a larger buffer, without changing its behaviour otherwise, and estimates the time saved on this \
machine.";

/// The most sources that are named; the JSON has all.
const NAMED_SOURCES: usize = 4;

/// Findings below this share of all savings and waits are shown only as a sum.
const MIN_PART: f64 = 0.01;

/// The document of an advisory. Its body has up to `top` findings, the findings that are not counted, and notes.
pub fn document(advisory: &Advisory, top: usize) -> Document {
    let failed = advisory.failed.as_ref().map(|end| {
        let end = visible(end);
        format!("The command failed: {end}. The figures are of what it did before.")
    });
    let answers = failed.into_iter().chain([answer(advisory)]);
    let mut body = vec![toned(Tone::Quiet, extent(advisory))];
    body.extend(findings(advisory, top));
    body.extend(not_counted(advisory, top));
    body.extend(
        notes(advisory)
            .into_iter()
            .map(|note| Block::Note(note.into())),
    );
    let sources = advisory.sources.join(", ");
    Document {
        title: format!("Where would gathering help? {sources}").into(),
        lead: LEAD.into(),
        answer: answers.map(|text| toned(Tone::Strong, text)).collect(),
        body,
        ..Document::default()
    }
}

fn toned(tone: Tone, text: impl Into<String>) -> Block {
    Block::Sentence(Sentence::toned(tone, text.into()))
}

/// The findings that matter, the largest saving first. Other findings are summed up. If no finding matters, the first
/// is shown.
fn findings(advisory: &Advisory, top: usize) -> Vec<Block> {
    let least_s = (advisory.saving_s + advisory.stalled_s) * MIN_PART;
    let matters = |one: &&Finding| one.saving_s > 0.0 && one.saving_s >= least_s;
    let mattering = advisory.findings.iter().filter(matters).count();
    let shown = mattering.max(1).min(top).min(advisory.findings.len());
    let (shown, rest) = advisory.findings.split_at(shown);
    let mut items: Vec<Item> = Vec::new();
    for finding in shown {
        items.push(item(finding, &items));
    }
    let saved = rest.iter().map(|one| one.saving_s);
    let saved: Vec<f64> = saved.filter(|saving_s| *saving_s > 0.0).collect();
    let in_total = if saved.len() == 1 { "" } else { " in total" };
    let more = (!saved.is_empty()).then(|| {
        let count = words::count(saved.len(), "more finding");
        let sum = seconds(saved.iter().fold(0.0, |sum, one| sum + one));
        format!("{count} would save {sum}{in_total}.")
    });
    let more = more.map(|text| toned(Tone::Plain, text));
    items.into_iter().map(Block::Item).chain(more).collect()
}

fn not_counted(advisory: &Advisory, top: usize) -> Vec<Block> {
    let shown = listed_that_matter(advisory).take(top.div_ceil(2));
    let shown: Vec<Block> = shown.map(|one| Block::Sentence(listed(one))).collect();
    let more = match (advisory.uncounted.len() - shown.len(), shown.len()) {
        (0, _) => None,
        (more, 0) => Some(format!(
            "Not counted: {}, see the JSON.",
            words::count(more, "small finding")
        )),
        (more, _) => Some(format!(
            "{}: see the JSON.",
            words::count(more, "smaller one")
        )),
    };
    let heading =
        (!shown.is_empty()).then(|| toned(Tone::Strong, "Not counted, each for its reason"));
    let more = more.map(|text| toned(Tone::Plain, text));
    heading.into_iter().chain(shown).chain(more).collect()
}

/// The listed findings with at least 1 % of the largest saving. A finding without a known saving needs at least 1 % of
/// the largest number of calls.
fn listed_that_matter(advisory: &Advisory) -> impl Iterator<Item = &Uncounted> {
    let listed = || advisory.uncounted.iter();
    let most_s = listed().filter_map(|one| one.at_most_s);
    let most_s = most_s.fold(advisory.saving_s.max(advisory.stalled_s), f64::max);
    let counted = advisory.findings.iter().map(|one| &one.tally);
    let most_calls = counted.chain(listed().map(|one| &one.tally));
    let most_calls = most_calls.map(|tally| tally.calls).max().unwrap_or(0);
    listed().filter(move |one| match one.at_most_s.filter(|most| *most > 0.0) {
        Some(saving_s) => saving_s >= most_s * MIN_PART,
        None => one.tally.calls >= most_calls / 100,
    })
}

fn extent(advisory: &Advisory) -> String {
    let named = advisory.sources.iter().take(NAMED_SOURCES);
    let mut sources: Vec<String> = named
        .map(|name| shortened(name, SHOWN_CHARACTERS))
        .collect();
    let rest = advisory.sources.len().saturating_sub(NAMED_SOURCES);
    if rest > 0 {
        sources.push(format!("{rest} more"));
    }
    let begin = if sources.is_empty() { String::new() } else { sources.join(", ") + ": " };
    let end = if advisory.complete { "" } else { " The log was not read to its end." };
    let calls = if advisory.calls == 1 { "system call" } else { "system calls" };
    let processes = if advisory.processes == 1 { "process" } else { "processes" };
    format!(
        "{begin}{} {processes}, {} {calls}{}, of which {} move {}.{end}",
        words::grouped(advisory.processes),
        words::grouped(advisory.calls),
        // A command is traced without the calls that cannot matter.
        if advisory.is_command || advisory.watch.is_some() {
            " without getpid and the like"
        } else {
            " in the log"
        },
        words::grouped(advisory.transfers),
        words::memory(advisory.bytes)
    )
}
