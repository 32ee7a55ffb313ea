//! Calls that are barriers.

use crate::advisor::tests::events::*;
use crate::advisor::tests::rules::check;
use vectored_strace::event::OpenFlags;

#[test]
fn writes_with_o_sync_are_not_counted() {
    let mut flags = OpenFlags::default();
    flags.sync = true;
    check! {
        open_with(3, "a", flags), write(3, 8), write(3, 8)
        => "adjacent-writes file 2→1: write 4 (O_SYNC or O_DSYNC: each call lasts until its bytes are on the disk)"
    }
}

#[test]
fn reads_may_be_made_earlier_than_writes_but_not_than_waits() {
    let around = |between: Line| {
        let lines = [
            pipe(5, 6),
            open(3),
            open(4),
            read(3, 8),
            between,
            read(3, 8),
        ];
        summary(&analysed(&lines))
    };
    for between in [
        write(6, 1),
        call_on("fsync", 4),
        call("rename"),
        call_on("fstat", 3),
    ] {
        let expected = ["small-reads file 2→1: read 4 [harmless-between]"];
        assert_eq!(around(between.clone()), expected, "{between:?}");
    }
    for between in [
        read(5, 1),
        call("poll"),
        call("futex"),
        pwrite(3, 1, 0),
        fork(9),
    ] {
        let found = around(between.clone());
        assert!(
            !found.iter().any(|line| line.contains("[")),
            "{between:?}: {found:?}"
        );
    }
}

#[test]
fn kinds_that_are_never_counted_are_never_listed() {
    let texts = [
        "/dev/pts/3<char 136:3>",
        "/dev/null<char 1:3>",
        "/proc/self/status",
        "/sys/kernel/x",
        "anon_inode:[eventfd]",
        "anon_inode:[signalfd]",
        "anon_inode:inotify",
        "NETLINK:[ROUTE:1]",
        "UNIX-SEQPACKET:[1->2]",
        "/dev/sda<block 8:0>",
    ];
    for text in texts {
        check(&[write(3, 8).to(text), write(3, 8).to(text)], &[]);
        check(&[read(3, 8).to(text), read(3, 8).to(text)], &[]);
    }
    let mut flags = OpenFlags::default();
    flags.directory = true;
    check(&[open_with(3, "a", flags), write(3, 8), write(3, 8)], &[]);
    check(&[open_at(3, "/dev/tty"), write(3, 8), write(3, 8)], &[]);
}

#[test]
fn calls_on_descriptors_of_unknown_kind_are_listed() {
    let expected = "adjacent-writes unknown 2→1: write 4 (the log does not say what the descriptor leads to: trace again with -yy)";
    check(&[write(1, 8), write(1, 8)], &[expected]);
    check! { write(1, 8).to("socket:[5]"), write(1, 8).to("socket:[5]") => expected }
}

#[test]
fn transfers_that_do_not_show_may_use_any_descriptor_of_the_process() {
    let submit = |unseen| {
        line(
            "io_uring_enter",
            vectored_strace::event::Action::Submit { unseen },
        )
    };
    let expected = "adjacent-writes file 2→1: write 4 (io_uring or AIO in a process that has it open, whose transfers the log does not show)";
    for by in [1, 2] {
        check! { open(3), thread(2), write(3, 8), submit(false).by(by), write(3, 8) => expected }
        check! { open(3), thread(2), submit(true).by(by), write(3, 8), write(3, 8) => expected }
    }
    check! {
        open(3), thread(2), submit(false), write(3, 8), write(3, 8)
        => "adjacent-writes file 2→1: write 4 [adjacent]"
    }
}

#[test]
fn files_that_are_written_in_turn_are_counted_with_a_note_on_their_order() {
    let lines = [
        open_at(3, "/a/wal"),
        open_at(4, "/a/data"),
        write(3, 8),
        pwrite(4, 100, 0),
    ];
    let lines = [lines.to_vec(), vec![write(3, 8), pwrite(4, 100, 100)]].concat();
    let tallies = analysed(&lines);
    let order: Vec<_> = tallies
        .findings
        .values()
        .map(|tally| (tally.path.as_deref(), tally.order_between.concat()))
        .collect();
    let [wal, data] = ["/a/wal", "/a/data"];
    assert_eq!(
        order,
        [(Some(wal), data.to_owned()), (Some(data), wal.to_owned())]
    );
    let (key, tally) = tallies.findings.iter().next().unwrap();
    let action = crate::advisor::wording::sentences::action(key, tally);
    assert!(
        action.ends_with(
            " The program writes wal in turn with data: merging changes the order in which their bytes reach the kernel."
        ),
        "{action}"
    );
    // Written one after the other, not in turn.
    let lines = [
        open(3),
        open(4),
        write(3, 8),
        write(3, 8),
        write(4, 8),
        write(4, 8),
    ];
    let tallies = analysed(&lines);
    assert!(
        tallies
            .findings
            .values()
            .all(|tally| tally.order_between.is_empty())
    );
    // Three others are named.
    let lines: Vec<Line> = (3..8).map(open).collect();
    let writes = [3, 7, 6, 3, 5, 4, 3].map(|number| write(number, 8));
    let tallies = analysed(&[lines, writes.to_vec()].concat());
    let (key, tally) = tallies.findings.iter().next().unwrap();
    let action = crate::advisor::wording::sentences::action(key, tally);
    assert!(
        action.contains("The program writes d in turn with e, g and h:"),
        "{action}"
    );
}

