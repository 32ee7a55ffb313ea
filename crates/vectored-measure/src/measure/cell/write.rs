//! An open write cell: its target, its segments, and the proof that they
//! arrived.

use std::io;

use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_results::model::{IovecSetup, TechniqueName, ZerocopyCounts};

use crate::measure::cell::read::FirstCall;
use crate::measure::cell::technique_latencies::{TechniqueLatencies, depth_of};
use crate::measure::sampler::interface::{Contender, MAX_CALLS, MeasureError, Timing};
use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::sampler::payload_supply::Supply;
use crate::measure::targets::{Batch, Mismatch, Sink};
use crate::measure::techniques::write_mover::Mover;

/// Bytes sent through a stream with a reader thread before it is measured.
const AGE_BYTES: u64 = 32 << 20;

/// The longest time for that.
const AGE_NS: u64 = 100_000_000;

/// Approximate size of the batches in which [`AGE_BYTES`] are sent.
const AGE_BATCH_BYTES: u64 = 1 << 20;

/// Of the samples of a technique, the first after the cell is opened and then one
/// in this many is compared.
pub(crate) const PROOF_EVERY: u32 = 5;

pub(crate) struct WriteCell {
    pub name: String,
    pub sink: Box<dyn Sink>,
    pub supply: Supply,
    pub iovec_setup: IovecSetup,
    /// Whether each call ends with an `fsync(2)`.
    pub fsync: bool,
    pub movers: Vec<Participant>,
    pub call_bytes: u64,
    /// The untimed call before each sample.
    pub first: FirstCall,
    /// Offset of the techniques' working memory in its allocation in this round.
    pub start_bytes: usize,
    pub round: u32,
    pub batches: u64,
    pub proof_calls: u64,
    /// Transfers that asynchronous techniques keep in flight.
    pub queue_depth: u32,
    /// Times of single transfers, if an asynchronous technique takes part.
    pub latencies: Option<TechniqueLatencies>,
}

