//! Lines, calls and flags that could not be read.

use crate::advisor::tests::logs::*;

#[test]
fn what_could_not_be_read_ends_runs() {
    let unread = "adjacent-writes file 2→1: write 5 (a line between them that could not be read)";
    let poll = "adjacent-writes file 2→1: write 5 (poll, select or epoll_wait between them)";
    let thread = "clone(child_stack=0x7f00, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2";
    let by_2 = |call: &str| format!("{WRITE}\n2 1795312736.000035 {call}");
    for (between, expected) in [
        ("fsync(3</tmp/f>saved\n) = 0", unread),
        (
            "write(2</dev/pts/0<char 136:0>>, \"s\"..., 6saved\n) = 6",
            unread,
        ),
        ("saved", unread),
        ("<... futex resumed>) = 0", unread),
        ("fsync(9999999999999999999999)", unread),
        ("dup2(3</tmp/f>, 4 <unfinished ...>", unread),
        ("poll([{fd=9, events=POLLIN}], 1, -1 <unfinished ...>", poll),
        ("poll([{fd=9, events=POLLIN}], 1, -1saved", poll),
    ] {
        let (tallies, skipped) = read(&log_of(&[OPEN, WRITE, between, WRITE]));
        assert_eq!(summary(&tallies), [expected], "{between}");
        assert!(skipped > 0, "{between}");
        // By another thread.
        let by_2 = by_2(between);
        let (tallies, _) = read(&log_of(&[OPEN, thread, &by_2, WRITE]));
        let expected = if expected == poll || between.ends_with("...>") { WRITES } else { unread };
        assert_eq!(summary(&tallies), [expected], "{by_2}");
    }
    for write in [
        "write(3</tmp/f>, \"x\"..., 20 <unfinished ...>",
        "write(3</tmp/f>, \"x\"..., 20saved",
        "write(fd=3, buf=\"x\", count=20) = 20",
        "write(3</tmp/f>, \"x\"..., 20 <detached ...>",
        "write(3</tmp/f>, 0x7f00, 0x99999999999999999999) = 20",
    ] {
        let by_2 = by_2(write);
        let (tallies, _) = read(&log_of(&[OPEN, thread, &by_2, WRITE]));
        assert!(
            tallies.findings.is_empty(),
            "{by_2}: {:?}",
            summary(&tallies)
        );
    }
}

#[test]
fn after_a_lost_line_a_number_alone_names_no_file() {
    let open = "openat(AT_FDCWD, \"/tmp/f\", O_WRONLY) = 3";
    let write = "write(3, \"x\"..., 20) = 20";
    let unknown = "adjacent-writes unknown 2→1: write 5 (the log does not say what the descriptor leads to: trace again with -yy)";
    let (tallies, _) = read(&log_of(&[open, "saved", write, write]));
    assert_eq!(summary(&tallies), [unknown]);
    let (tallies, _) = read(&log_of(&["saved", open, write, write]));
    assert_eq!(summary(&tallies), [WRITES]);
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let writes = [OPEN, WRITE, WRITE, "+++ killed by SIGKILL +++"];
    let tallies = tallies_of(&log_of(&[writes, writes].concat()));
    assert_eq!((tallies.processes, tallies.transfers), (2, 4));
    assert_eq!(
        summary(&tallies),
        ["adjacent-writes file 4→2: write 5 [adjacent]"]
    );
}

#[test]
fn a_clone_is_one_call_whenever_its_child_begins() {
    let clone = |end: &str| format!("clone(child_stack=NULL, flags=SIGCHLD{end}");
    let child = "\n2 1795312736.000015 set_robust_list(0x7f, 24) = 0";
    let unfinished = clone(" <unfinished ...>") + child;
    for calls in [
        vec![
            unfinished.as_str(),
            "<... clone resumed>, child_tidptr=0x7f) = 2",
        ],
        vec![
            "clone(strace: Process 2 attached\nchild_stack=0, flags=SIGCHLD) = 2",
            "getpid() = 1",
        ],
    ] {
        assert_eq!(tallies_of(&log_of(&calls)).calls, 2, "{calls:?}");
    }
}

#[test]
fn flags_as_numbers_may_be_any() {
    check(
        r#"…; W; W => 2→1 the log has the flags of open as numbers: trace again without -X raw
  openat(AT_FDCWD</>, "/tmp/f", 0x42, 0666) = 3</tmp/f>
  O; fcntl(3</tmp/f>, 0x4, 0x4000) = 0"#,
    );
}

