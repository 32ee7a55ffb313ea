//! A program that copies, `vectored copy` or a program of the user: its command, its runs, and what was wrong, in words.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread::Builder;
use std::time::Duration;

use vectored_machine::platform::command_run::{Ended, RunError, run};
use vectored_machine::platform::cpus;
use vectored_report::words;

use crate::measure::MeasureError;
use crate::reproduce::Bench;

/// Stands for the size of the buffer in a command.
pub const BUFFER: &str = "{buffer}";
/// Stands for the name of the input.
pub const INPUT: &str = "{input}";
/// Stands for the name of the output.
pub const OUTPUT: &str = "{output}";

/// How long child processes of a program may run on after the program's end: no row counts that time.
const LEFT_BEHIND_LIMIT: Duration = Duration::from_secs(1);

/// The most bytes that are kept of the standard error of a program.
const SAID_BYTES: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyProgram {
    pub typed: String,
    /// The words of the program, with [`BUFFER`], [`INPUT`] and [`OUTPUT`]. If the words lack the name of the input, the
    /// program reads standard input. If the words lack the name of the output, the program writes standard output.
    pub words: Vec<String>,
    /// Whether the program is `vectored`. The words of `vectored` are arguments, and `vectored` reports what it copied.
    pub is_ours: bool,
}

pub struct Copied {
    /// For `vectored copy`, the reads are the successful reads; for the C library, the reads are unknown.
    pub ended: Ended,
    /// The last line of the program's standard error, except its report.
    pub said: String,
}

impl CopyProgram {
    pub fn ours(arguments: &[&str]) -> Self {
        let words = [&["copy", "--report"][..], arguments].concat();
        CopyProgram {
            typed: format!("vectored {}", words.join(" ")),
            words: words.into_iter().map(str::to_owned).collect(),
            is_ours: true,
        }
    }

    pub fn names(&self, placeholder: &str) -> bool {
        self.words.iter().any(|word| word.contains(placeholder))
    }

    fn command(&self, bench: &Bench<'_>, places: [(&str, &str); 3]) -> Command {
        let mut words = self.words.iter().map(|word| {
            let places = places.iter();
            places.fold(word.clone(), |word, (name, value)| {
                word.replace(name, value)
            })
        });
        let mut command = if self.is_ours {
            Command::new(bench.program)
        } else {
            Command::new(words.next().unwrap_or_default())
        };
        command.args(words);
        command
    }

    fn wrong(&self, buffer_bytes: Option<u64>, why: String) -> MeasureError {
        let buffer = buffer_bytes.map_or_else(|| BUFFER.to_owned(), |bytes| bytes.to_string());
        MeasureError::Program {
            command: self.typed.replace(BUFFER, &buffer),
            why,
        }
    }

    pub fn check(
        &self,
        buffer_bytes: Option<u64>,
        arrived: (u64, Option<u64>),
        bytes: u64,
    ) -> Result<(), MeasureError> {
        let count = words::grouped(bytes);
        let wrote = words::grouped(arrived.0);
        let why = match arrived {
            (all, None) if all == bytes => return Ok(()),
            (0, _) => format!(
                "wrote nothing, of {count} bytes: does it write to its standard output, or to {OUTPUT}?"
            ),
            (more, _) if more > bytes => format!(
                "wrote {wrote} bytes, of {count} bytes: a write must be as long as the read before it"
            ),
            (fewer, _) if fewer < bytes => format!(
                "wrote {wrote} bytes, of {count} bytes: it must read until read returns 0, and write all of it"
            ),
            (_, at) => format!(
                "wrote wrong bytes: of {count}, byte {} differs",
                at.unwrap_or(0)
            ),
        };
        Err(self.wrong(buffer_bytes, why))
    }