impl WriteCell {
    /// Returns how many calls fit into the target: the minimum over all
    /// contenders.
    pub fn probe(&mut self) -> Result<u32, MeasureError> {
        let mut fewest = MAX_CALLS + 1;
        for Participant {
            contender, mover, ..
        } in &mut self.movers
        {
            self.supply.draw(*contender, 1, 0);
            let lists = self.supply.lists(*contender);
            mover.prepare(lists.first(), self.start_bytes);
            let mut fitting = 0;
            while fitting < fewest {
                match mover.call(self.sink.fd(), lists.first()) {
                    Ok(()) => {
                        let bytes = u64::from(fitting + 1) * self.call_bytes;
                        let cannot = MeasureError::io(format!("cannot fill {}", self.name));
                        if self.sink.holds(bytes).map_err(cannot)? {
                            fitting += 1;
                        } else {
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(failed(*contender, &self.name)(error)),
                }
            }
            self.sink
                .discard()
                .map_err(MeasureError::io(format!("cannot empty {}", self.name)))?;
            fewest = fitting;
        }
        Ok(fewest)
    }

    /// Sends bytes through a new stream until it behaves like one in use.
    ///
    /// Pages that one CPU fills and another frees spread over memory with time,
    /// and are no longer cached when they are reused. Calls to a pipe that a
    /// thread reads take a third longer after about the first 10 MiB.
    ///
    /// On a busy machine, where each wait for the thread takes milliseconds, it ends after [`AGE_NS`].
    pub fn age(&mut self, clock: &dyn Clock) -> Result<(), MeasureError> {
        let end_ns = clock.now_ns() + AGE_NS;
        let calls = (AGE_BATCH_BYTES / self.call_bytes).clamp(1, MAX_CALLS.into());
        let batch = Batch {
            calls: calls as u32,
            call_bytes: self.call_bytes,
        };
        let mover = &mut find(&mut self.movers, Contender::Floor).mover;
        let cannot = || failed(Contender::Floor, &self.name);
        for part in 0..AGE_BYTES.div_ceil(batch.bytes()) {
            if clock.now_ns() >= end_ns {
                break;
            }
            self.supply.draw(Contender::Floor, batch.calls, part);
            let lists = self.supply.lists(Contender::Floor);
            mover.prepare(lists.first(), self.start_bytes);
            self.sink.begin(batch).map_err(cannot())?;
            let mut turns = lists.in_turn();
            for _ in 0..calls {
                mover
                    .call(self.sink.fd(), turns.next())
                    .map_err(|error| full_or(self.sink.explain(error), cannot()))?;
            }
            self.sink
                .finish(batch, None)
                .map_err(|mismatch| wrong(mismatch, Contender::Floor, &self.name))?;
        }
        Ok(())
    }

    /// A number that differs from that of every other contender, round and batch.
    fn mark(&self, contender: Contender, round: u32) -> u64 {
        let mut movers = self.movers.iter();
        let place = movers.position(|participant| participant.contender == contender);
        let number = place.map_or(0, |place| place as u64 + 1);
        (number << 56) ^ (u64::from(round) << 24) ^ self.batches.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Makes one call of each contender and compares every byte, if the target can be read back.
    pub fn prove_all(&mut self) -> Result<(), MeasureError> {
        for index in 0..self.movers.len() {
            self.prove(self.movers[index].contender)?;
        }
        Ok(())
    }

    fn prove(&mut self, contender: Contender) -> Result<(), MeasureError> {
        self.batches += 1;
        let mark = self.mark(contender, u32::MAX);
        self.supply.draw(contender, 1, mark);
        let lists = self.supply.lists(contender);
        let mover = &mut find(&mut self.movers, contender).mover;
        mover.prepare(lists.first(), self.start_bytes);
        let batch = Batch {
            calls: 1,
            call_bytes: self.call_bytes,
        };
        let cannot = || failed(contender, &self.name);
        self.sink
            .poison(batch)
            .and_then(|()| self.sink.begin(batch))
            .map_err(cannot())?;
        mover
            .call(self.sink.fd(), lists.first())
            .map_err(|error| full_or(self.sink.explain(error), cannot()))?;
        self.sink
            .finish(batch, Some(&self.supply.sent()))
            .map_err(|mismatch| wrong(mismatch, contender, &self.name))?;
        self.proof_calls += u64::from(self.sink.can_prove());
        Ok(())
    }

    /// Times `calls` calls of a contender and checks their bytes.
    pub fn sample(
        &mut self,
        contender: Contender,
        calls: u32,
        clock: &dyn Clock,
    ) -> Result<Timing, MeasureError> {
        let participant = find(&mut self.movers, contender);
        let proof = participant.samples.is_multiple_of(PROOF_EVERY);
        participant.samples += 1;
        if self.first == FirstCall::Separate {
            self.batch(contender, 1, true, |mover, fd, lists| {
                mover.call(fd, lists.first())
            })?;
        }
        let timed = Timed {
            calls,
            untimed_first: self.first.is_in_batch(),
            iovec_setup: self.iovec_setup,
            fsync: self.fsync,
            queue_depth: depth_of(contender, self.queue_depth),
        };
        let timing = self.batch(contender, timed.all_calls(), proof, |mover, fd, lists| {
            mover.sample(fd, lists, timed, Meter::whole(clock))
        })?;
        self.first = self.first.after(contender, timing, calls);
        if let Some(mut all) = self.latencies.take() {
            let latencies = all.due(contender, self.round);
            if latencies.is_some() {
                let meter = Meter { clock, latencies };
                self.batch(contender, timed.all_calls(), false, |mover, fd, lists| {
                    mover.sample(fd, lists, timed, meter)
                })?;
            }
            self.latencies = Some(all);
        }
        Ok(timing)
    }

    /// The numbers of sends without a copy since the last `take_zerocopy`.
    pub fn take_zerocopy(&mut self) -> Vec<(TechniqueName, ZerocopyCounts)> {
        let participants = self.movers.iter_mut();
        participants
            .filter_map(|one| match one.contender {
                Contender::Technique(technique) => Some((technique, one.mover.take_zerocopy()?)),
                Contender::Floor | Contender::FloorAgain => None,
            })
            .collect()
    }

    /// Sends a batch of calls, made by `send`, and checks it, with or without proof.
    fn batch<T>(
        &mut self,
        contender: Contender,
        calls: u32,
        proof: bool,
        send: impl FnOnce(&mut dyn Mover, BorrowedFd<'_>, &Lists<'_>) -> io::Result<T>,
    ) -> Result<T, MeasureError> {
        let batch = Batch {
            calls,
            call_bytes: self.call_bytes,
        };
        let cannot = || failed(contender, &self.name);
        self.batches += 1;
        let mark = self.mark(contender, self.round);
        self.supply.draw(contender, batch.calls, mark);
        let lists = self.supply.lists(contender);
        let mover = &mut find(&mut self.movers, contender).mover;
        mover.prepare(lists.first(), self.start_bytes);
        self.sink.begin(batch).map_err(cannot())?;
        let sent = send(&mut **mover, self.sink.fd(), &lists)
            .map_err(|error| full_or(self.sink.explain(error), cannot()))?;
        let image = proof.then(|| self.supply.sent());
        self.sink
            .finish(batch, image.as_deref())
            .map_err(|mismatch| wrong(mismatch, contender, &self.name))?;
        Ok(sent)
    }
}

/// A contender with its technique and the number of its samples so far.
pub(crate) struct Participant {
    pub contender: Contender,
    pub mover: Box<dyn Mover>,
    pub samples: u32,
}

fn find(participants: &mut [Participant], contender: Contender) -> &mut Participant {
    participants
        .iter_mut()
        .find(|participant| participant.contender == contender)
        .expect("begin_cell named every contender that is sampled")
}

fn failed(contender: Contender, cell: &str) -> impl FnOnce(io::Error) -> MeasureError {
    move |error| MeasureError::of_call(contender, cell, error)
}

/// Converts the error of a write. For a full non-blocking target it is
/// [`MeasureError::DidNotFit`], so that the engine restarts the cell.
fn full_or(error: io::Error, otherwise: impl FnOnce(io::Error) -> MeasureError) -> MeasureError {
    match error.kind() {
        io::ErrorKind::WouldBlock => MeasureError::DidNotFit,
        _ => otherwise(error),
    }
}

fn wrong(mismatch: Mismatch, contender: Contender, cell: &str) -> MeasureError {
    match mismatch {
        Mismatch::Io(error) => MeasureError::io(format!("cannot read back from {cell}"))(error),
        // Only targets of reads report this.
        Mismatch::NotCold => MeasureError::DidNotFit,
        Mismatch::Bytes(difference) => MeasureError::WrongBytes {
            contender: contender.to_string(),
            cell: cell.to_owned(),
            difference,
        },
    }
}
