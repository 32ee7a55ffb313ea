//! `vectored copy` as a child process: what it used, and what it says it did.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::measure::{MeasureError, Mismatch, Pattern};
use crate::reproduce::bench::Bench;
use crate::reproduce::verify_content::PatternCheck;
use crate::sys::usage::{Usage, wait_for};

/// How often a child that runs for long is asked where it is. Asking costs the
/// parent some microseconds, and the child nothing.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// The techniques of `vectored copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyTechnique {
    /// `read` and `write` with a buffer of so many bytes.
    ReadWrite { buffer_bytes: u64 },
    /// `fgetc` and `fputc`.
    Stdio,
}

/// One copy to be made.
pub struct Order {
    pub technique: CopyTechnique,
    /// Its standard input; this process keeps no other descriptor of the same
    /// description, which would cost the child a lock in every call.
    pub input: File,
    /// Bytes of the input, where somebody wants to know how far it has come.
    pub input_bytes: u64,
    pub output: Output,
    /// Whether it waits at its end until all is on the device.
    pub fsync: bool,
}

/// Its standard output.
pub enum Output {
    Null,
    /// As with the input, this process keeps no other descriptor of the same
    /// description.
    File(File),
    /// Read by a thread of this process, which compares it with a pattern if
    /// there is one.
    Pipe(Option<Pattern>),
}

/// What a copy took and did.
#[derive(Clone, Copy, Debug)]
pub struct ChildCopy {
    pub clock_s: f64,
    pub usage: Usage,
    /// Successful reads; the C library does not tell of its own.
    pub reads: Option<u64>,
}

/// Makes a copy and waits for its end; `None` when the run was stopped meanwhile.
///
/// # Errors
///
/// When the program cannot be run, when it fails, and when it copied something
/// else than its input.
pub fn copy(bench: &mut Bench<'_>, order: Order) -> Result<Option<ChildCopy>, MeasureError> {
    let cannot_run = |error| {
        let program = bench.program.display();
        MeasureError::io(format!("cannot run '{program} copy'"))(error)
    };
    let input_bytes = order.input_bytes;
    let (output, reader) = match order.output {
        Output::Null => (Stdio::null(), None),
        Output::File(file) => (Stdio::from(file), None),
        Output::Pipe(pattern) => {
            let (reader, writer) = io::pipe().map_err(cannot_run)?;
            (Stdio::from(writer), Some((reader, pattern)))
        }
    };
    let mut command = command(bench.program, order.technique, order.fsync);
    command
        .stdin(order.input)
        .stdout(output)
        .stderr(Stdio::piped());
    let began_ns = bench.clock.now_ns();
    let mut child = command.spawn().map_err(cannot_run)?;
    // With it go this process's descriptors of what the child reads and writes.
    drop(command);
    let thread = reader.map(|(reader, pattern)| {
        let cpu = bench.reader_cpu;
        std::thread::spawn(move || drain(reader, pattern, cpu))
    });
    let watched = watch(&child, bench, input_bytes);
    if watched.is_err() {
        // Nobody would look after it. It may have ended by itself, which is as good.
        let _ = child.kill();
    }
    let ended_ns = bench.clock.now_ns();
    let (status, usage) = wait_for(child.id()).map_err(cannot_run)?;
    let drained = thread.map(|thread| thread.join().expect("it does not panic"));
    let is_stopped = watched.map_err(cannot_run)?;
    if is_stopped || bench.is_stopped() || (was_told_to_end(status) && stops_soon(bench)) {
        return Ok(None);
    }
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut said).map_err(cannot_run)?;
    }
    let name = name_of(order.technique);
    let said = said.trim();
    if !status.success() {
        let said = match said.strip_prefix("error: ").unwrap_or(said) {
            "" => "it said nothing",
            said => said,
        };
        return Err(MeasureError::io(format!(
            "the copy with {name} failed ({status})"
        ))(io::Error::other(said.to_owned())));
    }
    let (bytes, reads) = parse_report(said).ok_or_else(|| {
        MeasureError::io(format!("the copy with {name} reports '{said}'"))(
            io::ErrorKind::InvalidData.into(),
        )
    })?;
    if bytes != input_bytes {
        return Err(MeasureError::WrongBytes {
            contender: name,
            cell: "apue-3.5".to_owned(),
            difference: format!("it copied {bytes} bytes of {input_bytes}"),
        });
    }
    if let Some(outcome) = drained {
        outcome
            .and_then(|check| check.map_or(Ok(()), |check| check.end(input_bytes)))
            .map_err(|mismatch| {
                crate::reproduce::verify_content::wrong(mismatch, &name, "apue-3.5")
            })?;
    }
    Ok(Some(ChildCopy {
        clock_s: (ended_ns - began_ns) as f64 / 1e9,
        usage,
        reads,
    }))
}

/// Whether a signal that ends programs has ended it: ^C goes to the child as well
/// as to this process, which may not have noticed it yet.
fn was_told_to_end(status: ExitStatus) -> bool {
    let signals = [Signal::HUP, Signal::INT, Signal::TERM];
    let of = |number| signals.iter().any(|signal| signal.as_raw() == number);
    status.signal().is_some_and(of)
}