    /// Makes a copy and waits for its end. The bytes are not checked here.
    ///
    /// This process must keep no other descriptor of the same open file description as `input`: that would cost the child a
    /// lock in every call. The output is the null device, a file, or if `is_piped` a pipe that a thread of this process reads.
    pub fn copy(
        &self,
        bench: &Bench<'_>,
        buffer_bytes: Option<u64>,
        (input, input_bytes): (File, u64),
        (output, is_piped): (Option<File>, bool),
        limit: Option<Duration>,
    ) -> Result<Copied, MeasureError> {
        let cannot = || MeasureError::io("cannot redirect a program");
        // The path of a descriptor of this process: a file without a name has no other path.
        let path = |fd: i32| format!("/proc/{}/fd/{fd}", std::process::id());
        let (stdin, input_path, _kept_input) = if self.names(INPUT) {
            (Stdio::null(), path(input.as_raw_fd()), Some(input))
        } else {
            (Stdio::from(input), String::new(), None)
        };
        let (output, reader) = if is_piped {
            let (reader, writer) = io::pipe().map_err(cannot())?;
            (Some(OwnedFd::from(writer)), Some(reader))
        } else {
            (output.map(OwnedFd::from), None)
        };
        let output_path = output.as_ref();
        let output_path = output_path.map_or_else(
            || "/dev/null".to_owned(),
            |output| path(output.as_fd().as_raw_fd()),
        );
        let (stdout, kept_output) = match output {
            Some(output) if self.names(OUTPUT) => (Stdio::null(), Some(output)),
            Some(output) => (Stdio::from(output), None),
            None => (Stdio::null(), None),
        };
        let (said, stderr) = io::pipe().map_err(cannot())?;
        let buffer = buffer_bytes.map_or_else(String::new, |bytes| bytes.to_string());
        let places = [
            (BUFFER, &*buffer),
            (INPUT, &*input_path),
            (OUTPUT, &*output_path),
        ];
        let mut command = self.command(bench, places);
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        let cpu = bench.reader_cpu;
        let read_to_its_end = |from: PipeReader, cpu, limit| {
            Builder::new()
                .spawn(move || last_line(from, cpu, limit))
                .map_err(MeasureError::io(
                    "cannot start a thread that reads what a program writes",
                ))
        };
        let drained = reader.map(|reader| read_to_its_end(reader, cpu, 0));
        let drained = drained.transpose()?;
        let said = read_to_its_end(said, None, SAID_BYTES)?;
        // `run` ends all processes, so the pipes end as well.
        let ended = run(command, limit, LEFT_BEHIND_LIMIT, || bench.is_stopped());
        drop(kept_output);
        let said = said.join().expect("the reading thread does not panic");
        let said = said.map_err(MeasureError::io("cannot read its standard error"))?;
        if let Some(drained) = drained {
            let drained = drained.join().expect("the draining thread does not panic");
            drained.map_err(MeasureError::io(
                "cannot read what a program wrote to a pipe",
            ))?;
        }
        self.outcome(buffer_bytes, input_bytes, ended, said)
    }

    /// The result of a run, or in words what the program did wrong.
    fn outcome(
        &self,
        buffer_bytes: Option<u64>,
        input_bytes: u64,
        ended: Result<Ended, RunError>,
        said: String,
    ) -> Result<Copied, MeasureError> {
        let given = format!("given {} bytes", words::grouped(input_bytes));
        let mut ended = match ended {
            Ok(ended) => ended,
            Err(RunError::Stopped) => return Err(MeasureError::Stopped),
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
        if !self.is_ours {
            return Ok(Copied { ended, said });
        }
        let (bytes, reads) = parse_report(&said).unwrap_or_default();
        if bytes != input_bytes {
            return Err(self.wrong(buffer_bytes, format!("reported '{said}', {given}")));
        }
        ended.reads = reads;
        Ok(Copied {
            ended,
            said: String::new(),
        })
    }
}

/// Reads a pipe to its end, on `cpu` if it is `Some`; returns the last line, of at most `limit` bytes: the last line of a
/// traceback says what was wrong.
fn last_line(mut from: PipeReader, cpu: Option<usize>, limit: usize) -> io::Result<String> {
    if let Some(cpu) = cpu {
        cpus::pin(cpu)?;
    }
    let (mut kept, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let count = match from.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if count == 0 {
            break;
        }
        kept.extend_from_slice(&piece[count.saturating_sub(limit)..count]);
        kept.drain(..kept.len().saturating_sub(limit));
    }
    let text = String::from_utf8_lossy(&kept);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    Ok(last.unwrap_or_default().trim().to_owned())
}

/// Parses a report such as `103316352 bytes, 25224 reads`, or only the bytes.
fn parse_report(said: &str) -> Option<(u64, Option<u64>)> {
    let (bytes, reads) = said.split_once(", ").unwrap_or((said, ""));
    let bytes = bytes.strip_suffix(" bytes")?.parse().ok()?;
    let reads = reads.trim_end_matches('s').strip_suffix(" read");
    Some((bytes, reads.and_then(|reads| reads.parse().ok())))
}