#[test]
fn a_log_of_some_classes_of_calls_is_not_believed() {
    let filtered = "adjacent-writes file 2→1: write 5 (the log has few kinds of calls: -e hides waits, and -p what came before: trace again without -e, from the start of the program)";
    let writes = [OPEN, WRITE, WRITE];
    let poll = "poll([{fd=9, events=POLLIN}], 1, 0) = 0 (Timeout)";
    let wait = "wait4(-1, NULL, 0, NULL) = 7";
    let fork = "clone(child_stack=NULL, flags=SIGCHLD) = 7";
    let futex = "futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 0";
    let setup = "prctl(PR_SET_NAME, \"x\") = 0";
    let some: [&[&str]; 7] = [
        &[],
        &[futex, futex, "nanosleep({tv_sec=0, tv_nsec=1}, NULL) = 0"],
        &[setup, futex],
        &[poll],
        &[wait, fork],
        &[poll, wait],
        &["brk(NULL) = 0x7"],
    ];
    for some in some {
        let log = log_of(&[&writes[..], some].concat());
        assert_eq!(found_in(&log, false), [filtered], "{some:?}");
    }
    let all: [&[&str]; 3] = [
        &["set_robust_list(0x7f, 24) = 0"],
        &[setup, futex, "getrandom(\"x\", 8, 0) = 8"],
        &[poll, wait, "rt_sigprocmask(SIG_BLOCK, NULL, [], 8) = 0"],
    ];
    for all in all {
        let log = log_of(&[&writes[..], all].concat());
        assert_eq!(found_in(&log, false), [WRITES], "{all:?}");
    }
    // A program without a C library, of Free Pascal or an assembler: its log is whole, unless it proves the contrary.
    let execute = r#"execve("./p", ["./p"], 0x7ffe) = 0"#;
    let [exit, plain_exit] = ["exit_group(0) = ?", "exit(0) = ?"];
    let limit = "getrlimit(RLIMIT_STACK, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) = 0";
    let whole = |some: &[&str], exit| {
        let log = log_of(&[&[execute][..], some, &writes, &[exit]].concat());
        found_in(&log, false)
    };
    assert_eq!(whole(&[limit], exit), [WRITES]);
    assert_eq!(whole(&[], plain_exit), [WRITES]);
    // The log of a static program with `-e trace=%file,%desc,%process`.
    assert_eq!(whole(&[], exit), [filtered]);
    for lacks in [
        r#"openat(AT_FDCWD</>, "/lib/libc.so.6", O_RDONLY) = 4</lib/libc.so.6>"#,
        r#"openat(AT_FDCWD</>, "/etc/ld.so.cache", O_RDONLY) = 4</etc/ld.so.cache>"#,
        r#"read(7</tmp/g>, "x"..., 20) = 20"#,
        "arch_prctl(ARCH_SET_FS, 0x7f) = 0",
    ] {
        assert_eq!(whole(&[lacks, limit], exit), [filtered], "{lacks}");
    }
    for part in [
        &[&[execute, limit], &writes[..]].concat(),
        &[&[limit], &writes[..], &[exit]].concat(),
    ] {
        assert_eq!(found_in(&log_of(part), false), [filtered], "{part:?}");
    }
}

#[test]
fn calls_that_a_log_without_times_lists_together_count_a_process_once() {
    let calls = [
        OPEN,
        WRITE,
        WRITE,
        "fsync(3</tmp/f>) = 0",
        WRITE,
        "brk(NULL) = 0x55",
        WRITE,
    ];
    let log: String = calls.map(|call| format!("1 {call}\n")).concat();
    let tallies = tallies_of(&log);
    let counts = tallies
        .uncounted
        .values()
        .map(|tally| (tally.calls, tally.processes, tally.openings));
    assert_eq!(counts.collect::<Vec<_>>(), [(4, 1, 1)]);
}

#[test]
fn calls_that_are_missing_end_runs_and_keep_descriptors() {
    let with = |writes: usize| {
        let writes = format!("{writes} × write 3 5");
        let log = log_in_short(&format!(
            "open 3 a; {writes}; access(0x7f00, F_OK) = 0; {writes}"
        ));
        read(&log).0
    };
    let tallies = with(2);
    // Not 4 → 1.
    assert_eq!(
        summary(&tallies),
        ["adjacent-writes file 4→2: write 3 [adjacent]"]
    );
    let across = "adjacent-writes file 2→1: write 3 (a line between them that could not be read)";
    assert_eq!(summary(&with(1)), [across]);
}
