//! An open cell of copies: its source, its target, and the proof that the bytes of the one arrived at the other.

use std::io;

use fastrand::Rng;
use vectored_machine::Clock;
use vectored_results::model::Drain;

use crate::measure::cell::read::{FirstCall, MAX_TRIES};
use crate::measure::cell::write::PROOF_EVERY;
use crate::measure::sampler::interface::{Contender, MAX_CALLS, MeasureError, Timing};
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::sampler::pattern::Pattern;
use crate::measure::sources::read_source::Source;
use crate::measure::targets::{Batch, DrainMode, Mismatch, Sink};
use crate::measure::techniques::copy_mover::CopyMover;

/// How the two ends of a copy are filled and emptied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// How the source is filled. `None`: it is a file.
    pub filled: Option<Drain>,
    /// How the target is emptied.
    pub emptied: DrainMode,
    /// Whether the page cache of the source is cold.
    pub is_cold: bool,
}

impl Ends {
    /// The threads that work at the ends, as the result names them.
    pub fn drain(self) -> Option<Drain> {
        match (self.filled, self.emptied) {
            (Some(Drain::WriterThread), DrainMode::Thread) => Some(Drain::BothThreads),
            (_, DrainMode::Thread) => Some(Drain::ReaderThread),
            (Some(Drain::WriterThread), _) => Some(Drain::WriterThread),
            (_, DrainMode::Peer) => Some(Drain::Peer),
            (_, DrainMode::BetweenSamples) => Some(Drain::BetweenSamples),
            (filled, DrainMode::NotNeeded) => filled,
        }
    }

    /// The untimed copy before samples of up to `max_calls` copies of `call_bytes`.
    pub fn first(self, max_calls: u32, call_bytes: u64) -> FirstCall {
        match self.drain() {
            _ if self.is_cold => FirstCall::None,
            Some(Drain::BetweenSamples) if max_calls == 1 => FirstCall::Separate,
            Some(Drain::BetweenSamples) | None => FirstCall::InBatch,
            Some(_) => FirstCall::InBatch.beside_a_thread(call_bytes),
        }
    }
}

pub(crate) struct CopyCell {
    pub name: String,
    pub source: Box<dyn Source>,
    pub sink: Box<dyn Sink>,
    pub pattern: Pattern,
    pub copiers: Vec<Copier>,
    pub call_bytes: usize,
    pub first: FirstCall,
    /// Offset of the techniques' working memory in its allocation in this round.
    pub start_bytes: usize,
    /// The bytes that shall arrive.
    pub image: Vec<u8>,
    pub proof_calls: u64,
    /// Directory and file system, for [`MeasureError::NotCold`].
    pub not_cold: (String, String),
}

/// A contender with its technique and the number of its samples so far.
pub(crate) struct Copier {
    pub contender: Contender,
    pub mover: Box<dyn CopyMover>,
    pub samples: u32,
}

impl CopyCell {
    /// Returns how many copies, up to `most`, fit into a target that is emptied between samples: the minimum over all
    /// contenders.
    pub fn probe(&mut self, most: u32, rng: &mut Rng) -> Result<u32, MeasureError> {
        let mut fewest = most.min(MAX_CALLS + 1);
        for index in 0..self.copiers.len() {
            let fitting = self.fitting(index, fewest);
            fewest = fitting.map_err(|failed| self.explain(failed, index))?;
            // Bytes of copies that did not fit may be left at both ends.
            let emptied = self.sink.discard();
            emptied
                .and_then(|()| self.source.lay_out(rng))
                .map_err(MeasureError::io(format!("cannot empty {}", self.name)))?;
            if fewest == 0 {
                break;
            }
        }
        Ok(fewest)
    }

    fn fitting(&mut self, index: usize, most: u32) -> Result<u32, Failed> {
        let batch = self.batch_of(most);
        self.source.aim(batch);
        let mover = &mut self.copiers[index].mover;
        mover.prepare(self.start_bytes).map_err(Failed::Copying)?;
        self.source.begin(batch).map_err(Failed::Filling)?;
        for fitting in 0..most {
            match mover.call(self.source.fd(), self.sink.fd(), self.call_bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(fitting),
                Err(error) => return Err(Failed::Copying(error)),
            }
            let bytes = u64::from(fitting + 1) * batch.call_bytes;
            let holds = self.sink.holds(bytes);
            if !holds.map_err(|error| Failed::Arriving(error.into()))? {
                return Ok(fitting);
            }
        }
        Ok(most)
    }

