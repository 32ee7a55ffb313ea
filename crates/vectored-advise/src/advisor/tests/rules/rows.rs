//! How runs are joined to rows, and counted by file and call site.

use crate::advisor::tests::events::*;
use crate::model::{FindingKey, Tally};
use vectored_strace::event::SocketKind;

#[test]
fn call_sites_and_programs_tell_findings_apart() {
    let at = |site| {
        [
            write(3, 8).at_site(site),
            write(3, 8).at_site(site),
            call("poll"),
        ]
    };
    let lines = [
        vec![execve("/usr/bin/prog"), open(3)],
        at("one").to_vec(),
        at("two").to_vec(),
    ];
    let tallies = analysed(&lines.concat());
    let sites: Vec<_> = tallies
        .findings
        .keys()
        .map(|key| key.site.as_deref())
        .collect();
    assert_eq!(sites, [Some("one"), Some("two")]);
    assert!(tallies.findings.keys().all(|key| key.program == "prog"));
}

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
fn rows_are_of_one_file_each_and_name_its_descriptor_and_its_process() {
    // The order of the end of a process and the close of its files makes no difference.
    for ends in [
        vec![exit()],
        vec![close(4), exit()],
        vec![close(1), close(4)],
    ] {
        let text = "/tmp/out";
        let stdout = write(1, 8).to(text);
        let lines = [
            vec![execve("/bin/two"), open_at(4, "A.txt")],
            vec![stdout; 1000],
            vec![write(4, 8); 1000],
            ends,
        ];
        let tallies = analysed(&lines.concat());
        let row = |(key, tally): (&FindingKey, &Tally)| {
            let file = key.file.clone().unwrap_or_default();
            (
                file,
                tally.descriptor,
                tally.calls,
                tally.processes,
                tally.openings,
            )
        };
        assert_eq!(
            tallies.findings.iter().map(row).collect::<Vec<_>>(),
            [
                (text.to_owned(), 1, 1000, 1, 1),
                ("A.txt".to_owned(), 4, 1000, 1, 1)
            ]
        );
    }
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
fn call_sites_are_those_of_the_calls_that_are_counted() {
    let at = |site, calls: usize| vec![write(3, 10).at_site(site); calls];
    let turns = vec![[at("rec+1", 1), at("rec+2", 1)].concat(); 500].concat();
    let lines = [vec![open(3)], at("header", 1000), at("body", 3000), turns];
    let tallies = analysed(&lines.concat());
    let of = |tally: &Tally| {
        let total: u64 = tally.sites.iter().map(|site| site.calls).sum();
        assert_eq!(total, tally.calls);
        let sites = tally.sites.iter();
        sites
            .map(|site| format!("{} {}", site.site, site.calls))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let sites: Vec<String> = tallies.findings.values().map(of).collect();
    assert_eq!(sites, ["body 3000", "header 1000", "rec+1 500, rec+2 500"]);
}

#[test]
fn a_loop_that_is_cut_anywhere_is_one_row() {
    // An int, a long and a text whose length passes a power of two.
    let record = |number: usize| {
        [
            write(3, 4),
            write(3, 8),
            write(3, if number < 50 { 7 } else { 8 }),
        ]
    };
    let calls: Vec<Line> = (0..400).flat_map(record).collect();
    // Sometimes a wait follows, after each step of the record in turn.
    let mut lines = vec![open(3)];
    for (place, line) in calls.into_iter().enumerate() {
        if place % 40 == 0 {
            lines.push(call("futex"));
        }
        lines.push(line);
    }
    let tallies = analysed(&lines);
    assert_eq!(
        summary(&tallies),
        ["adjacent-writes file 1200→30: write 3, write 4, write 4 [adjacent]"]
    );
    let tally = tallies.findings.values().next().unwrap();
    assert_eq!(tally.starts.iter().sum::<u64>(), tally.runs - 1);
    assert_eq!(tally.step_bytes, [(4, 4), (8, 8), (7, 8)]);
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
