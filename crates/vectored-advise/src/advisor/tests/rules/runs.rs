//! Which calls form one run, and which finding a run becomes.

use crate::advisor::tests::events::*;
use crate::advisor::tests::rules::{POLL, check};
use vectored_strace::event::{OpenFlags, SocketKind};

#[test]
fn writes_with_nothing_between_are_one_call() {
    check! { open(3), write(3, 8), write(3, 9), write(3, 10) => "adjacent-writes file 3→1: write 4 [adjacent]" }
}

#[test]
fn a_header_and_a_payload_are_one_call() {
    check! {
        open(3), write(3, 8), write(3, 100_000), write(3, 8), write(3, 100_000)
        => "adjacent-writes file 4→2: write 4, write 17 [adjacent]"
    }
}

#[test]
fn calls_that_cannot_observe_lie_between_harmlessly() {
    for between in [
        brk(),
        write(4, 100),
        read(4, 10),
        open(5),
        close(4),
        call_on("fstat", 4),
        seek(4, 100),
        seek_end(4, 100),
    ] {
        let lines = [
            open(3),
            open(4),
            write(4, 10),
            write(3, 8),
            between,
            write(3, 8),
        ];
        let found = summary(&analysed(&lines));
        let expected = "adjacent-writes file 2→1: write 4 [harmless-between]".to_owned();
        assert!(found.contains(&expected), "{found:?}: {:?}", lines[4]);
    }
    // A logger makes these calls between two records.
    for question in ["getpid", "gettid", "clock_gettime"] {
        check! {
            open(3), write(3, 8), call(question), write(3, 8) => "adjacent-writes file 2→1: write 4 [adjacent]"
        }
    }
}

#[test]
fn a_wait_ends_a_run() {
    check! {
        open(3), write(3, 8), write(3, 8), call("poll"), write(3, 8), write(3, 8)
        => "adjacent-writes file 4→2: write 4 [adjacent]"
    }
}

#[test]
fn calls_with_a_wait_between_each_are_listed() {
    let expected = format!("adjacent-writes file 3→1: write 4 {POLL}");
    check! { open(3), write(3, 8), call("poll"), write(3, 8), call("poll"), write(3, 8) => &expected }
}

#[test]
fn a_sync_after_each_record_is_a_finding_of_its_own_that_is_not_counted() {
    check! {
        open(3), write(3, 8), fsync(3), write(3, 8), fsync(3), write(3, 8)
        => "sync-each file 3→1: write 4, fsync 0 (fsync between them)"
    }
}

#[test]
fn sockets_and_pipes_are_counted_and_datagrams_are_listed() {
    for (kind, expected) in [
        (
            SocketKind::Tcp,
            vec!["adjacent-writes tcp 2→1: write 4 [adjacent]"],
        ),
        (
            SocketKind::UnixStream,
            vec!["adjacent-writes unix 2→1: write 4 [adjacent]"],
        ),
        (
            SocketKind::Datagram,
            vec![
                "datagrams datagram 2→1: write 4 (each call sends a datagram: sendmmsg sends several in one call and keeps them apart)",
            ],
        ),
        (SocketKind::Other, vec![]),
    ] {
        check(&[socket(3, kind), write(3, 8), write(3, 8)], &expected);
    }
    check! { pipe(3, 4), write(4, 8), write(4, 8) => "adjacent-writes pipe 2→1: write 4 [adjacent]" }
}

#[test]
fn a_gap_is_a_barrier_with_its_limit_in_the_reason() {
    check! {
        open(3), write(3, 8), write(3, 8).after(10_000_001)
        => "adjacent-writes file 2→1: write 4 (a gap of more than 10 ms)"
    }
    check! { open(3), write(3, 8), write(3, 8).after(10_000_000) => "adjacent-writes file 2→1: write 4 [adjacent]" }
}

#[test]
fn small_reads_are_counted_and_large_ones_are_not() {
    check! {
        open(3), read(3, 4096), read(3, 4096), read_part(3, 4096, 100), read_part(3, 4096, 0)
        => "small-reads file 3→1: read 13 [adjacent]"
    }
    check(&[open(3), read(3, 65536), read(3, 65536), read(3, 8)], &[]);
}

#[test]
fn seeks_before_transfers_could_be_left_out() {
    let pair = |position| [seek(3, position), write(3, 8)];
    let lines: Vec<Line> = [500, 9000, 70].into_iter().flat_map(pair).collect();
    check(
        &[vec![open(3)], lines].concat(),
        &["seek-then-transfer file 5→3: lseek 0, write 4 [adjacent]"],
    );
    // A seek to the current offset moves one that is behind what a buffer has read, or before what it has to write.
    check! { open(3), write(3, 8), seek(3, 8), write(3, 8) => "adjacent-writes file 2→1: write 4 (lseek between them)" }
    check! { open(3), read(3, 8), seek(3, 8), read(3, 8) => "small-reads file 2→1: read 4 (lseek between them)" }
    check! { open(3), read(3, 8), seek_end(3, 8), read(3, 8) => "small-reads file 2→1: read 4 (lseek between them)" }
}

