//! `vectored host`.

use std::process::ExitCode;

use anyhow::Context;
use vectored_machine::MonotonicClock;
use vectored_machine::host::probe_host;
use vectored_machine::report::document;
use vectored_measure::measure::measure_timer;
use vectored_report::json;

use crate::args::HostArgs;
use crate::commands::rendered::rendered;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output_file::OutputFile;
use crate::terminal::Screen;

/// Runs the command. It takes less than a second, so a signal takes effect at the end.
pub fn run(args: &HostArgs) -> Result<ExitCode, Failure> {
    let output = OutputFile::named(args.output.as_deref(), "--output")?;
    let interrupt = Interrupt::watch()?;
    let timer =
        measure_timer(&MonotonicClock).context("cannot measure the clock with /dev/null")?;
    let report =
        probe_host(&args.dir, timer, env!("CARGO_PKG_VERSION")).map_err(Failure::of_directory)?;
    if let Some(code) = interrupt.exit_code() {
        return Ok(code.into());
    }
    let text = rendered(
        args.format,
        (Screen::of_output(output.is_some()), false),
        || document(&report),
        || json(&report),
        String::new,
    );
    OutputFile::write_or_print(output.as_ref(), &text)?;
    Ok(interrupt
        .exit_code()
        .map_or(ExitCode::SUCCESS, ExitCode::from))
}
