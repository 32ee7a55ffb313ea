//! Estimates the time of a program without strace, from the log of a run under it.
//!
//! The time that strace adds to a call cannot be subtracted. On one machine it was 36 µs a call, and 190
//! µs a second later (Zen, 2 CPUs, Linux 6.18: it depends on which CPUs sleep), while the call itself
//! takes 0.2 to 2 µs: an error of 2 % in the former is an error of 100 % in the latter. So the estimate
//! is a sum of parts that strace changes little: CPU time in user mode, waits that are longer than what
//! strace adds, and a cost for each call. A call that cannot wait for another process, such as a write
//! to a file, waits under strace only for a CPU, so its time is no wait. For seven programs (loops of
//! small writes in C and Python, `dd` of single bytes, `sort`, `grep`, a shell that sleeps, twenty short
//! processes) on a machine of 2 CPUs with a load of 5 the estimate was 1.0 to 1.9 times the true time;
//! for `grep`, which ends within 5 ms, 0.2 to 0.4 times.

use crate::advisor::descriptors::fd_kind::{FdKind, kind_of_text};
use crate::advisor::runs::call_effects::{Effect, classify};
use vectored_strace::event::{Action, Descriptor, Event};

/// Upper bound of what strace adds to a call, in ns, with the options used here. If most calls of a log
/// take longer, they wait.
const MAX_OVERHEAD_NS: u64 = 300_000;

/// Calls that are needed to estimate what strace adds.
const MIN_CALLS: u64 = 32;

/// Cost of a call of a program, in entries to the kernel: 0.6 to 3 µs in these programs, with the page
/// faults between calls, while an entry takes 0.12 µs.
const ENTRIES_A_CALL: f64 = 6.0;

/// The times of the calls of a log.
#[derive(Debug, Default)]
pub(super) struct CallTimes {
    calls: u64,
    /// End of the last call, in ns.
    ended_ns: u64,
    /// Durations of calls.
    took: TimeHistogram,
    /// From the end of a call to the end of the next, of any thread.
    gaps: TimeHistogram,
    /// The part of each gap that lies in its later call, if that call can wait.
    in_waits: TimeHistogram,
    strace_overhead_ns: u64,
    busy: BusyTime,
}

/// Time in which a thread ran between its calls, or was in a call that cannot wait, in slices of the log's time.
#[derive(Debug, Default)]
struct BusyTime {
    slices: Vec<u64>,
    /// Length of a slice, in ns, as a power of two; 0 before the first.
    slice_log2: u32,
    began_ns: u64,
    ended_ns: u64,
}

impl BusyTime {
    const SLICES: u64 = 4096;

    #[inline]
    fn add(&mut self, from_ns: u64, to_ns: u64) {
        if self.slice_log2 == 0 {
            (self.slice_log2, self.began_ns) = (16, from_ns);
        }
        self.ended_ns = self.ended_ns.max(to_ns);
        let from = from_ns.saturating_sub(self.began_ns);
        let to = to_ns.saturating_sub(self.began_ns);
        let (first, last) = (from >> self.slice_log2, to >> self.slice_log2);
        match self.slices.get_mut(last as usize) {
            Some(slice) if first == last => *slice = slice.saturating_add(to - from),
            _ => self.add_to_several(from, to),
        }
    }

    #[cold]
    fn add_to_several(&mut self, mut from: u64, to: u64) {
        while to >> self.slice_log2 >= Self::SLICES {
            self.slice_log2 += 1;
            let sum = |pair: &[u64]| {
                pair.iter()
                    .fold(0, |sum: u64, busy| sum.saturating_add(*busy))
            };
            self.slices = self.slices.chunks(2).map(sum).collect();
        }
        let last = (to >> self.slice_log2) as usize;
        if self.slices.len() <= last {
            self.slices.resize(last + 1, 0);
        }
        while from < to {
            let slice = from >> self.slice_log2;
            let end = to.min((slice + 1).saturating_mul(1 << self.slice_log2));
            let slice = &mut self.slices[slice as usize];
            *slice = slice.saturating_add(end - from);
            from = end;
        }
    }

    /// Time in which no thread was busy.
    fn idle_ns(&self) -> u64 {
        let busy = self
            .slices
            .iter()
            .map(|busy| *busy.min(&(1 << self.slice_log2)));
        let all_ns = self.ended_ns.saturating_sub(self.began_ns);
        all_ns.saturating_sub(busy.fold(0, u64::saturating_add))
    }
}

