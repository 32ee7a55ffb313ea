//! Others that notice when bytes arrive.

use crate::advisor::tests::rules::SEVERAL_WRITERS;
use crate::advisor::tests::texts::*;

/// Forks a process 2, which makes a call between two writes of process 1, and expects the reason why they are not counted.
#[track_caller]
fn check_observer(before: &[&str], by_2: &str, expected: &[&str]) {
    let mut log = log_of(
        &[
            &["clone(child_stack=NULL, flags=SIGCHLD) = 2", OPEN][..],
            before,
        ]
        .concat(),
    );
    log += &format!("1 1795312736.000300 {WRITE}\n1 1795312736.000310 {WRITE}\n");
    log += &format!("2 1795312736.000320 {by_2}\n");
    log += &format!("1 1795312736.000330 {WRITE}\n1 1795312736.000340 {WRITE}\n");
    assert_eq!(found_in(&log, true), expected, "{log}");
}

#[test]
fn what_another_process_looks_at_is_not_counted_at_all() {
    let observed = [
        "adjacent-writes file 2→1: write 5 (another thread or process reads the file, or asks for its size, while it is written)",
    ];
    let observed = [observed[0].replace("2→1", "4→2")];
    let observed: Vec<&str> = observed.iter().map(String::as_str).collect();
    let opened = "openat(AT_FDCWD</>, \"/tmp/f\", O_RDONLY) = 5</tmp/f>";
    for (before, by_2) in [
        // Through an open of its own, or a descriptor that came with a message.
        (
            "getpid() = 1",
            "newfstatat(5</tmp/f>, \"\", {st_size=20}, AT_EMPTY_PATH) = 0",
        ),
        (
            "getpid() = 1",
            "statx(5</tmp/f>, \"\", AT_EMPTY_PATH, STATX_ALL, {stx_size=20}) = 0",
        ),
        ("getpid() = 1", "fstat(5</tmp/f>, {st_size=20}) = 0"),
        ("getpid() = 1", "lseek(5</tmp/f>, 0, SEEK_END) = 20"),
        ("getpid() = 1", "stat(\"/tmp/f\", {st_size=20}) = 0"),
        ("getpid() = 1", "read(5</tmp/f>, \"\", 4096) = 0"),
        // By another name.
        (
            "link(\"/tmp/f\", \"/tmp/g\") = 0",
            "stat(\"/tmp/g\", {st_size=20}) = 0",
        ),
        (
            "symlinkat(\"f\", 7</tmp>, \"g\") = 0",
            "newfstatat(7</tmp>, \"g\", {st_size=20}, 0) = 0",
        ),
    ] {
        check_observer(&[before], by_2, &observed);
    }
    // A descriptor that the log does not name.
    let stat =
        "adjacent-writes file 2→1: write 5 (stat between them, which may see the file's size)";
    let both = ["adjacent-writes file 4→2: write 5 [adjacent]"];
    check_observer(&["getpid() = 1"], "fstat(5, {st_size=20}) = 0", &both);
    check(&[OPEN, WRITE, "fstat(5, {st_size=20}) = 0", WRITE], &[stat]);
    // Of another file.
    let four = ["adjacent-writes file 4→1: write 5 [adjacent]"];
    check_observer(&[], "fstat(5</tmp/h>, {st_size=20}) = 0", &four);
    check_observer(&[], opened, &four);
    // A file that took its place is another one.
    let renamed = "rename(\"/tmp/f\", \"/tmp/g\") = 0";
    check_observer(&[renamed], "stat(\"/tmp/g\", {st_size=20}) = 0", &four);
    // In a log without names it is the same one.
    let nameless = log_of(&[
        "clone(child_stack=NULL, flags=SIGCHLD) = 2",
        "openat(AT_FDCWD, \"f\", O_WRONLY|O_CREAT) = 3",
        "rename(\"f\", \"g\") = 0",
        "write(3, \"x\"..., 20) = 20",
    ]) + "2 1795312736.000900 stat(\"g\", {st_size=20}) = 0\n1 1795312736.000910 write(3, \"x\"..., 20) = 20\n";
    let seen = found_in(&nameless, true);
    assert_eq!(seen, [observed[0].replace("4→2", "2→1")], "{nameless}");
    // The writer knows the size that it asks for.
    let own = ["adjacent-writes file 4→2: write 5 [adjacent]"];
    let log = log_of(&[
        OPEN,
        WRITE,
        WRITE,
        "fstat(3</tmp/f>, {st_size=20}) = 0",
        WRITE,
        WRITE,
    ]);
    assert_eq!(found_in(&log, true), own);
}