    fn batch_of(&self, calls: u32) -> Batch {
        Batch {
            calls,
            call_bytes: self.call_bytes as u64,
        }
    }

    /// Makes one copy by each contender and compares every byte, if the target can be read back.
    pub fn prove(&mut self, clock: &dyn Clock) -> Result<(), MeasureError> {
        for index in 0..self.copiers.len() {
            let poisoned = self.sink.poison(self.batch_of(1));
            poisoned.map_err(MeasureError::io(format!("cannot prepare {}", self.name)))?;
            self.batch(index, Timed::calls(1), true, clock)?;
            self.proof_calls += u64::from(self.sink.can_prove());
        }
        Ok(())
    }

    /// Times `calls` copies of a contender and checks their bytes.
    pub fn sample(
        &mut self,
        contender: Contender,
        calls: u32,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        let mut copiers = self.copiers.iter();
        let index = copiers
            .position(|copier| copier.contender == contender)
            .expect("begin_cell named every contender that is sampled");
        let copier = &mut self.copiers[index];
        let proof = copier.samples.is_multiple_of(PROOF_EVERY);
        copier.samples += 1;
        if self.first == FirstCall::Separate {
            self.batch(index, Timed::calls(1), true, clock)?;
        }
        let timed = Timed {
            untimed_first: self.first.is_in_batch(),
            ..Timed::calls(calls)
        };
        let timing = self.batch(index, timed, proof, clock)?;
        self.first = self.first.after(contender, timing, calls);
        Ok(timing)
    }

    /// Makes a batch of copies and checks it, again if the page cache turns out not to have been cold.
    fn batch(
        &mut self,
        index: usize,
        timed: Timed,
        proof: bool,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        for _ in 1..MAX_TRIES {
            match self.attempt(index, timed, proof, clock) {
                Err(Failed::Arriving(Mismatch::NotCold)) => {}
                outcome => return outcome.map_err(|failed| self.explain(failed, index)),
            }
        }
        let last = self.attempt(index, timed, proof, clock);
        last.map_err(|failed| self.explain(failed, index))
    }

    fn attempt(
        &mut self,
        index: usize,
        timed: Timed,
        proof: bool,
        clock: &dyn Clock,
    ) -> Result<Timing, Failed> {
        let batch = self.batch_of(timed.all_calls());
        let position = self.source.aim(batch);
        let is_compared = proof && self.sink.can_prove();
        if is_compared {
            self.image.resize(batch.bytes() as usize, 0);
            self.pattern.fill(position, &mut self.image);
        }
        let mover = &mut self.copiers[index].mover;
        mover.prepare(self.start_bytes).map_err(Failed::Copying)?;
        self.sink.begin(batch).map_err(Failed::Filling)?;
        self.source.begin(batch).map_err(Failed::Filling)?;
        let ends = (self.source.fd(), self.sink.fd());
        let sampled = mover.sample(ends, self.call_bytes, timed, Meter::whole(clock));
        let timing = sampled.map_err(|error| Failed::Copying(self.sink.explain(error)))?;
        let taken = self.source.finish(batch);
        // It is removed, whatever was taken.
        let arrived = self
            .sink
            .finish(batch, is_compared.then_some(&self.image[..]));
        taken.and(arrived).map_err(Failed::Arriving)?;
        Ok(timing)
    }

    fn explain(&self, failed: Failed, index: usize) -> MeasureError {
        let contender = self.copiers[index].contender;
        let wrong = |difference| MeasureError::WrongBytes {
            contender: contender.to_string(),
            cell: self.name.clone(),
            difference,
        };
        match failed {
            // At a full target or an empty source. The engine restarts the cell with threads at both ends, where a
            // technique that takes too much meets the end of the source.
            Failed::Filling(error) | Failed::Copying(error)
                if error.kind() == io::ErrorKind::WouldBlock =>
            {
                MeasureError::DidNotFit
            }
            // The thread at the source has closed it, TCP by a reset.
            Failed::Copying(error)
                if [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset]
                    .contains(&error.kind()) =>
            {
                wrong("it tried to take more bytes than were sent".to_owned())
            }
            Failed::Filling(error) => MeasureError::io(format!("cannot fill {}", self.name))(error),
            Failed::Copying(error) => MeasureError::of_call(contender, &self.name, error),
            Failed::Arriving(Mismatch::Bytes(difference)) => wrong(difference),
            Failed::Arriving(Mismatch::Io(error)) => {
                MeasureError::io(format!("cannot check {}", self.name))(error)
            }
            Failed::Arriving(Mismatch::NotCold) => {
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
    Copying(io::Error),
    Arriving(Mismatch),
}
