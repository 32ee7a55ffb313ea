//! An open read cell: its source, its segments, and the proof that the bytes
//! of the source arrived in them.

use std::io;

use vectored_machine::Clock;
use vectored_results::model::IovecSetup;
use vectored_results::stats::Latencies;

use crate::measure::cell::technique_latencies::{TechniqueLatencies, depth_of};
use crate::measure::sampler::interface::{Contender, MeasureError, Timing};
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::sampler::pattern::Pattern;
use crate::measure::sampler::payload::Payload;
use crate::measure::sources::read_source::Source;
use crate::measure::targets::{Batch, Mismatch};
use crate::measure::techniques::read_mover::ReadMover;

/// Attempts at a cold sample: one is repeated if its pages turn out to have been
/// in the page cache.
pub(crate) const MAX_TRIES: u32 = 8;

pub(crate) struct ReadCell {
    pub name: String,
    pub source: Box<dyn Source>,
    pub pattern: Pattern,
    /// The memory that is read into, one for each transfer in flight: segments, or
    /// one piece for the floor.
    pub buffers: Vec<Payload>,
    pub iovec_setup: IovecSetup,
    pub movers: Vec<(Contender, Box<dyn ReadMover>)>,
    pub call_bytes: u64,
    pub first: FirstCall,
    /// Offset of the techniques' working memory in its allocation in this round.
    pub start_bytes: usize,
    pub proof_calls: u64,
    /// Transfers that asynchronous techniques keep in flight.
    pub queue_depth: u32,
    /// Times of single transfers, if an asynchronous technique takes part.
    pub latencies: Option<TechniqueLatencies>,
    /// The round that has begun.
    pub round: u32,
    /// Directory and file system, for [`MeasureError::NotCold`].
    pub not_cold: (String, String),
}

/// The untimed call before a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FirstCall {
    /// The untimed call is in the batch of the timed calls.
    InBatch,
    /// So it is, although it may take as long as the sample: it fills the stream, so that the thread at the other end works.
    Filling,
    /// The untimed call is a batch of its own: the stream holds one call but not two, so it is filled or emptied in
    /// between.
    Separate,
    /// No untimed call: the sample shall find everything cold, or each call
    /// waits for a device.
    None,
}

/// A call of this time, in ns, warms nothing up that the call before it has not: it makes a sample by itself.
const LONG_CALL_NS: u64 = 75_000;

/// The longest call that may be made to fill a stream: eight times the capacity of a pipe.
const FILLING_BYTES: u64 = 512 << 10;

impl FirstCall {
    /// The untimed call of a stream that a thread empties. Longer calls fill it many times over by themselves.
    pub fn beside_a_thread(self, call_bytes: u64) -> FirstCall {
        match self {
            FirstCall::InBatch if call_bytes <= FILLING_BYTES => FirstCall::Filling,
            other => other,
        }
    }

    /// Whether an untimed call is in the batch of the timed calls.
    pub fn is_in_batch(self) -> bool {
        matches!(self, FirstCall::InBatch | FirstCall::Filling)
    }

    /// The untimed call of the next samples of a cell, after a sample of `calls` calls. A floor with long calls ends the untimed
    /// ones, of all contenders alike: they would take as long as the samples.
    pub fn after(self, contender: Contender, timing: Timing, calls: u32) -> FirstCall {
        let is_long = timing.elapsed_ns >= LONG_CALL_NS * u64::from(calls);
        match self {
            FirstCall::InBatch if is_long && contender == Contender::Floor => FirstCall::None,
            other => other,
        }
    }
}

impl ReadCell {
    /// Makes one call of each contender and compares its bytes.
    pub fn prove(&mut self, clock: &dyn Clock) -> Result<(), MeasureError> {
        for index in 0..self.movers.len() {
            let contender = self.movers[index].0;
            self.batch(contender, Timed::calls(1), clock, None)?;
            self.proof_calls += 1;
        }
        Ok(())
    }

    /// Times `calls` calls of a contender and checks their bytes.
    pub fn sample(
        &mut self,
        contender: Contender,
        calls: u32,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        if self.first == FirstCall::Separate {
            self.batch(contender, Timed::calls(1), clock, None)?;
        }
        let timed = Timed {
            calls,
            untimed_first: self.first.is_in_batch(),
            iovec_setup: self.iovec_setup,
            fsync: false,
            queue_depth: depth_of(contender, self.queue_depth),
        };
        let timing = self.batch(contender, timed, clock, None)?;
        self.first = self.first.after(contender, timing, calls);
        if let Some(mut all) = self.latencies.take() {
            let latencies = all.due(contender, self.round);
            if latencies.is_some() {
                self.batch(contender, timed, clock, latencies)?;
            }
            self.latencies = Some(all);
        }
        Ok(timing)
    }