/// Whether this process is told to end as well, if it was not yet. Somebody may
/// have ended the copy alone: a run that lacks rows for that is a failed one.
fn stops_soon(bench: &Bench<'_>) -> bool {
    const LOOKS: u32 = 50;
    (0..LOOKS).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        bench.is_stopped()
    })
}

fn command(program: &Path, technique: CopyTechnique, fsync: bool) -> Command {
    let mut command = Command::new(program);
    command.args(["copy", "--report"]);
    match technique {
        CopyTechnique::ReadWrite { buffer_bytes } => {
            command.args(["--technique", "read-write", "--buffer-size"]);
            command.arg(buffer_bytes.to_string());
        }
        CopyTechnique::Stdio => {
            command.args(["--technique", "stdio"]);
        }
    }
    if fsync {
        command.arg("--fsync");
    }
    command
}

fn name_of(technique: CopyTechnique) -> String {
    match technique {
        CopyTechnique::ReadWrite { buffer_bytes } => format!("a buffer of {buffer_bytes} B"),
        CopyTechnique::Stdio => "stdio".to_owned(),
    }
}

/// `103316352 bytes, 25224 reads`, or only the bytes.
fn parse_report(said: &str) -> Option<(u64, Option<u64>)> {
    let mut parts = said.split(", ");
    let bytes = parts.next()?.strip_suffix(" bytes")?.parse().ok()?;
    let reads = match parts.next() {
        None => None,
        Some("1 read") => Some(1),
        Some(part) => Some(part.strip_suffix(" reads")?.parse().ok()?),
    };
    parts.next().is_none().then_some((bytes, reads))
}

/// Returns when the child has ended; ends it, and returns true, when the run
/// shall stop.
fn watch(child: &Child, bench: &mut Bench<'_>, input_bytes: u64) -> io::Result<bool> {
    let pid = Pid::from_child(child);
    let ended = pidfd_open(pid, PidfdFlags::empty())?;
    let mut is_stopped = false;
    loop {
        let mut events = [PollFd::new(&ended, PollFlags::IN)];
        let timeout = Timespec::try_from(ASK_EVERY).map_err(io::Error::other)?;
        match poll(&mut events, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(is_stopped),
            Err(error) => return Err(error.into()),
        }
        if bench.is_stopped() && !is_stopped {
            is_stopped = true;
            match kill_process(pid, Signal::KILL) {
                // It ended by itself just now.
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(position) = position_of_input(child.id())
            && input_bytes > 0
        {
            bench.ledger.within(position as f64 / input_bytes as f64);
        }
    }
}

/// Where a process is in its standard input: `proc_pid_fdinfo(5)`. `None` where
/// that is not told, or the process has just ended.
fn position_of_input(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/fdinfo/0")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("pos:"))?;
    line.trim().parse().ok()
}

/// Reads a pipe to its end.
fn drain(
    mut reader: PipeReader,
    pattern: Option<Pattern>,
    cpu: Option<usize>,
) -> Result<Option<PatternCheck>, Mismatch> {
    if let Some(cpu) = cpu {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set)?;
    }
    let mut check = pattern.map(PatternCheck::new);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(check),
            Ok(count) => {
                if let Some(check) = &mut check {
                    check.take(&buffer[..count]);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Another description of the same file, at its begin, to be read.
pub fn reopened(file: &impl AsFd) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    File::open(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_copies_are_read_and_others_refused() {
        assert_eq!(parse_report("12 bytes, 3 reads"), Some((12, Some(3))));
        assert_eq!(parse_report("0 bytes, 1 read"), Some((0, Some(1))));
        assert_eq!(parse_report("12 bytes"), Some((12, None)));
        for bad in [
            "",
            "12",
            "12 bytes, 3",
            "12 bytes, 3 reads, more",
            "x bytes",
        ] {
            assert_eq!(parse_report(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_copy_that_was_told_to_end_is_no_failure_and_a_crash_is() {
        for (signal, expected) in [(1, true), (2, true), (15, true), (9, false), (11, false)] {
            let ended = ExitStatus::from_raw(signal);
            assert_eq!(was_told_to_end(ended), expected, "{signal}");
        }
        assert!(!was_told_to_end(ExitStatus::from_raw(1 << 8)));
    }

    #[test]
    fn a_copy_is_asked_for_in_full() {
        let words = |technique, fsync| {
            let command = command("vectored".as_ref(), technique, fsync);
            let words: Vec<_> = command.get_args().map(|w| w.to_str().unwrap()).collect();
            words.join(" ")
        };
        let technique = CopyTechnique::ReadWrite { buffer_bytes: 512 };
        assert_eq!(
            words(technique, true),
            "copy --report --technique read-write --buffer-size 512 --fsync"
        );
        assert_eq!(
            words(CopyTechnique::Stdio, false),
            "copy --report --technique stdio"
        );
    }
}
