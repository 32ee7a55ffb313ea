//! `vectored history`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use vectored_lab::model::{ADVISORY_SCHEMA, EXPERIMENTS_SCHEMA, SCHEMA};
use vectored_lab::report::advisory::seconds_in_words;
use vectored_lab::report::escape_control;

use crate::args::{HistoryArgs, HistoryFormat};
use crate::failure::Failure;
use crate::save::state_home;
use crate::saved::{Kind, kept, read};
use crate::terminal::print;

/// Characters of a command that are shown.
const SHOWN_CHARACTERS: usize = 40;

/// Runs the command.
pub fn run(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let directory = state_home()?.join("vectored");
    let mut entries = Vec::new();
    for kind in Kind::ALL {
        for (age, path) in kept(&directory, kind)?.into_iter().enumerate() {
            entries.push(entry(kind, age, path));
        }
    }
    // Files are named by their time, whatever they hold.
    entries.sort_by(|a, b| b.begun().cmp(a.begun()));
    let text = match args.format {
        HistoryFormat::Table => table(&entries, &directory),
        HistoryFormat::Json => {
            let mut text = serde_json::to_string(&entries).expect("plain data");
            text.push('\n');
            text
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// One saved result.
#[derive(Serialize)]
struct Entry {
    /// As other commands take it.
    name: String,
    path: PathBuf,
    /// What is in it; null where it could not be read.
    found: Option<Brief>,
    /// Why it could not.
    error: Option<String>,
}

impl Entry {
    /// The time in the file's name.
    fn begun(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str());
        // What follows it is random.
        name.and_then(|name| name.split('-').nth(1)).unwrap_or("")
    }
}

/// What is told of a result. The rest of a file is passed over, so that many are
/// read quickly.
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
    /// What `vectored advise` read or ran.
    #[serde(default, skip_serializing)]
    sources: Vec<String>,
    #[serde(default, skip_serializing)]
    saving_s: Option<f64>,
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

fn entry(kind: Kind, age: usize, path: PathBuf) -> Entry {
    let found = read(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .and_then(of_known_schema);
    let (found, error) = match found {
        Ok(found) => (Some(found), None),
        Err(error) => (None, Some(error)),
    };
    Entry {
        name: match age {
            0 => kind.newest().to_owned(),
            _ => format!("{}~{age}", kind.newest()),
        },
        path,
        found,
        error,
    }
}

/// Others would be refused wherever they are named.
fn of_known_schema(found: Brief) -> Result<Brief, String> {
    let known = [SCHEMA, EXPERIMENTS_SCHEMA, ADVISORY_SCHEMA];
    match known.contains(&found.schema.as_str()) {
        true => Ok(found),
        false => {
            let shown: String = found.schema.chars().take(SHOWN_CHARACTERS).collect();
            Err(format!(
                "unknown schema {shown:?}: a newer version may read it"
            ))
        }
    }
}

fn table(entries: &[Entry], directory: &Path) -> String {
    let place = escape_control(&directory.display().to_string());
    if entries.is_empty() {
        return format!("no results in {place}: `vectored measure` makes one\n");
    }
    let width = entries.iter().map(|e| e.name.len()).max().unwrap_or(0);
    let mut text = format!("in {place}, newest first\n\n");
    for entry in entries {
        let file = entry.path.file_name().unwrap_or_default().to_string_lossy();
        let words = match (&entry.found, &entry.error) {
            (Some(found), _) => words(found),
            (None, error) => format!("cannot be read: {}", error.as_deref().unwrap_or_default()),
        };
        text += &format!(
            "{:<width$}  {}\n{:width$}    {}\n",
            entry.name,
            escape_control(&words),
            "",
            escape_control(&file)
        );
    }
    text
}

/// `2026-01-01T00:00:00Z, host, 6.18.0, 51 cells on file, pipe, unix in 17.9 s`.
fn words(found: &Brief) -> String {
    let mut what: Vec<&str> = found
        .cells
        .iter()
        .map(|cell| cell.target.as_str())
        .collect();
    what.extend(found.experiments.iter().map(|one| one.name.as_str()));
    what.sort_unstable();
    what.dedup();
    let count = match found.cells.len() {
        0 => String::new(),
        1 => "1 cell on ".to_owned(),
        cells => format!("{cells} cells on "),
    };
    let release = found.host.kernel.split(' ').next().unwrap_or_default();
    let complete = if found.complete { "" } else { ", incomplete" };
    let advice;
    if let (Some(saving_s), Some(source)) = (found.saving_s, found.sources.first()) {
        let source: String = source.chars().take(SHOWN_CHARACTERS).collect();
        advice = format!("{source} would save {}", seconds_in_words(saving_s));
        what.push(&advice);
    }
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
