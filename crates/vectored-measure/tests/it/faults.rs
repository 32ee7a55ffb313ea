//! Techniques that move wrong bytes, and what catches them.

use std::io;
use std::os::fd::BorrowedFd;

use vectored::files::AlignedBuffer;
use vectored_measure::measure::{MeasureError, Mover, Outcome, ReadMover, RunError};
use vectored_results::model::TechniqueName;

/// The fault of a wrong technique.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A read reads one byte too many, and misses one.
    ByteDropped,
    /// A read reads one byte too few, and has one twice.
    ByteDoubled,
    ByteChanged,
    /// A read swaps two bytes.
    BytesSwapped,
    SegmentsSwapped,
    /// A read reads all bytes, but does not copy those of one segment to it.
    SegmentDropped,
    /// A read reads a segment too much.
    SegmentDoubled,
    /// A read does not fill the last byte of the last segment.
    LastByteDropped,
    /// A write writes one byte too many, after all the right ones.
    Surplus,
    /// The first call, which is the proof, is right; all others are wrong.
    OnlyLater,
    /// A write is wrong only after 100 calls.
    OnlyMuchLater,
}

/// A technique with a fault.
pub struct Faulty {
    fault: Fault,
    calls: u32,
}

impl Faulty {
    pub fn new(fault: Fault) -> Self {
        Faulty { fault, calls: 0 }
    }

    /// Whether this call, which begins, is wrong by its number.
    fn is_late(&mut self) -> bool {
        self.calls += 1;
        match self.fault {
            Fault::OnlyLater => self.calls > 1,
            // The count starts over at each visit of the engine, and on a slow machine a sample has few calls.
            Fault::OnlyMuchLater => self.calls > 100,
            _ => false,
        }
    }
}

impl Mover for Faulty {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let mut list: Vec<Vec<u8>> = segments.iter().map(|segment| segment.to_vec()).collect();
        if self.is_late() {
            list.swap(0, 2);
        }
        match self.fault {
            Fault::ByteDropped => drop(list[1].pop()),
            Fault::ByteDoubled => {
                let last = *list[1].last().unwrap();
                list[1].push(last);
            }
            Fault::SegmentsSwapped => list.swap(1, 2),
            Fault::ByteChanged => list[2][9] ^= 1,
            Fault::SegmentDropped => drop(list.remove(2)),
            Fault::SegmentDoubled => list.insert(2, list[2].clone()),
            Fault::Surplus => list.push(vec![7]),
            Fault::OnlyLater | Fault::OnlyMuchLater => {}
            other => panic!("{other:?} is a fault of reads"),
        }
        let bytes = list.concat();
        let mut aligned = AlignedBuffer::zeroed(bytes.len(), 4096);
        aligned.copy_from_slice(&bytes);
        let mut rest = &aligned[..];
        while !rest.is_empty() {
            rest = &rest[rustix::io::write(fd, rest)?..];
        }
        Ok(())
    }
}

impl ReadMover for Faulty {
    fn prepare(&mut self, _segments: &[&mut [u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]) -> io::Result<()> {
        let total: usize = segments.iter().map(|segment| segment.len()).sum();
        let wanted = match self.fault {
            Fault::ByteDropped => total + 1,
            Fault::ByteDoubled => total - 1,
            Fault::SegmentDoubled => total + segments[2].len(),
            _ => total,
        };
        let mut bytes = AlignedBuffer::zeroed(total.max(wanted), 4096);
        let mut filled = 0;
        while filled < wanted {
            match rustix::io::read(fd, &mut bytes[filled..wanted])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        let first = segments[0].len();
        match self.fault {
            Fault::ByteDropped => bytes.copy_within(first + 1.., first),
            Fault::ByteDoubled => bytes.copy_within(first..total - 1, first + 1),
            Fault::ByteChanged => bytes[first + 9] ^= 1,
            // Two random bytes may be equal, fifty are not.
            Fault::BytesSwapped => bytes[first..first + 50].reverse(),
            _ => {}
        }
        if self.is_late() || self.fault == Fault::SegmentsSwapped {
            bytes[..2 * first].rotate_left(first);
        }
        let last = segments.len() - 1;
        let mut rest = &bytes[..];
        for (index, segment) in segments.iter_mut().enumerate() {
            let (head, tail) = rest.split_at(segment.len());
            rest = tail;
            let kept = match self.fault {
                Fault::SegmentDropped if index == 2 => head.len(),
                Fault::LastByteDropped if index == last => 1,
                _ => 0,
            };
            let filled = head.len() - kept;
            segment[..filled].copy_from_slice(&head[..filled]);
        }
        Ok(())
    }
}

/// Expects that a run ended because this technique moved wrong bytes.
pub fn assert_caught(outcome: Result<Outcome, RunError>, technique: TechniqueName, case: &str) {
    match outcome {
        Err(RunError {
            error: MeasureError::WrongBytes { contender, .. },
            ..
        }) => assert_eq!(contender, technique.as_str(), "{case}"),
        other => panic!("{case}: {other:?}"),
    }
}
