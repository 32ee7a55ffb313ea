//! Faults while a list is read. The reported count is the number of bytes that came.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use vectored_conformance::host::{role, under_strace};
use vectored_conformance::model::mixed_sizes;
use vectored_conformance::read_ways::READ_WAYS;
use vectored_conformance::signals::SignalStorm;
use vectored_conformance::source::{Arrival, Feed, Source};
use vectored_conformance::way::ReadWay;

use crate::support::{build_directory, content, expect_filled, expect_model, read_ways};

#[test]
fn a_signal_storm_loses_no_byte_of_a_read() {
    for (way, mut read_fn) in read_ways().filter(|(way, _)| !way.only_files) {
        let before = SignalStorm::caught();
        let _storm = SignalStorm::begin(Duration::from_micros(50)).unwrap();
        for sizes in [mixed_sizes(100), vec![30_000, 50, 60, 20_000]] {
            for open in [Source::pipe, Source::unix_stream] {
                let whole = content(&[&sizes[..], &[5000]].concat());
                // While there is nothing to read, the call waits and is interrupted.
                let feed = Feed::new(whole, &[7777, 1, 12_345]).waiting(Duration::from_micros(300));
                expect_filled(way, &mut read_fn, open(feed).unwrap(), &sizes);
            }
        }
        assert!(
            SignalStorm::caught() - before > 20,
            "{way:?}: too few signals"
        );
    }
}

/// Reads a list of three calls by every way that scatters. strace answers a call by the rule of the role.
///
/// strace counts the calls of each thread, so each way gets a new thread.
fn answered_by_the_kernel(check: fn(&ReadWay, Arrival)) {
    for way in READ_WAYS {
        let thread = std::thread::spawn(move || {
            let sizes = vec![900; 3000];
            let source = Source::file(build_directory(), Feed::new(content(&sizes), &[])).unwrap();
            let arrival = source.fill(way, &mut (way.make)(), &sizes).unwrap();
            check(way, arrival);
        });
        thread.join().unwrap();
    }
}

fn under_reading_strace(test: &str, injections: &[&str]) {
    under_strace(test, "readv,preadv", injections);
}

/// Expects this error and this count. The first `count` bytes are in the list and no longer in the file.
fn expect_partial(way: &ReadWay, arrival: &Arrival, error: Errno, count: usize) {
    let code = arrival.error.as_ref().and_then(io::Error::raw_os_error);
    assert_eq!(code, Some(error.raw_os_error()), "{way:?}");
    assert_eq!(arrival.reported, count as u64, "{way:?}");
    assert!(
        arrival.received[..count] == arrival.content[..count],
        "{way:?}"
    );
    let read = if way.only_files { 0 } else { count };
    assert!(arrival.unread == arrival.content[read..], "{way:?}");
    assert_eq!(arrival.stray_writes, 0, "{way:?}");
}

#[test]
fn an_error_of_a_read_that_the_kernel_answers_carries_the_exact_count() {
    let test = "read_faults::an_error_of_a_read_that_the_kernel_answers_carries_the_exact_count";
    let Some(role) = role() else {
        let injections = [
            "error=EIO:when=1",
            "error=EIO:when=3",
            "error=EISDIR:when=2",
        ];
        return under_reading_strace(test, &injections);
    };
    // Each call has 1024 segments; the last call has the rest.
    let check: fn(&ReadWay, Arrival) = match role.as_str() {
        "error=EIO:when=1" => |way, arrival| expect_partial(way, &arrival, Errno::IO, 0),
        "error=EIO:when=3" => {
            |way, arrival| expect_partial(way, &arrival, Errno::IO, 2 * 1024 * 900)
        }
        _ => |way, arrival| expect_partial(way, &arrival, Errno::ISDIR, 1024 * 900),
    };
    answered_by_the_kernel(check);
}

#[test]
fn interruptions_of_reads_that_the_kernel_answers_are_retried() {
    let test = "read_faults::interruptions_of_reads_that_the_kernel_answers_are_retried";
    if role().is_none() {
        // Once before any byte; 200 times in a row after progress.
        let injections = ["error=EINTR:when=1", "error=EINTR:when=2..201"];
        return under_reading_strace(test, &injections);
    }
    answered_by_the_kernel(|way, arrival| {
        expect_model("interrupted", way, arrival);
    });
}

#[test]
fn a_read_that_the_kernel_answers_by_0_is_the_end_and_not_a_spin() {
    let test = "read_faults::a_read_that_the_kernel_answers_by_0_is_the_end_and_not_a_spin";
    if role().is_none() {
        return under_reading_strace(test, &["retval=0:when=2+"]);
    }
    answered_by_the_kernel(|way, arrival| {
        let kind = arrival.error.as_ref().map(io::Error::kind);
        let expected = (!way.stops_at_eof).then_some(io::ErrorKind::UnexpectedEof);
        assert_eq!(kind, expected, "{way:?}");
        assert_eq!(arrival.reported, 1024 * 900, "{way:?}");
        let count = 1024 * 900;
        assert!(
            arrival.received[..count] == arrival.content[..count],
            "{way:?}"
        );
    });
}