#[test]
fn a_file_that_announces_what_is_in_a_pipe_is_looked_at() {
    let message = "write(4<pipe:[7]>, \"x\"..., 20) = 20";
    let state = "openat(AT_FDCWD</>, \"/tmp/s\", O_RDWR|O_CREAT|O_EXCL, 0666) = 6</tmp/s>";
    let counted = ["adjacent-writes pipe 4→1: write 5 [harmless-between]"];
    let announced = [
        "adjacent-writes pipe 4→1: write 5 (another thread or process looks at a file that is written between them, \
                      and may wait for that)",
    ];
    // A barrier.
    let utime = ["adjacent-writes pipe 2→1: write 5 [adjacent]"];
    let touch =
        "utimensat(AT_FDCWD</>, \"/tmp/s\", [{tv_sec=1, tv_nsec=0}, {tv_sec=1, tv_nsec=0}], 0) = 0";
    let fork = "clone(child_stack=NULL, flags=SIGCHLD) = 2";
    for (change, by_2, expected) in [
        (
            "pwrite64(6</tmp/s>, \"x\"..., 8, 0) = 8",
            "pread64(6</tmp/s>, \"x\"..., 8, 0) = 8",
            &announced[..],
        ),
        (
            "write(6</tmp/s>, \"x\"..., 8) = 8",
            "stat(\"/tmp/s\", {st_size=8}) = 0",
            &announced,
        ),
        (
            "write(6</tmp/s>, \"x\"..., 8) = 8",
            "getpid() = 2",
            &counted,
        ),
        (touch, "getpid() = 2", &utime),
    ] {
        let mut log = log_of(&["pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0", state, fork]);
        for round in [40, 50] {
            for (place, (by, call)) in [(1, message), (1, change), (2, by_2), (1, message)]
                .iter()
                .enumerate()
            {
                log += &format!("{by} 1795312736.000{}0 {call}\n", round + place);
            }
        }
        let found = found_in(&log, true);
        let found: Vec<&String> = found
            .iter()
            .filter(|line| line.starts_with("adjacent-writes pipe"))
            .collect();
        assert_eq!(found, expected, "{log}");
    }
}

#[test]
fn what_is_watched_is_not_counted() {
    let watched = [
        "adjacent-writes file 4→1: write 5 (inotify or fanotify watches it: each write is an event)",
    ];
    let counted = ["adjacent-writes file 4→1: write 5 [adjacent]"];
    for (watch, expected) in [
        (
            "inotify_add_watch(4<anon_inode:inotify>, \"/tmp\", IN_MODIFY|IN_CREATE) = 1",
            watched,
        ),
        (
            "inotify_add_watch(4<anon_inode:inotify>, \"/tmp/f\", IN_ACCESS|IN_MODIFY) = 1",
            watched,
        ),
        (
            "inotify_add_watch(4<anon_inode:inotify>, \".\", 0xfff) = 1",
            watched,
        ),
        (
            "fanotify_mark(4, FAN_MARK_ADD|FAN_MARK_MOUNT, FAN_MODIFY, AT_FDCWD, \"/\") = 0",
            watched,
        ),
        (
            "fanotify_mark(4, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD</>, \"/tmp/f\") = 0",
            watched,
        ),
        (
            "inotify_add_watch(4<anon_inode:inotify>, \"/tmp\", IN_CREATE) = 1",
            counted,
        ),
        (
            "inotify_add_watch(4<anon_inode:inotify>, \"/srv\", IN_MODIFY) = 1",
            counted,
        ),
    ] {
        let log =
            log_of(&[OPEN]) + &format!("2 1795312736.000005 {watch}\n") + &log_of(&[WRITE; 4]);
        assert_eq!(found_in(&log, true), expected, "{watch}");
    }
    // The transfers of a process with a ring do not show.
    let submitted = [
        "adjacent-writes file 4→1: write 5 (io_uring or AIO in a process that has it open, whose transfers the log does not show)",
    ];
    for by_2 in [
        [
            OPEN_AGAIN,
            "io_uring_enter(5, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1",
        ],
        [
            "io_uring_enter(5, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1",
            OPEN_AGAIN,
        ],
    ] {
        let by_2: String = by_2
            .iter()
            .map(|call| format!("2 1795312736.000005 {call}\n"))
            .collect();
        let log = log_of(&[OPEN]) + &by_2 + &log_of(&[WRITE; 4]);
        assert_eq!(found_in(&log, true), submitted, "{by_2}");
    }
}

