//! A cell that reads, while it is open: its source, its segments, and the
//! proof that what was sent arrived in them.

use std::io;

use crate::measure::read::mover::ReadMover;
use crate::measure::read::read_source::Source;
use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::pattern::Pattern;
use crate::measure::sampling::payload::Payload;
use crate::measure::sampling::sampler::{Contender, MeasureError, Timing};
use crate::measure::targets::{Batch, Mismatch};
use crate::measure::write::mover::Timed;
use crate::model::IovecSetup;

/// How often a sample is repeated whose pages were in memory after all.
const MAX_TRIES: u32 = 8;

pub(crate) struct ReadCell {
    pub name: String,
    pub source: Box<dyn Source>,
    pub pattern: Pattern,
    /// Where the bytes arrive: scattered, or for the floor in one piece.
    pub landing: Payload,
    pub iovec_setup: IovecSetup,
    pub movers: Vec<(Contender, Box<dyn ReadMover>)>,
    pub call_bytes: u64,
    pub first: FirstCall,
    /// Where the working memory of techniques starts in this round.
    pub start_bytes: usize,
    pub proof_calls: u64,
    /// What is told when pages that were evicted are in memory.
    pub not_cold: (String, String),
}

/// The call before a sample that is not timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FirstCall {
    /// It goes right before the others.
    WithTheOthers,
    /// The stream holds one call but not two, so it is filled or emptied in
    /// between.
    Apart,
    /// There is none: the sample is to find everything cold, or each call is
    /// waited for at a device.
    None,
}

impl ReadCell {
    /// One call of each contender.
    pub fn prove(&mut self, clock: &dyn Clock) -> Result<(), MeasureError> {
        for index in 0..self.movers.len() {
            let contender = self.movers[index].0;
            self.batch(contender, ALONE, clock)?;
            self.proof_calls += 1;
        }
        Ok(())
    }

    pub fn sample(
        &mut self,
        contender: Contender,
        calls: u32,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        if self.first == FirstCall::Apart {
            self.batch(contender, ALONE, clock)?;
        }
        let timed = Timed {
            calls,
            untimed_first: self.first == FirstCall::WithTheOthers,
            iovec_setup: self.iovec_setup,
            fsync: false,
        };
        self.batch(contender, timed, clock)
    }

    fn batch(
        &mut self,
        contender: Contender,
        timed: Timed,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        for _ in 0..MAX_TRIES {
            match self.attempt(contender, timed, clock) {
                Err(Failed::Taking(Mismatch::NotCold)) => {}
                Ok(timing) => return Ok(timing),
                Err(failed) => return Err(self.explain(failed, contender)),
            }
        }
        Err(self.explain(Failed::Taking(Mismatch::NotCold), contender))
    }

    fn attempt(
        &mut self,
        contender: Contender,
        timed: Timed,
        clock: &dyn Clock,
    ) -> Result<Timing, Failed> {
        let batch = Batch {
            calls: timed.all_calls(),
            call_bytes: self.call_bytes,
        };
        let last_call = self.source.aim(batch) + batch.bytes() - batch.call_bytes;
        let mut expected = vec![0; batch.call_bytes as usize];
        self.pattern.fill(last_call, &mut expected);
        let mut segments = match contender {
            Contender::Floor | Contender::FloorAgain => vec![self.landing.image_mut()],
            Contender::Technique(_) => self.landing.segments_mut(),
        };
        poison(&mut segments, &expected);
        let (_, mover) = self
            .movers
            .iter_mut()
            .find(|(which, _)| *which == contender)
            .expect("the engine samples what it announced");
        mover.prepare(&segments, self.start_bytes);
        self.source.begin(batch).map_err(Failed::Filling)?;
        let timing = mover
            .sample(self.source.fd(), &mut segments, timed, clock)
            .map_err(Failed::Reading)?;
        self.source.finish(batch).map_err(Failed::Taking)?;
        compare(&segments, &expected).map_err(Failed::Taking)?;
        Ok(timing)
    }

    fn explain(&self, failed: Failed, contender: Contender) -> MeasureError {
        let wrong = |difference| MeasureError::WrongBytes {
            contender: contender.to_string(),
            cell: self.name.clone(),
            difference,
        };
        match failed {
            Failed::Filling(error) if error.kind() == io::ErrorKind::WouldBlock => {
                MeasureError::DidNotFit
            }
            Failed::Filling(error) => MeasureError::io(format!("cannot fill {}", self.name))(error),
            Failed::Reading(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof => {
                    wrong("it asked for more bytes than were sent".to_owned())
                }
                _ => MeasureError::io(format!("{contender} failed on {}", self.name))(error),
            },
            Failed::Taking(Mismatch::Bytes(difference)) => wrong(difference),
            Failed::Taking(Mismatch::Io(error)) => {
                MeasureError::io(format!("cannot check {}", self.name))(error)
            }
            Failed::Taking(Mismatch::NotCold) => {
                let (directory, file_system) = self.not_cold.clone();
                MeasureError::NotCold {
                    directory,
                    file_system,
                }
            }
        }
    }
}

/// One call, as a proof or before a sample.
const ALONE: Timed = Timed {
    calls: 1,
    untimed_first: false,
    iovec_setup: IovecSetup::Timed,
    fsync: false,
};

/// Where a batch failed.
enum Failed {
    Filling(io::Error),
    Reading(io::Error),
    Taking(Mismatch),
}

/// Fills the segments with what must not be in them afterwards, in any byte.
fn poison(segments: &mut [&mut [u8]], expected: &[u8]) {
    let mut sent = expected.iter();
    for segment in segments {
        for (byte, sent) in std::iter::zip(segment.iter_mut(), &mut sent) {
            *byte = !sent;
        }
    }
}

/// Compares what lies in the segments with what the last call should have put
/// there. Every call has other bytes, so one that left out a segment has left
/// the bytes of an earlier one.
fn compare(segments: &[&mut [u8]], expected: &[u8]) -> Result<(), Mismatch> {
    let mut at = 0;
    for (index, segment) in segments.iter().enumerate() {
        let sent = &expected[at..at + segment.len()];
        if **segment != *sent {
            let within = std::iter::zip(segment.iter(), sent)
                .take_while(|(got, sent)| got == sent)
                .count();
            return Err(Mismatch::Bytes(format!(
                "byte {within} of segment {index} differs in the last call"
            )));
        }
        at += segment.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poison_leaves_no_byte_as_it_must_become() {
        let expected: Vec<u8> = (0..=255).collect();
        let (mut first, mut second) = (vec![0; 100], vec![0; 156]);
        let mut segments = [&mut first[..], &mut second[..]];
        poison(&mut segments, &expected);
        let filled = segments.concat();
        assert!(std::iter::zip(filled, expected).all(|(a, b)| a != b));
    }

    #[test]
    fn the_first_other_byte_is_named() {
        let (mut first, mut second) = (*b"abc", *b"dxf");
        let outcome = compare(&[&mut first, &mut second], b"abcdef");
        let Err(Mismatch::Bytes(text)) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(text, "byte 1 of segment 1 differs in the last call");
    }
}
