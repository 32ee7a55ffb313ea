//! `vectored copy`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;

use anyhow::Context;
use rustix::fs::OFlags;
use vectored_measure::reproduce::copy_program::{self as copy, Copied, Side};
use vectored_report::words;

use crate::args::{CopyArgs, CopyWith, MAX_BUFFER_BYTES};
use crate::failure::Failure;

/// Runs the command. Signals end it, as they end any filter.
pub fn run(args: &CopyArgs) -> Result<ExitCode, Failure> {
    if args.buffer_size > MAX_BUFFER_BYTES {
        let size = words::bytes(args.buffer_size);
        return Err(Failure::usage(format!(
            "--buffer-size {size} is too large: it must be at most 1 GiB"
        )));
    }
    let (input, output) = (io::stdin(), io::stdout());
    let (input, output) = (input.as_fd(), output.as_fd());
    refuse_endless(input, output)?;
    let copied = match args.technique {
        CopyWith::ReadWrite => {
            let mut buffer = vec![0; args.buffer_size as usize];
            copy::read_write(input, output, &mut buffer).map_err(|error| {
                let is_gone = error.side == Side::Output && gone(&error.source);
                (is_gone, anyhow::anyhow!("{error}{}", remedy(&error.source)))
            })
        }
        CopyWith::Stdio => copy::stdio(input, output).map_err(|error| {
            let words = "cannot copy standard input to standard output";
            let remedy = remedy(&error);
            (gone(&error), anyhow::anyhow!("{words}: {error}{remedy}"))
        }),
    };
    let copied = match copied {
        Ok(copied) => copied,
        // A closed pipe is no error.
        Err((true, _)) => return Ok(ExitCode::SUCCESS),
        Err((false, error)) => return Err(error.into()),
    };
    if args.fsync {
        rustix::fs::fsync(output).map_err(|error| {
            anyhow::anyhow!(
                "cannot fsync standard output: {error}; --fsync works only on files and block devices"
            )
        })?;
    }
    if args.report {
        writeln!(io::stderr(), "{}", in_words(copied))
            .context("cannot write the report to standard error")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "; free some space, or write to another file system",
        io::ErrorKind::IsADirectory => "; only files, pipes, sockets and devices can be copied",
        io::ErrorKind::WouldBlock => {
            "; it is non-blocking: put a pipe between (cat | vectored copy | cat)"
        }
        _ => "",
    }
}

/// Refuses to copy a file to its own end, or to a later offset of itself, which would never end.
fn refuse_endless(input: impl AsFd, output: impl AsFd) -> Result<(), Failure> {
    let (Ok(from), Ok(to)) = (as_file(&input), as_file(&output)) else {
        // The first call reports a closed descriptor.
        return Ok(());
    };
    let is_same = (from.dev(), from.ino()) == (to.dev(), to.ino());
    if !(from.is_file() && is_same) {
        return Ok(());
    }
    let appends = rustix::fs::fcntl_getfl(&output)
        .map(|flags| flags.contains(OFlags::APPEND))
        .unwrap_or(false);
    let position = |fd: BorrowedFd<'_>| rustix::fs::tell(fd).unwrap_or(0);
    if appends || position(output.as_fd()) > position(input.as_fd()) {
        return Err(Failure::usage(
            "standard input is the file that standard output extends, so the copy would never \
             end: write to another file",
        ));
    }
    Ok(())
}

fn as_file(fd: &impl AsFd) -> io::Result<std::fs::Metadata> {
    File::from(fd.as_fd().try_clone_to_owned()?).metadata()
}

/// For example `103316352 bytes, 25224 reads`, which `vectored reproduce` reads.
fn in_words(copied: Copied) -> String {
    match copied.reads {
        Some(1) => format!("{} bytes, 1 read", copied.bytes),
        Some(reads) => format!("{} bytes, {reads} reads", copied.bytes),
        None => format!("{} bytes", copied.bytes),
    }
}