impl CallTimes {
    /// Adds a call of a thread whose call before it ended at `since_ns`; returns the end of this one.
    #[inline]
    pub(super) fn note_busy(&mut self, event: &Event<'_>, since_ns: u64) -> u64 {
        let Some(began_ns) = event.began_ns else {
            return since_ns;
        };
        let took_ns = event.took_ns.unwrap_or(0);
        let ended_ns = began_ns.saturating_add(took_ns);
        // A shorter call did not wait.
        let waits = took_ns > self.strace_overhead_ns && can_wait(event);
        let busy_ns = if waits { began_ns } else { ended_ns };
        // The times of a log may go back.
        if since_ns > 0 && busy_ns > since_ns {
            self.busy.add(since_ns, busy_ns);
        }
        ended_ns
    }

    /// Adds a call.
    #[inline]
    pub(super) fn note(&mut self, event: &Event<'_>) {
        let (Some(began_ns), Some(took_ns)) = (event.began_ns, event.took_ns) else {
            return;
        };
        let ended_ns = began_ns.saturating_add(took_ns);
        self.took.add(took_ns);
        if self.calls > 0 {
            let gap_ns = ended_ns.saturating_sub(self.ended_ns);
            self.gaps.add(gap_ns);
            // A shorter call did not wait.
            if took_ns > self.strace_overhead_ns && can_wait(event) {
                self.in_waits.add(gap_ns.min(took_ns));
            }
        }
        self.ended_ns = self.ended_ns.max(ended_ns);
        self.calls += 1;
        if self.calls.is_power_of_two() && self.calls >= MIN_CALLS {
            // Half of the time that strace adds lies within a call, and a quarter of all calls are cheap
            // enough to show it.
            self.strace_overhead_ns = (2 * self.took.quantile(0.25)).min(MAX_OVERHEAD_NS);
        }
    }

    /// The least time that strace adds to a call, in ns, by the calls so far; 0 if unknown.
    pub(super) fn strace_overhead_ns(&self) -> u64 {
        self.strace_overhead_ns
    }

    /// Time that the program waited in calls that can wait, in ns, without what strace added to each.
    pub(super) fn waited_ns(&self) -> u64 {
        let waited_ns = self
            .in_waits
            .beyond(self.gaps.quantile(0.5).min(MAX_OVERHEAD_NS));
        // A thread that waits while another works is no wait of the program.
        if self.busy.slice_log2 == 0 {
            waited_ns
        } else {
            waited_ns.min(self.busy.idle_ns())
        }
    }
}

/// Whether a call may wait for a person, a peer, a process, a time or a disk. Calls on files may wait
/// for a disk, but in most runs the kernel has the data; only a sync counts as a wait.
fn can_wait(event: &Event<'_>) -> bool {
    let waits_there = |descriptor: &Descriptor<'_>| match descriptor.leads_to {
        Some(leads_to) => !matches!(kind_of_text(leads_to), FdKind::File | FdKind::Nothing),
        None => true,
    };
    match &event.action {
        Action::Transfer(transfer) => {
            waits_there(&transfer.descriptor) || transfer.from.iter().any(waits_there)
        }
        Action::Wait { .. }
        | Action::Sync(_)
        | Action::Submit { .. }
        | Action::Poll { .. }
        | Action::Connect { .. } => true,
        // `accept`.
        Action::Socket { from, .. } => from.is_some(),
        Action::Other { .. } | Action::Fifo(_) => {
            matches!(classify(event.name).effect, Effect::Waits(_))
        }
        _ => false,
    }
}

/// A histogram of times, in classes of a quarter of a power of two.
#[derive(Debug)]
struct TimeHistogram(Box<[(u64, u64); TimeHistogram::CLASSES]>);

impl Default for TimeHistogram {
    fn default() -> TimeHistogram {
        TimeHistogram(Box::new([(0, 0); TimeHistogram::CLASSES]))
    }
}

impl TimeHistogram {
    const CLASSES: usize = 64 * 4;

    #[inline]
    fn add(&mut self, ns: u64) {
        let class = match ns.checked_ilog2() {
            Some(power @ 2..) => power as usize * 4 + (ns >> (power - 2) & 3) as usize,
            _ => ns as usize,
        };
        let (count, sum) = &mut self.0[class];
        *count += 1;
        *sum = sum.saturating_add(ns);
    }

    /// The mean of the class of the quantile; 0 without times.
    fn quantile(&self, share: f64) -> u64 {
        let all: u64 = self.0.iter().map(|class| class.0).sum();
        let rank = (share * all as f64) as u64;
        let mut seen = 0;
        for (count, sum) in self.0.iter() {
            seen += count;
            if seen > rank {
                return sum / count;
            }
        }
        0
    }

    /// The sum of the times above `ns`, each less `ns`.
    fn beyond(&self, ns: u64) -> u64 {
        let longer = |(count, sum): &(u64, u64)| sum.saturating_sub(count.saturating_mul(ns));
        self.0.iter().map(longer).fold(0, u64::saturating_add)
    }
}

