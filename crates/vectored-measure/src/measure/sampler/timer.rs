//! The timer of a run: the cost of the clock and of the empty timing loop.

use std::io;

use vectored_machine::Clock;
use vectored_machine::model::Timer;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::plain_calls::NULL_DEVICE;
use vectored_machine::platform::times::CLOCK;
use vectored_results::stats::median;

use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::meter::Timed;

const TURNS: u32 = 10_000;
const REPEATS: usize = 11;

pub fn measure_timer(clock: &dyn Clock) -> io::Result<Timer> {
    let null = std::fs::File::open(NULL_DEVICE)?;
    let lists = Lists::one(vec![&[0]]);
    let mut steps = Vec::new();
    let mut readings = Vec::new();
    let mut loops = Vec::new();
    for _ in 0..REPEATS {
        let began = clock.now_ns();
        let mut previous = began;
        for _ in 0..TURNS {
            let now = clock.now_ns();
            if now > previous {
                steps.push(now - previous);
            }
            previous = now;
        }
        readings.push((previous - began) as f64 / f64::from(TURNS));
        let turns = Timed {
            untimed_first: true,
            ..Timed::calls(TURNS)
        };
        let mut in_turn = lists.in_turn();
        let timing = turns.time(clock, null.as_fd(), || {
            std::hint::black_box((&null, in_turn.next()));
            Ok(())
        })?;
        loops.push(timing.elapsed_ns as f64 / f64::from(TURNS));
    }
    let tenths = |ns: Option<f64>| (ns.unwrap_or(0.0) * 10.0).round() / 10.0;
    Ok(Timer {
        clock: CLOCK.to_owned(),
        step_ns: steps.into_iter().min().unwrap_or(0),
        reading_ns: tenths(median(&readings)),
        empty_loop_ns: tenths(median(&loops)),
    })
}

#[cfg(test)]
mod tests {
    use vectored_machine::MonotonicClock;

    use super::*;

    #[test]
    fn a_reading_of_the_clock_takes_time() {
        assert!(measure_timer(&MonotonicClock).unwrap().reading_ns > 0.0);
    }
}
