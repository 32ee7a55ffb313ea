//! `vectored copy` as a child process: its usage and its report.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use vectored_machine::platform::cpus;
use vectored_machine::platform::processes::{ChildEnd, Usage, wait_for};

use crate::measure::{MeasureError, Mismatch, Pattern};
use crate::reproduce::bench::Bench;
use crate::reproduce::verify_content::PatternCheck;

/// Interval at which the progress of a child is read. Reading it costs the parent
/// some microseconds and the child nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The techniques of `vectored copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyTechnique {
    /// `read` and `write` with a buffer of `buffer_bytes` bytes.
    ReadWrite { buffer_bytes: u64 },
    /// `fgetc` and `fputc`.
    Stdio,
}

/// One copy to be made.
pub struct CopyOrder {
    pub technique: CopyTechnique,
    /// The standard input of the child. This process must keep no other
    /// descriptor of the same open file description: that would cost the child a
    /// lock in every call.
    pub input: File,
    /// Length of the input: the number of bytes that must be copied.
    pub input_bytes: u64,
    pub output: CopyOutput,
    /// Whether the child ends with an `fsync`.
    pub fsync: bool,
}

/// The standard output of the child.
pub enum CopyOutput {
    Null,
    /// A file. This process must keep no other descriptor of the same open file description.
    File(File),
    /// A pipe. A thread of this process reads it and compares it with the
    /// pattern, if there is one.
    Pipe(Option<Pattern>),
}

/// The result of a copy.
#[derive(Clone, Copy, Debug)]
pub struct ChildCopy {
    pub clock_s: f64,
    pub usage: Usage,
    /// Number of successful reads; unknown for those of the C library.
    pub reads: Option<u64>,
    /// Processes that ended later than the copy.
    pub left_behind: u64,
}

/// Makes a copy and waits for its end; `None` if the run was stopped.
///
/// # Errors
///
/// If the program cannot be run, fails, or copies other bytes than its input.
pub fn copy(bench: &mut Bench<'_>, order: CopyOrder) -> Result<Option<ChildCopy>, MeasureError> {
    let cannot_run = |error| {
        let program = bench.program.display();
        MeasureError::io(format!("cannot run '{program} copy'"))(error)
    };
    let input_bytes = order.input_bytes;
    let (output, reader) = match order.output {
        CopyOutput::Null => (Stdio::null(), None),
        CopyOutput::File(file) => (Stdio::from(file), None),
        CopyOutput::Pipe(pattern) => {
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
    // Closes this process's descriptors of the child's input and output.
    drop(command);
    let thread = reader.map(|(reader, pattern)| {
        let cpu = bench.reader_cpu;
        std::thread::spawn(move || drain(reader, pattern, cpu))
    });
    let watched = watch(&child, bench, input_bytes);
    if watched.is_err() {
        // No code would wait for it otherwise. The error is ignored, since it
        // means that the child has ended by itself.
        let _ = child.kill();
    }
    let ended_ns = bench.clock.now_ns();
    let (status, usage) = wait_for(child.id()).map_err(cannot_run)?;
    let drained = thread.map(|thread| thread.join().expect("the draining thread does not panic"));
    let is_stopped = watched.map_err(cannot_run)?;
    if is_stopped || bench.is_stopped() || (ended_by_signal(status) && stops_soon(bench)) {
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
            "" => "it wrote no message",
            said => said,
        };
        return Err(MeasureError::io(format!(
            "the copy with {name} failed ({status})"
        ))(io::Error::other(said.to_owned())));
    }
    let (bytes, reads) = parse_report(said).ok_or_else(|| {
        MeasureError::io(format!(
            "the copy with {name} reported '{said}' instead of 'N bytes, N reads'"
        ))(io::ErrorKind::InvalidData.into())
    })?;
    if bytes != input_bytes {
        return Err(MeasureError::WrongBytes {
            contender: name,
            cell: "apue-3.5".to_owned(),
            difference: format!("it copied {bytes} bytes, but its input has {input_bytes}"),
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
        left_behind: 0,
    }))
}

/// Whether SIGHUP, SIGINT or SIGTERM ended the child. The terminal sends the
/// signal of ^C to the child and to this process, which may not have handled it
/// yet.
fn ended_by_signal(status: ExitStatus) -> bool {
    let signals = [Signal::HUP, Signal::INT, Signal::TERM];
    let of = |number| signals.iter().any(|signal| signal.as_raw() == number);
    status.signal().is_some_and(of)
}

/// Waits up to half a second; returns whether this process is stopped, too. If
/// the signal ended the copy alone, the run has failed.
fn stops_soon(bench: &Bench<'_>) -> bool {
    const POLLS: u32 = 50;
    (0..POLLS).any(|_| {
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
        command.arg("--sync");
    }
    command
}

fn name_of(technique: CopyTechnique) -> String {
    match technique {
        CopyTechnique::ReadWrite { buffer_bytes } => format!("a buffer of {buffer_bytes} B"),
        CopyTechnique::Stdio => "stdio".to_owned(),
    }
}

/// Parses a report such as `103316352 bytes, 25224 reads`, or only the bytes.
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

/// Waits until the child has ended. If the run is stopped, kills the child and
/// returns true.
fn watch(child: &Child, bench: &mut Bench<'_>, input_bytes: u64) -> io::Result<bool> {
    let pid = Pid::from_child(child);
    let end = ChildEnd::of(pid)?;
    let mut is_stopped = false;
    loop {
        if end.within(POLL_INTERVAL)? {
            return Ok(is_stopped);
        }
        if bench.is_stopped() && !is_stopped {
            is_stopped = true;
            match kill_process(pid, Signal::KILL) {
                // The child has just ended by itself.
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(position) = position_of_input(child.id())
            && input_bytes > 0
        {
            bench.eta.within(position as f64 / input_bytes as f64);
        }
    }
}

/// The position of a process in its standard input: `proc_pid_fdinfo(5)`. `None`
/// if the system does not report it or the process has just ended.
fn position_of_input(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/fdinfo/0")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("pos:"))?;
    line.trim().parse().ok()
}

/// Reads a pipe to its end, on `cpu` if it is `Some`.
pub(super) fn drain(
    mut reader: PipeReader,
    pattern: Option<Pattern>,
    cpu: Option<usize>,
) -> Result<Option<PatternCheck>, Mismatch> {
    if let Some(cpu) = cpu {
        cpus::pin(cpu)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_copies_are_parsed_and_others_refused() {
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
    fn a_signal_that_ends_programs_is_no_crash() {
        for (signal, expected) in [(1, true), (2, true), (15, true), (9, false), (11, false)] {
            let ended = ExitStatus::from_raw(signal);
            assert_eq!(ended_by_signal(ended), expected, "{signal}");
        }
        assert!(!ended_by_signal(ExitStatus::from_raw(1 << 8)));
    }

    #[test]
    fn the_command_names_every_option_of_the_copy() {
        let words = |technique, fsync| {
            let command = command("vectored".as_ref(), technique, fsync);
            let words: Vec<_> = command.get_args().map(|w| w.to_str().unwrap()).collect();
            words.join(" ")
        };
        let technique = CopyTechnique::ReadWrite { buffer_bytes: 512 };
        assert_eq!(
            words(technique, true),
            "copy --report --technique read-write --buffer-size 512 --sync"
        );
        assert_eq!(
            words(CopyTechnique::Stdio, false),
            "copy --report --technique stdio"
        );
    }
}