    /// Reads a batch, for the time of each call if there are `latencies`, and checks it.
    fn batch(
        &mut self,
        contender: Contender,
        timed: Timed,
        clock: &dyn Clock,
        mut latencies: Option<&mut Latencies>,
    ) -> Result<Timing, MeasureError> {
        for _ in 0..MAX_TRIES {
            let latencies = latencies.as_deref_mut();
            match self.attempt(contender, timed, Meter { clock, latencies }) {
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
        meter: Meter<'_>,
    ) -> Result<Timing, Failed> {
        let batch = Batch {
            calls: timed.all_calls(),
            call_bytes: self.call_bytes,
        };
        let first_call = self.source.aim(batch);
        let pattern = self.pattern;
        let mut expected = vec![0; batch.call_bytes as usize];
        let mut expect = |call: u32| {
            let at = first_call + u64::from(call) * batch.call_bytes;
            pattern.fill(at, &mut expected);
            expected.clone()
        };
        let in_flight = self.buffers.iter_mut().take(timed.queue_depth as usize);
        let mut lists: Vec<Vec<&mut [u8]>> = in_flight
            .map(|buffer| match contender {
                Contender::Floor | Contender::FloorAgain => vec![buffer.image_mut()],
                Contender::Technique(_) => buffer.segments_mut(),
            })
            .collect();
        let last = expect(batch.calls - 1);
        for segments in &mut lists {
            poison(segments, &last);
        }
        let (_, mover) = self
            .movers
            .iter_mut()
            .find(|(which, _)| *which == contender)
            .expect("begin_cell named every contender that is sampled");
        mover.prepare(&lists[0], self.start_bytes);
        self.source.begin(batch).map_err(Failed::Filling)?;
        let sampled = mover.sample(self.source.fd(), &mut lists, timed, meter);
        let (timing, held) = sampled.map_err(Failed::Reading)?;
        self.source.finish(batch).map_err(Failed::Taking)?;
        for (segments, call) in std::iter::zip(&lists, held) {
            compare(segments, &expect(call)).map_err(Failed::Taking)?;
        }
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
                    wrong("it tried to read more bytes than were sent".to_owned())
                }
                _ => MeasureError::of_call(contender, &self.name, error),
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

/// The step in which a batch failed.
enum Failed {
    Filling(io::Error),
    Reading(io::Error),
    Taking(Mismatch),
}

/// Fills the segments so that every byte differs from the expected one.
fn poison(segments: &mut [&mut [u8]], expected: &[u8]) {
    let mut sent = expected.iter();
    for segment in segments {
        for (byte, sent) in std::iter::zip(segment.iter_mut(), &mut sent) {
            *byte = !sent;
        }
    }
}

/// Compares the segments with the bytes that the last call should have read.
/// Every call reads different bytes, so a skipped segment still holds those of
/// an earlier call.
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
    fn long_calls_of_the_floor_end_the_untimed_ones() {
        let after = |contender, calls: u32, call_ns: u64| {
            let elapsed_ns = u64::from(calls) * call_ns;
            let timing = Timing {
                elapsed_ns,
                cpu_ns: 0,
            };
            FirstCall::InBatch.after(contender, timing, calls)
        };
        assert_eq!(after(Contender::Floor, 1, 75_000), FirstCall::None);
        assert_eq!(after(Contender::Floor, 1, 74_999), FirstCall::InBatch);
        assert_eq!(after(Contender::Floor, 10, 20_000), FirstCall::InBatch);
        // A technique may be slower than the others.
        assert_eq!(after(Contender::FloorAgain, 1, 75_000), FirstCall::InBatch);
        let long = Timing {
            elapsed_ns: 75_000,
            cpu_ns: 0,
        };
        let filling = FirstCall::Filling.after(Contender::Floor, long, 1);
        assert_eq!(filling, FirstCall::Filling);
        let separate = FirstCall::Separate.after(Contender::Floor, Timing::default(), 1);
        assert_eq!(separate, FirstCall::Separate);
    }

    #[test]
    fn poison_differs_from_the_expected_bytes_everywhere() {
        let expected: Vec<u8> = (0..=255).collect();
        let (mut first, mut second) = (vec![0; 100], vec![0; 156]);
        let mut segments = [&mut first[..], &mut second[..]];
        poison(&mut segments, &expected);
        let filled = segments.concat();
        assert!(std::iter::zip(filled, expected).all(|(a, b)| a != b));
    }

    #[test]
    fn the_first_differing_byte_is_named() {
        let (mut first, mut second) = (*b"abc", *b"dxf");
        let outcome = compare(&[&mut first, &mut second], b"abcdef");
        let Err(Mismatch::Bytes(text)) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(text, "byte 1 of segment 1 differs in the last call");
    }
}
