//! Techniques that move wrong bytes, and what catches them.

use std::io;
use std::os::fd::BorrowedFd;

use vectored::files::AlignedBuffer;
use vectored_measure::measure::{CopyMover, MeasureError, Mover, Outcome, ReadMover, RunError};
use vectored_results::model::TechniqueName;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A read takes one byte too many, and misses one. A copy takes all bytes, and hands over one byte less.
    ByteDropped,
    /// A read takes one byte too few, and has one byte twice.
    ByteDoubled,
    /// A copy takes one byte less, and hands over all bytes taken.
    ByteLeft,
    /// A copy takes one byte too many, and hands over the right bytes.
    ByteTaken,
    ByteChanged,
    BytesSwapped,
    SegmentsSwapped,
    /// A read takes all bytes, but leaves one segment unfilled.
    SegmentDropped,
    /// A read takes a segment too much.
    SegmentDoubled,
    /// A read does not fill the last byte of the last segment.
    LastByteDropped,
    /// A write writes one byte too many, after all the right bytes.
    Surplus,
    /// The first call, which is the proof, is right; all others are wrong.
    OnlyLater,
    /// A write is wrong only after 20 calls.
    OnlyMuchLater,
}

use Fault::*;

pub const OF_WRITES: [Fault; 9] = [
    ByteDropped,
    ByteDoubled,
    SegmentsSwapped,
    ByteChanged,
    SegmentDropped,
    SegmentDoubled,
    Surplus,
    OnlyLater,
    OnlyMuchLater,
];

pub const OF_READS: [Fault; 8] = [
    ByteDropped,
    ByteDoubled,
    ByteChanged,
    BytesSwapped,
    SegmentsSwapped,
    SegmentDropped,
    LastByteDropped,
    OnlyLater,
];

pub const OF_COPIES: [Fault; 7] = [
    ByteChanged,
    BytesSwapped,
    ByteDropped,
    ByteLeft,
    ByteTaken,
    ByteDoubled,
    OnlyLater,
];

/// The faults with which transfers past the page cache are still aligned.
pub const ALIGNED: [Fault; 5] = [
    ByteChanged,
    SegmentsSwapped,
    SegmentDropped,
    SegmentDoubled,
    OnlyLater,
];

pub struct Faulty {
    fault: Fault,
    calls: u32,
}

impl Faulty {
    pub fn new(fault: Fault) -> Self {
        Faulty { fault, calls: 0 }
    }

    /// Counts a call that begins. Returns whether the call is wrong because of its number.
    fn is_late(&mut self) -> bool {
        self.calls += 1;
        match self.fault {
            OnlyLater => self.calls > 1,
            // The count starts over at each visit of the engine, and on a slow machine a sample has few calls.
            OnlyMuchLater => self.calls > 20,
            _ => false,
        }
    }
}

fn fill(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::read(fd, &mut bytes[filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(())
}

fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    let mut aligned = AlignedBuffer::zeroed(bytes.len(), 4096);
    aligned.copy_from_slice(bytes);
    let mut rest = &aligned[..];
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(fd, rest)?..];
    }
    Ok(())
}

impl Faulty {
    /// Makes the bytes of a call wrong. The first segment has `first` bytes, the second segment at least `first` bytes.
    fn spoil(&mut self, bytes: &mut Vec<u8>, first: usize) {
        match self.fault {
            ByteDropped => drop(bytes.remove(first)),
            ByteDoubled => bytes.insert(first, bytes[first]),
            ByteChanged => bytes[first + 9] ^= 1,
            // Two random bytes may be equal, fifty are not.
            BytesSwapped => bytes[first..first + 50].reverse(),
            _ => {}
        }
        if self.is_late() || self.fault == SegmentsSwapped {
            bytes[..2 * first].rotate_left(first);
        }
    }
}

impl Mover for Faulty {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut list = segments.to_vec();
        match self.fault {
            SegmentDropped => drop(list.remove(2)),
            SegmentDoubled => list.insert(2, list[2]),
            Surplus => list.push(&[7]),
            _ => {}
        }
        let mut bytes = list.concat();
        self.spoil(&mut bytes, segments[0].len());
        write(fd, &bytes)
    }
}

impl ReadMover for Faulty {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let total: usize = segments.iter().map(|segment| segment.len()).sum();
        let wanted = match self.fault {
            ByteDropped => total + 1,
            ByteDoubled => total - 1,
            SegmentDoubled => total + segments[2].len(),
            _ => total,
        };
        let mut aligned = AlignedBuffer::zeroed(wanted, 4096);
        fill(fd, &mut aligned)?;
        let mut bytes = aligned.to_vec();
        self.spoil(&mut bytes, segments[0].len());
        let last = segments.len() - 1;
        let mut rest = &bytes[..];
        for (index, segment) in segments.iter_mut().enumerate() {
            let (head, tail) = rest.split_at(segment.len());
            rest = tail;
            let kept = match self.fault {
                SegmentDropped if index == 2 => head.len(),
                LastByteDropped if index == last => 1,
                _ => 0,
            };
            let filled = head.len() - kept;
            segment[..filled].copy_from_slice(&head[..filled]);
        }
        Ok(())
    }
}

impl CopyMover for Faulty {
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        let wanted = match self.fault {
            ByteLeft => bytes - 1,
            ByteTaken => bytes + 1,
            _ => bytes,
        };
        let mut buffer = vec![0; wanted];
        fill(from, &mut buffer)?;
        if self.fault == ByteTaken {
            buffer.pop();
        }
        self.spoil(&mut buffer, 50);
        write(to, &buffer)
    }
}

pub fn assert_caught(outcome: Result<Outcome, RunError>, technique: TechniqueName, case: &str) {
    match outcome {
        Err(RunError {
            error: MeasureError::WrongBytes { contender, .. },
            ..
        }) => assert_eq!(contender, technique.as_str(), "{case}"),
        other => panic!("{case}: {other:?}"),
    }
}
