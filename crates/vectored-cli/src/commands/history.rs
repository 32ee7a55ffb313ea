//! `vectored history`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Value, json as literal};
use vectored_advise::report::seconds_in_words;
use vectored_report::words::count;
use vectored_report::{Block, Document, Sentence, Tone, csv_of_values, json, sort, value_of};
use vectored_versus::model::Versus;
use vectored_versus::report::{history_document, history_rows};

use crate::args::HistoryArgs;
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::results_store::{ResultKind, ResultName, Saved, read, results_directory, saved_files};

/// How many characters of a command are shown.
const SHOWN_CHARACTERS: usize = 40;

pub fn run(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::check(&args.output, &[])?;
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
    show(&outputs, &document(&entries, &heading), &entries)
}

/// Shows the document, or the rows themselves.
fn show<R: Serialize>(
    outputs: &Outputs,
    document: &Document,
    rows: &[R],
) -> Result<ExitCode, Failure> {
    let values = || rows.iter().map(|row| value_of(row).expect("plain data"));
    outputs.show(document, &json(&rows), || csv_of_values(values().collect()))?;
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
        match ResultName::File(file.path).load_as::<Versus>() {
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
    show(outputs, &history_document(command, &rows), &rows)
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
    found: Option<Found>,
    /// The reason why it could not be read.
    error: Option<String>,
}

/// The fields of a result that are listed.
#[derive(Serialize)]
struct Found {
    schema: String,
    started_at: String,
    complete: bool,
    elapsed_s: Option<f64>,
    host: Value,
    /// What was measured, in words.
    #[serde(skip)]
    what: String,
}

fn entry(kind: ResultKind, age: usize, path: PathBuf) -> Entry {
    let name = ResultName::Recent(Some(kind), age).in_words();
    // JSON holds only UTF-8: other bytes of a path are replaced.
    let shown = path.display().to_string();
    let text = read(&path).map_err(|error| error.to_string());
    let saved = text.and_then(|text| Saved::parse(&text).map_err(|error| error.to_string()));
    let (found, error) = match saved {
        Ok(saved) => (Some(found(&saved)), None),
        Err(error) => (None, Some(error)),
    };
    Entry {
        name,
        path: shown,
        found,
        error,
    }
}

fn found(saved: &Saved) -> Found {
    let (complete, elapsed_s, host, started_at, what) = match saved {
        Saved::Results(of) => {
            let mut on: Vec<&str> = of
                .cells
                .iter()
                .map(|cell| cell.conditions.target.name())
                .collect();
            sort::sort(&mut on);
            on.dedup();
            let what = match of.cells.len() {
                0 => "no cells".to_owned(),
                cells => format!("{} on {}", count(cells, "cell"), on.join(", ")),
            };
            (
                of.complete,
                Some(of.elapsed_s),
                &of.host,
                &of.started_at,
                what,
            )
        }
        Saved::Experiments(of) => {
            let names: Vec<&str> = of.experiments.iter().map(|one| one.name.name()).collect();
            let what = names.join(", ");
            (
                of.complete,
                Some(of.elapsed_s),
                &of.host,
                &of.started_at,
                what,
            )
        }
        Saved::Advisory(of) => {
            let source = of
                .sources
                .first()
                .map_or_else(String::new, |source| quoted(source));
            let certain_s = if of.saving_low_s > 0.0 { of.saving_s } else { 0.0 };
            let most_s = certain_s.max(of.stalled_s);
            let what = if most_s > 0.0 {
                format!("{source} would save {}", seconds_in_words(most_s))
            } else {
                format!("{source}: no significant saving")
            };
            (of.complete, None, &of.host, &of.started_at, what)
        }
        Saved::Versus(of) => {
            let sides = std::iter::once(&of.old).chain(of.new.iter().map(|new| &new.side));
            let commands: Vec<String> = sides.map(|side| quoted(&side.command)).collect();
            let what = commands.join(" against ");
            (
                of.complete,
                Some(of.elapsed_s),
                &of.host,
                &of.started_at,
                what,
            )
        }
    };
    let release = host.kernel.split(' ').next().unwrap_or_default();
    let took = elapsed_s.map_or(String::new(), |s| format!(" in {s:.1} s"));
    let incomplete = if complete { "" } else { ", incomplete" };
    Found {
        schema: saved.kind().schema().to_owned(),
        started_at: started_at.clone(),
        complete,
        elapsed_s,
        host: literal!({ "name": host.name, "kernel": host.kernel }),
        what: format!(
            "{started_at}, {}, {release}, {what}{took}{incomplete}",
            host.name
        ),
    }
}

fn document(entries: &[Entry], heading: &str) -> Document {
    let sentence = |entry: &Entry| {
        let words = match (&entry.found, &entry.error) {
            (Some(found), _) => found.what.clone(),
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
