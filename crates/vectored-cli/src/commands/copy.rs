//! `vectored copy`.

use std::cell::Cell;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use vectored::copy::{Copied, CopyError, Options, Side, Technique};
use vectored_measure::reproduce::copy_characters;
use vectored_report::words;

use crate::args::{CopyArgs, CopyWith, MAX_BUFFER_BYTES};
use crate::copying::{CopyProgress, HolesError, Input, Output, copy_with_holes, is_shown};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &CopyArgs) -> Result<ExitCode, Failure> {
    let technique = technique(args)?;
    // Without a handler, a file-size limit would kill the program. With one, the write fails with EFBIG.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .context("cannot watch for signals")?;
    let from = Input::open(args.from.as_deref())?;
    let to = Output::open(args.to.as_deref(), &from, args.force)?;
    let said = match args.technique {
        CopyWith::Stdio => copied_by_stdio(&from, &to),
        _ => copied(args, technique, &from, &to).map(in_words),
    };
    let said = match said {
        Ok(said) => said,
        // The reader has gone, which is no error.
        Err(None) => return Ok(ExitCode::SUCCESS),
        Err(Some(failure)) => return Err(failure),
    };
    to.finish(args.sync)?;
    if args.report {
        writeln!(io::stderr(), "{said}").context("cannot write the report to standard error")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The technique that was named, or follows from the buffer.
fn technique(args: &CopyArgs) -> Result<Option<Technique>, Failure> {
    let technique = match args.technique {
        CopyWith::Auto if args.buffer_size.is_none() => None,
        CopyWith::Auto | CopyWith::ReadWrite | CopyWith::Stdio => Some(Technique::ReadWrite),
        CopyWith::CopyFileRange => Some(Technique::CopyFileRange),
        CopyWith::Sendfile => Some(Technique::Sendfile),
        CopyWith::Splice => Some(Technique::Splice),
    };
    match args.buffer_size {
        Some(bytes) if bytes > MAX_BUFFER_BYTES => {
            let size = words::bytes(bytes);
            let why = format!("--buffer-size {size} is too large: it must be at most 1 GiB");
            Err(Failure::usage(why))
        }
        Some(_) if technique != Some(Technique::ReadWrite) => {
            let why =
                "--buffer-size is for --technique read-write: other techniques have no buffer";
            Err(Failure::usage(why))
        }
        _ => Ok(technique),
    }
}

/// Copies. An error of `None` is a reader that has gone.
fn copied(
    args: &CopyArgs,
    technique: Option<Technique>,
    from: &Input,
    to: &Output,
) -> Result<Copied, Option<Failure>> {
    let before = Cell::new(0);
    let mut progress = CopyProgress::new(from.bytes_left());
    let mut hear = |bytes| {
        progress.hear(before.get() + bytes);
        ControlFlow::Continue(())
    };
    let mut options = Options::new().technique(technique).may_alias(true);
    if let Some(bytes) = args.buffer_size {
        options = options.buffer_bytes(bytes as usize);
    }
    // Otherwise no clock is read between calls.
    if is_shown(args.quiet) {
        options = options.progress(&mut hear);
    }
    if !args.sparse {
        let copied = options.copy(from.fd(), to.fd());
        return copied.map_err(|error| failure(from, to, 0, &error));
    }
    copy_with_holes(options, from.fd(), to.fd(), &before).map_err(|error| match error {
        HolesError::Part(before, error) => failure(from, to, before, &error),
        HolesError::Unsuited(why) => Some(Failure::usage(format!("--sparse: {why}"))),
        HolesError::File(error) => Some(anyhow!("cannot find the holes: {error}").into()),
    })
}

/// The failure of a copy after `before` bytes and those that the error counts.
fn failure(from: &Input, to: &Output, before: u64, error: &CopyError) -> Option<Failure> {
    let cause = error.io_error();
    let what = match error.side() {
        Some(Side::Output) if error.kind() == io::ErrorKind::BrokenPipe => return None,
        Some(Side::Output) => format!("cannot write to {}", to.name),
        Some(Side::Input) => format!("cannot read {}", from.name),
        _ => format!("cannot copy {} to {}", from.name, to.name),
    };
    // Not an error of the system: both are one file, or a socket keeps messages apart.
    if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
        return Some(Failure::usage(format!("{what}: {cause}")));
    }
    let bytes = before + error.written();
    let unit = if bytes == 1 { "byte" } else { "bytes" };
    let remedy = match error.side() {
        None => "; choose another --technique",
        Some(Side::Input) if error.kind() == io::ErrorKind::WouldBlock => {
            "; it is non-blocking: python3 -c 'import os; os.set_blocking(0, True)' before changes that"
        }
        Some(Side::Output) if error.kind() == io::ErrorKind::WouldBlock => {
            "; it is non-blocking: python3 -c 'import os; os.set_blocking(1, True)' before changes that"
        }
        Some(_) => remedy(cause),
    };
    Some(anyhow!("{what} after {bytes} {unit}: {cause}{remedy}").into())
}

/// Copies by `getc` and `putc`.
fn copied_by_stdio(from: &Input, to: &Output) -> Result<String, Option<Failure>> {
    // A copy of nothing has the checks of every other copy.
    let checked = Options::new().limit(0).copy(from.fd(), to.fd());
    checked.map_err(|error| failure(from, to, 0, &error))?;
    match copy_characters(from.fd(), to.fd()) {
        Ok(bytes) => Ok(format!("{bytes} bytes")),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(None),
        Err(error) => {
            let (from, to, remedy) = (&from.name, &to.name, remedy(&error));
            Err(Some(
                anyhow!("cannot copy {from} to {to}: {error}{remedy}").into(),
            ))
        }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "; free some space, or write to another file system",
        io::ErrorKind::IsADirectory => "; only files, pipes, sockets and devices can be copied",
        _ => "",
    }
}

/// For example `103316352 bytes, 25224 reads`, which `vectored reproduce` reads.
fn in_words(copied: Copied) -> String {
    let of = match copied.technique {
        Technique::CopyFileRange => " of copy_file_range",
        Technique::Sendfile => " of sendfile",
        Technique::Splice => " of splice",
        _ => "",
    };
    let call = if of.is_empty() { "read" } else { "call" };
    let s = if copied.calls == 1 { "" } else { "s" };
    format!("{} bytes, {} {call}{s}{of}", copied.bytes, copied.calls)
}