/// A program updates records, and then reads them all, each after a seek to where the file stands already.
#[test]
fn a_seek_that_moves_nothing_ends_a_run() {
    let record = |at: u64| [seek(3, at), read(3, 4), read(3, 4), read(3, 8)];
    let mut both = OpenFlags::default();
    both.both_ways = true;
    let mut lines = vec![open_with(3, "a", both)];
    for place in [9, 3, 7, 1] {
        let at = 16 * place;
        lines.extend([seek(3, at), read(3, 16), seek(3, at), write(3, 16)]);
    }
    lines.extend([close(3), open_at(3, "a")]);
    lines.extend([0, 1, 2].into_iter().flat_map(|place| record(16 * place)));
    let tallies = analysed(&lines);
    let found = tallies.findings.values().find(|one| one.calls == 9);
    let found = found.map(|one| (one.merged_calls, one.ends.clone()));
    assert_eq!(
        found,
        Some((3, vec![("lseek".to_owned(), 2)])),
        "{:?}",
        summary(&tallies)
    );
}

#[test]
fn positional_calls_that_touch_are_one() {
    check! {
        open(3), pwrite(3, 8, 100), pwrite(3, 8, 108), pwrite(3, 8, 300)
        => "positional-writes file 2→1: pwrite64 4 [adjacent]"
    }
    check! {
        open(3), pread(3, 8, 100), pread(3, 8, 108), pread(3, 8, 116)
        => "positional-reads file 3→1: pread64 4 [adjacent]"
    }
}

#[test]
fn lists_of_tiny_segments_are_a_finding_whatever_lies_around_them() {
    check! {
        open(3), writev(3, &[7; 100]), call("poll"), writev(3, &[7; 100])
        => "tiny-segments file 2→2: writev 10 [adjacent]"
    }
    check(&[open(3), writev(3, &[1000; 100])], &[]);
}

#[test]
fn a_list_split_over_several_calls_is_a_finding() {
    check! {
        open(3), writev(3, &[900; 1024]), writev(3, &[900; 1024]), writev(3, &[900; 10])
        => "many-segments file 3→3: writev 20 [adjacent]"
    }
}

#[test]
fn what_is_copied_has_no_largest_list() {
    let lines = [vec![open(3)], vec![write(3, 1); 3000]].concat();
    check(&lines, &["adjacent-writes file 3000→1: write 1 [adjacent]"]);
}

#[test]
fn short_and_failed_calls_end_a_run() {
    let short = write(3, 8).but(|of| of.result = Ok(4));
    let failed = write(3, 8).but(|of| of.result = Err(b"ENOSPC"));
    check! { open(3), write(3, 8), short, write(3, 8) => "adjacent-writes file 2→1: write 3, write 4 [adjacent]" }
    check(&[open(3), write(3, 8), failed, write(3, 8)], &[]);
}

#[test]
fn calls_with_flags_or_an_address_are_in_no_run() {
    let special = write(3, 8).but(|of| of.special = true);
    let addressed = write(3, 8).but(|of| of.addressed = true);
    let cut = write(3, 8).but(|of| of.segment_bytes = None);
    let opaque = write(3, 8).but(|of| of.form = vectored_strace::event::Form::Opaque);
    for odd in [special, addressed, cut, opaque, write(3, 0)] {
        check(&[open(3), odd.clone(), odd.clone()], &[]);
        check(&[open(3), write(3, 8), odd, write(3, 8)], &[]);
    }
    let more = write(3, 8).but(|of| of.more = true);
    check! {
        socket(3, SocketKind::Tcp), more, write(3, 8)
        => "adjacent-writes tcp 2→1: write 4 (MSG_MORE or TCP_CORK, which gathers in the kernel already)"
    }
}

#[test]
fn packets_are_not_merged() {
    let mut lines = vec![pipe(3, 4), write(4, 8), write(4, 8)];
    if let vectored_strace::event::Action::Pipe { packets, .. } = &mut lines[0].action {
        *packets = true;
    }
    check(&lines, &[]);
}

#[test]
fn patterns_are_periods_or_sets() {
    let of = |sizes: &[u64]| {
        let writes = sizes.iter().map(|&bytes| write(3, bytes));
        let lines: Vec<Line> = std::iter::once(open(3)).chain(writes).collect();
        let found = summary(&analysed(&lines));
        found[0]
            .split(": ")
            .nth(1)
            .unwrap()
            .replace(" [adjacent]", "")
    };
    assert_eq!(of(&[8, 4096].repeat(5)), "write 4, write 13");
    assert_eq!(of(&[8, 4096, 8, 4096, 8]), "write 4, write 13");
    assert_eq!(of(&[8, 8, 8, 1]), "write 4");
    assert_eq!(of(&[1, 1, 8, 1, 1, 8]), "write 1, write 1, write 4");
    // A set of sizes: there is no period.
    assert_eq!(of(&[8, 1, 1, 8, 8, 1]), "write");
    assert_eq!(of(&[1, 2, 4, 8, 1, 1, 2]), "write");
    let long: Vec<u64> = (0..500)
        .map(|n| if n % 40 == 0 { 100 } else { 8 })
        .collect();
    assert_eq!(of(&long), "write");
    let missed = [vec![8; 100], vec![9, 700]].concat();
    assert_eq!(of(&missed), "write 4");
}

#[test]
fn three_calls_are_named_one_by_one() {
    check! {
        open(3), read(3, 1), read(3, 1), read(3, 9), call("poll"), read(3, 1), read(3, 1), read(3, 9)
        => "small-reads file 6→2: read 1, read 1, read 4 [adjacent]"
    }
}
