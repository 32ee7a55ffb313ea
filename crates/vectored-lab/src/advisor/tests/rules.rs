//! A rule a test.

use crate::advisor::tests::events::*;
use crate::model::{FindingKey, Runtime, Tally};
use vectored_strace::event::{Action, Descriptor, Form, OpenFlags, SocketKind};

#[track_caller]
fn check(lines: &[Line], expected: &[&str]) {
    assert_eq!(told(&analysed(lines)), expected);
}

const POLL: &str = "(poll, select or epoll_wait between them)";

#[test]
fn writes_with_nothing_between_are_one_call() {
    check(
        &[open(3), write(3, 8), write(3, 9), write(3, 10)],
        &["adjacent-writes file 3→1: write 4 [adjacent]"],
    );
}

#[test]
fn a_header_and_a_payload_are_one_call() {
    check(
        &[
            open(3),
            write(3, 8),
            write(3, 100_000),
            write(3, 8),
            write(3, 100_000),
        ],
        &["adjacent-writes file 4→2: write 4, write 17 [adjacent]"],
    );
}

#[test]
fn calls_that_cannot_observe_lie_between_harmlessly() {
    for between in [
        brk(),
        call("getpid"),
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
        let told = told(&analysed(&lines));
        let expected = "adjacent-writes file 2→1: write 4 [harmless-between]".to_owned();
        assert!(told.contains(&expected), "{told:?}: {:?}", lines[4]);
    }
}

#[test]
fn a_wait_parts_what_is_counted() {
    check(
        &[
            open(3),
            write(3, 8),
            write(3, 8),
            call("poll"),
            write(3, 8),
            write(3, 8),
        ],
        &["adjacent-writes file 4→2: write 4 [adjacent]"],
    );
}

#[test]
fn what_only_waits_keep_apart_is_told_but_not_counted() {
    let expected = format!("adjacent-writes file 3→1: write 4 {POLL}");
    check(
        &[
            open(3),
            write(3, 8),
            call("poll"),
            write(3, 8),
            call("poll"),
            write(3, 8),
        ],
        &[&expected],
    );
}

#[test]
fn a_sync_after_each_record_is_a_finding_of_its_own_that_is_not_counted() {
    check(
        &[
            open(3),
            write(3, 8),
            fsync(3),
            write(3, 8),
            fsync(3),
            write(3, 8),
        ],
        &["sync-each file 3→1: write 4, fsync 0 (fsync between them)"],
    );
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
    check(
        &[pipe(3, 4), write(4, 8), write(4, 8)],
        &["adjacent-writes pipe 2→1: write 4 [adjacent]"],
    );
}

#[test]
fn an_opening_for_synchronous_writes_is_not_counted() {
    let flags = OpenFlags {
        sync: true,
        ..OpenFlags::default()
    };
    check(
        &[open_with(3, "a", flags), write(3, 8), write(3, 8)],
        &[
            "adjacent-writes file 2→1: write 4 (O_SYNC or O_DSYNC: each call lasts until its bytes are on the disk)",
        ],
    );
}

#[test]
fn what_may_let_others_see_the_data_crosses_writes() {
    let thread_or_process = [fork(9), thread(9), execve("/bin/x"), line_of_signal()];
    let others = [
        call("futex"),
        call("nanosleep"),
        call("wait4"),
        call("kill"),
        call("rename"),
        call("stat"),
        call("never_heard_of"),
        call_on("fcntl", 3),
        call_on("ioctl", 3),
        call_on("fstat", 3),
        call_on("ftruncate", 3),
        map(3),
        fsync(4),
        write(6, 9),
        read(5, 9),
        close(6),
        pread(3, 5, 0),
        open_at(7, "d"),
    ];
    for between in thread_or_process.into_iter().chain(others) {
        let lines = [
            pipe(5, 6),
            open(3),
            open(4),
            write(3, 8),
            between.clone(),
            write(3, 8),
        ];
        let tallies = analysed(&lines);
        assert!(
            tallies.findings.is_empty(),
            "{between:?}: {:?}",
            told(&tallies)
        );
    }
}

fn line_of_signal() -> Line {
    line("SIGCHLD", vectored_strace::event::Action::Signal)
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
        told(&analysed(&lines))
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
        let told = around(between.clone());
        assert!(
            !told.iter().any(|line| line.contains("[")),
            "{between:?}: {told:?}"
        );
    }
}