/// A buffer would keep what the other file says has been written.
#[test]
fn a_file_that_is_overwritten_ends_the_runs_of_others() {
    let rows = [write(3, 8), write(3, 8)];
    let of = |update: &[Line]| {
        let opened = [open_at(3, "/a/rows"), open_at(4, "/a/state")];
        let round = [&rows[..], update].concat();
        summary(&analysed(
            &[&opened[..], &round, &round, &round, &rows].concat(),
        ))
    };
    // The first one shows no more than a write to another file.
    let ended = [
        "adjacent-writes file 4→2: write 4 [adjacent]",
        "adjacent-writes file 4→1: write 4 [harmless-between]",
    ];
    for update in [
        &[pwrite(4, 9, 0)][..],
        &[seek(4, 0), write(4, 9)],
        // In two parts.
        &[pwrite(4, 9, 16), pwrite(4, 9, 25)],
        // Records of a table.
        &[pwrite(4, 9, 0), pwrite(4, 9, 90)],
    ] {
        let found = of(update);
        assert!(
            ended
                .iter()
                .all(|one| found.iter().any(|found| found == one)),
            "{found:?}"
        );
    }
    let mut append = OpenFlags::default();
    append.append = true;
    // A log that grows.
    for update in [
        &[write(4, 9)][..],
        &[open_with(4, "/a/log", append), pwrite(4, 9, 0)],
    ] {
        let found = of(update);
        assert!(found[0].contains(" 8→1: write 4"), "{found:?}");
    }
}

/// The first overwrite also ends a run if the log shows that the file has bytes there.
#[test]
fn a_file_is_known_to_have_what_was_read_and_what_its_size_says() {
    let mut cuts = OpenFlags::default();
    cuts.truncates = true;
    let of = |before: &[Line]| {
        let opened = [open_at(3, "/a/rows"), open_at(4, "/a/table")];
        let rest = [seek(4, 64), write(4, 9), seek(4, 0), write(4, 9)];
        let rows = |next: &Line| [write(3, 8), write(3, 8), next.clone()];
        let mut lines = [&opened[..], before, &rows(&rest[0])].concat();
        lines.extend(rest[1..].iter().flat_map(rows));
        lines.extend(rows(&brk()));
        let tallies = analysed(&lines);
        let mut merged = 0;
        for tally in tallies.findings.values() {
            if tally.path.as_deref() == Some("/a/rows") {
                merged += tally.merged_calls;
            }
        }
        merged
    };
    // The second write begins before the end of the first.
    assert_eq!(of(&[]), 2);
    for before in [
        &[pread(4, 70, 0)][..],
        &[seek_end(4, 70)],
        &[status(4, 70)],
        &[open_at(5, "/a/table"), pwrite(5, 70, 0)],
    ] {
        assert_eq!(of(before), 3, "{before:?}");
    }
    for before in [
        &[pread(4, 64, 0)][..],
        &[status(4, 70), call_on("ftruncate", 4)],
        &[status(4, 70), open_with(5, "/a/table", cuts)],
    ] {
        assert_eq!(of(before), 2, "{before:?}");
    }
}

#[test]
fn a_file_that_is_opened_for_each_record_is_listed() {
    let mut append = OpenFlags::default();
    append.append = true;
    let record = || [open_with(3, "a", append), write(3, 8), close(3)];
    let expected =
        "adjacent-writes file 3→1: write 4 (the file is closed and opened again between them)";
    check(&[record(), record(), record()].concat(), &[expected]);
    // Some seek to the end first, which does not matter when appending.
    let record = |end| {
        let opened = [open_with(3, "a", append), seek_end(3, end)];
        [opened.to_vec(), vec![write(3, 8), close(3)]].concat()
    };
    check(&[record(0), record(8), record(16)].concat(), &[expected]);
    let uses = analysed(&[record(0), record(8), record(16)].concat()).uses;
    let (uses, _) = crate::advisor::findings::uses::most_used(uses);
    assert_eq!((uses[0].calls, uses[0].listed, uses[0].openings), (3, 3, 3));
    // Opened to write anew, not to append.
    let anew = || [open(3), write(3, 8), close(3)];
    check(&[anew(), anew(), anew()].concat(), &[]);
}

#[test]
fn closing_any_descriptor_of_a_file_gives_up_its_locks() {
    check! {
        open_at(3, "a"), open_at(4, "a"), open(5), call_on("fcntl", 3), write(5, 8), close(4), write(5, 8)
        => "adjacent-writes file 2→1: write 4 (fcntl or a lock between them)"
    }
}

#[test]
fn a_log_without_waits_may_be_filtered() {
    let of = |lines: &[Line]| {
        let mut analysis =
            crate::advisor::analysis::Analysis::new(crate::advisor::options::Options::default());
        analysis.begin_log();
        feed(&mut analysis, lines);
        summary(&analysis.finish())
    };
    let writes = [open(3), write(3, 8), write(3, 8)];
    assert_eq!(
        of(&writes),
        [
            "adjacent-writes file 2→1: write 4 (the log has few kinds of calls: -e hides waits, and -p what came before: trace again without -e, from the start of the program)"
        ]
    );
    assert_eq!(
        of(&[
            writes.to_vec(),
            ["prlimit64", "brk", "arch_prctl"].map(call).to_vec()
        ]
        .concat()),
        ["adjacent-writes file 2→1: write 4 [adjacent]"]
    );
}
