//! `vectored writer`: a writer process of `vectored measure --processes`.

use std::process::ExitCode;

use anyhow::Context;
use vectored_lab::measure::serve_writer;

use crate::failure::Failure;

/// Runs the command.
pub fn run() -> Result<ExitCode, Failure> {
    serve_writer().context("cannot write records for `vectored measure`")?;
    Ok(ExitCode::SUCCESS)
}
