//! `vectored report`.

use std::process::ExitCode;

use vectored_report::{Document, html, markdown};
use vectored_results::model::Results;
use vectored_results::report::machines_document;

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::results_store::{ResultKind, Saved, paths};
use crate::terminal::{Screen, print};

pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let mut outputs: Vec<(OutputFile, &str)> = Vec::new();
    for (path, option) in [
        (&args.html, "--html"),
        (&args.markdown, "--markdown"),
        (&args.csv, "--csv"),
    ] {
        if let Some(path) = path {
            outputs.push((OutputFile::check(path, option)?, option));
        }
    }
    let files: Vec<&OutputFile> = outputs.iter().map(|(output, _)| output).collect();
    OutputFile::check_distinct(&files, &paths(&args.result, None)?)?;
    let saved: Vec<Saved> = args
        .result
        .iter()
        .map(|name| name.load(None))
        .collect::<Result<_, _>>()?;
    let saved: Vec<&Saved> = saved.iter().collect();
    if outputs.is_empty() {
        let screen = Screen::of_output(false);
        print(&each(&saved, |document| screen.show(document, true)))?;
    }
    for (output, option) in outputs {
        output.write(&match option {
            "--html" => html(&documents(&saved)),
            "--markdown" => each(&saved, markdown),
            _ => csv(&saved)?,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Several results of `measure` are also compared in a first document.
fn documents(saved: &[&Saved]) -> Vec<Document> {
    let runs = saved.iter().filter_map(|one| match one {
        Saved::Results(results) => Some(&**results),
        _ => None,
    });
    let runs: Vec<&Results> = runs.collect();
    let beside = (runs.len() > 1).then(|| machines_document(&runs));
    let each = saved.iter().map(|one| one.document());
    beside.into_iter().chain(each).collect()
}

fn each(saved: &[&Saved], render: impl Fn(&Document) -> String) -> String {
    let texts: Vec<String> = saved.iter().map(|one| render(&one.document())).collect();
    texts.join("\n")
}

/// All results must be of one subcommand, because the columns differ between subcommands.
fn csv(saved: &[&Saved]) -> Result<String, Failure> {
    Saved::csv(saved).ok_or_else(|| {
        let kinds = ResultKind::ALL.map(|kind| format!("`vectored {}`", kind.command()));
        Failure::usage(format!(
            "--csv cannot combine these results, because their columns differ: name results of one command, {}",
            kinds.join(" or ")
        ))
    })
}
