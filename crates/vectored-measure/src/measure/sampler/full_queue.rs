//! Times transfers while the queue is full, for asynchronous writes and reads.

use std::io;

use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, seek};
use vectored_machine::Clock;
use vectored_machine::platform::fd::BorrowedFd;

use crate::in_flight::{Event, Place};
use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::meter::Timed;

/// Has `transfer` move `bytes` bytes at the position of a descriptor, if the descriptor has a position. Then sets the
/// position behind these bytes, as synchronous calls do.
pub(crate) fn at_position<T>(
    fd: BorrowedFd<'_>,
    bytes: u64,
    transfer: impl FnOnce(Place) -> io::Result<T>,
) -> io::Result<T> {
    let position = match seek(fd, SeekFrom::Current(0)) {
        _ if fcntl_getfl(fd)?.contains(OFlags::APPEND) => None,
        Err(rustix::io::Errno::SPIPE) => None,
        position => Some(position?),
    };
    let moved = transfer(position.map_or(Place::Stream, Place::Offset))?;
    if let Some(position) = position {
        seek(fd, SeekFrom::Start(position + bytes))?;
    }
    Ok(moved)
}

/// Times transfers from one refill of the queue to another. If one transfer at a time is in flight, times all calls.
///
/// Completions are noticed in groups, each at most as large as the depth. The transfers of a group ended while others were
/// submitted; with direct I/O, submitting takes as long as the device. A count of transfers may therefore be reached in the
/// middle of a group, long after that many transfers had ended. So the clock is read only when a group has been taken and
/// the next transfer begins: then all transfers that had ended are counted, at both readings. The clock is started at the
/// first such moment after the queue has been full once. The clock is stopped at the first such moment at which enough
/// further transfers have ended, while there are still transfers to begin. The time is for [`Timed::calls`] transfers at
/// this rate.
///
/// With 2d calls or more at depth d, at least d transfers are timed.
pub(crate) fn time_full_queue(
    batch: Timed,
    clock: &dyn Clock,
    transfer: impl FnOnce(&mut dyn FnMut(Event)) -> io::Result<()>,
) -> io::Result<Timing> {
    let first = batch.calls_before();
    let enough = match batch.queue_depth {
        0 | 1 => batch.calls,
        depth => batch.calls.saturating_sub(depth).max(1),
    };
    let cpu_ns = clock.thread_cpu_ns();
    let (mut ended, mut is_group_taken) = (0, true);
    let mut from: Option<(u32, u64)> = None;
    let mut to: Option<(u32, u64)> = None;
    transfer(&mut |event| match event {
        Event::Ended(_) => {
            ended += 1;
            is_group_taken = true;
            if ended == batch.all_calls() && to.is_none() {
                to = Some((ended, clock.now_ns()));
            }
        }
        Event::Began(_) if is_group_taken => {
            is_group_taken = false;
            match from {
                None if ended >= first => from = Some((ended, clock.now_ns())),
                Some((before, _)) if to.is_none() && ended >= before + enough => {
                    to = Some((ended, clock.now_ns()));
                }
                _ => {}
            }
        }
        Event::Began(_) => {}
    })?;
    let (from, from_ns) =
        from.expect("a transfer begins after as many have ended as fill the queue");
    let (to, to_ns) = to.expect("all transfers have ended");
    let cpu_ns = clock.thread_cpu_ns() - cpu_ns;
    let elapsed_ns = u128::from(to_ns - from_ns) * u128::from(batch.calls) / u128::from(to - from);
    Ok(Timing {
        elapsed_ns: elapsed_ns as u64,
        cpu_ns: cpu_ns * u64::from(batch.calls) / u64::from(batch.all_calls()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use vectored_machine::FakeClock;

    use super::*;

    fn batch(calls: u32, queue_depth: u32) -> Timed {
        Timed {
            untimed_first: true,
            queue_depth,
            ..Timed::calls(calls)
        }
    }

    /// A device that ends one transfer every `gap_ns`, in order. The ends are noticed in groups of `burst`.
    fn device(
        clock: FakeClock,
        count: u32,
        depth: u32,
        (gap_ns, burst): (u64, usize),
    ) -> impl FnOnce(&mut dyn FnMut(Event)) -> io::Result<()> {
        move |on_event| {
            let mut waiting = VecDeque::new();
            let mut next = 0;
            loop {
                while next < u64::from(count) && waiting.len() < depth as usize {
                    on_event(Event::Began(next));
                    waiting.push_back(next);
                    next += 1;
                }
                let group = burst.min(waiting.len());
                if group == 0 {
                    return Ok(());
                }
                // A queue that is not full moves less in the same time.
                let in_flight = waiting.len() as u64;
                clock.advance(gap_ns * group as u64 * u64::from(depth) / in_flight);
                for number in waiting.drain(..group) {
                    on_event(Event::Ended(number));
                }
            }
        }
    }

    proptest! {
        /// The time of a transfer is the gap between completions, whatever the depth and the size of the groups in which
        /// completions are noticed.
        #[test]
        fn the_throughput_of_a_full_queue_is_exact_for_groups_of_any_size(
            (depth, burst) in (1_u32..70).prop_flat_map(|depth| (Just(depth), 1..=depth)),
            multiple in 2_u32..6,
            gap_ns in 1_u64..1000,
        ) {
            let calls = depth * multiple;
            let clock = FakeClock::default();
            let timed = batch(calls, depth);
            let device = device(clock.clone(), timed.all_calls(), depth, (gap_ns, burst as usize));
            let timing = time_full_queue(timed, &clock, device).unwrap();
            prop_assert_eq!(timing.elapsed_ns, u64::from(calls) * gap_ns);
        }
    }

    #[test]
    fn without_an_untimed_call_the_clock_starts_at_once() {
        let clock = FakeClock::default();
        let timed = Timed {
            untimed_first: false,
            ..batch(3, 1)
        };
        assert_eq!(timed.all_calls(), 3);
        let of_three = device(clock.clone(), 3, 1, (10, 1));
        let timing = time_full_queue(timed, &clock, of_three).unwrap();
        assert_eq!(timing.elapsed_ns, 30);
        let after_untimed = device(clock.clone(), 2, 1, (10, 1));
        let timing = time_full_queue(batch(1, 1), &clock, after_untimed).unwrap();
        assert_eq!(timing.elapsed_ns, 10);
    }
}
