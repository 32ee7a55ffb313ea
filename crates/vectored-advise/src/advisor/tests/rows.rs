//! How runs are joined to rows, and counted by file and call site.

use crate::advisor::tests::events::*;
use crate::advisor::tests::logs::*;
use crate::model::Tally;
use vectored_strace::event::SocketKind;

#[test]
fn processes_open_files_and_paths_are_counted() {
    let of = |thread: u32, path| {
        [open_at(3, path), write(3, 8), write(3, 8), close(3)]
            .map(|line| line.by(thread))
            .to_vec()
    };
    let lines = [vec![fork(2)], of(1, "b"), of(2, "a"), of(2, "b")].concat();
    let tallies = analysed(&lines);
    let counts = |tally: &Tally| (tally.runs, tally.processes, tally.openings, tally.process);
    let found: Vec<_> = tallies.findings.iter().collect();
    let [(a, of_a), (b, of_b)] = found[..] else {
        panic!("one for each file: {found:?}");
    };
    assert_eq!((a.file.as_deref(), counts(of_a)), (Some("a"), (1, 1, 1, 2)));
    assert_eq!((b.file.as_deref(), counts(of_b)), (Some("b"), (2, 2, 2, 1)));
    assert_eq!((of_b.path.as_deref(), of_b.descriptor), (Some("b"), 3));
    assert_eq!(of_b.step_bytes, [(8, 8)]);
    assert_eq!(
        (tallies.processes, tallies.transfers, tallies.bytes),
        (2, 6, 48)
    );
}

#[test]
fn many_files_are_one_row_that_names_those_with_the_most_calls() {
    const PATHS: [&str; 20] = [
        "p00", "p01", "p02", "p03", "p04", "p05", "p06", "p07", "p08", "p09", "p10", "p11", "p12",
        "p13", "p14", "p15", "p16", "p17", "p18", "p19",
    ];
    let of = |index: usize| {
        let calls = if index == 13 { 50 } else { 2 };
        [
            vec![open_at(3, PATHS[index])],
            vec![write(3, 8); calls],
            vec![close(3)],
        ]
        .concat()
    };
    let all = |count: usize| analysed(&(0..count).flat_map(of).collect::<Vec<_>>());
    assert_eq!(all(8).findings.len(), 8);
    let tallies = all(20);
    let (key, tally) = tallies.findings.iter().next().unwrap();
    assert_eq!((tallies.findings.len(), &key.file), (1, &None));
    assert_eq!((tally.calls, tally.processes, tally.openings), (88, 1, 20));
    assert_eq!(
        (tally.path.as_deref(), tally.files[0].calls),
        (Some("p13"), 50)
    );
    assert_eq!((tally.files.len(), tally.more_files), (16, 4));
}

#[test]
fn seeks_in_a_loop_that_is_cut_anywhere_are_one_row() {
    let step = |place: usize| {
        let bytes = [8, 300][place % 2];
        [seek(3, place as u64 * 1000), write(3, bytes)]
    };
    let lines: Vec<Line> = std::iter::once(open(3))
        .chain((0..21).flat_map(step))
        .chain([open(4), call("futex"), close(3), open(3)])
        .chain((1..22).flat_map(step))
        .collect();
    let tallies = analysed(&lines);
    assert_eq!(tallies.findings.len(), 1, "{:?}", summary(&tallies));
    let tally = tallies.findings.values().next().unwrap();
    assert_eq!(tally.starts, [1, 0, 1, 0]);
}