#[test]
fn who_writes_to_another_reader_does_not_wake_itself() {
    let make = "pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0";
    let child = "clone(child_stack=NULL, flags=SIGCHLD) = 2";
    let write = "write(4<pipe:[7]>, \"x\", 1) = 1";
    let read = "read(3<pipe:[7]>, \"x\", 16) = 1";
    let writes = format!("2 1795312736.000050 {write}\n").repeat(4);
    for (begin, grade) in [
        ([make, child, write, read], SEVERAL_WRITERS),
        // The child writes after all that its parent wrote.
        ([make, write, read, child], "[adjacent]"),
    ] {
        assert_eq!(
            found_in(&(log_of(&begin) + &writes), true),
            [format!("adjacent-writes pipe 4→1: write 1 {grade}")],
        );
    }
}

#[test]
fn who_reads_answers_does_not_read_what_it_wrote() {
    let socket = "3<UNIX-STREAM:[7->8]>";
    let accept = format!("accept4(4<UNIX-STREAM:[5,\"/s\"]>, NULL, NULL, 0) = {socket}");
    let read = format!("read({socket}, \"x\", 16) = 1");
    let write = &format!("write({socket}, \"x\", 1) = 1");
    check(
        &[&accept, &read, write, write, write, write],
        &["adjacent-writes unix 4→1: write 1 [adjacent]"],
    );
}

#[test]
fn a_corked_socket_gathers_already() {
    let make = "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3<TCP:[7]>";
    let write = "write(3<TCP:[7]>, \"x\"..., 20) = 20";
    let cork = |on: &str| format!("setsockopt(3<TCP:[7]>, SOL_TCP, TCP_CORK, [{on}], 4) = 0");
    let corked = "adjacent-writes tcp 2→1: write 5 (MSG_MORE or TCP_CORK, which gathers in the kernel already)";
    check(&[make, &cork("1"), write, write], &[corked]);
    check(
        &[
            make,
            "setsockopt(3<TCP:[7]>, 0x6, 0x3, [1], 4) = 0",
            write,
            write,
        ],
        &[corked],
    );
    let counted = "adjacent-writes tcp 2→1: write 5 [adjacent]";
    check(&[make, &cork("1"), &cork("0"), write, write], &[counted]);
}

