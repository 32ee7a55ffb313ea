//! How runs are joined to rows, and counted by file and call site.

use crate::advisor::findings::uses::most_used;
use crate::advisor::tests::logs::*;
use crate::model::Tally;

#[test]
fn processes_open_files_and_paths_are_counted() {
    let of = |by: &str, path| format!("{by}open 3 {path}; 2 × {by}write 3 8; {by}close 3");
    let calls = ["fork 2", &of("", "/b"), &of("2: ", "/a"), &of("2: ", "/b")].join("; ");
    let tallies = tallies_of(&log_in_short(&calls));
    let counts = |tally: &Tally| (tally.runs, tally.processes, tally.openings, tally.process);
    let found: Vec<_> = tallies.findings.iter().collect();
    let [(a, of_a), (b, of_b)] = found[..] else {
        panic!("one for each file: {found:?}");
    };
    assert_eq!(
        (a.file.as_deref(), counts(of_a)),
        (Some("/a"), (1, 1, 1, 2))
    );
    assert_eq!(
        (b.file.as_deref(), counts(of_b)),
        (Some("/b"), (2, 2, 2, 1))
    );
    assert_eq!((of_b.path.as_deref(), of_b.descriptor), (Some("/b"), 3));
    assert_eq!(of_b.step_bytes, [(8, 8)]);
    assert_eq!(
        (tallies.processes, tallies.transfers, tallies.bytes),
        (2, 6, 48)
    );
}

#[test]
fn many_files_are_one_row_that_names_those_with_the_most_calls() {
    let of = |index: usize| {
        let calls = if index == 13 { 50 } else { 2 };
        format!("open 3 /p{index:02}; {calls} × write 3 8; close 3")
    };
    let all = |count: usize| {
        let calls: Vec<String> = (0..count).map(of).collect();
        tallies_of(&log_in_short(&calls.join("; ")))
    };
    assert_eq!(all(8).findings.len(), 8);
    let tallies = all(20);
    let (key, tally) = tallies.findings.iter().next().unwrap();
    assert_eq!((tallies.findings.len(), &key.file), (1, &None));
    assert_eq!((tally.calls, tally.processes, tally.openings), (88, 1, 20));
    assert_eq!(
        (tally.path.as_deref(), tally.files[0].calls),
        (Some("/p13"), 50)
    );
    assert_eq!((tally.files.len(), tally.more_files), (16, 4));
}

#[test]
fn seeks_in_a_loop_that_is_cut_anywhere_are_one_row() {
    let step = |place: usize| format!("; seek 3 {}; write 3 {}", place * 1000, [8, 300][place % 2]);
    let [one, other] = [0..21, 1..22].map(|places| places.map(step).collect::<String>());
    let tallies = tallies_of(&log_in_short(&format!(
        "open 3 /d{one}; open 4 /e; futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 0; close 3; open 3 /d{other}"
    )));
    assert_eq!(tallies.findings.len(), 1, "{:?}", summary(&tallies));
    let tally = tallies.findings.values().next().unwrap();
    assert_eq!(tally.starts, [1, 0, 1, 0]);
}

#[test]
fn every_call_is_counted_listed_or_neither_with_a_reason() {
    let tallies = tallies_of(&log_in_short(
        "exec /bin/x; open 3 /a; open 4 /dev/pts/1; socket(AF_UNIX, SOCK_SEQPACKET, 0) = 5; 10 × write 3 8; 20 × write 4 8; \
         30 × write 5 8; write 3 8; poll; write 3 8; poll; write 3 8; open 6 /b; write 6 8; open 7 /c; 2 × write 7 100000",
    ));
    let (uses, more) = most_used(tallies.uses);
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
    // Writes through a descriptor that turns out to be shared are listed. One open file under several numbers is in one row. A run
    // is listed by the name under which its calls are counted, and a stream by no path.
    let socket = "write(3<socket:[9]>, \"x\", 8) = 8";
    for (calls, expected) in [
        (
            "open 3 /a; fork 2; 3 × write 3 8; exit; 2: write 3 8",
            vec![(4, 0, 3)],
        ),
        (
            "dup2(1, 2) = 2; fork 2; 2: write 1 8; write 2 8; 2: write 1 8; write 2 8",
            vec![(4, 0, 4)],
        ),
        (
            "2: read(3</a>, \"x\", 8) = 8; 2: fork 3; 3: read 3 8; rename(\"/a\", \"/b\") = 0",
            vec![(2, 0, 2)],
        ),
        (
            &format!(
                "2: {socket}; 2: thread 1; 3: {socket}; openat(AT_FDCWD, \"/dev/fd/3\", O_RDWR) = 5; fork 3; 3: write 5 8; 3: exit"
            ),
            vec![(2, 0, 2), (1, 0, 0)],
        ),
    ] {
        let (uses, _) = most_used(tallies_of(&log_in_short(calls)).uses);
        let found = uses.iter().map(|one| (one.calls, one.counted, one.listed));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{calls}");
    }
}

/// Threads to which strace attached are shown as processes of their own.
#[test]
fn processes_with_one_open_file_from_before_the_log_are_one() {
    let two = r#"pread64(3</a>, "x", 8, 0) = 8; N: pread64(3</a>, "x", 8, 8) = 8"#;
    let [one, other] = ["1", "2"].map(|thread| format!("{thread}: {}", two.replace('N', thread)));
    let tallies = tallies_of(&log_in_short(&format!("{one}; {other}")));
    let found = tallies
        .findings
        .values()
        .map(|tally| (tally.calls, tally.processes));
    assert_eq!(found.collect::<Vec<_>>(), [(4, 1)]);
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
    let call = |segments: usize| {
        let list = vec!["{iov_base=\"x\", iov_len=900}"; segments].join(", ");
        format!("writev(3, [{list}], {segments}) = {}", 900 * segments)
    };
    let calls = ["open 3 /a", &call(1024), &call(1024), &call(10)].join("; ");
    let expected = ["many-segments file 3→3: writev 20 [adjacent]"];
    assert_eq!(found_in(&log_in_short(&calls), true), expected);
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