#[test]
fn every_call_is_counted_listed_or_neither_with_a_reason() {
    let lines = [
        vec![
            execve("/bin/x"),
            open(3),
            open_at(4, "/dev/pts/1"),
            socket(5, SocketKind::Other),
        ],
        vec![write(3, 8); 10],
        vec![write(4, 8); 20],
        vec![write(5, 8); 30],
        vec![
            write(3, 8),
            call("poll"),
            write(3, 8),
            call("poll"),
            write(3, 8),
        ],
        vec![
            open(6),
            write(6, 8),
            open(7),
            write(7, 100_000),
            write(7, 100_000),
        ],
    ];
    let tallies = analysed(&lines.concat());
    let (uses, more) = crate::advisor::findings::uses::most_used(tallies.uses);
    let found: Vec<String> = uses
        .iter()
        .map(|one| {
            let reason = one.reason.as_deref().unwrap_or("");
            let (calls, counted, listed) = (one.calls, one.counted, one.listed);
            format!("{} {calls} {counted} {listed} {reason}", one.kind)
        })
        .collect();
    assert_eq!(
        found,
        [
            "message socket 30 0 0 each call is a message: sendmmsg and recvmmsg move several in one call",
            "terminal 20 0 0 terminals are never counted: text has to appear at once",
            "file 13 10 3 poll, select or epoll_wait between them",
            "file 2 0 0 the calls are as large as a buffer already",
            "file 1 0 0 no adjacent call to merge with",
        ]
    );
    assert_eq!(more, 0);
    // Writes through a descriptor that turns out to be shared are listed.
    let lines = [
        vec![open(3), fork(2)],
        vec![write(3, 8); 3],
        vec![exit(), write(3, 8).by(2)],
    ];
    let (uses, _) = crate::advisor::findings::uses::most_used(analysed(&lines.concat()).uses);
    assert_eq!((uses[0].calls, uses[0].counted, uses[0].listed), (4, 0, 3));
}

#[test]
fn calls_of_one_open_file_under_several_numbers_are_in_one_row_of_the_table() {
    let writes = vec![write(1, 8).by(2), write(2, 8)];
    let lines = [vec![dup(1, 2), fork(2)], vec![writes; 2].concat()].concat();
    let (uses, _) = crate::advisor::findings::uses::most_used(analysed(&lines).uses);
    let found: Vec<_> = uses
        .iter()
        .map(|one| (one.descriptor, one.calls, one.counted, one.listed))
        .collect();
    assert_eq!(found, [(1, 4, 0, 4)]);
}

/// A program updates records, and then reads them all, each after a seek to where the file stands already.
#[test]
fn a_seek_that_moves_nothing_ends_a_run() {
    let update = |place: u64| format!("seek 3 {0}; read 3 16; seek 3 {0}; write 3 16", 16 * place);
    let record = |place: u64| format!("seek 3 {}; 2 × read 3 4; read 3 8", 16 * place);
    let updates = [9, 3, 7, 1].map(update).join("; ");
    let records = [0, 1, 2].map(record).join("; ");
    let log = log_in_short(&format!(
        "open 3 a; {updates}; close 3; openat(AT_FDCWD, \"a\", O_RDONLY) = 3; {records}"
    ));
    let tallies = tallies_of(&log);
    let found = tallies.findings.values().find(|one| one.calls == 9);
    let found = found.map(|one| (one.merged_calls, one.ends.clone()));
    assert_eq!(found, Some((3, vec![("lseek".to_owned(), 2)])), "{log}");
}

#[test]
fn a_list_split_over_several_calls_is_a_finding() {
    let lines = [
        open(3),
        writev(3, &[900; 1024]),
        writev(3, &[900; 1024]),
        writev(3, &[900; 10]),
    ];
    let expected = ["many-segments file 3→3: writev 20 [adjacent]"];
    assert_eq!(summary(&analysed(&lines)), expected);
}

#[test]
fn patterns_are_periods_or_sets() {
    let long = ["write 3 100; 39 × write 3 8"].repeat(12).join("; ");
    for (calls, expected) in [
        ("5 × write 3 8", "write 4"),
        (
            "write 3 8; write 3 4096; write 3 8; write 3 4096; write 3 8",
            "write 4, write 13",
        ),
        ("3 × write 3 8; write 3 1", "write 4"),
        (
            "2 × write 3 1; write 3 8; 2 × write 3 1; write 3 8",
            "write 1, write 1, write 4",
        ),
        // A set of sizes: there is no period.
        (
            "write 3 8; 2 × write 3 1; 2 × write 3 8; write 3 1",
            "write",
        ),
        (&long, "write"),
        ("100 × write 3 8; write 3 9; write 3 700", "write 4"),
    ] {
        let found = found_in(&log_in_short(&format!("open 3 a; {calls}")), true);
        assert!(
            found[0].ends_with(&format!(": {expected} [adjacent]")),
            "{calls}: {found:?}"
        );
    }
}
