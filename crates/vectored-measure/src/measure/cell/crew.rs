//! Several writers: threads that write the same list at the same time, to one target or each to its own.

use std::borrow::Cow;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use vectored::CostModel;
use vectored_machine::platform::fd::{AsFd, OwnedFd};
use vectored_machine::{Clock, MonotonicClock};
use vectored_results::model::{Layout, TechniqueName};
use vectored_results::stats::WriterSamples;

use crate::measure::cell::gate::Gate;
use crate::measure::cell::step::{Ends, Step, Turn};
use crate::measure::cell::writing::Writing;
use crate::measure::sampler::cell_extras::{CellExtras, entry};
use crate::measure::sampler::cold_pool::PoolMemory;
use crate::measure::sampler::interface::{Contender, Timing};
use crate::measure::sampler::meter::Meter;
use crate::measure::sampler::payload::{ALIGNMENT, Payload};
use crate::measure::sampler::payload_supply::Supply;
use crate::measure::targets::stay_on;
use crate::measure::techniques::write_mover::Mover;

/// Duration of a sample. It is longer than a sample of one writer, so that the threads' waits for a CPU are a small part
/// of it.
pub(crate) const SAMPLE_NS: u64 = 300_000;

/// Interval at which missing reports are looked into.
const PATIENCE: Duration = Duration::from_millis(100);

/// Makes the mover of a contender, in each writer for itself: [`movers`](crate::measure::movers) or like it.
pub type WriterMovers = fn(Contender, &CostModel) -> Box<dyn Mover>;

/// What each writer gets. Their lists have the same bytes, since the seed is the same.
#[derive(Clone)]
pub(crate) struct WriterSetup {
    pub sizes: Vec<usize>,
    pub layout: Layout,
    pub seed: u64,
    pub contenders: Vec<Contender>,
    pub make_movers: WriterMovers,
    /// The costs that `adaptive` works with.
    pub model: CostModel,
}

impl WriterSetup {
    fn payload(&self) -> Payload {
        Payload::new(&self.sizes, self.layout, ALIGNMENT, self.seed)
    }

    fn writing(&self) -> Writing {
        let mover =
            |contender: &Contender| (*contender, (self.make_movers)(*contender, &self.model));
        Writing {
            supply: Supply::Hot(self.payload()),
            movers: self.contenders.iter().map(mover).collect(),
        }
    }
}

/// All writers of a cell, which carry out one order at a time. They end when this is dropped.
pub(crate) struct Crew {
    gate: Arc<Gate>,
    orders: Vec<Sender<Order>>,
    reports: Receiver<(usize, io::Result<Span>)>,
    threads: Vec<JoinHandle<()>>,
    /// The list that each writer has.
    payload: Payload,
    /// How often it was moved to other places.
    layouts: u32,
    samples: Vec<(TechniqueName, WriterSamples)>,
}

/// A batch, for a writer that has moved its list as often as this.
type Order = (Turn, u32);

/// When a writer wrote, by the clock that all threads share.
#[derive(Clone, Copy, Debug)]
struct Span {
    began_ns: u64,
    ended_ns: u64,
    /// CPU time of the writer.
    cpu_ns: u64,
}

