//! Records that two processes append to one log, or write to one pipe, through queues.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Stdio};

use fastrand::Rng;
use vectored::SegmentQueue;
use vectored::cost::TargetKind;
use vectored::queue::QueuePolicy;

use crate::host::program_of_this_system;
/// The target that the processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// A file that each of them opens with `O_APPEND`.
    Log,
    /// A pipe. No call is longer than `PIPE_BUF`.
    Pipe,
}

impl Shared {
    /// The name in messages and arguments.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Shared::Log => "log",
            Shared::Pipe => "pipe",
        }
    }
}

/// The number of processes.
pub const PROCESSES: u64 = 2;

/// The bytes of a record before its payload: its length, the number of its process, and its number there.
const HEADER_BYTES: usize = 2 + 1 + 8;

/// The records that a reader found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whole records, in the order of their process.
    pub records: u64,
    /// How often a record of one process follows one of the other.
    pub switches: u64,
    /// The place of the first record that is not whole or not in order.
    pub torn_at_byte: Option<u64>,
}

/// Starts the processes, which call [`write()`], and checks what arrives. `program` is this program; its arguments are
/// `--write-records`, what is shared, the number of the process, and the number of its records.
///
/// # Errors
///
/// If a process, file or pipe fails.
pub fn run(shared: Shared, records: u64, program: &Path, directory: &Path) -> io::Result<Found> {
    let start = |number: u64, to: Stdio| -> io::Result<Child> {
        let share = records / PROCESSES + u64::from(number < records % PROCESSES);
        let words = [shared.name(), &number.to_string(), &share.to_string()];
        let mut command = program_of_this_system(program);
        command.arg("--write-records").args(words);
        command.stdin(Stdio::piped()).stdout(to).spawn()
    };
    let finish = |children: Vec<Child>| -> io::Result<()> {
        for mut child in children {
            let status = child.wait()?;
            if !status.success() {
                let message = format!("a process that writes records ended with {status}");
                return Err(io::Error::other(message));
            }
        }
        Ok(())
    };
    match shared {
        Shared::Log => {
            let path = directory.join(format!("vectored-records-{}", std::process::id()));
            // Each process opens the file: a shared file description has a lock, which would keep the records apart.
            let open = || File::options().append(true).create(true).open(&path);
            let files = [open(), open()];
            let log = File::open(&path);
            std::fs::remove_file(&path)?;
            let mut children = Vec::new();
            for (number, file) in (0..).zip(files) {
                children.push(start(number, file?.into())?);
            }
            release(&mut children);
            finish(children)?;
            check(log?)
        }
        Shared::Pipe => {
            let (reader, writer) = io::pipe()?;
            let mut children = Vec::new();
            for number in 0..PROCESSES {
                children.push(start(number, writer.try_clone()?.into())?);
            }
            drop(writer);
            release(&mut children);
            let found = check(reader)?;
            finish(children)?;
            Ok(found)
        }
    }
}

/// Lets the processes begin together: each waits for the end of its standard input.
fn release(children: &mut [Child]) {
    for child in children {
        drop(child.stdin.take());
    }
}

/// Writes records to `to` by a queue: many to a call, some of them kept, and each ended by `end_record`.
///
/// # Errors
///
/// The errors of the queue.
pub fn write(to: impl AsFd, shared: Shared, process: u64, count: u64) -> io::Result<()> {
    let mut rng = Rng::with_seed(process);
    let (mut policy, most) = match shared {
        Shared::Log => (QueuePolicy::for_target(TargetKind::File), 6_000),
        Shared::Pipe => (QueuePolicy::for_target(TargetKind::Pipe), libc::PIPE_BUF),
    };
    if shared == Shared::Pipe {
        policy.chunk_bytes = libc::PIPE_BUF;
    }
    // One process copies, the other makes lists.
    if process % 2 == 1 {
        policy.copy_below_bytes = HEADER_BYTES;
    }
    let mut queue = SegmentQueue::with_policy(policy);
    let mut batch = 1;
    for number in 0..count {
        let payload = match rng.u32(..1000) {
            0 => rng.usize(..=most - HEADER_BYTES),
            _ => rng.usize(..90),
        };
        queue.put_slice(&((HEADER_BYTES + payload) as u16).to_le_bytes());
        queue.put_slice(&[process as u8]);
        queue.put_slice(&number.to_le_bytes());
        queue.push(payload_of(process, number, payload).collect::<Vec<u8>>());
        queue.end_record();
        batch -= 1;
        if batch == 0 {
            queue.write_to(&to)?;
            // The other process gets a turn, even if both have one CPU.
            std::thread::yield_now();
            batch = rng.u32(1..300);
        }
    }
    queue.write_to(&to)?;
    Ok(())
}

fn payload_of(process: u64, number: u64, bytes: usize) -> impl Iterator<Item = u8> {
    let first = number.wrapping_mul(31).wrapping_add(process * 101);
    (0..bytes as u64).map(move |at| first.wrapping_add(at) as u8)
}

/// Reads records to the end, or to the first that is not whole or not in the order of its process.
///
/// # Errors
///
/// The errors of the reader.
pub fn check(from: impl Read) -> io::Result<Found> {
    let mut from = BufReader::with_capacity(1 << 20, from);
    let mut found = Found {
        records: 0,
        switches: 0,
        torn_at_byte: None,
    };
    let mut next = [0; PROCESSES as usize];
    let mut last = None;
    let mut at = 0;
    let mut record = Vec::new();
    loop {
        record.clear();
        from.by_ref().take(2).read_to_end(&mut record)?;
        if record.is_empty() {
            return Ok(found);
        }
        let bytes = record.try_into().map_or(0, u16::from_le_bytes);
        record = Vec::with_capacity(usize::from(bytes));
        let rest = u64::from(bytes.saturating_sub(2));
        from.by_ref().take(rest).read_to_end(&mut record)?;
        let Some(process) = whole(&record, rest as usize, &next) else {
            found.torn_at_byte = Some(at);
            // The processes would wait for room in a pipe.
            io::copy(&mut from, &mut io::sink())?;
            return Ok(found);
        };
        next[process] += 1;
        found.records += 1;
        found.switches += u64::from(last.is_some_and(|last| last != process));
        last = Some(process);
        at += u64::from(bytes);
    }
}

/// The process of a record without its length, if it is the next one of that process and whole.
fn whole(record: &[u8], bytes: usize, next: &[u64]) -> Option<usize> {
    let (&process, behind) = record.split_first()?;
    let (number, payload) = behind.split_first_chunk()?;
    let number = u64::from_le_bytes(*number);
    let expected = payload_of(u64::from(process), number, payload.len());
    let is_whole = record.len() == bytes
        && next.get(usize::from(process)) == Some(&number)
        && expected.eq(payload.iter().copied());
    is_whole.then_some(usize::from(process))
}
