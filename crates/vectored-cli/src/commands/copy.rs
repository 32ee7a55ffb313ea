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

use crate::args::{CopyArgs, CopyWith};
use crate::copying::{CopyProgress, HolesError, Input, Output, copy_with_holes, is_file, is_shown};
use crate::failure::Failure;

/// The size of the pipe for splice(2). All pipes of a user may have at most 64 MiB. A larger pipe saves no more time.
const PIPE_BYTES: usize = 256 << 10;

const OTHER_TECHNIQUE: &str = "; choose another --technique";

pub fn run(args: &CopyArgs) -> Result<ExitCode, Failure> {
    let technique = technique(args)?;
    // The default action of SIGXFSZ kills the program. With a handler, write(2) fails with EFBIG.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .context("cannot watch for signals")?;
    let from = Input::open(args.from.as_deref())?;
    let check = |to: &str| {
        if args.sparse && !is_file(from.fd()) {
            return Err(Failure::usage("--sparse: both must be files"));
        }
        let options = Options::new().technique(technique);
        let checked = options.check_into_new_file(from.fd());
        checked.map_err(|error| failure(&from.name, to, 0, &error))
    };
    let to = Output::open(args.to.as_deref(), &from, args.force, args.sync, check)?;
    let said = match args.technique {
        CopyWith::Stdio => copied_by_stdio(&from, &to),
        _ => copied(args, technique, &from, &to).map(|copied| (copied.bytes, in_words(copied))),
    };
    let (written, said) = match said {
        Ok(done) => done,
        Err(error) => {
            to.cut_after_failure();
            // A reader that has closed the output is not an error.
            return error.map_or(Ok(ExitCode::SUCCESS), Err);
        }
    };
    to.finish(written, args.sync)?;
    if args.report {
        let why = "the copy is complete, but its report cannot be written to standard error";
        writeln!(io::stderr(), "{said}").context(why)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn technique(args: &CopyArgs) -> Result<Option<Technique>, Failure> {
    let technique = match args.technique {
        CopyWith::Auto if args.buffer_size.is_none() => None,
        CopyWith::Auto | CopyWith::ReadWrite | CopyWith::Stdio => Some(Technique::ReadWrite),
        CopyWith::CopyFileRange => Some(Technique::CopyFileRange),
        CopyWith::Sendfile => Some(Technique::Sendfile),
        CopyWith::Splice => Some(Technique::Splice),
    };
    if args.buffer_size.is_some() && technique != Some(Technique::ReadWrite) {
        return Err(Failure::usage(
            "--buffer-size is for --technique read-write: other techniques have no buffer",
        ));
    }
    Ok(technique)
}

/// Returns the error `None` if the reader has closed the output.
fn copied(
    args: &CopyArgs,
    technique: Option<Technique>,
    from: &Input,
    to: &Output,
) -> Result<Copied, Option<Failure>> {
    let (before, uncut) = (Cell::new(0), Cell::new(None));
    let mut progress = is_shown(args.quiet).then(|| CopyProgress::new(from.bytes_left()));
    // Without a callback, the copy reads no clock between calls.
    let is_heard = progress.is_some() || to.has_old_bytes();
    let mut hear = |bytes| {
        let bytes = before.get() + bytes;
        if let Some(progress) = &mut progress {
            progress.hear(bytes);
        }
        // The library calls this function before the first byte is written.
        let cut = if bytes > 0 { to.cut_old_bytes(bytes) } else { Ok(()) };
        match cut {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                uncut.set(Some(error));
                ControlFlow::Break(())
            }
        }
    };
    let mut options = Options::new().technique(technique).may_alias(true);
    if technique.is_none() {
        options = options.enlarge_pipe(PIPE_BYTES);
    }
    if let Some(bytes) = args.buffer_size {
        options = options.buffer_bytes(bytes as usize);
    }
    if is_heard {
        options = options.progress(&mut hear);
    }
    let copied = if args.sparse {
        copy_with_holes(options, from, to, &before)
    } else {
        let copied = options.copy(from.fd(), to.fd());
        copied.map_err(HolesError::Part)
    };
    copied.map_err(|error| match (uncut.take(), error) {
        (Some(uncut), _) => Some(to.uncut(&uncut)),
        (None, HolesError::Part(error)) => unless_gone(from, to, before.get(), &error),
        (None, HolesError::Holes(failure)) => Some(failure),
    })
}

/// Returns `None` if the reader has closed the output.
fn unless_gone(from: &Input, to: &Output, before: u64, error: &CopyError) -> Option<Failure> {
    let is_gone = error.side() == Some(Side::Output) && error.kind() == io::ErrorKind::BrokenPipe;
    (!is_gone).then(|| failure(&from.name, &to.name, before, error))
}

/// `before` is the number of bytes that were copied before the bytes of `error`.
fn failure(from: &str, to: &str, before: u64, error: &CopyError) -> Failure {
    let cause = error.io_error();
    let what = match error.side() {
        Some(Side::Output) => format!("cannot write to {to}"),
        Some(Side::Input) => format!("cannot read {from}"),
        _ => format!("cannot copy {from} to {to}"),
    };
    let remedy = if error.side().is_none() { OTHER_TECHNIQUE } else { "" };
    // Examples of usage errors: both ends are one file, a socket keeps message boundaries, or the technique does not
    // suit.
    if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
        return Failure::usage(format!("{what}: {cause}{remedy}"));
    }
    let bytes = before + error.written();
    let unit = if bytes == 1 { "byte" } else { "bytes" };
    anyhow!("{what} after {bytes} {unit}: {cause}{remedy}").into()
}

fn copied_by_stdio(from: &Input, to: &Output) -> Result<(u64, String), Option<Failure>> {
    // A copy of 0 bytes makes all checks of a copy.
    let checked = Options::new().limit(0).copy(from.fd(), to.fd());
    checked.map_err(|error| unless_gone(from, to, 0, &error))?;
    match copy_characters(from.fd(), to.fd()) {
        Ok(bytes) => Ok((bytes, format!("{bytes} bytes"))),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(None),
        Err(error) => {
            let (from, to) = (&from.name, &to.name);
            Err(Some(anyhow!("cannot copy {from} to {to}: {error}").into()))
        }
    }
}

/// For example `103316352 bytes, 25224 reads`, which `vectored reproduce` parses. If several techniques copied, the
/// text has the share of each technique.
fn in_words(copied: Copied) -> String {
    let techniques = [
        (Technique::ReadWrite, "reading and writing"),
        (Technique::CopyFileRange, "copy_file_range"),
        (Technique::Sendfile, "sendfile"),
        (Technique::Splice, "splice"),
    ];
    let used = techniques.map(|(technique, name)| (name, copied.bytes_by(technique)));
    let used: Vec<_> = used.into_iter().filter(|used| used.1 > 0).collect();
    let share = |(name, bytes): &(&str, u64)| {
        let percent = *bytes as f64 * 100.0 / copied.bytes as f64;
        format!("{percent:.1} % by {name}")
    };
    let (call, of) = match used[..] {
        [] | [("reading and writing", _)] => ("read", String::new()),
        [(name, _)] => ("call", format!(" of {name}")),
        _ => {
            let shares: Vec<String> = used.iter().map(share).collect();
            ("call", format!("; {}", shares.join(", ")))
        }
    };
    let s = if copied.calls == 1 { "" } else { "s" };
    format!("{} bytes, {} {call}{s}{of}", copied.bytes, copied.calls)
}
