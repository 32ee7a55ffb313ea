//! `vectored history`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use vectored_advise::report::seconds_in_words;
use vectored_report::{Block, Document, Sentence, Tone, csv_of_values, json, sort, value_of};

use vectored_versus::report::{history_document, history_rows};

use crate::args::HistoryArgs;
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::results_store::{
    ResultKind, ResultName, ignored_state_home, read, results_directory, saved_files,
};

/// How many characters of a command or an unknown schema are shown.
const SHOWN_CHARACTERS: usize = 40;

pub fn run(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::check(&args.output, &[])?;
    if let Some(note) = ignored_state_home() {
        Notes { quiet: false }.note(&note);
    }
    if let Some(command) = &args.of {
        return of_command(command, &outputs);
    }
    let (heading, entries) = match results_directory() {
        Ok(directory) => {
            let entries = entries(&directory)?;
            (heading(entries.len(), &directory), entries)
        }
        Err(why) => (format!("no saved results: {why}"), Vec::new()),
    };
    let rows = || {
        let rows = entries
            .iter()
            .map(|entry| value_of(entry).expect("plain data"));
        csv_of_values(rows.collect())
    };
    outputs.show(&document(&entries, &heading), &json(&entries), rows)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the saved results of `vectored versus` in which `command` is one of the new commands.
fn of_command(command: &str, outputs: &Outputs) -> Result<ExitCode, Failure> {
    let directory =
        results_directory().map_err(|why| Failure::usage(format!("no saved results: {why}")))?;
    let mut files = saved_files(&directory)?;
    files.retain(|file| file.kind == ResultKind::Versus);
    let mut rows = Vec::new();
    for (age, file) in files.into_iter().enumerate() {
        let name = ResultName::Recent(Some(file.kind), age).in_words();
        match ResultName::File(file.path).load_versus() {
            Ok(found) => rows.extend(history_rows(&name, &found, command)),
            Err(why) => {
                Notes { quiet: false }.note(&format!("{name} is left out: {:#}", why.error));
            }
        }
    }
    if rows.is_empty() {
        return Err(Failure::usage(format!(
            "no saved result has the new command '{command}': `vectored history` lists what there is"
        )));
    }
    let document = history_document(command, &rows);
    outputs.show(&document, &json(&rows), || {
        csv_of_values(
            rows.iter()
                .map(|row| value_of(row).expect("plain data"))
                .collect(),
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

fn entries(directory: &Path) -> Result<Vec<Entry>, Failure> {
    let mut ages: HashMap<ResultKind, usize> = HashMap::new();
    let files = saved_files(directory)?.into_iter();
    let entries = files.map(|file| {
        let next = ages.entry(file.kind).or_default();
        let age = std::mem::replace(next, *next + 1);
        entry(file.kind, age, file.path)
    });
    Ok(entries.collect())
}

fn heading(count: usize, directory: &Path) -> String {
    let directory = directory.display();
    match count {
        0 => format!("no saved results in {directory}: run `vectored measure` to create one"),
        1 => format!("1 saved result in {directory}"),
        _ => format!("{count} saved results in {directory}, the newest last"),
    }
}

/// One saved result.
#[derive(Serialize)]
struct Entry {
    /// The name that other commands accept.
    name: String,
    path: String,
    /// The content; null if it could not be read.
    found: Option<Brief>,
    /// The reason why it could not be read.
    error: Option<String>,
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
        // JSON holds only UTF-8: other bytes of a path are replaced.
        path: path.display().to_string(),
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

fn document(entries: &[Entry], heading: &str) -> Document {
    let sentence = |entry: &Entry| {
        let words = match (&entry.found, &entry.error) {
            (Some(found), _) => words(found),
            (None, error) => format!("cannot be read: {}", error.as_deref().unwrap_or_default()),
        };
        let file = Path::new(&entry.path).file_name();
        Block::Sentence(Sentence::of(
            entry.name.as_str(),
            format!("{words}; {}", file.unwrap_or_default().to_string_lossy()),
        ))
    };
    Document {
        title: "Saved results".into(),
        answer: vec![Block::Sentence(Sentence::toned(Tone::Plain, heading))],
        // The newest is last: a long list scrolls the first lines away.
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
