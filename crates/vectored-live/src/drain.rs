//! A thread that only empties the rings, so that the rings do not fill while events are analysed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::order::Pass;
use crate::record::{Kind, PYTHON_FRAMES, PYTHON_WORDS, Record, STACK_BYTES_MAX, Sample, Slot};
use crate::sys::Shared;

/// The number of words of `struct cpu`. `HEAD` to `SEEN`, except `RUN_WORDS`, are the places of fields.
pub(crate) const CPU_WORDS: usize = 200;
const HEAD: usize = 0;
const LOST: usize = 1;
const TOLD: usize = 2;
const FROM: usize = 4;
const TAIL: usize = 8;
const RUN: usize = 24;
const RUN_WORDS: usize = 16;
/// The fields `seen` and `begun`.
const SEEN: std::ops::Range<usize> = 40..CPU_WORDS;

/// The number of words of a sample.
pub(crate) const SAMPLE_WORDS: usize = STACK + STACK_BYTES_MAX / 8;
const STACK: usize = 10 + PYTHON_FRAMES * PYTHON_WORDS;
/// The number of samples that a CPU keeps.
pub(crate) const SAMPLES: usize = 256;

/// The record of a call is in the ring at the latest this long after the end of the call.
const SLACK_NS: u64 = 2_000_000;

/// Time after which an open run is sent: this thread moves to the CPU of the run, and the switch to this thread sends
/// the run.
const STALE_NS: u64 = 20_000_000;

/// Time between two passes. At two million calls a second, the records of this time stay in a cache.
const NAP: Duration = Duration::from_millis(8);

/// Time between two passes until [`BEGIN`] is over. Calls of CPython have no lines until the kernel knows where the
/// frames of CPython are.
const SHORT_NAP: Duration = Duration::from_millis(2);
/// How long the begin of the watch lasts.
const BEGIN: Duration = Duration::from_millis(200);

/// Bytes that may wait for the analysis. With more bytes the rings fill, and calls are lost.
const QUEUED_MAX: usize = 256 << 20;

pub(crate) struct Rings {
    pub(crate) ring: Shared,
    pub(crate) cpus: Shared,
    pub(crate) samples: Shared,
    pub(crate) count: usize,
    pub(crate) slots_log2: u32,
}

pub(crate) struct Drain {
    pub(crate) passes: Receiver<Pass>,
    told: Arc<Told>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Told {
    queued: AtomicUsize,
    stop: AtomicBool,
    again: AtomicBool,
}

impl Drain {
    pub(crate) fn start(rings: Rings) -> std::io::Result<Drain> {
        let (sender, passes) = channel();
        let told = Arc::new(Told::default());
        let own = Arc::clone(&told);
        let thread = Some(Builder::new().spawn(move || drain(&rings, &sender, &own))?);
        Ok(Drain {
            passes,
            told,
            thread,
        })
    }

    pub(crate) fn done(&self, pass_bytes: usize) {
        self.told.queued.fetch_sub(pass_bytes, Ordering::Relaxed);
    }