#[test]
fn a_file_by_another_name_is_the_same_file() {
    let observed = "adjacent-writes file 4→2: write 5 (another thread or process reads the file, or asks for its size, while it is written)";
    let fstat = |number: &str| {
        format!(
            "fstat({number}, {{st_dev=makedev(0x8, 0x1), st_ino=7, st_mode=S_IFREG|0644, st_size=20, ...}}) = 0"
        )
    };
    let (own, opened) = (fstat("3</tmp/f>"), fstat("5</srv/g>"));
    for (before, by_2) in [
        (
            "getpid() = 1",
            r#"newfstatat(AT_FDCWD</>, "/proc/1/fd/3", {st_size=20}, 0) = 0"#,
        ),
        (
            "getpid() = 1",
            r#"stat("/proc/1/task/1/fd/3", {st_size=20}) = 0"#,
        ),
        (
            &own,
            r#"stat("/srv/g", {st_dev=makedev(0x8, 0x1), st_ino=7, st_size=20, ...}) = 0"#,
        ),
        (
            &own,
            r#"statx(AT_FDCWD</>, "g", 0, STATX_ALL, {stx_ino=7, stx_size=20, stx_dev_major=8, stx_dev_minor=1}) = 0"#,
        ),
    ] {
        check_observer(&[before], by_2, &[observed]);
    }
    let other = r#"stat("/srv/g", {st_dev=makedev(0x8, 0x2), st_ino=7, st_size=20, ...}) = 0"#;
    let counted = ["adjacent-writes file 4→1: write 5 [adjacent]"];
    check_observer(&[&own], other, &counted);
    // Through a descriptor: by `O_PATH`, or of another name.
    for (open, look) in [
        (
            r#"openat(AT_FDCWD</>, "/tmp/f", O_RDONLY|O_PATH) = 5</tmp/f>"#,
            "fstat(5</tmp/f>, {st_size=20}) = 0",
        ),
        (
            r#"openat(AT_FDCWD</>, "/srv/g", O_RDONLY) = 5</srv/g>"#,
            &*opened,
        ),
    ] {
        let log = log_of(&[
            "clone(child_stack=NULL, flags=SIGCHLD) = 2",
            OPEN,
            &own,
            WRITE,
            WRITE,
        ]) + &format!(
            "2 1795312736.000060 {open}\n2 1795312736.000061 {look}\n2 1795312736.000062 {look}\n"
        ) + &format!("1 1795312736.000070 {WRITE}\n1 1795312736.000071 {WRITE}\n");
        assert_eq!(found_in(&log, true), [observed], "{log}");
    }
    let watched = [
        "adjacent-writes file 4→1: write 5 (inotify or fanotify watches it: each write is an event)",
    ];
    for watch in [
        "fcntl(9</tmp>, F_NOTIFY, DN_MODIFY|DN_MULTISHOT) = 0",
        "inotify_add_watch(4, \"/proc/self/fd/9\", IN_MODIFY) = 1",
        "chdir(\"/tmp\") = 0",
    ] {
        let open = "openat(AT_FDCWD</>, \"/tmp\", O_RDONLY|O_PATH) = 9</tmp>";
        let here = "inotify_add_watch(4, \"../tmp/f\", IN_MODIFY) = 1";
        check(
            &[open, watch, here, OPEN, WRITE, WRITE, WRITE, WRITE],
            &watched,
        );
    }
}

