//! `vectored share`.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use vectored_lab::report::fleet::{extract, machine_json};

use crate::args::ShareArgs;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output_file::OutputFile;
use crate::terminal::print;

/// Runs the command. Nothing is written before the extract has been shown.
pub fn run(args: &ShareArgs) -> Result<ExitCode, Failure> {
    let output = OutputFile::named(args.output.as_deref(), "--output")?;
    let inputs = [args.result.path()?];
    OutputFile::check_distinct(&output.iter().collect::<Vec<_>>(), &inputs)?;
    let extract = extract(&args.result.load_results()?);
    let text = machine_json(&extract.machine);
    print(&text)?;
    let notes = Notes { quiet: false };
    for sentence in extract.left_out_in_words() {
        notes.note(&sentence);
    }
    if extract.machine.groups.is_empty() {
        return Err(Failure::from(anyhow::anyhow!(
            "no cell of this result can be shared, so nothing is written"
        )));
    }
    let (Some(output), Some(path)) = (output, args.output.as_deref()) else {
        return Ok(ExitCode::SUCCESS);
    };
    if !args.yes && !confirm(path, text.len())? {
        notes.note("nothing is written");
        return Ok(ExitCode::FAILURE);
    }
    output.write(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks on the terminal whether the file may be written.
fn confirm(path: &Path, bytes: usize) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "'{}' is not written, because standard input is no terminal on which to ask: read the extract, which is \
             on standard output, and add --yes",
            path.display()
        )));
    }
    let question = format!("Write these {bytes} bytes to '{}'? [y/N] ", path.display());
    let mut stderr = io::stderr().lock();
    stderr
        .write_all(vectored_lab::report::escape_control(&question).as_bytes())
        .and_then(|()| stderr.flush())
        .context("cannot ask on standard error")?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
