//! An open cell: the loop of its batches, the proof that their bytes arrived, and the words for what failed.

use std::io;

use fastrand::Rng;
use vectored_machine::Clock;
use vectored_results::model::{CellSpec, SyncMode};

use crate::measure::cell::first_call::FirstCall;
use crate::measure::cell::step::{Step, Turn};
use crate::measure::sampler::{Contender, MAX_CALLS, MeasureError, Timed, Timing, aligned_start};
use crate::measure::targets::{Batch, End, Mismatch};
use crate::measure::techniques::depth_of;

/// Bytes sent through a stream with a reader thread before the stream is measured.
const AGE_BYTES: u64 = 32 << 20;

const AGE_NS: u64 = 100_000_000;

/// Approximate size of the batches in which [`AGE_BYTES`] are sent.
const AGE_BATCH_BYTES: u64 = 1 << 20;

const PROOF_EVERY: u32 = 5;

/// Maximum number of attempts at a cold sample. An attempt is repeated if its pages were in the page cache.
const MAX_TRIES: u32 = 8;

pub(crate) struct OpenCell {
    pub name: String,
    pub step: Step,
    pub source: Option<Box<dyn End>>,
    pub sink: Option<Box<dyn End>>,
    pub contenders: Vec<(Contender, u32)>,
    pub call_bytes: u64,
    pub first: FirstCall,
    pub timed: Timed,
    /// Directory and file system, for [`MeasureError::not_cold`].
    pub not_cold: (String, String),
    pub round: u32,
    /// Techniques' working memory begins at multiples of this.
    pub alignment: usize,
    pub start_bytes: usize,
    pub batches: u64,
    pub proof_calls: u64,
}

enum Failed {
    Filling(io::Error),
    Moving(io::Error),
    Arriving(Mismatch),
}

pub(crate) fn settings(spec: &CellSpec) -> Timed {
    Timed {
        iovec_setup: spec.conditions.iovec_setup,
        fsync: spec.conditions.sync == SyncMode::Fsync,
        queue_depth: spec.conditions.queue_depth,
        ..Timed::calls(1)
    }
}

impl OpenCell {
    /// Returns how many calls, up to `most`, fit into the ends if nobody empties them meanwhile: the minimum over all
    /// contenders.
    pub fn probe(
        &mut self,
        most: u32,
        clock: &dyn Clock,
        rng: &mut Rng,
    ) -> Result<u32, MeasureError> {
        let mut fewest = most.min(MAX_CALLS + 1);
        for index in 0..self.contenders.len() {
            let (contender, _) = self.contenders[index];
            let fitting = self.fitting(contender, fewest, clock);
            fewest = fitting.map_err(|failed| self.explain(failed, contender))?;
            // Bytes of calls that did not fit may be left at both ends.
            let emptied = self.sink.iter_mut().try_for_each(|sink| sink.discard());
            let emptied = emptied.and_then(|()| match &mut self.source {
                Some(source) => source.lay_out(rng),
                None => Ok(()),
            });
            emptied.map_err(MeasureError::io(format!("cannot empty {}", self.name)))?;
            if fewest == 0 {
                break;
            }
        }
        Ok(fewest)
    }