/// Measurements of a run under strace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traced {
    /// Wall time, in s.
    pub wall_s: f64,
    /// CPU time in user mode, in s; strace hardly changes it.
    pub user_s: f64,
    /// CPU time in the kernel, in s.
    pub system_s: f64,
    /// Number of system calls.
    pub calls: u64,
    /// Time that it waited in them, in s, without what strace added.
    pub waited_s: f64,
}

/// Estimates wall time and CPU time of the same run without strace, in s; `entry_ns` is the cost of an
/// entry to the kernel. Neither is greater than under strace.
pub fn without_strace(traced: Traced, entry_ns: f64) -> (f64, f64) {
    let calls_s = traced.calls as f64 * ENTRIES_A_CALL * entry_ns / 1e9;
    let cpu_s = traced.user_s + calls_s.min(traced.system_s);
    let wall_s = (cpu_s + traced.waited_s).min(traced.wall_s);
    (wall_s, cpu_s)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use vectored_strace::event::{Direction, Transfer};

    fn pace(calls: &[(u64, u64)]) -> CallTimes {
        let mut pace = CallTimes::default();
        for &(began_ns, took_ns) in calls {
            let mut event = Event::new(b"futex", Action::Other { descriptor: None });
            (event.began_ns, event.took_ns) = (Some(began_ns), Some(took_ns));
            pace.note(&event);
        }
        pace
    }

    #[test]
    fn waits_are_what_is_longer_than_tracing() {
        // A call each 100 µs, of which 40 µs are in the call; each tenth waits 5 ms more.
        let mut now_ns = 0;
        let calls: Vec<(u64, u64)> = (0..1000)
            .map(|call| {
                let took_ns = if call % 10 == 9 { 5_040_000 } else { 40_000 };
                let began_ns = now_ns + 60_000;
                now_ns = began_ns + took_ns;
                (began_ns, took_ns)
            })
            .collect();
        let pace = pace(&calls);
        assert_eq!(pace.strace_overhead_ns(), 80_000);
        let waited_ns = pace.waited_ns() as f64;
        assert!((waited_ns / 494e6 - 1.0).abs() < 0.01, "{waited_ns}");
    }

    #[test]
    fn a_call_that_waits_while_others_work_is_no_wait_of_the_program() {
        // One waits 10 ms for the other, which makes a call each 100 µs.
        let mut calls: Vec<(u64, u64)> = (0..100).map(|call| (call * 100_000, 40_000)).collect();
        calls.push((0, 10_000_000));
        assert_eq!(pace(&calls).waited_ns(), 0);
    }

    #[test]
    fn a_thread_that_sleeps_while_another_runs_is_no_wait_of_the_program() {
        let sleep = |began_ns| {
            let mut event = Event::new(b"nanosleep", Action::Other { descriptor: None });
            (event.began_ns, event.took_ns) = (Some(began_ns), Some(10_000_000));
            event
        };
        let mut alone = CallTimes::default();
        let mut beside = CallTimes::default();
        let mut since_ns = 0;
        for call in 0..100 {
            let event = sleep(1 + call * 10_100_000);
            for times in [&mut alone, &mut beside] {
                times.note(&event);
                times.note_busy(&event, since_ns);
            }
            since_ns = event.began_ns.unwrap() + 10_000_000;
        }
        let mut works = sleep(since_ns);
        works.name = b"getpid";
        beside.note_busy(&works, 1);
        assert!(alone.waited_ns() > 900_000_000, "{}", alone.waited_ns());
        assert!(beside.waited_ns() < 20_000_000, "{}", beside.waited_ns());
        // Times of no clock.
        for ns in [u64::MAX, u64::MAX - 1, 1] {
            beside.note_busy(&sleep(ns), 1);
            beside.note_busy(&works, ns);
            let mut back = CallTimes::default();
            back.note_busy(&works, 1);
            back.note_busy(&sleep(2), 50_000);
            back.note_busy(&sleep(2), ns);
            assert_eq!(back.waited_ns(), 0);
            assert!(beside.waited_ns() <= alone.waited_ns());
        }
    }

    #[test]
    fn a_call_that_cannot_wait_only_lost_its_cpu() {
        let leads_to = |text: &'static str| {
            let descriptor = Descriptor {
                number: 3,
                leads_to: (!text.is_empty()).then_some(text.as_bytes()),
            };
            Action::Other {
                descriptor: Some(descriptor),
            }
        };
        let waited_ns = |name: &'static str, action: &dyn Fn() -> Action<'static>| {
            let mut pace = CallTimes::default();
            for call in 0..1000 {
                let is_late = call % 100 == 99;
                let mut event = Event::new(name.as_bytes(), action());
                event.began_ns = Some(call * 10_000_000);
                event.took_ns = Some(if is_late { 5_000_000 } else { 40_000 });
                pace.note(&event);
            }
            pace.waited_ns()
        };
        let transfer = |text: &'static str| {
            let Action::Other {
                descriptor: Some(descriptor),
            } = leads_to(text)
            else {
                unreachable!()
            };
            Action::Transfer(transfer_of(descriptor))
        };
        for file in ["/tmp/log", "/dev/null<char 1:3>", "/dev/shm/x"] {
            assert_eq!(waited_ns("read", &|| transfer(file)), 0, "{file}");
        }
        for peer in ["pipe:[4711]", "TCP:[1]", "/dev/pts/0<char 136:0>", ""] {
            assert!(waited_ns("read", &|| transfer(peer)) > 0, "{peer}");
        }
        assert_eq!(waited_ns("newfstatat", &|| leads_to("")), 0);
        assert!(waited_ns("clock_nanosleep", &|| leads_to("")) > 0);
        assert!(waited_ns("fsync", &|| Action::Sync(None)) > 0);
        assert!(waited_ns("wait4", &|| Action::Wait { child: 9 }) > 0);
        assert!(waited_ns("poll", &|| Action::Poll { ready: 1 }) > 0);
        let socket = Descriptor {
            number: 3,
            leads_to: None,
        };
        assert!(waited_ns("connect", &|| Action::Connect { descriptor: socket }) > 0);
    }

    fn transfer_of(descriptor: Descriptor<'static>) -> Transfer<'static> {
        Transfer::new(Direction::Read, descriptor, &[4])
    }

    #[test]
    fn an_estimate_is_the_sum_of_its_parts() {
        // A million calls of six entries of 100 ns take 0.6 s in the kernel, where strace made it 3 s.
        let traced = Traced {
            wall_s: 60.0,
            user_s: 1.0,
            system_s: 3.0,
            calls: 1_000_000,
            waited_s: 2.0,
        };
        let (wall_s, cpu_s) = without_strace(traced, 100.0);
        assert!((cpu_s - 1.6).abs() < 1e-9, "{cpu_s}");
        assert!((wall_s - 3.6).abs() < 1e-9, "{wall_s}");
        let short = Traced {
            wall_s: 2.5,
            system_s: 0.1,
            ..traced
        };
        assert_eq!(without_strace(short, 100.0), (2.5, 1.1));
    }

    #[test]
    fn calls_that_all_wait_are_not_taken_for_tracing() {
        let calls: Vec<(u64, u64)> = (0..1000).map(|call| (call * 1_000_000, 999_000)).collect();
        let pace = pace(&calls);
        assert!(pace.waited_ns() > 600_000_000, "{}", pace.waited_ns());
        assert_eq!(pace.strace_overhead_ns(), MAX_OVERHEAD_NS);
    }

    #[test]
    fn a_log_that_says_little_of_times_says_nothing_of_tracing() {
        let calls: Vec<(u64, u64)> = (0..31).map(|call| (call * 100_000, 40_000)).collect();
        assert_eq!(pace(&calls).strace_overhead_ns(), 0);
        assert_eq!(pace(&[]).waited_ns(), 0);
    }

    proptest! {
        #[test]
        fn a_spectrum_is_what_its_times_are(
            times in proptest::collection::vec(0_u64..10_000_000, 1..200),
            least in 0_u64..10_000_000,
        ) {
            let mut spectrum = TimeHistogram::default();
            times.iter().for_each(|&ns| spectrum.add(ns));
            let exact: u64 = times.iter().map(|ns| ns.saturating_sub(least)).sum();
            // Only a class that holds `least` is mixed: it is a quarter of a power of two wide.
            let slack = times.len() as u64 * (least / 4 + 1);
            let found = spectrum.beyond(least);
            prop_assert!(found <= exact && exact <= found + slack, "{found} {exact}");
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let median = sorted[times.len() / 2];
            let found = spectrum.quantile(0.5);
            prop_assert!(found.abs_diff(median) <= median / 4 + 1, "{found} {median}");
        }

        #[test]
        fn a_time_without_strace_is_no_more_than_with(
            wall_s in 0.0_f64..100.0, user_s in 0.0_f64..10.0, system_s in 0.0_f64..10.0,
            calls in 0_u64..1_000_000, waited_s in 0.0_f64..100.0, entry_ns in 1.0_f64..1000.0,
        ) {
            let traced = Traced { wall_s, user_s, system_s, calls, waited_s };
            let (wall, cpu) = without_strace(traced, entry_ns);
            prop_assert!(wall <= wall_s && wall >= 0.0);
            prop_assert!(cpu >= user_s && cpu <= user_s + system_s);
            let more = Traced { calls: calls + 1, waited_s: waited_s + 0.1, ..traced };
            prop_assert!(without_strace(more, entry_ns).0 >= wall);
        }
    }
}