    /// Makes the programs take samples of all calls again. Called when the programs have learnt where frames are.
    pub(crate) fn sample_again(&self) {
        self.told.again.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stop(&mut self) {
        self.told.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the thread cannot panic");
        }
    }
}

/// With this niceness, a thread gets a tenth of the CPU time of a program that competes for the same CPU.
const NICENESS: i32 = 10;

/// Lowers the priority of the calling thread alone: `nice` of Linux acts on a thread.
pub(crate) fn give_way() {
    rustix::process::nice(NICENESS).expect("a thread may lower its priority");
}

fn drain(rings: &Rings, sender: &Sender<Pass>, told: &Told) {
    give_way();
    let everywhere = sched_getaffinity(None);
    let mut began = Instant::now();
    let mut last_ns = vec![0; rings.count];
    loop {
        let is_last = told.stop.load(Ordering::Acquire);
        if told.again.swap(false, Ordering::Relaxed) {
            rings.forget_seen();
        }
        if is_last || told.queued.load(Ordering::Relaxed) < QUEUED_MAX {
            let pass = rings.pass(is_last, &mut last_ns);
            if pass.has_begin {
                began = Instant::now();
            }
            told.queued.fetch_add(pass.bytes, Ordering::Relaxed);
            if sender.send(pass).is_err() {
                return;
            }
        }
        if is_last {
            return;
        }
        // The switch to this thread sends the run.
        let stale = now_ns().saturating_sub(STALE_NS);
        let stale = (0..rings.count)
            .filter(|&cpu| rings.open_since(cpu).is_some_and(|since| since < stale));
        for cpu in stale.collect::<Vec<_>>() {
            let mut only = CpuSet::new();
            only.set(cpu);
            // This process may be barred from the CPU.
            if sched_setaffinity(None, &only).is_ok()
                && let Ok(everywhere) = &everywhere
            {
                let _ = sched_setaffinity(None, everywhere);
            }
        }
        thread::sleep(if began.elapsed() < BEGIN { SHORT_NAP } else { NAP });
    }
}

pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Rings {
    fn field(&self, cpu: usize, field: usize) -> u64 {
        self.cpus.read(cpu * CPU_WORDS + field)
    }

    fn forget_seen(&self) {
        for cpu in 0..self.count {
            SEEN.for_each(|word| self.cpus.write(cpu * CPU_WORDS + word, 0));
        }
    }

    /// The end of the first call of an open run.
    fn open_since(&self, cpu: usize) -> Option<u64> {
        let calls = self.field(cpu, RUN + 5) & 0xffff;
        (calls > 0).then(|| self.field(cpu, RUN))
    }

    /// Empties all rings. The last pass also takes the open runs. `last_ns` has the end of the last record of each CPU.
    fn pass(&self, is_last: bool, last_ns: &mut [u64]) -> Pass {
        let now = now_ns();
        let mut pass = Pass {
            before_ns: now.saturating_sub(SLACK_NS),
            ..Pass::default()
        };
        for (cpu, last_ns) in last_ns.iter_mut().enumerate() {
            // Looked up before the ring is read, so that a run that is sent meanwhile is found in the ring.
            let open = self
                .open_since(cpu)
                .filter(|&since| now.saturating_sub(since) < 10 * STALE_NS);
            pass.before_ns = pass.before_ns.min(open.unwrap_or(u64::MAX));
            self.empty(cpu, &mut pass, last_ns);
            if is_last {
                pass.lost += self.field(cpu, LOST).wrapping_sub(self.field(cpu, TOLD));
                if let Some(since) = self.open_since(cpu) {
                    pass.records.push((since, pass.slots.len()));
                    self.open_run(cpu, &mut pass.slots);
                }
            }
        }
        let samples = pass.samples.values().map(Sample::bytes);
        pass.bytes = size_of::<Slot>() * pass.slots.capacity()
            + size_of::<(u64, usize)>() * pass.records.capacity()
            + samples.sum::<usize>();
        if is_last {
            pass.before_ns = u64::MAX;
        }
        pass
    }

    /// Moves the records of a ring into a pass.
    fn empty(&self, cpu: usize, pass: &mut Pass, last_ns: &mut u64) {
        let head = self.field(cpu, HEAD);
        // If `FROM` is beyond the head, there is nothing to read.
        let mut tail = self.field(cpu, TAIL).max(self.field(cpu, FROM));
        while tail < head {
            let at = pass.slots.len();
            let record = Record::read(&self.slot(cpu, tail));
            // The end of a gap is no earlier than the end of the record after the gap.
            *last_ns = record.end_ns.max(*last_ns);
            pass.records.push((*last_ns, at));
            pass.has_begin |= record.kind == Kind::Execute;
            if record.stack != 0
                && let Some(sample) = self.sample(cpu, record.stack)
            {
                pass.samples.insert(at, sample);
            }
            let next = tail + 1 + record.extension as u64;
            pass.slots.extend((tail..next).map(|at| self.slot(cpu, at)));
            tail = next;
        }
        self.cpus.write(cpu * CPU_WORDS + TAIL, head);
    }

    fn slot(&self, cpu: usize, at: u64) -> Slot {
        let mut slot = Slot::default();
        let place = (cpu << self.slots_log2) + (at as usize & ((1 << self.slots_log2) - 1));
        self.ring.copy(place * slot.len(), &mut slot);
        slot
    }

    /// A sample, unless it was overwritten.
    fn sample(&self, cpu: usize, number: u16) -> Option<Sample> {
        let at = (cpu * SAMPLES + (usize::from(number) - 1) % SAMPLES) * SAMPLE_WORDS;
        let is_it = || self.samples.read(at) == u64::from(number);
        if !is_it() {
            return None;
        }
        let sizes = self.samples.read(at + 9);
        let (frames, stack_bytes) = (sizes as u32 as usize, (sizes >> 32) as usize);
        let mut words = vec![0; STACK + stack_bytes.min(STACK_BYTES_MAX) / 8];
        self.samples.copy(at, &mut words);
        is_it().then(|| Sample {
            ip: words[1],
            sp: words[2],
            bp: words[3],
            kept: words[4..9].try_into().expect("five words"),
            python: words[10..]
                .chunks_exact(PYTHON_WORDS)
                .take(PYTHON_FRAMES.min(frames))
                .map(|frame| frame.try_into().expect("ten words"))
                .collect(),
            stack: words[STACK..].to_vec(),
        })
    }

    fn open_run(&self, cpu: usize, slots: &mut Vec<Slot>) {
        let mut words = [0; RUN_WORDS];
        self.cpus.copy(cpu * CPU_WORDS + RUN, &mut words);
        // The time from the run to the next record is unknown.
        words[3] &= !0xffff_ffff;
        for slot in words.chunks_exact(8) {
            slots.push(slot.try_into().expect("eight words"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    /// Rings of two CPUs with 8 slots each, which the test writes in place of the kernel.
    fn rings() -> Rings {
        let shared = |words: usize| {
            let memory = memfd_create("ring", MemfdFlags::CLOEXEC).unwrap();
            ftruncate(&memory, 8 * words as u64).unwrap();
            Shared::map(memory.as_fd(), words, true).unwrap()
        };
        Rings {
            ring: shared(2 * 8 * 8),
            cpus: shared(2 * CPU_WORDS),
            samples: shared(2 * SAMPLES * SAMPLE_WORDS),
            count: 2,
            slots_log2: 3,
        }
    }

    fn put(rings: &Rings, cpu: usize, end_ns: u64, kind: Kind) {
        let head = rings.field(cpu, HEAD);
        let at = (cpu * 8 + head as usize) * 8;
        rings.ring.write(at, end_ns);
        rings.ring.write(at + 2, (kind as u64) << 60);
        rings.cpus.write(cpu * CPU_WORDS + HEAD, head + 1);
    }

    #[test]
    fn a_gap_stays_before_the_next_record_and_the_last_pass_takes_open_runs_and_losses() {
        let rings = rings();
        let mut last_ns = [0; 2];
        put(&rings, 1, 90, Kind::Gap);
        let first = rings.pass(false, &mut last_ns);
        assert_eq!((&first.records[..], first.lost), (&[(90, 0)][..], 0));
        put(&rings, 0, 70, Kind::Call);
        put(&rings, 1, 80, Kind::Call);
        // An open run of two calls, and three calls that were lost after the last record.
        for (field, value) in [(RUN, 60), (RUN + 5, 2), (LOST, 3)] {
            rings.cpus.write(field, value);
        }
        let last = rings.pass(true, &mut last_ns);
        assert_eq!(last.records, [(70, 0), (60, 1), (90, 3)]);
        assert_eq!((last.lost, last.before_ns), (3, u64::MAX));
        assert!(last.bytes >= 4 * size_of::<Slot>() + 3 * 16);
        assert!(rings.pass(false, &mut last_ns).records.is_empty());
    }
}
