//! A log to which several processes append without a lock. No line is mixed with another line.
//!
//! Each process collects lines in a queue, and writes many lines by one call. The file is open with `O_APPEND`, so the
//! bytes of a call stay together. `end_record` makes each call end at the end of a line.
//!
//! ```text
//! cargo run -p vectored --example shared_log
//! ```

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use vectored::SegmentQueue;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;

const PROCESSES: usize = 3;
const LINES: usize = 10_000;

struct Logger {
    file: File,
    queue: SegmentQueue,
}

impl Logger {
    fn open(path: &Path) -> io::Result<Logger> {
        let mut policy = QueuePolicy::for_target(TargetKind::File);
        policy.limit_bytes = 64 << 10;
        Ok(Logger {
            file: File::options().append(true).create(true).open(path)?,
            queue: SegmentQueue::with_policy(policy),
        })
    }

    /// Adds a line, and writes all lines of the queue when the queue has 64 KiB.
    fn log(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        writeln!(self.queue, "{line}")?;
        self.queue.end_record();
        if self.queue.is_full() {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes all lines of the queue. Call `flush` also before the program waits, so that no line is late.
    fn flush(&mut self) -> io::Result<()> {
        self.queue.write_to(&self.file)?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    if let (Some(path), Some(process)) = (arguments.next(), arguments.next()) {
        return Ok(write_lines(Path::new(&path), &process)?);
    }
    let path = std::env::temp_dir().join(format!("vectored-log-{}", std::process::id()));
    let text = run_processes(&path).and_then(|()| Ok(fs::read_to_string(&path)?));
    fs::remove_file(&path)?;
    let mut next = [0; PROCESSES];
    for line in text?.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [process, number, filler] = words[..] else {
            return Err(format!("a mixed line: {line}").into());
        };
        let (process, number): (usize, usize) = (process.parse()?, number.parse()?);
        assert_eq!(number, next[process], "a line of process {process} is lost");
        assert_eq!(filler.len(), number % 200, "a mixed line: {line}");
        next[process] += 1;
    }
    assert_eq!(next, [LINES; PROCESSES]);
    println!("{PROCESSES} processes logged {LINES} lines each, and none is mixed with another");
    Ok(())
}

fn run_processes(path: &Path) -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let mut children = Vec::new();
    for process in 0..PROCESSES {
        let mut command = Command::new(&program);
        children.push(command.arg(path).arg(process.to_string()).spawn()?);
    }
    for mut child in children {
        let status = child.wait()?;
        assert!(status.success(), "a process ended with {status}");
    }
    Ok(())
}

fn write_lines(path: &Path, process: &str) -> io::Result<()> {
    let mut logger = Logger::open(path)?;
    for number in 0..LINES {
        let filler = ".".repeat(number % 200);
        logger.log(format_args!("{process} {number} {filler}"))?;
    }
    logger.flush()
}