#[test]
fn a_gap_is_told_and_so_is_how_long_it_may_be() {
    check(
        &[open(3), write(3, 8), write(3, 8).after(10_000_001)],
        &["adjacent-writes file 2→1: write 4 (a gap of more than 10 ms)"],
    );
    check(
        &[open(3), write(3, 8), write(3, 8).after(10_000_000)],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
}

#[test]
fn no_byte_waits_longer_than_the_gap_may_be() {
    let mut lines = vec![open(3)];
    lines.extend((0..100).map(|_| write(3, 8).after(2_000_000)));
    // Each merged call takes those of 10 ms: the first, and four more.
    check(&lines, &["adjacent-writes file 100→20: write 4 [adjacent]"]);
}

#[test]
fn never_counted_kinds_are_never_told() {
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
    let flags = OpenFlags {
        directory: true,
        ..OpenFlags::default()
    };
    check(&[open_with(3, "a", flags), write(3, 8), write(3, 8)], &[]);
    check(&[open_at(3, "/dev/tty"), write(3, 8), write(3, 8)], &[]);
}

#[test]
fn what_the_log_shows_is_taken_for_descriptors_that_were_open_before() {
    for (text, target) in [
        ("/tmp/x", "file"),
        ("/dev/shm/x", "file"),
        ("pipe:[12]", "pipe"),
        ("TCP:[127.0.0.1:1->127.0.0.1:2]", "tcp"),
        ("TCPv6:[[::1]:1->[::1]:2]", "tcp"),
        ("UNIX-STREAM:[12->13]", "unix"),
    ] {
        let expected = format!("adjacent-writes {target} 2→1: write 4 [adjacent]");
        check(&[write(1, 8).to(text), write(1, 8).to(text)], &[&expected]);
    }
}

#[test]
fn what_is_not_known_is_told_but_not_counted() {
    let expected = "adjacent-writes unknown 2→1: write 4 (the log does not say what the descriptor leads to: trace again with -yy)";
    check(&[write(1, 8), write(1, 8)], &[expected]);
    check(
        &[write(1, 8).to("socket:[5]"), write(1, 8).to("socket:[5]")],
        &[expected],
    );
}

#[test]
fn what_the_log_shows_wins_over_what_the_tables_say() {
    check(
        &[
            open(3),
            write(3, 8),
            write(3, 8).to("pipe:[1]"),
            write(3, 8).to("pipe:[1]"),
        ],
        &["adjacent-writes pipe 2→1: write 4 [adjacent]"],
    );
    check(
        &[
            open_at(3, "link"),
            write(3, 8).to("/dev/tty<char 5:0>"),
            write(3, 8),
        ],
        &[],
    );
}

#[test]
fn a_duplicate_is_the_same_opening_and_a_closed_descriptor_is_none() {
    check(
        &[open(3), dup(3, 8), write(3, 8), write(8, 8)],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
    check(&[open(3), write(3, 8), close(3), open(3), write(3, 8)], &[]);
    check(
        &[pipe(7, 5), open(3), dup(3, 5), write(3, 8), write(5, 8)],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
}

const SEVERAL_WRITERS: &str =
    "(several threads or processes write to it: a merged call changes the order of their bytes)";

#[test]
fn what_several_threads_or_processes_write_to_is_listed() {
    let in_turn = format!("adjacent-writes file 3→1: write 4 {SEVERAL_WRITERS}");
    let both = [write(3, 8), write(3, 8).by(2), write(3, 8)];
    for makes in [thread(2), fork(2)] {
        let lines = [vec![open(3), makes], both.to_vec()].concat();
        check(&lines, &[&in_turn]);
    }
    // Each of them before the other by chance: at another time it would be in turn.
    let in_a_row = format!("adjacent-writes file 4→2: write 4 {SEVERAL_WRITERS}");
    let one = [write(3, 8), write(3, 8)];
    let other = one.clone().map(|line| line.by(2));
    for makes in [thread(2), fork(2)] {
        let lines = [vec![open(3), makes], one.to_vec(), other.to_vec()].concat();
        check(&lines, &[&in_a_row]);
    }
    // Through openings of their own, too.
    let lines = [
        vec![fork(2), open_at(3, "a"), open_at(3, "a").by(2)],
        one.to_vec(),
        other.to_vec(),
    ];
    check(&lines.concat(), &[&in_a_row]);
    // Of different files they do not disturb each other.
    check(
        &[
            open(3),
            open(4),
            thread(2),
            write(3, 8),
            write(4, 8).by(2),
            write(3, 8),
            write(4, 8).by(2),
        ],
        &["adjacent-writes file 2→1: write 4 [adjacent]"; 2],
    );
}

#[test]
fn writers_that_wait_for_each_other_are_counted() {
    let wait = |child| line("wait4", vectored_strace::event::Action::Wait { child });
    let child = |number: u32| {
        let lines = [fork(number), write(3, 8).by(number), write(3, 8).by(number)];
        [lines.to_vec(), vec![exit().by(number)]].concat()
    };
    let own = || vec![write(3, 8), write(3, 8)];
    let waited = [
        own(),
        child(2),
        vec![wait(2)],
        child(5),
        vec![wait(5)],
        own(),
    ];
    check(
        &[vec![open(3)], waited.concat()].concat(),
        &["adjacent-writes file 8→4: write 4 [adjacent]"],
    );
    // Nobody waits: what comes after the child comes so by chance.
    let expected = format!("adjacent-writes file 4→2: write 4 {SEVERAL_WRITERS}");
    check(&[vec![open(3)], child(2), own()].concat(), &[&expected]);
    check(&[vec![open(3)], child(2), child(5)].concat(), &[&expected]);
    // Somebody waits who is not known to come before the second writer.
    let lines = [
        vec![open(3), fork(7), fork(9)],
        child(2),
        vec![wait(2)],
        own().into_iter().map(|line| line.by(9)).collect(),
    ];
    check(&lines.concat(), &[&expected]);
}

#[test]
fn what_several_read_from_at_one_offset_is_listed() {
    let shared =
        "(another thread or process uses the same offset, and would go on from another place)";
    let one = [read(3, 8), read(3, 8)];
    let other = one.clone().map(|line| line.by(2));
    let expected = format!("small-reads file 4→2: read 4 {shared}");
    let lines = [vec![open(3), thread(2)], one.to_vec(), other.to_vec()];
    check(&lines.concat(), &[&expected]);
    // A child that comes later reads on from there.
    let expected = format!("small-reads file 2→1: read 4 {shared}");
    let lines = [vec![open(3)], one.to_vec(), vec![fork(2), read(3, 8).by(2)]];
    check(&lines.concat(), &[&expected]);
    let lines = [
        vec![open(3), thread(2)],
        one.to_vec(),
        vec![seek(3, 0).by(2)],
    ];
    check(&lines.concat(), &[&expected]);
}

#[test]
fn a_call_whose_result_tells_how_much_was_written_crosses_writes() {
    let size =
        "(lseek(SEEK_END), statfs or the like between them, which tells how much was written)";
    let expected = format!("adjacent-writes file 2→1: write 4 {size}");
    check(
        &[open(3), write(3, 8), seek_end(3, 8), write(3, 8)],
        &[&expected],
    );
    check(
        &[open(3), write(3, 8), call("statfs"), write(3, 8)],
        &[&expected],
    );
    let expected = format!("positional-writes file 2→1: pwrite64 4 {size}");
    check(
        &[open(3), pwrite(3, 8, 0), seek_end(3, 8), pwrite(3, 8, 8)],
        &[&expected],
    );
    let same = "(the same file used through another opening between them)";
    let expected = format!("adjacent-writes file 2→1: write 4 {same}");
    check(
        &[
            open_at(3, "a"),
            open_at(4, "a"),
            write(3, 8),
            seek_end(4, 8),
            write(3, 8),
        ],
        &[&expected],
    );
    // Of another file it tells nothing.
    check(
        &[open(3), open(4), write(3, 8), seek_end(4, 8), write(3, 8)],
        &["adjacent-writes file 2→1: write 4 [harmless-between]"],
    );
    // An offset that depends on the size cannot be given to the call.
    let expected = format!("adjacent-writes file 2→1: write 4 {size}");
    check(
        &[open(3), write(3, 8), seek_end(3, 80), write(3, 8)],
        &[&expected],
    );
}

#[test]
fn a_call_that_tells_the_offset_crosses_what_moved_it() {
    let told = "(lseek(SEEK_CUR) between them, which tells the offset that the calls moved)";
    let expected = format!("adjacent-writes file 2→1: write 4 {told}");
    check(
        &[open(3), write(3, 8), tell(3, 8), write(3, 8)],
        &[&expected],
    );
    let expected = format!("small-reads file 2→1: read 4 {told}");
    check(&[open(3), read(3, 8), tell(3, 8), read(3, 8)], &[&expected]);
    check(
        &[open(3), pwrite(3, 8, 0), tell(3, 0), pwrite(3, 8, 8)],
        &["positional-writes file 2→1: pwrite64 4 [harmless-between]"],
    );
}

#[test]
fn another_thread_that_asks_for_a_file_by_its_path_sees_its_size() {
    let path = |path: &'static str, changes| {
        let path = path.as_bytes();
        line(
            "stat",
            vectored_strace::event::Action::Path { path, changes },
        )
        .by(2)
    };
    for changes in [false, true] {
        check(
            &[
                open_at(3, "/tmp/a"),
                thread(2),
                write(3, 8),
                path("../tmp/a", changes),
                write(3, 8),
            ],
            &[
                "adjacent-writes file 2→1: write 4 (the same file used through another opening between them)",
            ],
        );
    }
    check(
        &[
            open_at(3, "/tmp/a"),
            thread(2),
            write(3, 8),
            path("/tmp/b", false),
            write(3, 8),
        ],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
}

#[test]
fn a_file_that_is_made_may_be_waited_for() {
    let flags = OpenFlags {
        creates: true,
        ..OpenFlags::default()
    };
    check(
        &[
            open(3),
            write(3, 8),
            open_with(4, "done", flags),
            write(3, 8),
        ],
        &["adjacent-writes file 2→1: write 4 (rename, unlink or the like between them)"],
    );
}

#[test]
fn transfers_that_do_not_show_may_use_any_descriptor_of_the_process() {
    let submit = |unseen| {
        line(
            "io_uring_enter",
            vectored_strace::event::Action::Submit { unseen },
        )
    };
    let expected = "adjacent-writes file 2→1: write 4 (io_uring or AIO in the same process, whose transfers the log does not show)";
    for by in [1, 2] {
        check(
            &[
                open(3),
                thread(2),
                write(3, 8),
                submit(false).by(by),
                write(3, 8),
            ],
            &[expected],
        );
        check(
            &[
                open(3),
                thread(2),
                submit(true).by(by),
                write(3, 8),
                write(3, 8),
            ],
            &[expected],
        );
    }
    check(
        &[open(3), thread(2), submit(false), write(3, 8), write(3, 8)],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
}

#[test]
fn files_that_are_written_in_turn_are_counted_and_said() {
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
        .map(|tally| (tally.path.as_deref(), tally.order_between.as_deref()))
        .collect();
    let (wal, data) = (Some("/a/wal"), Some("/a/data"));
    assert_eq!(order, [(wal, data), (data, wal)]);
    let (key, tally) = tallies.findings.iter().next().unwrap();
    let action = crate::advisor::wording::words::action(key, tally);
    assert!(
        action.ends_with(
            " The program writes wal and data in turn: merging changes the order in which their bytes reach the kernel."
        ),
        "{action}"
    );
    // One after the other, they are in no order that merging changes.
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
            .all(|tally| tally.order_between.is_none())
    );
}

#[test]
fn a_file_that_is_opened_for_each_record_is_listed() {
    let append = OpenFlags {
        append: true,
        ..OpenFlags::default()
    };
    let record = || [open_with(3, "a", append), write(3, 8), close(3)];
    let expected =
        "adjacent-writes file 3→1: write 4 (the file is closed and opened again between them)";
    check(&[record(), record(), record()].concat(), &[expected]);
    // Some ask for the end of the file first, which does not matter to them.
    let record = |end| {
        let opened = [open_with(3, "a", append), seek_end(3, end)];
        [opened.to_vec(), vec![write(3, 8), close(3)]].concat()
    };
    check(&[record(0), record(8), record(16)].concat(), &[expected]);
    let uses = analysed(&[record(0), record(8), record(16)].concat()).uses;
    let (uses, _) = crate::advisor::findings::uses::most_used(uses);
    assert_eq!((uses[0].calls, uses[0].listed, uses[0].openings), (3, 3, 3));
    // To write it anew is something else.
    let anew = || [open(3), write(3, 8), close(3)];
    check(&[anew(), anew(), anew()].concat(), &[]);
}

#[test]
fn closing_any_descriptor_of_a_file_gives_up_its_locks() {
    check(
        &[
            open_at(3, "a"),
            open_at(4, "a"),
            open(5),
            call_on("fcntl", 3),
            write(5, 8),
            close(4),
            write(5, 8),
        ],
        &["adjacent-writes file 2→1: write 4 (fcntl or a lock between them)"],
    );
}

#[test]
fn a_child_that_speaks_before_its_fork_returns_has_its_parents_descriptors() {
    check(
        &[
            open(3),
            brk().by(2),
            fork(2),
            write(3, 8).by(2),
            write(3, 8).by(2),
        ],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
    check(
        &[
            open(3),
            brk().by(2),
            thread(2),
            write(3, 8).by(2),
            write(3, 8).by(2),
        ],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
}

#[test]
fn a_thread_that_is_taken_for_a_process_is_uncounted_once() {
    // It has the same descriptor as the other, which then turns out to have made it.
    let lines = [
        write(3, 8).to("/a"),
        write(3, 8).to("/a").by(2),
        thread(2),
        write(3, 8).to("/a").by(2),
    ];
    assert_eq!(analysed(&lines).processes, 1);
}

#[test]
fn processes_that_seem_to_have_made_each_other_are_no_endless_line() {
    // Both spoke before their forks, one of which is wrong: a third one asks who made whom.
    let lines = [
        open(3),
        brk().by(2),
        fork(2),
        fork(1).by(2),
        fork(3),
        write(3, 8).by(3),
        write(3, 8).by(2),
        write(3, 8),
    ];
    assert_eq!(analysed(&lines).processes, 3);
    let own = [fork(1), open(3), write(3, 8), fork(2), write(3, 8).by(2)];
    assert_eq!(analysed(&own).processes, 2);
}

#[test]
fn exec_closes_what_is_to_be_closed() {
    let flags = OpenFlags {
        close_on_exec: true,
        ..OpenFlags::default()
    };
    let unknown = "adjacent-writes unknown 2→1: write 4 (the log does not say what the descriptor leads to: trace again with -yy)";
    check(
        &[
            open_with(3, "a", flags),
            execve("/bin/x"),
            write(3, 8),
            write(3, 8),
        ],
        &[unknown],
    );
    check(
        &[open(3), execve("/bin/x"), write(3, 8), write(3, 8)],
        &["adjacent-writes file 2→1: write 4 [adjacent]"],
    );
}

#[test]
fn a_shared_offset_is_not_read_ahead() {
    let shared = "small-reads file 2→1: read 4 (another thread or process uses the same offset, and would go on from another place)";
    check(&[open(3), fork(2), read(3, 8), read(3, 8)], &[shared]);
    // Once the child has closed it, nobody shares it.
    check(
        &[open(3), fork(2), close(3).by(2), read(3, 8), read(3, 8)],
        &["small-reads file 2→1: read 4 [adjacent]"],
    );
    check(
        &[open(3), fork(2), exit().by(2), read(3, 8), read(3, 8)],
        &["small-reads file 2→1: read 4 [adjacent]"],
    );
    check(
        &[read(0, 8).to("/tmp/x"), read(0, 8).to("/tmp/x")],
        &[
            "small-reads file 2→1: read 4 (open before the log began: another process may share the offset, and read on from it)",
        ],
    );
}

#[test]
fn small_reads_are_counted_and_large_ones_are_not() {
    check(
        &[
            open(3),
            read(3, 4096),
            read(3, 4096),
            read_part(3, 4096, 100),
            read_part(3, 4096, 0),
        ],
        &["small-reads file 3→1: read 13 [adjacent]"],
    );
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
    // A seek to where the file is already parts nothing.
    check(
        &[open(3), write(3, 8), seek(3, 8), write(3, 8)],
        &["adjacent-writes file 2→1: write 4 [harmless-between]"],
    );
}

#[test]
fn positional_calls_that_touch_are_one() {
    check(
        &[
            open(3),
            pwrite(3, 8, 100),
            pwrite(3, 8, 108),
            pwrite(3, 8, 300),
        ],
        &["positional-writes file 2→1: pwrite64 4 [adjacent]"],
    );
    check(
        &[
            open(3),
            pread(3, 8, 100),
            pread(3, 8, 108),
            pread(3, 8, 116),
        ],
        &["positional-reads file 3→1: pread64 4 [adjacent]"],
    );
}

#[test]
fn lists_of_tiny_segments_are_a_finding_whatever_lies_around_them() {
    check(
        &[
            open(3),
            writev(3, &[7; 100]),
            call("poll"),
            writev(3, &[7; 100]),
        ],
        &["tiny-segments file 2→2: writev 10 [adjacent]"],
    );
    check(&[open(3), writev(3, &[1000; 100])], &[]);
}

#[test]
fn lists_that_were_split_are_told() {
    check(
        &[
            open(3),
            writev(3, &[900; 1024]),
            writev(3, &[900; 1024]),
            writev(3, &[900; 10]),
        ],
        &["many-segments file 3→3: writev 20 [adjacent]"],
    );
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
    check(
        &[open(3), write(3, 8), short, write(3, 8)],
        &["adjacent-writes file 2→1: write 3, write 4 [adjacent]"],
    );
    check(&[open(3), write(3, 8), failed, write(3, 8)], &[]);
}

#[test]
fn calls_with_a_meaning_of_their_own_are_in_no_run() {
    let special = write(3, 8).but(|of| of.special = true);
    let addressed = write(3, 8).but(|of| of.addressed = true);
    let cut = write(3, 8).but(|of| of.segment_bytes = None);
    let opaque = write(3, 8).but(|of| of.form = vectored_strace::event::Form::Opaque);
    for odd in [special, addressed, cut, opaque, write(3, 0)] {
        check(&[open(3), odd.clone(), odd.clone()], &[]);
        check(&[open(3), write(3, 8), odd, write(3, 8)], &[]);
    }
    let more = write(3, 8).but(|of| of.more = true);
    check(
        &[socket(3, SocketKind::Tcp), more, write(3, 8)],
        &["adjacent-writes tcp 2→1: write 4 (MSG_MORE, which gathers in the kernel already)"],
    );
}

#[test]
fn a_stream_that_several_processes_write_to_is_listed() {
    for (makes, target, bytes) in [
        (pipe(3, 4), "pipe", 8),
        (pipe(3, 4), "pipe", 3000),
        (socket(4, SocketKind::UnixStream), "unix", 8),
        (socket(4, SocketKind::Tcp), "tcp", 8),
    ] {
        let class = u64::BITS - u64::leading_zeros(bytes);
        let expected = format!("adjacent-writes {target} 2→1: write {class} {SEVERAL_WRITERS}");
        let own = vec![write(4, bytes); 2];
        let lines = [
            vec![makes.clone(), fork(2)],
            own.clone(),
            vec![write(4, 1).by(2)],
        ];
        check(&lines.concat(), &[&expected]);
        let lines = [vec![makes, fork(2), write(4, 1).by(2)], own];
        check(&lines.concat(), &[&expected]);
    }
}

#[test]
fn threads_that_strace_was_attached_to_are_taken_for_one_process() {
    for (text, target) in [
        ("TCP:[127.0.0.1:1->127.0.0.1:2]", "tcp"),
        ("UNIX-STREAM:[12->13]", "unix"),
        ("pipe:[12]", "pipe"),
        ("/srv/app.log", "file"),
    ] {
        let of = |thread| write(6, 8).to(text).by(thread);
        let expected = format!("adjacent-writes {target} 6→1: write 4 {SEVERAL_WRITERS}");
        let lines: Vec<Line> = [1, 2, 1, 2, 1, 2].map(of).to_vec();
        check(&lines, &[&expected]);
        let expected = format!("adjacent-writes {target} 4→2: write 4 {SEVERAL_WRITERS}");
        check(&[1, 1, 2, 2].map(of), &[&expected]);
        assert_eq!(analysed(&lines).processes, 1);
    }
    // Another's lseek moves the offset of both.
    let text = "/srv/app.log";
    let mut moves = seek(6, 800).by(2);
    if let vectored_strace::event::Action::Seek { descriptor, .. } = &mut moves.action {
        descriptor.leads_to = Some(text.as_bytes());
    }
    check(
        &[write(6, 8).to(text), moves, write(6, 8).to(text)],
        &[
            "adjacent-writes file 2→1: write 4 (another thread or process uses the same offset, and would go on from another place)",
        ],
    );
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
        let told = told(&analysed(&lines));
        told[0]
            .split(": ")
            .nth(1)
            .unwrap()
            .replace(" [adjacent]", "")
    };
    assert_eq!(of(&[8, 4096].repeat(5)), "write 4, write 13");
    assert_eq!(of(&[8, 4096, 8, 4096, 8]), "write 4, write 13");
    assert_eq!(of(&[8, 8, 8, 1]), "write 4");
    assert_eq!(of(&[1, 1, 8, 1, 1, 8]), "write 1, write 1, write 4");
    // No order: the sizes are not told one after the other.
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
fn a_log_without_waits_is_not_believed() {
    let of = |lines: &[Line]| {
        let mut analysis =
            crate::advisor::analysis::Analysis::new(crate::advisor::options::Options::default());
        analysis.begin_log();
        feed(&mut analysis, lines);
        told(&analysis.finish())
    };
    let writes = [open(3), write(3, 8), write(3, 8)];
    assert_eq!(
        of(&writes),
        [
            "adjacent-writes file 2→1: write 4 (no call shows that the log was not filtered, and waits would not show: trace again without -e)"
        ]
    );
    assert_eq!(
        of(&[writes.to_vec(), vec![call("prlimit64")]].concat()),
        ["adjacent-writes file 2→1: write 4 [adjacent]"]
    );
}

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
fn processes_openings_and_paths_are_counted() {
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
    // Both are flushed after the process has ended, or before: that makes no difference.
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
    // Now and then something waits, after each step of the record.
    let mut lines = vec![open(3)];
    for (place, line) in calls.into_iter().enumerate() {
        if place % 40 == 0 {
            lines.push(call("futex"));
        }
        lines.push(line);
    }
    let tallies = analysed(&lines);
    assert_eq!(
        told(&tallies),
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
    assert_eq!(tallies.findings.len(), 1, "{:?}", told(&tallies));
    let tally = tallies.findings.values().next().unwrap();
    assert_eq!(tally.starts, [1, 0, 1, 0]);
}

#[test]
fn reads_of_a_stream_that_one_thread_has_are_counted_and_all_others_are_listed() {
    let made = |lines: Vec<Line>| [vec![socket(3, SocketKind::Tcp)], lines].concat();
    let others = "small-reads tcp 3→1: read 1 (several threads or processes read the stream, or may: \
                  a larger buffer would take what another is to read)";
    let reads = vec![read(3, 1); 3];
    check(
        &made(reads.clone()),
        &["small-reads tcp 3→1: read 1 [reads-ahead]"],
    );
    // Even if another process gets the stream later, or another thread reads it once.
    check(&made([reads.clone(), vec![fork(2)]].concat()), &[others]);
    check(
        &made([vec![thread(2)], reads.clone(), vec![read(3, 1).by(2)]].concat()),
        &[others],
    );
    check(&made([vec![fork(2)], reads.clone()].concat()), &[others]);
    // Unless it is closed when that runs a program.
    let closes = line(
        "fcntl",
        Action::SetCloseOnExec {
            descriptor: fd(3),
            close_on_exec: true,
        },
    );
    check(
        &made([vec![closes], reads.clone(), vec![fork(2)]].concat()),
        &["small-reads tcp 3→1: read 1 [reads-ahead]"],
    );
    // What was asked for in between may be what is read.
    let asks = vec![read(3, 1), write(3, 9), read(3, 1)];
    check(
        &made(asks),
        &[
            "small-reads tcp 2→1: read 1 (a write to a pipe or socket between them, which these bytes may answer)",
        ],
    );
    // Inherited: others may read it.
    let inherited: Vec<Line> = reads.into_iter().map(|line| line.to("pipe:[7]")).collect();
    check(
        &inherited,
        &[
            "small-reads pipe 3→1: read 1 (open before the log began: another process may read the stream, and a larger buffer would take what it is to read)",
        ],
    );
}

#[test]
fn what_another_program_is_to_read_is_not_read_ahead() {
    let reads = || vec![read(3, 1); 3];
    let stream = |lines: Vec<Line>| [vec![socket(3, SocketKind::Tcp)], lines].concat();
    let file = |lines: Vec<Line>| [vec![open(3)], lines].concat();
    let of_stream = "small-reads tcp 3→1: read 1 (several threads or processes read the stream, or may: \
                     a larger buffer would take what another is to read)";
    let of_file = "small-reads file 3→1: read 1 (another thread or process uses the same offset, and would \
                   go on from another place)";
    // `read line; exec cat`: the next program has the same thread.
    let next = vec![execve("/bin/cat"), read(3, 64)];
    check(&stream([reads(), next.clone()].concat()), &[of_stream]);
    check(&file([reads(), next].concat()), &[of_file]);
    // What a program that runs later does with a stream may not show; the offset of a file matters only to
    // one that uses it.
    let runs = vec![execve("/bin/true")];
    check(&stream([reads(), runs.clone()].concat()), &[of_stream]);
    let counted = "small-reads file 3→1: read 1 [adjacent]";
    check(&file([reads(), runs].concat()), &[counted]);
    // In a child that keeps a duplicate only.
    let closes = line(
        "fcntl",
        Action::SetCloseOnExec {
            descriptor: fd(3),
            close_on_exec: true,
        },
    );
    let child = vec![fork(2), dup(3, 0).by(2), execve("/bin/cat").by(2)];
    check(
        &stream([vec![closes], reads(), child].concat()),
        &[of_stream],
    );
}

#[test]
fn a_stream_that_is_opened_by_name_or_passed_on_is_not_read_ahead() {
    const PIPE: &str = "pipe:[7]";
    let named = |number| Descriptor {
        leads_to: Some(PIPE.as_bytes()),
        ..fd(number)
    };
    let made = line(
        "pipe2",
        Action::Pipe {
            read: named(3),
            write: named(4),
            packets: false,
            close_on_exec: false,
        },
    );
    let by_name = line(
        "openat",
        Action::Open {
            descriptor: named(5),
            path: b"/dev/fd/3",
            flags: OpenFlags::default(),
        },
    );
    let others = "several threads or processes read the stream, or may: a larger buffer would take what \
                  another is to read";
    let listed = |calls| format!("small-reads pipe {calls}→1: read 1 ({others})");
    let reads = |number| vec![read(number, 1).to(PIPE); 3];
    // The other descriptor may be read before, after or in between.
    for places in [[3, 5], [5, 3]] {
        let lines = [
            vec![made.clone(), by_name.clone()],
            reads(places[0]),
            reads(places[1]),
        ];
        let both = listed(6).replace("→1", "→2");
        check(&lines.concat(), &[&both]);
    }
    check(
        &[vec![made.clone(), by_name], reads(5)].concat(),
        &[&listed(3)],
    );
    // Written only: nobody else reads.
    let counted = "small-reads pipe 3→1: read 1 [reads-ahead]";
    let writes = vec![write(4, 8).to(PIPE)];
    check(&[vec![made.clone()], writes, reads(3)].concat(), &[counted]);
    // A descriptor goes with a message; from where it came, it may be read before or after.
    let sends = write(6, 2).but(|transfer| transfer.addressed = true);
    let socket = socket(6, SocketKind::UnixStream);
    check(
        &[vec![made.clone(), socket.clone()], reads(3), vec![sends]].concat(),
        &[&listed(3)],
    );
    // It shows under another number in another process.
    let stranger = vec![thread(2), read(9, 64).to(PIPE).by(7)];
    check(&[vec![made], reads(3), stranger].concat(), &[&listed(3)]);
    // Descriptors come with bytes that `read` would drop them with.
    let comes = read(6, 2).but(|transfer| transfer.addressed = true);
    check(
        &[vec![socket], vec![read(6, 1); 3], vec![comes]].concat(),
        &[
            "small-reads unix 3→1: read 1 (descriptors or credentials came with some of its bytes: \
             a larger buffer would lose them)",
        ],
    );
}

#[test]
fn seeks_are_not_left_out_if_another_goes_on_from_the_offset() {
    let at_places = |call: fn(i32, u64) -> Line| -> Vec<Line> {
        let places = [100, 200, 300];
        let calls = places.map(|place| vec![seek(3, place), call(3, 8)]);
        [vec![open(3), call(3, 8)], calls.concat()].concat()
    };
    let waits = line("wait4", Action::Wait { child: 2 });
    let child = |last: Line| vec![fork(2), last.by(2), exit().by(2), waits.clone()];
    let next = vec![execve("/bin/echo"), write(3, 5)];
    for (call, name) in [(write as fn(i32, u64) -> Line, "write"), (read, "read")] {
        let counted = format!("seek-then-transfer file 7→4: lseek 0, {name} 4 [adjacent]");
        check(&at_places(call), &[&counted]);
        let why =
            "another thread or process uses the same offset, and would go on from another place";
        let listed = format!("seek-then-transfer file 7→4: lseek 0, {name} 4 ({why})");
        for others in [
            child(write(3, 5)),
            child(read(3, 5)),
            child(tell(3, 308)),
            next.clone(),
            vec![fork(2), exit(), write(3, 5).by(2)],
        ] {
            check(&[at_places(call), others].concat(), &[&listed]);
        }
        // The next program does not have it.
        let closes = Action::SetCloseOnExec {
            descriptor: fd(3),
            close_on_exec: true,
        };
        let lines = [vec![line("fcntl", closes), execve("/bin/echo")]].concat();
        check(&[at_places(call), lines].concat(), &[&counted]);
    }
}

#[test]
fn what_splice_is_to_move_is_not_read_ahead() {
    let moves = |from| {
        write(8, 100).but(|transfer| {
            transfer.from = Some(fd(from));
            transfer.form = Form::Opaque;
            transfer.segment_bytes = None;
        })
    };
    let why = "sendfile, splice or tee from it: a larger buffer would take what that is to move";
    for (made, target) in [(open(3), "file"), (pipe(3, 4), "pipe")] {
        let reads = vec![read(3, 4); 3];
        let lines = [vec![made, open(8)], reads, vec![moves(3)]].concat();
        check(
            &lines,
            &[&format!("small-reads {target} 3→1: read 3 ({why})")],
        );
    }
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
    let told: Vec<String> = uses
        .iter()
        .map(|one| {
            let reason = one.reason.as_deref().unwrap_or("");
            let (calls, counted, listed) = (one.calls, one.counted, one.listed);
            format!("{} {calls} {counted} {listed} {reason}", one.kind)
        })
        .collect();
    assert_eq!(
        told,
        [
            "message socket 30 0 0 each call is a message: sendmmsg and recvmmsg move several in one call",
            "terminal 20 0 0 terminals are never counted: text has to appear at once",
            "file 13 10 3 poll, select or epoll_wait between them",
            "file 2 0 0 the calls are as large as a buffer already",
            "file 1 0 0 no adjacent call that it could be merged with",
        ]
    );
    assert_eq!(more, 0);
    // What turns out to be shared later is listed.
    let lines = [
        vec![open(3), fork(2)],
        vec![write(3, 8); 3],
        vec![exit(), write(3, 8).by(2)],
    ];
    let (uses, _) = crate::advisor::findings::uses::most_used(analysed(&lines.concat()).uses);
    assert_eq!((uses[0].calls, uses[0].counted, uses[0].listed), (4, 0, 3));
}

#[test]
fn calls_of_one_opening_under_several_numbers_are_in_one_row_of_the_table() {
    let writes = vec![write(1, 8).by(2), write(2, 8)];
    let lines = [vec![dup(1, 2), fork(2)], vec![writes; 2].concat()].concat();
    let (uses, _) = crate::advisor::findings::uses::most_used(analysed(&lines).uses);
    let told: Vec<_> = uses
        .iter()
        .map(|one| (one.descriptor, one.calls, one.counted, one.listed))
        .collect();
    assert_eq!(told, [(1, 4, 0, 4)]);
}

#[test]
fn what_runs_a_program_is_found_by_its_name_and_its_libraries() {
    let of = |lines: &[Line]| {
        let own = [open_at(3, "out"), write(3, 8), write(3, 8)];
        let tallies = analysed(&[lines, &own].concat());
        tallies.findings.values().next().unwrap().runtime
    };
    let library = |path| open_at(9, path);
    assert_eq!(
        of(&[execve("/usr/bin/tool"), library("/lib/libc.so.6")]),
        Some(Runtime::C)
    );
    assert_eq!(
        of(&[
            execve("/usr/bin/tool"),
            library("/lib/libstdc++.so.6"),
            library("/lib/libc.so.6")
        ]),
        Some(Runtime::Cpp)
    );
    assert_eq!(
        of(&[execve("/usr/bin/node"), library("/lib/libstdc++.so.6")]),
        Some(Runtime::Node)
    );
    assert_eq!(of(&[execve("/usr/bin/static")]), None);
    // A program takes nothing over from the one that ran before it.
    let other = [
        execve("/usr/bin/python3"),
        execve("/usr/bin/tool"),
        library("/lib/libc.so.6"),
    ];
    assert_eq!(of(&other), Some(Runtime::C));
}
