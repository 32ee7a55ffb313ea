//! Rules on the text of logs, as strace writes them.

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::tests::events::summary;
use crate::advisor::wording::sentences::action;
use crate::advisor::{Analysis, Options, Seen};
use vectored_strace::Reader;

/// The findings of a log; with `shows_all` it is known to hold every call.
pub(super) fn found_in(log: &str, shows_all: bool) -> Vec<String> {
    summary(&tallies_of(log, shows_all))
}

pub(super) fn tallies_of(log: &str, shows_all: bool) -> Tallies {
    let (tallies, skipped) = read(log, shows_all);
    assert_eq!(skipped, 0, "{log}");
    tallies
}

/// The tallies of a log, and the number of reasons for which lines were skipped.
pub(super) fn read(log: &str, shows_all: bool) -> (Tallies, usize) {
    read_with(
        log,
        Options {
            shows_all,
            ..Options::default()
        },
    )
}

fn read_with(log: &str, options: Options) -> (Tallies, usize) {
    let mut analysis = Analysis::new(options);
    analysis.begin_log();
    let mut reader = Reader::new(log.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    let skipped = reader.counts().skipped().len();
    (analysis.finish(), skipped)
}

/// A log of these calls, 10 µs apart.
pub(super) fn log_of(calls: &[&str]) -> String {
    let line = |(number, call): (usize, &&str)| format!("1 1795312736.000{number:02}0 {call}\n");
    calls.iter().enumerate().map(line).collect()
}

pub(super) const OPEN: &str = r#"openat(AT_FDCWD</>, "/tmp/f", O_RDWR|O_CREAT, 0666) = 3</tmp/f>"#;
pub(super) const OPEN_AGAIN: &str = r#"openat(AT_FDCWD</>, "/tmp/f", O_RDONLY) = 4</tmp/f>"#;
pub(super) const WRITE: &str = r#"write(3</tmp/f>, "x"..., 20) = 20"#;
pub(super) const READ: &str = r#"read(3</tmp/f>, "x"..., 20) = 20"#;
pub(super) const WRITES: &str = "adjacent-writes file 2→1: write 5 [adjacent]";
const READS: &str = "small-reads file 2→1: read 5 [adjacent]";
pub(super) const MAPPED: &str =
    "(the file is mapped into memory, where its bytes can be seen or changed without a call)";

#[track_caller]
pub(super) fn check(calls: &[&str], expected: &[&str]) {
    assert_eq!(found_in(&log_of(calls), true), expected, "{calls:#?}");
}

#[test]
fn a_question_about_a_descriptor_sees_no_data() {
    for query in [
        "fcntl(3</tmp/f>, F_GETFL) = 0x8001 (flags O_WRONLY|O_LARGEFILE)",
        "fcntl(3</tmp/f>, F_GETFD) = 0",
        "ioctl(3</tmp/f>, TCGETS, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)",
        "ioctl(1</dev/pts/0<char 136:0>>, TIOCGWINSZ, {ws_row=24, ws_col=80, ws_xpixel=0, ws_ypixel=0}) = 0",
        "ioctl(3</tmp/f>, 0x5401, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)",
    ] {
        let harmless = ["adjacent-writes file 2→1: write 5 [harmless-between]"];
        check(&[OPEN, WRITE, query, WRITE], &harmless);
    }
    let control = "(ioctl, setsockopt, ftruncate or the like between them)";
    let crossed = format!("adjacent-writes file 2→1: write 5 {control}");
    let pending = "ioctl(4<pipe:[7]>, FIONREAD, [0]) = 0";
    check(&[OPEN, WRITE, pending, WRITE], &[&crossed]);
}

#[test]
fn what_is_written_to_a_mapped_file_may_be_seen_at_any_time() {
    let map = "mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00";
    let map_other = "mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4</tmp/f>, 0) = 0x7f00";
    let crossed = format!("adjacent-writes file 2→1: write 5 {MAPPED}");
    check(&[OPEN, map, WRITE, WRITE], &[&crossed]);
    check(&[OPEN, WRITE, map, WRITE], &[&crossed]);
    check(&[OPEN, OPEN_AGAIN, map_other, WRITE, WRITE], &[&crossed]);
    // A mapping stays when its descriptor is closed.
    let close = "close(4</tmp/f>) = 0";
    check(
        &[OPEN_AGAIN, map_other, close, OPEN, WRITE, WRITE],
        &[&crossed],
    );
    check(
        &[
            OPEN,
            "mmap(NULL, 8, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f00",
            WRITE,
            WRITE,
        ],
        &[WRITES],
    );
    check(
        &[
            OPEN,
            "mmap(NULL, 8, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = -1 ENODEV (No such device)",
            WRITE,
            WRITE,
        ],
        &[WRITES],
    );
}

#[test]
fn what_is_read_from_a_mapped_file_changes_only_if_the_mapping_can_be_written() {
    let map = "mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00";
    let private = "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3</tmp/f>, 0) = 0x7f00";
    let writable = "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00";
    check(&[OPEN, map, READ, READ], &[READS]);
    check(&[OPEN, private, READ, READ], &[READS]);
    let crossed = format!("small-reads file 2→1: read 5 {MAPPED}");
    check(&[OPEN, writable, READ, READ], &[&crossed]);
    check(&[OPEN, READ, writable, READ], &[&crossed]);
}

#[test]
fn what_a_call_copies_from_is_read() {
    // Another thread's waits are no barrier to this one's runs.
    let thread = "clone(child_stack=0x7f00, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2";
    let copies = [
        "sendfile(5<TCP:[1.1.1.1:2->1.1.1.1:3]>, 4</tmp/f>, [0] => [20], 20) = 20",
        "splice(4</tmp/f>, [0], 5<pipe:[9]>, NULL, 20, 0) = 20",
        "copy_file_range(4</tmp/f>, [0], 5</tmp/g>, NULL, 20, 0) = 20",
    ];
    for copy in copies {
        let mut log = log_of(&[OPEN, OPEN_AGAIN, thread, WRITE]);
        log += &format!("2 1795312736.000045 {copy}\n");
        log += &format!("1 1795312736.000050 {WRITE}\n");
        let crossed = "adjacent-writes file 2→1: write 5 (another thread or process reads the file, or asks for its size, while it is written)";
        assert_eq!(found_in(&log, true), [crossed], "{copy}");
    }
    // The offset moved, so the next read is elsewhere.
    let copy = "sendfile(5<TCP:[1.1.1.1:2->1.1.1.1:3]>, 3</tmp/f>, NULL, 20) = 20";
    check(&[OPEN, READ, copy, READ], &[]);
}

#[test]
fn a_fifo_is_no_file() {
    let fifo = r#"openat(AT_FDCWD</>, "/tmp/q", O_RDWR) = 4</tmp/q>"#;
    let read = r#"read(4</tmp/q>, "x"..., 20) = 20"#;
    let write = r#"write(4</tmp/q>, "x"..., 20) = 20"#;
    let body = r#"write(4</tmp/q>, "x"..., 900) = 900"#;
    let answered = "adjacent-writes file 2→1: write 5 (a read of a pipe or socket between them)";
    let announcements = [
        r#"mknodat(AT_FDCWD</>, "/tmp/q", S_IFIFO|0666) = 0"#,
        r#"newfstatat(AT_FDCWD</>, "/tmp/q", {st_mode=S_IFIFO|0644, st_size=0, ...}, 0) = 0"#,
        r#"statx(AT_FDCWD</>, "/tmp/q", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, stx_mode=S_IFIFO|0644, stx_size=0, ...}) = 0"#,
        r#"stat("/tmp/q", {st_mode=S_IFIFO|0644, st_size=0, ...}) = 0"#,
    ];
    for announcement in announcements {
        check(&[announcement, OPEN, fifo, WRITE, read, WRITE], &[answered]);
        check(
            &[announcement, fifo, write, body],
            &["adjacent-writes pipe 2→1: write 5, write 10 [adjacent]"],
        );
    }
    let shown = [
        "fstat(4</tmp/q>, {st_mode=S_IFIFO|0644, st_size=0, ...}) = 0",
        r#"newfstatat(4</tmp/q>, "", {st_mode=S_IFIFO|0644, st_size=0, ...}, AT_EMPTY_PATH) = 0"#,
        "lseek(4</tmp/q>, 0, SEEK_CUR) = -1 ESPIPE (Illegal seek)",
    ];
    for show in shown {
        check(&[OPEN, fifo, show, WRITE, read, WRITE], &[answered]);
        // A FIFO that was open before the log began.
        check(&[OPEN, show, WRITE, read, WRITE], &[answered]);
    }
    // Its other writers do not show: a merged call has no more bytes than Linux writes at once.
    let long = r#"write(4</tmp/q>, "x"..., 3000) = 3000"#;
    check(&[announcements[0], fifo, long, long], &[]);
    let counted = "adjacent-writes pipe 2→1: write 5 [adjacent]";
    check(&[announcements[0], fifo, write, write], &[counted]);
}

#[test]
fn closing_what_was_locked_lets_others_go_on() {
    let lock = r#"openat(AT_FDCWD</>, "/tmp/lock", O_RDWR) = 4</tmp/lock>"#;
    let flock = "flock(4</tmp/lock>, LOCK_EX) = 0";
    let close = "close(4</tmp/lock>) = 0";
    let crossed = "adjacent-writes file 2→1: write 5 (fcntl or a lock between them)";
    check(&[OPEN, lock, flock, WRITE, close, WRITE], &[crossed]);
    let harmless = "adjacent-writes file 2→1: write 5 [harmless-between]";
    check(&[OPEN, lock, WRITE, close, WRITE], &[harmless]);
}

#[test]
fn times_since_1970_may_have_few_digits() {
    for seconds in ["7", "12345", "1234567"] {
        let log = log_of(&[OPEN, WRITE, WRITE]).replace("1795312736", seconds);
        assert_eq!(found_in(&log, true), [WRITES], "{log}");
        let alone: String = log
            .lines()
            .map(|line| format!("{}\n", &line[2..]))
            .collect();
        assert_eq!(found_in(&alone, true), [WRITES], "{alone}");
    }
    // Time since the line before, as `-r` prints it. Blanks at the start of lines may be lost.
    let gap = "adjacent-writes file 2→1: write 5 (a gap of more than 10 ms)";
    for blanks in ["1          ", "     ", ""] {
        let stamps = ["0.000000", "0.000500", "0.020000"];
        let lines = stamps.iter().zip([OPEN, WRITE, WRITE]);
        let log: String = lines
            .map(|(stamp, call)| format!("{blanks}{stamp} {call}\n"))
            .collect();
        assert_eq!(found_in(&log, true), [gap], "{log}");
    }
}

#[test]
fn the_descriptor_is_the_one_that_was_used() {
    let calls = [
        OPEN,
        "dup2(3</tmp/f>, 1</dev/pts/0>) = 1</tmp/f>",
        "close(3</tmp/f>) = 0",
        r#"write(1</tmp/f>, "x"..., 20) = 20"#,
        r#"write(1</tmp/f>, "x"..., 20) = 20"#,
    ];
    let tallies = tallies_of(&log_of(&calls), true);
    let descriptors: Vec<i32> = tallies
        .findings
        .values()
        .map(|tally| tally.descriptor)
        .collect();
    assert_eq!(descriptors, [1]);
}

#[test]
fn a_run_that_the_end_of_a_process_ends_is_of_one_process() {
    let end = "exit_group(0) = ?\n1 1795312736.000090 +++ exited with 0 +++";
    for calls in [&[OPEN, WRITE, WRITE, end][..], &[OPEN, WRITE, WRITE]] {
        let tallies = tallies_of(&log_of(calls), true);
        let processes: Vec<u64> = tallies
            .findings
            .values()
            .map(|tally| tally.processes)
            .collect();
        assert_eq!(processes, [1], "{calls:?}");
    }
}

#[test]
fn a_result_that_depends_on_the_size_is_a_barrier_to_writes() {
    let size =
        "(lseek(SEEK_END), statfs or the like between them, which shows how much was written)";
    let position = "(lseek(SEEK_CUR) between them, which shows the offset that the calls moved)";
    let control = "(ioctl, setsockopt, ftruncate or the like between them)";
    let looked = "(stat between them, which may see the file's size)";
    for (call, reason) in [
        ("lseek(3</tmp/f>, 0, SEEK_END) = 20", size),
        ("lseek(3</tmp/f>, 0, SEEK_DATA) = 0", size),
        ("lseek(3</tmp/f>, 0, SEEK_HOLE) = 20", size),
        ("_llseek(3</tmp/f>, 0, [20], SEEK_END) = 0", size),
        ("lseek(3</tmp/f>, 0, SEEK_CUR) = 20", position),
        (r#"statfs("/tmp", {f_type=TMPFS_MAGIC}) = 0"#, size),
        ("fstatfs(3</tmp/f>, {f_type=TMPFS_MAGIC}) = 0", size),
        (
            r#"stat("/tmp/f", {st_mode=S_IFREG|0644, st_size=20, ...}) = 0"#,
            looked,
        ),
        (
            r#"newfstatat(3</tmp/f>, "", {st_size=20, ...}, AT_EMPTY_PATH) = 0"#,
            looked,
        ),
        (
            r#"statx(3</tmp/f>, "", AT_EMPTY_PATH, STATX_SIZE, {stx_size=20}) = 0"#,
            looked,
        ),
        ("ioctl(3</tmp/f>, FIONREAD, [0]) = 0", control),
        ("fallocate(3</tmp/f>, 0, 0, 4096) = 0", control),
        (r#"truncate("/tmp/f", 0) = 0"#, control),
        (
            "getsockopt(5<TCP:[1]>, SOL_SOCKET, SO_ERROR, [0], [4]) = 0",
            control,
        ),
    ] {
        let expected = format!("adjacent-writes file 2→1: write 5 {reason}");
        check(&[OPEN, WRITE, call, WRITE], &[&expected]);
    }
}

#[test]
fn a_file_that_a_call_makes_may_be_waited_for() {
    let names = "adjacent-writes file 2→1: write 5 (an open that creates or empties another file between them)";
    for made in [
        r#"openat(AT_FDCWD</>, "/tmp/done", O_WRONLY|O_CREAT|O_EXCL, 0666) = 4</tmp/done>"#,
        r#"creat("/tmp/done", 0666) = 4</tmp/done>"#,
    ] {
        check(&[OPEN, WRITE, made, WRITE], &[names]);
    }
    let opened = r#"openat(AT_FDCWD</>, "/tmp/x", O_RDONLY) = 4</tmp/x>"#;
    let harmless = "adjacent-writes file 2→1: write 5 [harmless-between]";
    check(&[OPEN, WRITE, opened, WRITE], &[harmless]);
}

#[test]
fn transfers_through_a_queue_do_not_show() {
    let expected = "adjacent-writes file 2→1: write 5 (io_uring or AIO in a process that has it open, whose transfers the log does not show)";
    for call in [
        "io_uring_enter(4<anon_inode:[io_uring]>, 1, 0, 0, NULL, 8) = 1",
        "io_submit(0x7f00, 1, [{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3}]) = 1",
    ] {
        check(&[OPEN, WRITE, call, WRITE], &[expected]);
    }
    let setup =
        "io_uring_setup(8, {flags=IORING_SETUP_SQPOLL, sq_entries=8}) = 4<anon_inode:[io_uring]>";
    check(&[OPEN, setup, WRITE, WRITE], &[expected]);
    let setup = "io_uring_setup(8, {flags=0, sq_entries=8}) = 4<anon_inode:[io_uring]>";
    check(&[OPEN, setup, WRITE, WRITE], &[WRITES]);
}

#[test]
fn a_linked_file_is_the_same_file() {
    let link = r#"linkat(AT_FDCWD</>, "/tmp/f", AT_FDCWD</>, "/tmp/g", 0) = 0"#;
    let open = r#"openat(AT_FDCWD</>, "/tmp/g", O_RDWR) = 4</tmp/g>"#;
    let read = r#"read(4</tmp/g>, "x"..., 20) = 20"#;
    let same = "adjacent-writes file 2→1: write 5 (a use of the same file through another descriptor between them)";
    check(&[OPEN, link, open, WRITE, read, WRITE], &[same]);
    let harmless = "adjacent-writes file 2→1: write 5 [harmless-between]";
    check(&[OPEN, open, WRITE, read, WRITE], &[harmless]);
}

/// A log of calls, each with its thread.
fn log_of_threads(calls: &[(u32, &str)]) -> String {
    let line = |(number, (thread, call)): (usize, &(u32, &str))| {
        format!("{thread} 1795312736.000{number:02}0 {call}\n")
    };
    calls.iter().enumerate().map(line).collect()
}

#[test]
fn a_child_that_was_waited_for_wrote_before() {
    let fork = "clone(child_stack=NULL, flags=SIGCHLD) = 2";
    let ended = "+++ exited with 0 +++";
    let lines = |wait| {
        let child = [(2, WRITE), (2, WRITE), (2, ended)];
        let parent = [(1, wait), (1, WRITE), (1, WRITE)];
        let calls = [&[(1, OPEN), (1, fork)][..], &child, &parent].concat();
        found_in(&log_of_threads(&calls), true)
    };
    let counted = "adjacent-writes file 4→2: write 5 [adjacent]";
    for wait in [
        "wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 2",
        "wait4(-1, NULL, 0, NULL) = 2",
        "waitid(P_ALL, 0, {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=2, si_uid=0}, WEXITED, NULL) = 0",
    ] {
        assert_eq!(lines(wait), [counted], "{wait}");
    }
    let several = "adjacent-writes file 4→2: write 5 (several threads or processes write to it: a merged call changes the order of their bytes)";
    for wait in [
        "wait4(-1, NULL, WNOHANG, NULL) = 0",
        "wait4(-1, NULL, 0, NULL) = -1 ECHILD (No child processes)",
        "wait4(-1, NULL, 0, NULL) = 3",
        "poll([], 0, 1) = 0 (Timeout)",
    ] {
        assert_eq!(lines(wait), [several], "{wait}");
    }
}

#[test]
fn datagrams_are_listed_whatever_their_addresses() {
    let send = r#"sendto(3<UDP:[7]>, "x"..., 20, 0, {sa_family=AF_INET, sin_port=htons(7), sin_addr=inet_addr("127.0.0.1")}, 16) = 20"#;
    let receive = r#"recvfrom(3<UDP:[7]>, "x"..., 20, 0, NULL, NULL) = 20"#;
    let socket = "socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_UDP) = 3<UDP:[7]>";
    let listed = "datagrams datagram 2→1: sendto 5 (each call sends a datagram: sendmmsg sends several in one call and keeps them apart)";
    check(&[socket, send, send], &[listed]);
    let heard = "datagrams datagram 2→1: sendto 5 (a read or write of a terminal, a device or another special descriptor between them)";
    check(&[socket, send, receive, send], &[heard]);
    check(&[socket, receive, receive], &[]);
    // Where the kernel tells strace nothing of local sockets, -yy shows no kind, and another text after `connect`.
    let local = "socket(AF_UNIX, SOCK_DGRAM|SOCK_CLOEXEC, 0) = 3<UNIX:[7]>";
    let connect = r#"connect(3<UNIX:[7]>, {sa_family=AF_UNIX, sun_path="/dev/log"}, 110) = 0"#;
    let send = r#"sendto(3<UNIX:[7->8]>, "x"..., 20, MSG_NOSIGNAL, NULL, 0) = 20"#;
    check(&[local, connect, send, send], &[listed]);
    let other = &send.replace("[7->8]", "[70->8]");
    let unknown = "adjacent-writes unknown 2→1: sendto 5 (the log does not say what the descriptor leads to: trace again with -yy)";
    check(&[local, connect, other, other], &[unknown]);
}

/// As `-xx` writes them.
fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

#[test]
fn a_log_with_hexadecimal_strings_says_what_another_says() {
    let path = hexadecimal("/tmp/f");
    let (open, write) = (
        OPEN.replace("/tmp/f", &path),
        WRITE.replace("/tmp/f", &path),
    );
    let (open, write) = (
        open.replace("</>", "<\\x2f>"),
        write.replace("\"x\"", "\"\\x78\""),
    );
    let pipe = "write(4<pipe:[7]>, \"\\x22\"..., 20) = 20";
    let plain = found_in(
        &log_of(&[OPEN, WRITE, WRITE, pipe, pipe, WRITE, WRITE]),
        true,
    );
    let calls = [&open, &write, &write, pipe, pipe, &write, &write].map(|call: &str| call);
    let log = log_of(&calls);
    assert_eq!(found_in(&log, true), plain);
    assert_eq!(plain.len(), 2);
    let path_of = |log: &str| {
        let tallies = tallies_of(log, true);
        let paths = tallies
            .findings
            .values()
            .filter_map(|tally| tally.path.clone());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(path_of(&log), ["/tmp/f", "pipe:[7]"]);
}

#[test]
fn the_name_beside_a_thread_is_its_program_and_lies_between_no_calls() {
    let line =
        |name: &str, micros: u64, call: &str| format!("7<{name}> 1795312736.{micros:06} {call}\n");
    let log = [
        line("reader", 10, OPEN),
        line("reader", 20, WRITE),
        // A thread may change its name at any time.
        line("writer 2", 30, WRITE),
    ];
    let tallies = tallies_of(&log.concat(), true);
    assert_eq!(summary(&tallies), [WRITES]);
    let programs: Vec<&str> = tallies.findings.keys().map(|key| &*key.program).collect();
    assert_eq!(programs, ["reader"]);
    assert_eq!(tallies.calls, 3);
    // `execve` names a program by its path.
    let execute = line("sh", 5, r#"execve("/bin/tool", ["tool"], 0x1) = 0"#);
    let tallies = tallies_of(&[execute, log.concat()].concat(), true);
    let programs: Vec<&str> = tallies.findings.keys().map(|key| &*key.program).collect();
    assert_eq!(programs, ["tool"]);
}

/// The actions of the findings that are counted.
pub(super) fn actions(log: &str) -> Vec<String> {
    let tallies = tallies_of(log, true);
    let findings = tallies.findings.iter();
    findings.map(|(key, tally)| action(key, tally)).collect()
}

#[test]
fn a_buffer_is_written_before_the_calls_that_ended_runs() {
    let sync = "fdatasync(3</tmp/f>) = 0";
    let fork = "clone(child_stack=NULL, flags=SIGCHLD) = 2";
    let five = [WRITE; 5];
    let ended = [
        &five[..],
        &[sync],
        &five,
        &[fork],
        &five,
        &[sync],
        &five,
        &[sync],
    ]
    .concat();
    let log = log_of(&[&[OPEN][..], &ended].concat());
    assert_eq!(
        actions(&log),
        [
            "Collect all writes to the descriptor in one buffer, and flush that when it is full, not after each record, before fsync (3 times), \
             fork (once), the close of the file, and on every way out: 4 calls with such a buffer, instead of 20. \
            A reader may find, and a kill may leave, part of a record. A failed write shows at a later write, flush or close: check each."
        ]
    );
    let log = log_of(&[&[OPEN][..], &five].concat());
    let plain = "Collect all writes to the descriptor in one buffer, and flush that when it is full, not after each record, before the close of the \
                 file, and on every way out: 1 call with such a buffer, instead of 5. \
                A reader may find, and a kill may leave, part of a record. A failed write shows at a later write, flush or close: check each.";
    assert_eq!(actions(&log), [plain]);
    let killed = format!(
        "{plain} A signal killed a process that wrote it: it would lose the bytes that are in a buffer then."
    );
    assert_eq!(
        actions(&(log + "1 1795312737.000000 +++ killed by SIGKILL +++\n")),
        [killed]
    );
}

#[test]
fn a_barrier_is_named_by_the_call_that_set_it() {
    for (call, named) in [
        ("ftruncate(4</tmp/g>, 0) = 0", "ftruncate"),
        ("ioctl(9</x>, FIONREAD, [0]) = 0", "ioctl"),
        (
            r#"renameat2(-100, "/tmp/g", -100, "/tmp/h", 0) = 0"#,
            "rename",
        ),
        (r#"unlink("/tmp/g") = 0"#, "unlink"),
        (r#"utimensat(-100, "/tmp/g", NULL, 0) = 0"#, "utime"),
        ("epoll_wait(4, [], 1, 0) = 0", "epoll_wait"),
        ("flock(4</tmp/g>, LOCK_EX) = 0", "flock"),
        ("lseek(3</tmp/f>, 0, SEEK_END) = 40", "lseek(SEEK_END)"),
        (
            r#"openat(AT_FDCWD</>, "/tmp/g", O_WRONLY|O_TRUNC) = 4</tmp/g>"#,
            "an open that creates or empties another file",
        ),
        (
            "clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2",
            "the start of a thread by the program or its runtime",
        ),
    ] {
        let text = actions(&log_of(&[OPEN, WRITE, WRITE, call, WRITE, WRITE])).concat();
        let named = format!("before {named} (once), the close of the file, and");
        assert!(text.contains(&named), "{text}");
    }
    let log = log_of(&[WRITE; 3]) + &log_of(&[WRITE; 3]).replace("36.", "37.");
    let text = actions(&log).concat();
    assert!(
        text.contains("before a pause of more than 10 ms (once), "),
        "{text}"
    );
    // A string that is not written before the close goes into the next file.
    let one = [OPEN, WRITE, WRITE, WRITE, "close(3</tmp/f>) = 0"];
    let text = actions(&log_of(&[one, one, one].concat())).concat();
    assert!(
        text.contains("before each close of the file (3 times), and"),
        "{text}"
    );
}

#[test]
fn a_fork_or_a_sync_is_named_whatever_comes_before_it() {
    let fork = "clone(child_stack=NULL, flags=SIGCHLD) = 2";
    let read = "read(5<pipe:[7]>, \"x\"..., 20) = 20";
    let sync = "sync() = 0";
    for (between, named) in [
        (&["timer_delete(0) = 0", fork][..], "fork (once)"),
        (
            &["never_heard_of(0) = 0", fork],
            "a call that is not known to be harmless (once), fork (once)",
        ),
        (
            &["futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 0", read],
            "a read of a pipe or socket (once), waiting for or waking another thread (once)",
        ),
        (
            &[read, sync],
            "a read of a pipe or socket (once), sync or syncfs (once)",
        ),
        (
            &[read, "nanosleep({tv_sec=0, tv_nsec=1}, NULL) = 0"],
            "a read of a pipe or socket (once)",
        ),
    ] {
        let log = log_of(&[&[OPEN, WRITE, WRITE][..], between, &[WRITE, WRITE]].concat());
        let text = actions(&log).concat();
        assert!(
            text.contains(&format!(
                "before {named}, the close of the file, and on every way out"
            )),
            "{text}"
        );
    }
}

#[test]
fn a_buffer_of_a_process_that_forks_or_was_forked_is_flushed() {
    let thread = "clone(child_stack=0x7f00, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2";
    let fork = "clone(child_stack=NULL, flags=SIGCHLD) = 3";
    let wait = "wait4(-1, NULL, 0, NULL) = 3";
    let end = "+++ exited with 0 +++";
    let parent = [(1, WRITE), (1, WRITE)];
    // Another thread of the process forks.
    let log = log_of_threads(
        &[
            &[(1, OPEN), (1, thread)][..],
            &parent,
            &[(2, fork), (3, end)],
            &parent,
        ]
        .concat(),
    );
    let text = actions(&log).concat();
    assert!(text.contains("before fork (once), the close"), "{text}");
    // A child writes also.
    let child = [(3, WRITE), (3, WRITE), (3, end)];
    let log = log_of_threads(
        &[
            &[(1, OPEN)][..],
            &parent,
            &[(1, fork)],
            &child,
            &[(1, wait)],
            &parent,
        ]
        .concat(),
    );
    let text = actions(&log).concat();
    let own = "it flushes its own buffer before it ends";
    assert!(
        text.contains("before fork (once)") && text.contains(own),
        "{text}"
    );
    // A single write of the child is in no finding.
    let log = log_of_threads(
        &[
            &[(1, OPEN)][..],
            &parent,
            &[(1, fork), (3, WRITE), (3, end), (1, wait)],
            &parent,
        ]
        .concat(),
    );
    let text = actions(&log).concat();
    assert!(text.contains(own), "{text}");
}

/// A buffer in the program changes its writes through every open file description that the same call may have opened.
#[test]
fn a_buffer_heeds_all_openings_of_the_file() {
    let begin = ["clone(child_stack=NULL, flags=SIGCHLD) = 2", OPEN, WRITE];
    let [close, again] = ["close(3</tmp/f>) = 0", OPEN];
    let renamed = ["rename(\"/tmp/f\", \"/tmp/g\") = 0", "close(3</tmp/g>) = 0"];
    let stat = "2 1795312736.000320 stat(\"/tmp/f\", {st_size=20}) = 0\n";
    let later = |calls: &[&str]| log_of(calls).replace("36.000", "36.001");
    let last = [again, WRITE, WRITE, WRITE];
    for rotated in [&[close][..], &renamed] {
        let log = log_of(&begin) + stat + &later(&[&[WRITE][..], rotated, &last].concat());
        assert_eq!(actions(&log), [""; 0], "{log}");
        // What only needs a flush is named.
        let log = log_of(
            &[
                &begin[1..],
                &["fsync(3</tmp/f>) = 0", WRITE],
                rotated,
                &last,
            ]
            .concat(),
        );
        let text = actions(&log).concat();
        assert!(text.contains("before fsync (once)"), "{text}");
        // Another call opened the file.
        let text = actions(&log.replacen("CREAT", "CREAT|O_TRUNC", 1)).concat();
        assert!(text.contains("record, before the close"), "{text}");
    }
    // Another program has its own buffer.
    let log = log_of(&begin)
        + stat
        + &later(&[
            WRITE,
            close,
            "execve(\"/bin/x\", [\"x\"], 0x7f /* 1 var */) = 0",
        ]);
    let log = log + &later(&last).replace("36.001", "36.002");
    let own = "adjacent-writes file 3→1: write 5 [adjacent]";
    assert_eq!(found_in(&log, true)[0], own);
}

#[test]
fn a_remedy_reaches_no_further_than_what_lies_between_the_calls() {
    let other = r#"openat(AT_FDCWD</>, "/tmp/f", O_WRONLY) = 4</tmp/f>"#;
    let change = "pwrite64(4</tmp/f>, \"x\"..., 20, 0) = 20";
    let reads = [READ; 3];
    let log = log_of(
        &[
            &[OPEN, other][..],
            &reads,
            &[change],
            &reads,
            &[change],
            &reads,
        ]
        .concat(),
    );
    let at_once = "Read each run at once, with no buffer that outlives a write to the file through another descriptor \
                   (2 times): 3 calls instead of 9.";
    assert_eq!(actions(&log), [at_once]);
    let ahead =
        "Read more at once, through a larger buffer: 1 call with such a buffer, instead of 3.";
    assert_eq!(actions(&log_of(&[&[OPEN][..], &reads].concat())), [ahead]);
    // The pieces of a record, and then a sync.
    let piece = "write(3</tmp/f>, \"x\"..., 9) = 9";
    let record = [WRITE, piece, "fsync(3</tmp/f>) = 0"].repeat(3);
    let log = log_of(&[&[OPEN][..], &record].concat());
    let joined = "Write the 2 pieces in one call, before fsync (3 times): 3 calls instead of 6.";
    assert_eq!(actions(&log), [joined]);
}

#[test]
fn a_seek_whose_offset_is_used_stays() {
    let seek = |at: u64| format!("lseek(3</tmp/f>, {at}, SEEK_SET) = {at}");
    let (one, two) = (seek(100), seek(200));
    let counted = "seek-then-transfer file 3→2: lseek 0, write 5 [adjacent]";
    check(&[OPEN, &one, WRITE, &two, WRITE], &[counted]);
    let listed = "seek-then-transfer file 3→2: lseek 0, write 5 (the offset is used by more than the next call: lseek(SEEK_CUR), sendfile, or a call without a seek before it)";
    for use_of_offset in [
        "lseek(3</tmp/f>, 0, SEEK_CUR) = 220",
        "lseek(3</tmp/f>, 10, SEEK_CUR) = 230",
        "read(3</tmp/f>, \"\"..., 8) = 8",
        "sendfile(5<TCP:[1.1.1.1:2->1.1.1.1:3]>, 3</tmp/f>, NULL, 20) = 20",
    ] {
        check(&[OPEN, &one, WRITE, &two, WRITE, use_of_offset], &[listed]);
    }
    // The first seek moves nothing, but the write goes to where its read ends.
    let again = seek(0);
    let read = listed.replace("write", "read");
    check(&[OPEN, &again, READ, WRITE, &again, READ], &[&read]);
    // C needs a seek between a read and a write, which may move nothing.
    let stay = |at: u64| format!("lseek(3</tmp/f>, {at}, SEEK_SET) = {at}");
    let (one, two, three) = (stay(20), stay(40), stay(60));
    let both = [OPEN, READ, &one, WRITE, &two, READ, &three, WRITE];
    for calls in [&both[..], &both[1..]] {
        let found = found_in(&log_of(calls), true);
        let sought = found.iter().find(|line| line.starts_with("seek-then"));
        assert_eq!(sought, None, "{calls:?}");
    }
}

#[test]
fn a_clock_that_is_set_back_leaves_an_unknown_gap() {
    let log =
        format!("1 02:59:59.999990 {OPEN}\n1 02:59:59.999995 {WRITE}\n1 02:00:00.000010 {WRITE}\n");
    let unknown = "adjacent-writes file 2→1: write 5 (the clock was set back between them: the time is not known)";
    assert_eq!(found_in(&log, true), [unknown]);
}

#[test]
fn a_path_may_lead_to_a_fifo_or_to_a_file_with_another_name() {
    let look = |path: &[u8]| match path {
        b"/tmp/fifo" => Some(Seen {
            inode: (1, 1),
            is_fifo: true,
        }),
        b"/tmp/f" | b"/tmp/g" => Some(Seen {
            inode: (1, 2),
            is_fifo: false,
        }),
        _ => None,
    };
    let options = Options {
        shows_all: true,
        look: Some(look),
        ..Options::default()
    };
    let found = |lines: &[&str]| summary(&read_with(&log_of(lines), options).0);
    let open = |path: &str| format!(r#"openat(AT_FDCWD</>, "{path}", O_WRONLY) = 4<{path}>"#);
    let write = |path: &str| format!("write(4<{path}>, \"x\"..., 20) = 20");
    let announced =
        "adjacent-writes file 2→1: write 5 (a write to another pipe or socket between them)";
    for path in ["/tmp/fifo", "/tmp/gone"] {
        let lines = found(&[OPEN, &open(path), WRITE, &write(path), WRITE]);
        assert_eq!(lines, [announced], "{path}");
    }
    let unknown = "adjacent-writes file 2→1: write 5 (the log does not show whether it is a file or a FIFO: read the log where its files are)";
    let gone = [open("/tmp/gone"), write("/tmp/gone")];
    assert_eq!(found(&[&gone[0], &gone[1], &gone[1]]), [unknown]);
    let shown = "fstat(4</tmp/gone>, {st_mode=S_IFREG|0644, st_size=20, ...}) = 0";
    assert_eq!(found(&[&gone[0], shown, &gone[1], &gone[1]]), [WRITES]);
    // A link that was made before the log began.
    let stat = r#"stat("/tmp/g", {st_size=20}) = 0"#;
    let lines = [
        OPEN,
        "clone(child_stack=0x7f00, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2",
        WRITE,
    ];
    let log =
        log_of(&lines) + &format!("2 1795312736.000040 {stat}\n1 1795312736.000050 {WRITE}\n");
    let observed = "adjacent-writes file 2→1: write 5 (another thread or process reads the file, or asks for its size, while it is written)";
    assert_eq!(summary(&read_with(&log, options).0), [observed]);
    let cut = r#"openat(AT_FDCWD</>, "/tmp/g", O_WRONLY|O_TRUNC) = 5</tmp/g>"#;
    let log = log_of(&lines) + &format!("2 1795312736.000040 {cut}\n1 1795312736.000050 {WRITE}\n");
    let cut = "adjacent-writes file 2→1: write 5 (another thread or process uses the same file or descriptor between them)";
    assert_eq!(summary(&read_with(&log, options).0), [cut]);
}

#[test]
fn contexts_of_threads_and_files_are_left_out() {
    let context = |call: &str| {
        let call = call.replace("f>", "f> [user_tmp_t]");
        call.replace("/tmp/f\"", "/tmp/f\" [user_tmp_t]")
    };
    let log = log_of(
        &[OPEN, WRITE, WRITE]
            .map(context)
            .each_ref()
            .map(String::as_str),
    );
    assert_eq!(found_in(&log, true), [WRITES]);
    for thread in ["1 [unconfined_t] ", "[pid 1] [u:r:t:s0] "] {
        let log: String = log
            .lines()
            .map(|line| format!("{thread}{}\n", &line[2..]))
            .collect();
        assert_eq!(found_in(&log, true), [WRITES], "{log}");
    }
}
