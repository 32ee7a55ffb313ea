//! `vectored host`.

use std::process::ExitCode;

use anyhow::Context;
use vectored_machine::MonotonicClock;
use vectored_machine::host::probe_host;
use vectored_machine::report::document;
use vectored_measure::measure::{MeasureError, measure_timer};
use vectored_report::{csv_of_values, json, value_of};

use crate::args::HostArgs;
use crate::commands::outputs::Outputs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// A signal takes effect at the end, after less than a second.
pub fn run(args: &HostArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::check(&args.output, &[])?;
    let interrupt = Interrupt::watch()?;
    let timer =
        measure_timer(&MonotonicClock).context("cannot measure the clock with /dev/null")?;
    let report = probe_host(&args.dir, timer, env!("CARGO_PKG_VERSION"));
    let report = report.map_err(MeasureError::Directory);
    let report = report.map_err(Failure::of_directory)?;
    if let Some(code) = interrupt.exit_code() {
        return Ok(code.into());
    }
    let row = || csv_of_values(vec![value_of(&report).expect("plain data")]);
    outputs.show(&document(&report), &json(&report), row)?;
    Ok(interrupt
        .exit_code()
        .map_or(ExitCode::SUCCESS, ExitCode::from))
}