impl Crew {
    /// Starts a thread for each of `targets`, in turn on each of `cpus` (anywhere if there are none).
    pub fn start(setup: &WriterSetup, targets: Vec<OwnedFd>, cpus: &[usize]) -> io::Result<Self> {
        let gate = Arc::new(Gate::new(targets.len() as u32));
        let (outgoing, reports) = channel();
        let mut crew = Crew {
            gate: Arc::clone(&gate),
            orders: Vec::new(),
            reports,
            threads: Vec::new(),
            payload: setup.payload(),
            layouts: 0,
            samples: Vec::new(),
        };
        for (index, target) in targets.into_iter().enumerate() {
            let (orders, incoming) = channel::<Order>();
            let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
            let (setup, gate, outgoing) = (setup.clone(), Arc::clone(&gate), outgoing.clone());
            let thread = std::thread::Builder::new()
                .name(format!("writer {index}"))
                .spawn(move || {
                    stay_on(cpu);
                    let mut writing = setup.writing();
                    let mut layouts = 0;
                    while let Ok((turn, needed)) = incoming.recv() {
                        while layouts < needed {
                            writing.lay_out();
                            layouts += 1;
                        }
                        let report = write(&mut writing, &turn, &target, &gate);
                        if outgoing.send((index, report)).is_err() {
                            return;
                        }
                    }
                })?;
            crew.orders.push(orders);
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    /// Has each writer make the calls; they start together. The spans are in the order of the writers.
    fn spans(&self, turn: &Turn) -> io::Result<Vec<Span>> {
        for orders in &self.orders {
            // A thread that has ended is noticed below.
            let _ = orders.send((*turn, self.layouts));
        }
        let mut spans = vec![None; self.threads.len()];
        let mut failure = None;
        for _ in 0..self.threads.len() {
            match self.report()? {
                (writer, Ok(span)) => spans[writer] = Some(span),
                // Writers that waited for the failed one report an interruption.
                (_, Err(error))
                    if error.kind() == io::ErrorKind::Interrupted && failure.is_some() => {}
                (_, Err(error)) => failure = Some(error),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(spans.into_iter().flatten().collect()),
        }
    }

    /// The next report, with the number of the writer.
    fn report(&self) -> io::Result<(usize, io::Result<Span>)> {
        loop {
            match self.reports.recv_timeout(PATIENCE) {
                Ok(report) => return Ok(report),
                Err(RecvTimeoutError::Timeout)
                    if !self.threads.iter().any(JoinHandle::is_finished) => {}
                Err(_) => {
                    self.gate.break_open();
                    return Err(io::Error::other("a writer thread ended unexpectedly"));
                }
            }
        }
    }
}

impl Step for Crew {
    fn prepare(&mut self, turn: &Turn) -> io::Result<()> {
        self.payload.mark(turn.mark);
        Ok(())
    }

    /// The elapsed time is that from the common start to the end of the last writer, the CPU time the mean of the writers.
    fn sample(&mut self, turn: &Turn, _ends: Ends<'_>, _meter: Meter<'_>) -> io::Result<Timing> {
        let spans = self.spans(turn)?;
        if let (Contender::Technique(technique), 1..) = (turn.contender, turn.round) {
            let samples = entry(&mut self.samples, technique);
            samples.record_ns.push(record_ns(&spans, turn.timed.calls));
        }
        Ok(timing(&spans))
    }

    fn sent(&self, _turn: &Turn) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.payload.image())
    }

    fn lay_out(&mut self) {
        self.payload.lay_out();
        self.layouts += 1;
    }

    fn close(mut self: Box<Self>, extras: &mut CellExtras) -> Option<PoolMemory> {
        extras.writers = std::mem::take(&mut self.samples);
        None
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.gate.break_open();
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // A panic of a writer has been reported as a missing answer.
            let _ = thread.join();
        }
    }
}

/// Prepares the list, waits for the other writers at the gate, and writes.
fn write(writing: &mut Writing, turn: &Turn, target: &OwnedFd, gate: &Gate) -> io::Result<Span> {
    writing.prepare(turn)?;
    let clock = SpanClock::default();
    if !gate.wait() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let ends = (target.as_fd(), target.as_fd());
    let timing = writing.sample(turn, ends, Meter { clock: &clock })?;
    Ok(Span {
        began_ns: clock.began_ns.get().unwrap_or(0),
        ended_ns: clock.ended_ns.get(),
        cpu_ns: timing.cpu_ns,
    })
}

/// A clock that notes its first and its last reading.
#[derive(Default)]
struct SpanClock {
    began_ns: Cell<Option<u64>>,
    ended_ns: Cell<u64>,
}

impl Clock for SpanClock {
    fn now_ns(&self) -> u64 {
        let now_ns = MonotonicClock.now_ns();
        if self.began_ns.get().is_none() {
            self.began_ns.set(Some(now_ns));
        }
        self.ended_ns.set(now_ns);
        now_ns
    }

    fn thread_cpu_ns(&self) -> u64 {
        MonotonicClock.thread_cpu_ns()
    }
}

/// The moment at which the first writer began: all were released by then.
fn start_ns(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.began_ns).min().unwrap_or(0)
}

fn timing(spans: &[Span]) -> Timing {
    let ended_ns = spans.iter().map(|span| span.ended_ns).max().unwrap_or(0);
    let cpu_ns: u64 = spans.iter().map(|span| span.cpu_ns).sum();
    Timing {
        elapsed_ns: ended_ns - start_ns(spans),
        cpu_ns: cpu_ns / (spans.len() as u64).max(1),
    }
}

/// The time of a record for each writer.
fn record_ns(spans: &[Span], calls: u32) -> Vec<f64> {
    let start_ns = start_ns(spans);
    let of = |span: &Span| {
        let ns = (span.ended_ns - start_ns) as f64 / f64::from(calls);
        // A coarse clock may measure 0; rates need a positive value.
        ((ns * 100.0).round() / 100.0).max(0.01)
    };
    spans.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(began_ns: u64, ended_ns: u64, cpu_ns: u64) -> Span {
        Span {
            began_ns,
            ended_ns,
            cpu_ns,
        }
    }

    #[test]
    fn a_sample_lasts_from_the_first_start_to_the_last_end() {
        let spans = [span(100, 300, 50), span(110, 500, 70)];
        let expected = Timing {
            elapsed_ns: 400,
            cpu_ns: 60,
        };
        assert_eq!(timing(&spans), expected);
        // The second writer waited 10 ns for its CPU, which counts.
        assert_eq!(record_ns(&spans, 4), [50.0, 100.0]);
    }
}
