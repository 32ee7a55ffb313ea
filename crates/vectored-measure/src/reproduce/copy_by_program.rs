//! A program of the user that copies: its command, its runs, and in words what it did wrong.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::time::Duration;

use vectored_machine::platform::command_run::{Ended, RunError, run};
use vectored_report::words;
use vectored_results::model::SyncMode;

use crate::measure::{MeasureError, Mismatch};
use crate::reproduce::bench::Bench;
use crate::reproduce::copy_process::{ChildCopy, CopyOutput, drain};
use crate::reproduce::verify_content::{PatternCheck, wrong};

/// Stands for the size of the buffer in a command.
pub const BUFFER: &str = "{buffer}";
/// Stands for the name of the input.
pub const INPUT: &str = "{input}";
/// Stands for the name of the output.
pub const OUTPUT: &str = "{output}";

/// How long the copy of a small file may take, that of the whole file, and that of one whose writes wait for the device.
pub const PROOF_LIMIT: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(20);
const SYNCED_LIMIT: Duration = Duration::from_secs(600);

/// How long its processes may run on after its end: no row counts that time.
const LEFT_BEHIND_LIMIT: Duration = Duration::from_secs(1);

/// How much of its standard error is kept.
const SAID_BYTES: usize = 300;

/// A program that is timed beside ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyProgram {
    /// The command as typed.
    pub typed: String,
    /// Its words, with [`BUFFER`], [`INPUT`] and [`OUTPUT`]. A program whose words lack the name of the input reads its
    /// standard input, and likewise for the output.
    pub words: Vec<String>,
}

/// One copy to be made.
pub struct ProgramOrder {
    pub buffer_bytes: Option<u64>,
    pub input: File,
    pub input_bytes: u64,
    pub output: CopyOutput,
    pub limit: Duration,
}

/// How long a copy of the whole file may take.
pub fn limit(sync: SyncMode) -> Duration {
    match sync {
        SyncMode::Dsync | SyncMode::Sync => SYNCED_LIMIT,
        SyncMode::None | SyncMode::Fsync => LIMIT,
    }
}

impl CopyProgram {
    /// Whether a placeholder is in its words.
    pub fn names(&self, placeholder: &str) -> bool {
        self.words.iter().any(|word| word.contains(placeholder))
    }

