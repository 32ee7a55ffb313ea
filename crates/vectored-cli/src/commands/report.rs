//! `vectored report`.

use std::path::Path;
use std::process::ExitCode;

use vectored_report::{Document, html};
use vectored_results::model::Results;
use vectored_results::report::machines_document;

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::results_store::{ResultKind, Saved, paths};
use crate::terminal::{Screen, print};

/// Runs the command. Every file is checked before anything is written.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    type Render = Box<dyn Fn(&[&Saved]) -> Result<String, Failure>>;
    let mut outputs: Vec<(Output, Render)> = Vec::new();
    if let Some(path) = &args.html {
        let page: Render = Box::new(|saved| Ok(html(&documents(saved))));
        outputs.push((Output::check(path, "--html")?, page));
    }
    for (format, path) in &args.formats.0 {
        let render = format.render;
        let text: Render = Box::new(move |saved| Ok(each(saved, render)));
        outputs.push((Output::check(path, &format!("--{}", format.name))?, text));
    }
    if let Some(path) = &args.csv {
        outputs.push((Output::check(path, "--csv")?, Box::new(csv)));
    }
    let files: Vec<&OutputFile> = outputs.iter().filter_map(|(o, _)| o.file()).collect();
    OutputFile::check_distinct(&files, &paths(&args.result, None)?)?;
    if outputs.len() - files.len() > 1 {
        return Err(Failure::usage(
            "only one output can be standard output: name files for the others",
        ));
    }
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
        if path == Path::new("-") {
            Ok(Output::Stdout)
        } else {
            Ok(Output::File(OutputFile::check(path, option)?))
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

/// One document for each result; several runs of measure are first shown beside each other.
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

/// CSV of results of one command: columns differ between commands.
fn csv(saved: &[&Saved]) -> Result<String, Failure> {
    Saved::csv(saved).ok_or_else(|| {
        let kinds = ResultKind::ALL.map(|kind| format!("`vectored {}`", kind.command()));
        Failure::usage(format!(
            "--csv cannot combine these results, because their columns differ: name results of one command, {}",
            kinds.join(" or ")
        ))
    })
}
