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

fn show<R: Serialize>(
    outputs: &Outputs,
    document: &Document,
    rows: &[R],
) -> Result<ExitCode, Failure> {
    let values = || rows.iter().map(|row| value_of(row).expect("plain data"));
    outputs.show(document, &json(&rows), || csv_of_values(values().collect()))?;
    Ok(ExitCode::SUCCESS)
}

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

#[derive(Serialize)]
struct Entry {
    /// The name that `vectored report` and `vectored compare` accept.
    name: String,
    path: String,
    /// The fields that the file has. `None` if the file could not be read.
    found: Option<Value>,
    #[serde(skip)]
    words: String,
    error: Option<String>,
}

fn entry(kind: ResultKind, age: usize, path: PathBuf) -> Entry {
    let text = read(&path).map_err(|error| error.to_string());
    let saved = text.and_then(|text| {
        let saved = Saved::parse(&text).map_err(|error| error.to_string())?;
        let all: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok((saved, all))
    });
    let name = ResultName::Recent(Some(kind), age).in_words();
    // JSON strings are UTF-8, so invalid bytes of a path are replaced.
    let path = path.display().to_string();
    match saved {
        Ok((saved, all)) => Entry {
            name,
            path,
            words: words(&saved, &all),
            found: Some(literal!({
                "schema": all["schema"], "started_at": all["started_at"], "complete": all["complete"],
                "elapsed_s": all["elapsed_s"], "host": {"name": all["host"]["name"], "kernel": all["host"]["kernel"]},
            })),
            error: None,
        },
        Err(error) => Entry {
            name,
            path,
            words: format!("cannot be read: {error}"),
            found: None,
            error: Some(error),
        },
    }
}

/// For example `2026-01-01T00:00:00Z, host, 6.18.0, 51 cells on file, pipe, unix in 17.9 s`.
fn words(saved: &Saved, all: &Value) -> String {
    let what = match saved {
        Saved::Results(of) if of.cells.is_empty() => "no cells".to_owned(),
        Saved::Results(of) => {
            let on = of.cells.iter().map(|cell| cell.conditions.target.name());
            let mut on: Vec<&str> = on.collect();
            sort::sort(&mut on);
            on.dedup();
            format!("{} on {}", count(of.cells.len(), "cell"), on.join(", "))
        }
        Saved::Experiments(of) => {
            let names = of.experiments.iter().map(|one| one.name.name());
            names.collect::<Vec<_>>().join(", ")
        }
        Saved::Advisory(of) => {
            let source = quoted(of.sources.first().map_or("", String::as_str));
            let certain_s = if of.saving_low_s > 0.0 { of.saving_s } else { 0.0 };
            match certain_s.max(of.stalled_s) {
                most_s if most_s > 0.0 => {
                    format!("{source} would save {}", seconds_in_words(most_s))
                }
                _ => format!("{source}: no significant saving"),
            }
        }
        Saved::Versus(of) => {
            let commands = of.sides().map(|side| quoted(&side.command));
            commands.collect::<Vec<_>>().join(" against ")
        }
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let [began, host, kernel] = [
        &all["started_at"],
        &all["host"]["name"],
        &all["host"]["kernel"],
    ]
    .map(text);
    let release = kernel.split(' ').next().unwrap_or_default();
    let took = all["elapsed_s"].as_f64();
    let took = took.map_or(String::new(), |s| format!(" in {s:.1} s"));
    let incomplete = if all["complete"] == true { "" } else { ", incomplete" };
    format!("{began}, {host}, {release}, {what}{took}{incomplete}")
}

fn document(entries: &[Entry], heading: &str) -> Document {
    let sentence = |entry: &Entry| {
        let file = Path::new(&entry.path).file_name();
        Block::Sentence(Sentence::of(
            entry.name.as_str(),
            format!(
                "{}; {}",
                entry.words,
                file.unwrap_or_default().to_string_lossy()
            ),
        ))
    };
    Document {
        title: "Saved results".into(),
        answer: vec![Block::Sentence(Sentence::toned(Tone::Plain, heading))],
        // The newest result is last, because a long list scrolls the first lines off the screen.
        body: entries.iter().rev().map(sentence).collect(),
        ..Document::default()
    }
}

fn quoted(source: &str) -> String {
    let shown: String = source.chars().take(SHOWN_CHARACTERS).collect();
    let end = if shown.len() < source.len() { "…" } else { "" };
    format!("'{shown}{end}'")
}