#[test]
fn a_file_that_is_asked_for_again_or_in_vain_may_be_an_answer() {
    const PIPE: &str = "pipe2([7<pipe:[7]>, 8<pipe:[7]>], 0) = 0";
    const SEND: &str = "write(8<pipe:[7]>, \"x\", 8) = 8";
    let polled = "adjacent-writes pipe 2→1: write 4 (open, stat or read of a file again or in vain between them, which may be a wait)";
    let counted = "adjacent-writes pipe 2→1: write 4 [harmless-between]";
    let none = "-1 ENOENT (No such file or directory)";
    for ask in [
        "access(\"a\", F_OK)",
        "openat(AT_FDCWD</>, \"a\", O_RDONLY)",
        "stat(\"a\", 0x7ffe)",
        "faccessat2(AT_FDCWD</>, \"a\", F_OK, AT_EACCESS)",
        "readlink(\"a\", 0x7ffe, 64)",
        "mkdir(\"a\", 0777)",
    ] {
        check(&[PIPE, SEND, &format!("{ask} = {none}"), SEND], &[polled]);
    }
    for ask in [
        "access(\"a\", F_OK) = 0",
        "stat(\"a\", {st_size=20}) = 0",
        "openat(AT_FDCWD</>, \"a\", O_RDONLY) = 4</a>",
    ] {
        check(&[PIPE, SEND, ask, SEND], &[counted]);
        check(&[PIPE, SEND, ask, ask, SEND], &[polled]);
        // Made by another process, which may be the answer.
        let made = "openat(AT_FDCWD</>, \"a\", O_WRONLY|O_CREAT, 0666) = 5</a>";
        let log = log_of(&[PIPE, "clone(child_stack=NULL, flags=SIGCHLD) = 2", SEND])
            + &format!(
                "2 1795312736.000040 {made}\n1 1795312736.000050 {ask}\n1 1795312736.000060 {SEND}\n"
            );
        assert_eq!(found_in(&log, true), [polled], "{log}");
    }
    let zone = "stat(\"/etc/localtime\", {st_size=20}) = 0";
    check(&[PIPE, SEND, zone, zone, SEND], &[counted]);
    // Two files, one after the other through the descriptors of one number, and one file again.
    let look = "fstat(9</a>, {st_mode=S_IFREG|0644, st_size=1}) = 0";
    let [open, close] = [
        "openat(AT_FDCWD</>, \"/a\", O_RDONLY) = 9</a>",
        "close(9</a>) = 0",
    ];
    let other = open.replace("/a", "/b");
    let [of_other, end] = [look, close].map(|call| call.replace("/a", "/b"));
    check(
        &[PIPE, SEND, open, look, close, &other, &of_other, &end, SEND],
        &[counted],
    );
    check(&[PIPE, SEND, open, look, look, close, SEND], &[polled]);
    let (end, list) = (
        "read(3</tmp/f>, \"\", 1) = 0",
        "lseek(9</d>, 0, SEEK_SET) = 0",
    );
    let folder = "openat(AT_FDCWD</>, \"/d\", O_RDONLY|O_DIRECTORY) = 9</d>";
    check(&[PIPE, OPEN, SEND, end, end, SEND], &[polled]);
    // A record that the thread itself wrote meanwhile.
    let [look, update] = [
        r#"pread64(3</tmp/f>, "x"..., 8, 0) = 8"#,
        r#"pwrite64(3</tmp/f>, "y"..., 8, 0) = 8"#,
    ];
    check(&[PIPE, OPEN, SEND, look, look, SEND], &[polled]);
    let updated = polled.replace(
        "open, stat or read of a file again or in vain between them, which may be a wait",
        "an overwrite of another file in place between them",
    );
    check(&[PIPE, OPEN, SEND, look, update, look, SEND], &[&updated]);
    check(&[PIPE, folder, SEND, list, SEND], &[polled]);
}

#[test]
fn where_others_may_write_each_call_writes_whole_records() {
    let append = OPEN.replace("O_CREAT", "O_CREAT|O_APPEND");
    let file = "Others may append to the file: collect whole records in one buffer, count its bytes, and flush it before a record that \
                would leave less than 100 B of room, since a full buffer cuts a record, before the close of the file, and on every way out: 1 call with such a buffer, instead of 2. A failed write shows at a later write, flush or close: check each.";
    assert_eq!(actions(&log_of(&[&append, WRITE, WRITE])), [file]);
    assert_eq!(actions(&log_of(&[WRITE, WRITE])), [file]);
    let new = append.replace("O_CREAT", "O_CREAT|O_EXCL");
    let alone = "Collect all writes to the descriptor in one buffer, and flush that when it is full, not after each record, before the close of the \
                 file, and on every way out: 1 call with such a buffer, instead of 2. \
                A reader may find, and a kill may leave, part of a record. A failed write shows at a later write, flush or close: check each.";
    assert_eq!(actions(&log_of(&[&new, WRITE, WRITE])), [alone]);
    // A pipe from before the log began.
    let pipe = "write(1<pipe:[7]>, \"x\"..., 2000) = 2000";
    let piped = "Others may write to the pipe: collect whole records in one buffer, count its bytes, and flush it before it has more than \
                 4 KiB, before the close of the descriptor, and on every way out: 2 calls with such a buffer, instead of 4. A failed write shows at a later write, flush or close: check each.";
    assert_eq!(actions(&log_of(&[pipe; 4])), [piped]);
    // No record is cut in two: 21 records of 3,000 B fit.
    let record = "write(3</tmp/f>, \"x\"..., 3000) = 3000";
    let found = found_in(&log_of(&[&[&append[..]][..], &[record; 43]].concat()), true);
    assert_eq!(found, ["adjacent-writes file 43→3: write 12 [adjacent]"]);
}

