//! `--max-delay` and the times of strace.

use proptest::prelude::*;

use crate::advisor::{Analysis, Options, Tallies};
use vectored_strace::Reader;

/// A program with a call each 100 µs, of which strace shows 40 µs in the call: 64 of them, `writes` to a
/// file with `between` other calls after each, and a pause of `pause_us` besides.
fn log(writes: u64, between: u64, pause_us: u64) -> String {
    let mut now_us = 1_795_315_726_000_000_u64;
    let mut text = String::new();
    let mut call = |after_us: u64, line: &str| {
        now_us += 100 + after_us;
        let (seconds, micros) = (now_us / 1_000_000, now_us % 1_000_000);
        text += &format!("7 {seconds}.{micros:06} {line} <0.000040>\n");
    };
    call(
        0,
        "openat(AT_FDCWD, \"/tmp/log\", O_WRONLY|O_CREAT, 0666) = 3</tmp/log>",
    );
    for _ in 0..64 {
        call(0, "getpid() = 7");
    }
    for _ in 0..writes {
        call(pause_us, "write(3</tmp/log>, \"x\"..., 8) = 8");
        for _ in 0..between {
            call(0, "getpid() = 7");
        }
    }
    text
}

fn tallies(text: &str, deflates: bool) -> Tallies {
    let options = Options {
        shows_all: true,
        deflates,
        ..Options::default()
    };
    let mut analysis = Analysis::new(options);
    let mut reader = Reader::new(text.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    analysis.finish()
}

/// Calls that are counted, those that would be left, and calls that are listed.
fn sums(tallies: &Tallies) -> (u64, u64, u64) {
    let counted = tallies.findings.values();
    let listed = tallies.uncounted.values().map(|tally| tally.calls).sum();
    (
        counted.clone().map(|tally| tally.calls).sum(),
        counted.map(|tally| tally.merged_calls).sum(),
        listed,
    )
}

#[test]
fn what_strace_adds_to_the_calls_between_is_no_delay() {
    // 20 ms, of which strace made 16 at least.
    let text = log(3, 200, 0);
    assert_eq!(sums(&tallies(&text, false)), (0, 0, 3));
    assert_eq!(sums(&tallies(&text, true)), (3, 1, 0));
    // The program waited by itself.
    let paused = log(3, 200, 8_000);
    assert_eq!(sums(&tallies(&paused, true)), (0, 0, 3));
}

#[test]
fn a_merged_call_is_not_cut_by_what_strace_adds() {
    // 1,000 calls that take 100 ms under strace, and 20 ms at most without.
    let text = log(1000, 0, 0);
    assert_eq!(sums(&tallies(&text, false)), (1000, 10, 0));
    let (counted, merged, _) = sums(&tallies(&text, true));
    assert_eq!((counted, merged), (1000, 2));
}

#[test]
fn a_log_without_durations_keeps_its_times() {
    let text = log(3, 200, 0).replace(" <0.000040>", "");
    assert_eq!(sums(&tallies(&text, true)), (0, 0, 3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A gap counts without 80 µs for each call in it: twice what strace shows in a call.
    #[test]
    fn a_gap_is_deflated_by_its_calls(between in 0_u64..300, pause_us in 0_u64..30_000) {
        let (counted, _, listed) = sums(&tallies(&log(2, between, pause_us), true));
        // From the end of one write to the begin of the next.
        let gap_us = (between + 1) * 100 + pause_us - 40;
        let deflated_us = gap_us.saturating_sub((between + 1) * 80);
        let expected = if deflated_us > 10_000 { (0, 2) } else { (2, 0) };
        prop_assert_eq!((counted, listed), expected);
    }
}