    fn fitting(
        &mut self,
        contender: Contender,
        most: u32,
        clock: &dyn Clock,
    ) -> Result<u32, Failed> {
        let filled = Batch::new(most, self.call_bytes);
        let turn = self.turn(contender, Timed::calls(1), 0, filled);
        self.step.prepare(&turn).map_err(Failed::Moving)?;
        if let Some(source) = &mut self.source {
            source.begin(filled).map_err(Failed::Filling)?;
        }
        for fitting in 0..most {
            match self.step_once(&turn, clock) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(fitting),
                Err(error) => return Err(Failed::Moving(error)),
            }
            let bytes = u64::from(fitting + 1) * self.call_bytes;
            if let Some(sink) = &mut self.sink
                && !sink.holds(bytes).map_err(Failed::Filling)?
            {
                return Ok(fitting);
            }
        }
        Ok(most)
    }

    /// Sends bytes through a new stream until it behaves like a stream in use.
    ///
    /// If one CPU fills pages and another CPU frees them, the pages spread over memory with time: a reused page is no
    /// longer cached. Calls to a pipe that a thread reads take a third longer after about the first 10 MiB.
    ///
    /// On a busy machine, where each wait for the thread takes milliseconds, aging ends after [`AGE_NS`].
    pub fn age(&mut self, clock: &dyn Clock) -> Result<(), MeasureError> {
        let end_ns = clock.now_ns() + AGE_NS;
        let calls = (AGE_BATCH_BYTES / self.call_bytes).clamp(1, MAX_CALLS.into());
        for _ in 0..AGE_BYTES.div_ceil(calls * self.call_bytes) {
            if clock.now_ns() >= end_ns {
                break;
            }
            let timed = Timed::calls(calls as u32);
            self.batch((Contender::Floor, timed, 0), false, clock)?;
        }
        Ok(())
    }

    pub fn prove(&mut self, clock: &dyn Clock) -> Result<(), MeasureError> {
        for index in 0..self.contenders.len() {
            let (contender, _) = self.contenders[index];
            let batch = Batch::new(1, self.call_bytes);
            if let Some(sink) = &mut self.sink {
                let cannot = MeasureError::io(format!("cannot prepare {}", self.name));
                sink.poison(batch).map_err(cannot)?;
            }
            self.batch((contender, Timed::calls(1), 0), true, clock)?;
            // Reads are compared in memory.
            let is_proved = self.sink.as_ref().is_none_or(|sink| sink.can_prove());
            self.proof_calls += u64::from(is_proved);
        }
        Ok(())
    }

    pub fn sample(
        &mut self,
        contender: Contender,
        calls: u32,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        let index = self.place(contender);
        let samples = &mut self.contenders[index].1;
        let proof = samples.is_multiple_of(PROOF_EVERY);
        *samples += 1;
        if self.first == FirstCall::Separate {
            self.batch((contender, Timed::calls(1), 0), true, clock)?;
        }
        let timed = Timed {
            calls,
            untimed_first: self.first.is_in_batch(),
            queue_depth: depth_of(contender, self.timed.queue_depth),
            ..self.timed
        };
        let timing = self.batch((contender, timed, self.round), proof, clock)?;
        self.first = self.first.after(contender, timing, calls);
        Ok(timing)
    }

    pub fn lay_out(&mut self, round: u32, rng: &mut Rng) -> Result<(), MeasureError> {
        (self.round, self.start_bytes) = (round, aligned_start(rng, self.alignment));
        self.step.lay_out();
        let mut ends = self.source.iter_mut().chain(&mut self.sink);
        let outcome = ends.try_for_each(|end| end.lay_out(rng));
        outcome.map_err(MeasureError::io(format!("cannot reopen {}", self.name)))
    }

    fn batch(
        &mut self,
        batch: (Contender, Timed, u32),
        proof: bool,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        let mut tries = 1..MAX_TRIES;
        loop {
            match self.attempt(batch, proof, clock) {
                Err(Failed::Arriving(Mismatch::NotCold)) if tries.next().is_some() => {}
                outcome => return outcome.map_err(|failed| self.explain(failed, batch.0)),
            }
        }
    }

    fn attempt(
        &mut self,
        (contender, timed, round): (Contender, Timed, u32),
        proof: bool,
        clock: &dyn Clock,
    ) -> Result<Timing, Failed> {
        let batch = Batch::new(timed.all_calls(), self.call_bytes);
        let turn = self.turn(contender, timed, round, batch);
        self.step.prepare(&turn).map_err(Failed::Moving)?;
        let mut ends = self.sink.iter_mut().chain(&mut self.source);
        ends.try_for_each(|end| end.begin(batch))
            .map_err(Failed::Filling)?;
        let timing = self.step_once(&turn, clock).map_err(Failed::Moving)?;
        let mut outcome = match &mut self.source {
            Some(source) => source.finish(batch, None),
            None => Ok(()),
        };
        let is_compared = proof && self.sink.as_ref().is_some_and(|sink| sink.can_prove());
        let image = is_compared.then(|| self.step.sent(&turn));
        if let Some(sink) = &mut self.sink {
            // The sink is emptied even if the source has failed.
            let arrived = sink.finish(batch, image.as_deref());
            outcome = outcome.and(arrived);
        }
        outcome
            .and_then(|()| self.step.check_memory(&turn))
            .map_err(Failed::Arriving)?;
        Ok(timing)
    }

    fn step_once(&mut self, turn: &Turn, clock: &dyn Clock) -> io::Result<Timing> {
        let from = self.source.as_ref().map(|source| source.fd());
        let to = self.sink.as_ref().map(|sink| sink.fd());
        let ends = from.or(to).zip(to.or(from));
        let ends = ends.expect("a cell has an end");
        let moved = self.step.sample(turn, ends, clock);
        moved.map_err(|error| match &self.sink {
            Some(sink) => sink.explain(error),
            None => error,
        })
    }

    fn turn(&mut self, contender: Contender, timed: Timed, round: u32, filled: Batch) -> Turn {
        self.batches += 1;
        // The mark differs for each batch, contender and round.
        let place = self.place(contender);
        let number = place as u64 + 1;
        let batches = self.batches.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Turn {
            contender,
            place,
            timed,
            position: self.source.as_mut().map_or(0, |source| source.aim(filled)),
            mark: (number << 56) ^ (u64::from(round) << 24) ^ batches,
            start_bytes: self.start_bytes,
        }
    }

    fn place(&self, contender: Contender) -> usize {
        let mut contenders = self.contenders.iter();
        contenders
            .position(|(known, _)| *known == contender)
            .expect("begin_cell named every contender that is sampled")
    }

    fn explain(&self, failed: Failed, contender: Contender) -> MeasureError {
        use io::ErrorKind::{ConnectionReset, UnexpectedEof, WouldBlock};
        let wrong = |difference| MeasureError::WrongBytes {
            contender: contender.to_string(),
            cell: self.name.clone(),
            difference,
        };
        let is_read = self.sink.is_none();
        match failed {
            // The target is full, or the source is empty. The engine restarts the cell with threads at its ends. There a
            // technique that takes too much meets the end of the source.
            Failed::Filling(error) if error.kind() == WouldBlock => MeasureError::DidNotFit,
            Failed::Moving(error) if error.kind() == WouldBlock && !is_read => {
                MeasureError::DidNotFit
            }
            // The thread at the source has closed the source; TCP closes by a reset.
            Failed::Moving(error)
                if self.source.is_some()
                    && [WouldBlock, UnexpectedEof, ConnectionReset].contains(&error.kind()) =>
            {
                wrong("it tried to take more bytes than were sent".to_owned())
            }
            Failed::Filling(error) => MeasureError::io(format!("cannot fill {}", self.name))(error),
            Failed::Moving(error) => MeasureError::of_call(contender, &self.name, error),
            Failed::Arriving(Mismatch::Bytes(difference)) => wrong(difference),
            Failed::Arriving(Mismatch::Io(error)) => {
                MeasureError::io(format!("cannot check {}", self.name))(error)
            }
            Failed::Arriving(Mismatch::NotCold) => {
                MeasureError::not_cold(&self.not_cold.0, &self.not_cold.1)
            }
        }
    }
}
