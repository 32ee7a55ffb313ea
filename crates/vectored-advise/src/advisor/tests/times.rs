//! `--max-delay`, and the times of strace.

use proptest::prelude::*;

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::tests::logs::{log_in_short, read_with, whole};
use crate::advisor::wording::sentences::action;
use crate::advisor::{Analysis, Options};
use vectored_strace::Reader;

/// A log of 64 calls, then `writes` writes to a file. Each write comes after a pause of `pause_us`, and `between` other
/// calls follow. Calls without a pause begin 100 µs apart, and each call takes 40 µs.
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
        deflates,
        ..whole()
    };
    read_with(text, options)
}

fn sums(tallies: &Tallies) -> (u64, u64, u64) {
    (
        tallies.counted().map(|(_, tally)| tally.calls).sum(),
        tallies.counted().map(|(_, tally)| tally.merged_calls).sum(),
        tallies.listed().map(|(_, tally)| tally.calls).sum(),
    )
}

/// The printed buffer knows no clock, so the figures do not depend on one. The text names the time that a byte waits in
/// the buffer.
#[test]
fn a_buffer_is_written_when_it_is_full_and_the_text_has_the_delay() {
    // 1,000 calls take 100 ms under strace, and at most 20 ms without strace.
    for (writes, bytes, deflates, merged, late_ns) in [
        (1000, 8, false, 1, 99_860_000),
        (1000, 8, true, 1, 19_940_000),
        (100, 8, false, 1, 0),
        // The buffer is full after 32 calls, which take 3 ms.
        (1000, 2048, false, 32, 0),
        (2000, 64, false, 2, 102_260_000),
    ] {
        let text = log(writes, 0, 0).replace(", 8) = 8", &format!(", {bytes}) = {bytes}"));
        let tallies = tallies(&text, deflates);
        let (key, tally) = tallies.counted().next().unwrap();
        let found = (tally.merged_calls, tally.late_ns);
        assert_eq!(found, (merged, late_ns), "{writes} × {bytes}");
        let says = action(key, tally).contains("Bytes stay in the buffer for up to ");
        assert_eq!(says, late_ns > 0, "{writes} × {bytes}");
    }
    // The reads of a file take 4.8 s. Nobody waits for the bytes of the file.
    let reads = log(48_000, 0, 0)
        .replace("O_WRONLY|O_CREAT, 0666", "O_RDONLY")
        .replace(
            "write(3</tmp/log>, \"x\"..., 8) = 8",
            "read(3</tmp/log>, \"x\"..., 1) = 1",
        );
    assert_eq!(sums(&tallies(&reads, false)), (48_000, 1, 0));
}

#[test]
fn small_segments_are_copied_into_one_buffer_however_many_they_are() {
    let merged = |segments: usize, bytes: usize, buffer_bytes: u64| {
        let list = format!("list 3</tmp/log> {segments} {bytes}");
        let log = log_in_short(&format!("open 3 /tmp/log; 2000 × {list}"));
        let options = Options {
            buffer_bytes,
            max_delay_ns: u64::MAX,
            ..whole()
        };
        sums(&read_with(&log, options))
    };
    // 600,000 bytes are ten buffers of 64 KiB.
    assert_eq!(merged(100, 3, 64 * 1024), (2000, 10, 0));
    // Large segments are referenced, up to 1,024 in a call.
    assert_eq!(merged(100, 300, 1 << 30), (2000, 200, 0));
    assert_eq!(merged(512, 300, 1 << 30), (2000, 1000, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A gap counts without 80 µs for each call in the gap: twice the time that strace shows in a call. If a log shows
    /// no durations, the whole gap counts.
    #[test]
    fn a_gap_is_deflated_by_its_calls(between in 0_u64..300, pause_us in 0_u64..30_000) {
        // The time from the end of one write to the begin of the next.
        let gap_us = (between + 1) * 100 + pause_us - 40;
        let deflated_us = gap_us.saturating_sub((between + 1) * 80);
        let whole = log(2, between, pause_us);
        let instant = whole.replace(" <0.000040>", "");
        for (log, deflates, gap_us) in
            [(&whole, true, deflated_us), (&whole, false, gap_us), (&instant, true, gap_us + 40)]
        {
            let (counted, _, listed) = sums(&tallies(log, deflates));
            let expected = if gap_us > 10_000 { (0, 2) } else { (2, 0) };
            prop_assert_eq!((counted, listed), expected);
        }
    }
}

#[test]
fn a_gap_of_preemption_is_no_pause() {
    for (delayed_ms, expected) in [(5, (0, 2)), (19, (2, 0))] {
        let text = log(2, 0, 20_000);
        let mut analysis = Analysis::new(whole());
        let mut reader = Reader::new(text.as_bytes());
        while let Some(event) = reader.next().unwrap() {
            let mut event = event.clone();
            event.delayed_ns = if event.name == b"write" { delayed_ms * 1_000_000 } else { 0 };
            analysis.follow(&event);
        }
        let (counted, _, listed) = sums(&analysis.finish());
        assert_eq!((counted, listed), expected, "{delayed_ms} ms");
    }
}
