//! Calls as programs make them: with work in between, or with `lseek(2)` before each call.

use std::io;
use std::time::{Duration, Instant};

use vectored::CostModel;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{SeekFrom, seek};

use crate::measure::prices::probes::Manner;
use crate::measure::sampler::interface::Contender;
use crate::measure::techniques::write_mover::Mover;
use crate::measure::techniques::{movers, write_all};

/// Duration of a program's work before it writes a piece: about as long as formatting a line of
/// numbers.
const WORK: Duration = Duration::from_micros(1);

/// Spins for [`WORK`].
pub(super) fn work() {
    let began = Instant::now();
    while began.elapsed() < WORK {}
}

/// The mover of a contender for a manner of calls.
pub(super) fn mover(manner: Manner, contender: Contender, model: &CostModel) -> Box<dyn Mover> {
    let is_floor = contender == Contender::Floor || contender == Contender::FloorAgain;
    match (manner, is_floor) {
        (Manner::Seeking { pieces }, true) => Box::new(WritePieces { pieces }),
        (Manner::Seeking { .. }, false) => Box::new(SeekThenWrite),
        _ => movers(contender, model),
    }
}

/// Writes the one segment of a floor in pieces.
struct WritePieces {
    pieces: usize,
}

impl Mover for WritePieces {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        for segment in segments {
            for piece in segment.chunks(segment.len().div_ceil(self.pieces)) {
                write_all(fd, piece)?;
            }
        }
        Ok(())
    }
}

/// `lseek` before each `write`. The file is opened for appending, so the position does not matter.
struct SeekThenWrite;

impl Mover for SeekThenWrite {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        for (index, segment) in segments.iter().enumerate() {
            seek(fd, SeekFrom::Start(index as u64))?;
            write_all(fd, segment)?;
        }
        Ok(())
    }
}
