//! Reads: each call fills the segments of a list.

use std::io;

use crate::measure::cell::step::{Ends, Movers, Step, Turn, mover};
use crate::measure::sampler::interface::{Contender, Timing};
use crate::measure::sampler::meter::Meter;
use crate::measure::sampler::pattern::Pattern;
use crate::measure::sampler::payload::Payload;
use crate::measure::targets::Mismatch;
use crate::measure::techniques::read_mover::ReadMover;

pub(crate) struct Reading {
    pub pattern: Pattern,
    pub call_bytes: usize,
    /// The memory that is read into, one for each transfer in flight.
    pub buffers: Vec<Payload>,
    pub movers: Movers<dyn ReadMover>,
    /// For each buffer the number of the last call that filled it in the last batch.
    pub held: Vec<u32>,
}

impl Reading {
    /// The buffers of a batch, as lists: segments, or one piece for the floor.
    fn lists<'a>(buffers: &'a mut [Payload], turn: &Turn) -> Vec<Vec<&'a mut [u8]>> {
        let in_flight = buffers.iter_mut().take(turn.timed.queue_depth as usize);
        let list = |buffer| match turn.contender {
            Contender::Floor | Contender::FloorAgain => vec![Payload::image_mut(buffer)],
            Contender::Technique(_) => Payload::segments_mut(buffer),
        };
        in_flight.map(list).collect()
    }

    /// The bytes that a call should read.
    fn expected(&self, turn: &Turn, call: u32) -> Vec<u8> {
        let mut expected = vec![0; self.call_bytes];
        let at = turn.position + u64::from(call) * self.call_bytes as u64;
        self.pattern.fill(at, &mut expected);
        expected
    }
}

impl Step for Reading {
    fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        let last = self.expected(turn, turn.timed.all_calls() - 1);
        let mut lists = Reading::lists(&mut self.buffers, turn);
        for segments in &mut lists {
            poison(segments, &last);
        }
        mover(&mut self.movers, turn.contender).prepare(&lists[0], turn.start_bytes);
        Ok(())
    }

    fn sample(&mut self, turn: &Turn, (from, _): Ends<'_>, meter: Meter<'_>) -> io::Result<Timing> {
        let mut lists = Reading::lists(&mut self.buffers, turn);
        let mover = mover(&mut self.movers, turn.contender);
        let (timing, held) = mover.sample(from, &mut lists, turn.timed, meter)?;
        self.held = held;
        Ok(timing)
    }

    fn check_memory(&self, turn: &Turn) -> Result<(), Mismatch> {
        for (buffer, call) in std::iter::zip(&self.buffers, &self.held) {
            let segments = match turn.contender {
                Contender::Floor | Contender::FloorAgain => vec![buffer.image()],
                Contender::Technique(_) => buffer.segments(),
            };
            compare(&segments, &self.expected(turn, *call))?;
        }
        Ok(())
    }

    fn lay_out(&mut self) {
        self.buffers.iter_mut().for_each(Payload::lay_out);
    }
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

/// Compares the segments with the bytes that the last call should have read. Every call reads different bytes, so a skipped
/// segment still holds the bytes of an earlier call.
fn compare(segments: &[&[u8]], expected: &[u8]) -> Result<(), Mismatch> {
    let mut at = 0;
    for (index, segment) in segments.iter().enumerate() {
        let sent = &expected[at..at + segment.len()];
        if *segment != sent {
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
    fn the_first_differing_byte_is_named() {
        let outcome = compare(&[b"abc", b"dxf"], b"abcdef");
        let Err(Mismatch::Bytes(text)) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(text, "byte 1 of segment 1 differs in the last call");
    }
}