#[test]
fn a_message_on_standard_error_after_the_writes_comes_before_what_is_in_a_buffer() {
    let message = r#"write(2</tmp/err>, "x"..., 9) = 9"#;
    let [close, exit] = ["close(3</tmp/f>) = 0", "exit_group(1) = ?"];
    let warned = |calls: &[&str]| {
        let texts = actions(&log_of(&[&[OPEN][..], calls].concat()));
        let text = texts.concat();
        assert_eq!(texts.len(), 1, "{calls:?}");
        text.contains("The program writes f in turn with err:")
    };
    for end in [&[exit][..], &[close, exit], &[]] {
        let late = [&[WRITE, WRITE, message][..], end].concat();
        assert!(warned(&late), "{end:?}");
    }
    assert!(warned(&[WRITE, message, WRITE]));
    assert!(!warned(&[message, WRITE, WRITE, exit]));
    assert!(!warned(&[WRITE, WRITE, close, message, exit]));
    // Nobody watches a plain file, so the order of the two files does not show.
    let other = message.replace("2<", "4<");
    assert!(!warned(&[WRITE, WRITE, &other, exit]));
    // A terminal, a pipe and the same file are barriers.
    for (leads_to, before) in [
        (
            "/dev/pts/0<char 136:0>",
            "a read or write of a terminal, a device or another special descriptor",
        ),
        ("pipe:[7]", "a write to another pipe or socket"),
        (
            "/tmp/f",
            "a use of the same file through another descriptor",
        ),
    ] {
        let message = message.replace("/tmp/err", leads_to);
        let text = actions(&log_of(&[OPEN, WRITE, WRITE, &message, exit])).concat();
        assert!(text.contains(&format!("before {before} (once)")), "{text}");
    }
}

#[test]
fn what_comes_between_the_last_write_and_the_exit_is_named_or_the_writes_are_listed() {
    let seek = |call: &str| format!("lseek(3</tmp/f>, {call}");
    let (stay, there) = (seek("40, SEEK_SET) = 40"), seek("60, SEEK_CUR) = 100"));
    let made = r#"openat(AT_FDCWD</>, "/tmp/g", O_WRONLY|O_CREAT, 0666) = 7</tmp/g>"#;
    // It closes another descriptor, whose buffer has nothing.
    let duplicate = "dup2(3</tmp/f>, 5) = 5</tmp/f>";
    let at_offset = r#"pwrite64(3</tmp/f>, "x"..., 8, 32) = 8"#;
    let by_5 = r#"write(5</tmp/f>, "x"..., 8) = 8"#;
    for (calls, named) in [
        (&[&*stay][..], "lseek"),
        (&[&there], "lseek"),
        // The first such open was before the writes.
        (&["getpid() = 1", &there, made], "lseek"),
        (
            &[duplicate, duplicate, at_offset],
            "sendfile, a write at an offset or one with flags to the same descriptor",
        ),
        (
            &[duplicate, duplicate, by_5],
            "a call through another descriptor of the same open file",
        ),
    ] {
        let log = log_of(&[&[OPEN, WRITE, WRITE][..], calls, &["exit_group(0) = ?"]].concat());
        let text = actions(&log).concat();
        assert!(text.contains(&format!("{named} (once), ")), "{log}{text}");
    }
    // Both had the descriptor before the log began.
    let write = WRITE.replace('3', "2");
    let elsewhere = "adjacent-writes file 2→1: write 5 (another thread or process uses the same file or descriptor between them)";
    for by_2 in ["ftruncate(2</tmp/f>, 8) = 0", "fchmod(2</tmp/f>, 0600) = 0"] {
        let log = log_of(&["clone(child_stack=NULL, flags=SIGCHLD) = 2", &write, &write])
            + &format!("2 1795312736.000040 {by_2}\n1 1795312736.000050 exit_group(0) = ?\n");
        assert_eq!(found_in(&log, true), [elsewhere], "{log}");
    }
}
