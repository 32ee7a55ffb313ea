//! Tests that the program accepts each command `vectored …` of README and `docs/`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::args::Cli;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["docs", "docs/measured"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let files = folders
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    pages.push(root.join("README.md"));
    pages
}

/// Returns the commands in the blocks of a page. A backslash or YAML may continue a command on the next line. A loop
/// variable gets its first value.
fn commands(page: &str) -> Vec<String> {
    let (mut commands, mut variables) = (Vec::new(), Vec::new());
    // The parts with odd indexes are inside fences.
    for block in page.split("```").skip(1).step_by(2) {
        let joined = match block.split_once('\n') {
            Some(("sh" | "console", lines)) => lines.replace("\\\n", ""),
            Some(("yaml", lines)) => lines.replace("\n          ", " "),
            _ => continue,
        };
        for line in joined.lines().map(str::trim_start) {
            let words: Vec<&str> = line.split([' ', ';']).collect();
            if let ["for", name, "in", first, ..] = words[..] {
                variables.push((format!("${name}"), first.to_owned()));
            }
            let at = line.find("vectored ").filter(|_| words[0] != "cargo");
            if let Some(at) = at.filter(|at| !line[..*at].ends_with(['-', '/'])) {
                let mut command = until_shell(&line[at..]).to_owned();
                for (name, value) in &variables {
                    command = command.replace(name, value);
                }
                commands.push(command);
            }
        }
    }
    commands
}

/// Returns the commands in the sentences and tables of a page.
fn spans(page: &str) -> Vec<String> {
    let prose: Vec<&str> = page.split("```").step_by(2).collect();
    let prose = prose.concat();
    let spans = prose.split('`').skip(1).step_by(2);
    let commands = spans.filter(|span| span.starts_with("vectored ") && !span.contains("COMMAND"));
    let one_line = |span: &str| {
        span.replace("\\|", "|")
            .replace('\n', " ")
            .replace(" N", " 1")
            .replace(" PID", " 1")
    };
    commands.map(one_line).collect()
}

/// Cuts a command at a comment, a redirection or the next command.
fn until_shell(command: &str) -> &str {
    let mut quoted = None;
    let end = command.char_indices().find(|&(at, c)| match quoted {
        Some(mark) => {
            quoted = quoted.filter(|_| c != mark);
            false
        }
        None if matches!(c, '\'' | '"') => {
            quoted = Some(c);
            false
        }
        None => matches!(c, '|' | ';' | '&' | '>') || command[at..].starts_with(" #"),
    });
    end.map_or(command, |(at, _)| &command[..at])
}

#[test]
fn every_documented_command_is_taken() {
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let whole = commands(&text).into_iter().map(|command| (command, false));
        for (command, in_sentence) in whole.chain(spans(&text).into_iter().map(|span| (span, true)))
        {
            let words = vectored_versus::split(&command);
            let words = words.unwrap_or_else(|error| panic!("{command}: {error}"));
            count += 1;
            let refused = Cli::command().try_get_matches_from(&words).err();
            let refused = refused.filter(|error| match error.kind() {
                ErrorKind::DisplayHelp => false,
                // A sentence may name a command without its required arguments.
                ErrorKind::MissingRequiredArgument => !in_sentence,
                ErrorKind::InvalidValue => !in_sentence || !error.to_string().contains("none was"),
                _ => true,
            });
            if let Some(error) = refused {
                faults.push(format!("{}: {command}: {error}", page.display()));
            }
        }
    }
    assert!(
        faults.is_empty() && count > 80,
        "{count} commands\n{}",
        faults.join("\n")
    );
}
