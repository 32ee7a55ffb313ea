//! `vectored report`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use vectored_lab::model::{Advisory, Experiments, Results, Saved};
use vectored_lab::report::{self, advisory, experiments};

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::results_store::{ResultName, paths};
use crate::terminal::{Screen, print};

/// Runs the command. Every file is checked before anything is written.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    type Render = fn(&[&Saved]) -> Result<String, Failure>;
    let wanted: [(&str, &Option<PathBuf>, Render); 3] = [
        ("--html", &args.html, |saved| Ok(report::html(saved))),
        ("--markdown", &args.markdown, |saved| Ok(markdown(saved))),
        ("--csv", &args.csv, csv),
    ];
    let mut outputs = Vec::new();
    for (option, path, render) in wanted {
        if let Some(path) = path {
            outputs.push((Output::check(path, option)?, render));
        }
    }
    let files: Vec<&OutputFile> = outputs.iter().filter_map(|(o, _)| o.file()).collect();
    OutputFile::check_distinct(&files, &paths(&args.result)?)?;
    if outputs.len() - files.len() > 1 {
        return Err(Failure::usage(
            "only one output can be standard output: name files for the others",
        ));
    }
    let saved: Vec<Saved> = args
        .result
        .iter()
        .map(ResultName::load)
        .collect::<Result<_, _>>()?;
    let saved: Vec<&Saved> = saved.iter().collect();
    if outputs.is_empty() {
        print(&tables(&saved))?;
    }
    for (output, render) in outputs {
        output.write(&render(&saved)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A file, or standard output.
enum Output {
    Stdout,
    File(OutputFile),
}

impl Output {
    fn check(path: &Path, option: &str) -> Result<Self, Failure> {
        match path == Path::new("-") {
            true => Ok(Output::Stdout),
            false => Ok(Output::File(OutputFile::check(path, option)?)),
        }
    }

    fn file(&self) -> Option<&OutputFile> {
        match self {
            Output::Stdout => None,
            Output::File(file) => Some(file),
        }
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        match self {
            Output::Stdout => print(text),
            Output::File(file) => file.write(text),
        }
    }
}

fn tables(saved: &[&Saved]) -> String {
    Screen::of_output(false).set(|options| {
        each(saved, |one| match one {
            Saved::Results(results) => report::table(results, options),
            Saved::Experiments(found) => experiments::table(found, options),
            Saved::Advisory(found) => advisory::table(found, options, advisory::TOP),
        })
    })
}

fn markdown(saved: &[&Saved]) -> String {
    each(saved, |one| match one {
        Saved::Results(results) => report::markdown(results),
        Saved::Experiments(found) => experiments::markdown(found),
        Saved::Advisory(found) => advisory::markdown(found, advisory::TOP),
    })
}

fn each(saved: &[&Saved], render: impl Fn(&Saved) -> String) -> String {
    let texts: Vec<String> = saved.iter().map(|one| render(one)).collect();
    texts.join("\n")
}

/// CSV of results of one command: columns differ between commands.
fn csv(saved: &[&Saved]) -> Result<String, Failure> {
    let mut runs: Vec<&Results> = Vec::new();
    let mut reproductions: Vec<&Experiments> = Vec::new();
    let mut advisories: Vec<&Advisory> = Vec::new();
    for one in saved {
        match one {
            Saved::Results(results) => runs.push(results),
            Saved::Experiments(found) => reproductions.push(found),
            Saved::Advisory(found) => advisories.push(found),
        }
    }
    match (&runs[..], &reproductions[..], &advisories[..]) {
        ([one], [], []) => Ok(report::csv(one)),
        ([], [one], []) => Ok(experiments::csv(one)),
        (_, [], []) => Ok(report::csv_of_runs(&runs)),
        ([], [], advisories) => Ok(advisory::csv(advisories)),
        _ => Err(Failure::usage(
            "--csv cannot combine these results, because their columns differ: name one result of \
             `vectored reproduce`, only results of `vectored measure`, or only results of \
             `vectored advise`",
        )),
    }
}