    fn command(&self, buffer_bytes: Option<u64>, input: &str, output: &str) -> Command {
        let buffer = buffer_bytes.map_or_else(String::new, |bytes| bytes.to_string());
        let mut words = self.words.iter().map(|word| {
            let word = word.replace(BUFFER, &buffer);
            word.replace(INPUT, input).replace(OUTPUT, output)
        });
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// An error that names the command with its buffer.
    pub fn wrong(&self, buffer_bytes: Option<u64>, why: String) -> MeasureError {
        let buffer = buffer_bytes.map_or_else(|| BUFFER.to_owned(), |bytes| bytes.to_string());
        MeasureError::Program {
            command: self.typed.replace(BUFFER, &buffer),
            why,
        }
    }

    /// Checks what arrived of a copy of `bytes` bytes.
    pub fn check(
        &self,
        buffer_bytes: Option<u64>,
        arrived: &PatternCheck,
        bytes: u64,
    ) -> Result<(), MeasureError> {
        let difference = match arrived.end(bytes) {
            Ok(()) => return Ok(()),
            Err(Mismatch::Bytes(difference)) => difference,
            Err(other) => return Err(wrong(other, "the program", "apue-3.5")),
        };
        let count = words::grouped(bytes);
        let why = match arrived.arrived_bytes() {
            0 => format!(
                "wrote nothing, of {count} bytes: does it write to its standard output, or to {OUTPUT}?"
            ),
            more if more > bytes => format!(
                "wrote {} bytes, of {count} bytes: a write must be as long as the read before it",
                words::grouped(more)
            ),
            fewer if fewer < bytes => format!(
                "wrote {} bytes, of {count} bytes: it must read until read returns 0, and write all of it",
                words::grouped(fewer)
            ),
            _ => format!("wrote wrong bytes: of {count}, {difference}"),
        };
        Err(self.wrong(buffer_bytes, why))
    }

    /// Makes a copy and waits for its end; `None` if the run was stopped. Returns also what the program wrote to its
    /// standard error. The bytes are left for others to check.
    pub fn copy(
        &self,
        bench: &Bench<'_>,
        order: ProgramOrder,
    ) -> Result<Option<(ChildCopy, String)>, MeasureError> {
        let ProgramOrder {
            buffer_bytes,
            input,
            input_bytes,
            output,
            limit,
        } = order;
        let cannot = || MeasureError::io("cannot redirect a program");
        // The name of a descriptor of this process: a file without a name has no other.
        let path = |fd: i32| format!("/proc/{}/fd/{fd}", std::process::id());
        let (stdin, input_path, _kept_input) = if self.names(INPUT) {
            (Stdio::null(), path(input.as_raw_fd()), Some(input))
        } else {
            (Stdio::from(input), String::new(), None)
        };
        let (output, reader) = match output {
            CopyOutput::Null => (None, None),
            CopyOutput::File(file) => (Some(file.into()), None),
            CopyOutput::Pipe(pattern) => {
                let (reader, writer) = io::pipe().map_err(cannot())?;
                (Some(writer.into()), Some((reader, pattern)))
            }
        };
        let output_path = output.as_ref().map_or_else(
            || "/dev/null".to_owned(),
            |output: &std::os::fd::OwnedFd| path(output.as_fd().as_raw_fd()),
        );
        let (stdout, kept_output) = match output {
            Some(output) if self.names(OUTPUT) => (Stdio::null(), Some(output)),
            Some(output) => (Stdio::from(output), None),
            None => (Stdio::null(), None),
        };
        let (said, stderr) = io::pipe().map_err(cannot())?;
        let mut command = self.command(buffer_bytes, &input_path, &output_path);
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        let cpu = bench.reader_cpu;
        let drained =
            reader.map(|(reader, pattern)| std::thread::spawn(move || drain(reader, pattern, cpu)));
        let said = std::thread::spawn(move || last_line(said));
        // It ends all processes, so the pipes end, too.
        let ended = run(command, Some(limit), LEFT_BEHIND_LIMIT, bench.stop);
        drop(kept_output);
        let said = said.join().expect("the reading thread does not panic");
        let said = said.map_err(MeasureError::io("cannot read its standard error"))?;
        if let Some(drained) = drained {
            let drained = drained.join().expect("the draining thread does not panic");
            drained.map_err(|mismatch| wrong(mismatch, "the program", "apue-3.5"))?;
        }
        let given = format!("given {} bytes", words::grouped(input_bytes));
        let ended = match ended {
            Ok(ended) => ended,
            Err(RunError::Stopped) => return Ok(None),
            Err(error) => {
                let remedy = match error {
                    RunError::TooLong(_) => {
                        ": it must end when read returns 0; if it is slow, --quick copies less"
                    }
                    RunError::LeftBehind(_) => {
                        ": it must wait for all that it starts, or what they do is not timed"
                    }
                    _ => "",
                };
                return Err(self.wrong(buffer_bytes, format!("failed, {given}: {error}{remedy}")));
            }
        };
        if !ended.status.success() {
            let end = ended.status.to_string().replacen(": ", " ", 1);
            let said = match &*said {
                "" => "it wrote nothing to standard error".to_owned(),
                said => format!("it wrote to standard error: {said}"),
            };
            return Err(self.wrong(buffer_bytes, format!("ended with {end}, {given}: {said}")));
        }
        let Ended {
            usage,
            took,
            reads,
            left_behind,
            ..
        } = ended;
        let copy = ChildCopy {
            clock_s: took.as_secs_f64(),
            usage,
            reads,
            left_behind,
        };
        Ok(Some((copy, said)))
    }
}

/// Reads a pipe to its end; returns the last line: that of a traceback says what was wrong.
fn last_line(mut from: PipeReader) -> io::Result<String> {
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match from.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => {
                kept.extend_from_slice(&piece[..count]);
                let surplus = kept.len().saturating_sub(SAID_BYTES);
                kept.drain(..surplus);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let text = String::from_utf8_lossy(&kept);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    Ok(last.unwrap_or_default().trim().to_owned())
}
