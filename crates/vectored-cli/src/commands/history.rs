//! `vectored history`.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use vectored_advise::report::seconds_in_words;
use vectored_report::sort;
use vectored_report::{Block, Document, Sentence, Tone, words};

use crate::args::{HistoryArgs, HistoryFormat};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::results_store::{
    ResultKind, ResultName, ignored_state_home, read, results_directory, saved_files,
};
use crate::terminal::{Screen, print};

/// Maximum characters of a command that are shown.
const SHOWN_CHARACTERS: usize = 40;

/// Runs the command.
pub fn run(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let screen = Screen::of_output(false);
    if let Some(note) = ignored_state_home() {
        Notes { quiet: false }.note(&note);
    }
    let directory = match results_directory() {
        Ok(directory) => directory,
        Err(why) => {
            print(&match args.format {
                HistoryFormat::Table => {
                    screen.show(&document(&[], &format!("no saved results: {why}")), false)
                }
                HistoryFormat::Json => json(&[]),
            })?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let mut ages: HashMap<ResultKind, usize> = HashMap::new();
    let mut entries: Vec<Entry> = saved_files(&directory)?
        .into_iter()
        .map(|file| {
            let next = ages.entry(file.kind).or_default();
            let age = std::mem::replace(next, *next + 1);
            entry(file.kind, age, file.path)
        })
        .collect();
    if let Some(age) = args.prune {
        entries = to_prune(entries, SystemTime::now().checked_sub(age), args.keep);
    }
    let directory_name = directory.display().to_string();
    let text = match args.format {
        HistoryFormat::Table => {
            let heading = heading(args, entries.len(), &directory_name);
            screen.show(&document(&entries, &heading), false)
        }
        HistoryFormat::Json => json(&entries),
    };
    print(&text)?;
    if args.prune.is_some() && !args.dry_run {
        for entry in &entries {
            fs::remove_file(&entry.path)
                .with_context(|| format!("cannot remove '{}'", entry.path.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The results before a time, except the `keep` newest of each kind. Files that are no results are kept,
/// and do not count.
fn to_prune(mut entries: Vec<Entry>, before: Option<SystemTime>, keep: usize) -> Vec<Entry> {
    let mut seen: HashMap<ResultKind, usize> = HashMap::new();
    entries.retain(|entry| {
        let Some(begun) = entry.result_begun() else {
            return false;
        };
        let count = seen.entry(entry.kind).or_default();
        *count += 1;
        *count > keep && before.is_some_and(|before| begun < before)
    });
    entries
}

/// The heading of the list.
fn heading(args: &HistoryArgs, count: usize, directory_name: &str) -> String {
    let results = if count == 1 { "result" } else { "results" };
    let Some(age) = args.prune else {
        return match count {
            0 => format!(
                "no saved results in {directory_name}: run `vectored measure` to create one"
            ),
            1 => format!("1 saved result in {directory_name}"),
            _ => format!("{count} saved {results} in {directory_name}, the newest last"),
        };
    };
    let age = age_in_words(age);
    match (count, args.dry_run) {
        (0, _) => format!("nothing to remove: no result in {directory_name} is older than {age}"),
        (_, true) => {
            format!("would remove {count} {results} older than {age} from {directory_name}")
        }
        (_, false) => format!("removing {count} {results} older than {age} from {directory_name}"),
    }
}

/// `30 days`, `12 hours`, `90 minutes`: in the largest unit that needs no fraction.
fn age_in_words(age: Duration) -> String {
    let units = [
        ("day", 86_400),
        ("hour", 3600),
        ("minute", 60),
        ("second", 1),
    ];
    let s = age.as_secs();
    let is_whole = |&(_, unit_s): &(&str, u64)| age.subsec_nanos() == 0 && s.is_multiple_of(unit_s);
    match units.into_iter().find(is_whole) {
        Some(_) if s == 0 => "0 seconds".to_owned(),
        Some((unit, unit_s)) => {
            let count = s / unit_s;
            let ending = if count == 1 { "" } else { "s" };
            format!("{} {unit}{ending}", words::grouped(count))
        }
        None => format!("{} seconds", age.as_secs_f64()),
    }
}

fn json(entries: &[Entry]) -> String {
    let mut text = serde_json::to_string(entries).expect("plain data");
    text.push('\n');
    text
}

/// One saved result.
#[derive(Serialize)]
struct Entry {
    /// The name that other commands accept.
    name: String,
    #[serde(skip)]
    kind: ResultKind,
    path: PathBuf,
    /// The content; null if it could not be read.
    found: Option<Brief>,
    /// The reason why it could not be read.
    error: Option<String>,
}

impl Entry {
    /// The start time, if the file is certainly a saved result: a regular file with the name and content
    /// of one.
    fn result_begun(&self) -> Option<SystemTime> {
        let is_file = fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.is_file());
        let name = self.path.file_name()?.to_str()?;
        let begun = time_in_name(name, self.kind.command());
        begun.filter(|_| is_file && self.found.is_some())
    }
}

/// The fields of a result that are listed. The rest of the file is skipped, so that many results are read
/// quickly.
#[derive(Deserialize, Serialize)]
struct Brief {
    schema: String,
    started_at: String,
    complete: bool,
    elapsed_s: Option<f64>,
    host: BriefHost,
    #[serde(default, skip_serializing)]
    cells: Vec<BriefCell>,
    #[serde(default, skip_serializing)]
    experiments: Vec<BriefExperiment>,
    /// The logs or the command of `vectored advise`.
    #[serde(default, skip_serializing)]
    sources: Vec<String>,
    #[serde(default, skip_serializing)]
    saving_s: Option<f64>,
    #[serde(default, skip_serializing)]
    saving_low_s: Option<f64>,
    #[serde(default, skip_serializing)]
    stalled_s: Option<f64>,
    /// The commands of `vectored versus`.
    #[serde(default, skip_serializing)]
    old: Option<BriefCommand>,
    #[serde(default, skip_serializing)]
    new: Vec<BriefNew>,
}

#[derive(Deserialize)]
struct BriefCommand {
    command: String,
}

#[derive(Deserialize)]
struct BriefNew {
    side: BriefCommand,
}

#[derive(Deserialize, Serialize)]
struct BriefHost {
    name: String,
    kernel: String,
}

#[derive(Deserialize)]
struct BriefCell {
    target: String,
}

#[derive(Deserialize)]
struct BriefExperiment {
    name: String,
}

fn entry(kind: ResultKind, age: usize, path: PathBuf) -> Entry {
    let found = read(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(why_no_result))
        .and_then(of_known_schema);
    let (found, error) = match found {
        Ok(found) => (Some(found), None),
        Err(error) => (None, Some(error)),
    };
    Entry {
        name: ResultName::Recent(Some(kind), age).in_words(),
        kind,
        path,
        found,
        error,
    }
}

fn why_no_result(error: serde_json::Error) -> String {
    if error.is_data() {
        format!("it is JSON, but not a result: {error}")
    } else {
        "it is not JSON".to_owned()
    }
}

/// Refuses unknown schemas, as other commands do.
fn of_known_schema(found: Brief) -> Result<Brief, String> {
    let known = ResultKind::ALL.map(ResultKind::schema);
    if known.contains(&found.schema.as_str()) {
        Ok(found)
    } else {
        let shown: String = found.schema.chars().take(SHOWN_CHARACTERS).collect();
        Err(format!(
            "it has the unknown schema {shown:?}: try a newer version of vectored"
        ))
    }
}

/// The time in a name such as `measure-20260101T000000Z-89ab.json`, which [`Store::save`] gives; `None`
/// for any other name.
///
/// [`Store::save`]: crate::results_store::Store::save
fn time_in_name(name: &str, command: &str) -> Option<SystemTime> {
    let rest = name.strip_prefix(command)?.strip_prefix('-')?;
    let rest = rest.strip_suffix(".json")?;
    let (time, random) = rest.split_once('-')?;
    let is_hexadecimal = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    if random.len() != 4 || !random.chars().all(is_hexadecimal) {
        return None;
    }
    if time.len() != 16 || !time.is_ascii() {
        return None;
    }
    let (date, of_day) = (&time[..8], &time[9..15]);
    let rfc3339 = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &date[..4],
        &date[4..6],
        &date[6..],
        &of_day[..2],
        &of_day[2..4],
        &of_day[4..]
    );
    let is_written_so = time == format!("{date}T{of_day}Z");
    humantime::parse_rfc3339(&rfc3339)
        .ok()
        .filter(|_| is_written_so)
}

fn document(entries: &[Entry], heading: &str) -> Document {
    let sentence = |entry: &Entry| {
        let words = match (&entry.found, &entry.error) {
            (Some(found), _) => words(found),
            (None, error) => format!("cannot be read: {}", error.as_deref().unwrap_or_default()),
        };
        let file = entry.path.file_name().unwrap_or_default().to_string_lossy();
        Block::Sentence(Sentence::of(
            entry.name.as_str(),
            format!("{words}; {file}"),
        ))
    };
    Document {
        title: "Saved results".into(),
        answer: vec![Block::Sentence(Sentence::toned(Tone::Plain, heading))],
        // As in a shell, the newest stands where it is in sight.
        body: entries.iter().rev().map(sentence).collect(),
        ..Document::default()
    }
}

/// `'sort numbers'`, cut after 40 characters.
fn quoted(source: &str) -> String {
    let shown: String = source.chars().take(SHOWN_CHARACTERS).collect();
    let end = if shown.len() < source.len() { "…" } else { "" };
    format!("'{shown}{end}'")
}

/// `2026-01-01T00:00:00Z, host, 6.18.0, 51 cells on file, pipe, unix in 17.9 s`.
fn words(found: &Brief) -> String {
    let mut what: Vec<&str> = found
        .cells
        .iter()
        .map(|cell| cell.target.as_str())
        .collect();
    what.extend(found.experiments.iter().map(|one| one.name.as_str()));
    sort::sort(&mut what);
    what.dedup();
    let advice;
    if let (Some(saving_s), Some(source)) = (found.saving_s, found.sources.first()) {
        let source = quoted(source);
        let is_certain = found.saving_low_s.is_none_or(|low_s| low_s > 0.0);
        let certain_s = if is_certain { saving_s } else { 0.0 };
        let most_s = certain_s.max(found.stalled_s.unwrap_or(0.0));
        advice = if most_s > 0.0 {
            format!("{source} would save {}", seconds_in_words(most_s))
        } else {
            format!("{source}: no significant saving")
        };
        what.push(&advice);
    }
    let commands: Vec<String> = (found.old.iter())
        .chain(found.new.iter().map(|new| &new.side))
        .map(|one| quoted(&one.command))
        .collect();
    let compared = commands.join(" against ");
    if !compared.is_empty() {
        what.push(&compared);
    }
    let count = match found.cells.len() {
        0 if what.is_empty() => "no cells".to_owned(),
        0 => String::new(),
        1 => "1 cell on ".to_owned(),
        cells => format!("{cells} cells on "),
    };
    let release = found.host.kernel.split(' ').next().unwrap_or_default();
    let complete = if found.complete { "" } else { ", incomplete" };
    let took = match found.elapsed_s {
        Some(elapsed_s) => format!(" in {elapsed_s:.1} s"),
        None => String::new(),
    };
    format!(
        "{}, {}, {release}, {count}{}{took}{complete}",
        found.started_at,
        found.host.name,
        what.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit_apart_from_its_number() {
        for (age, words) in [
            ("30d", "30 days"),
            ("1d", "1 day"),
            ("36h", "36 hours"),
            ("90m", "90 minutes"),
            ("1s", "1 second"),
            ("0s", "0 seconds"),
            ("1500ms", "1.5 seconds"),
            ("100000000d", "100,000,000 days"),
        ] {
            let age = humantime::parse_duration(age).unwrap();
            assert_eq!(age_in_words(age), words);
        }
    }

    #[test]
    fn only_names_that_vectored_gives_have_a_time() {
        let time = |name| time_in_name(name, "measure");
        let began = time("measure-19700101T000102Z-89ab.json").unwrap();
        let since = began.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(since.as_secs(), 62);
        for other in [
            "measure-19700101T000102Z.json",
            "measure-19700101T000102Z-89AB.json",
            "measure-19700101T000102Z-89abc.json",
            "measure-19700101T000102Z-89ab.json.json",
            "measure-19700101T000102Z-89ab.html",
            "measure-19700101 000102Z-89ab.json",
            "measure-19701301T000102Z-89ab.json",
            "measure-before-the-upgrade.json",
            "measure-1970\u{e4}101T00010Z-89ab.json",
            "reproduce-19700101T000102Z-89ab.json",
        ] {
            assert_eq!(time(other), None, "{other}");
        }
    }
}
