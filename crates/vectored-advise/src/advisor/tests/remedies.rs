//! What findings tell to do: where a buffer is written, and what else it changes.

use crate::advisor::tests::logs::*;
use crate::advisor::{Options, Seen};

/// Checks the whole actions of the only finding of each log.
#[track_caller]
fn check_whole(rows: &[(&str, &str)]) {
    for (calls, expected) in rows {
        assert_eq!(actions(&log_in_short(calls)), [*expected], "{calls}");
    }
}

const FROM_FULL_TO_CLOSE: &str = "Collect all writes to the descriptor in one buffer, and flush that when it is full, not after each record, before the close of the \
     file, and on every way out: 1 call with such a buffer, instead of 5. A reader may find, and a kill may leave, part of a record. \
     A failed write shows at a later write, flush or close: check each.";

#[test]
fn a_buffer_is_written_before_the_calls_that_ended_runs() {
    let ended = "Collect all writes to the descriptor in one buffer, and flush that when it is full, not after each record, before fsync (3 times), \
                 fork (once), the close of the file, and on every way out: 4 calls with such a buffer, instead of 20. \
                 A reader may find, and a kill may leave, part of a record. A failed write shows at a later write, flush or close: check each.";
    let killed = format!(
        "{FROM_FULL_TO_CLOSE} A signal killed a process that wrote it: it would lose the bytes that are in a buffer then."
    );
    let at_once = "Read each run at once, with no buffer that outlives a write to the file through another descriptor \
                   (2 times): 3 calls instead of 9.";
    let ahead =
        "Read more at once, through a larger buffer: 1 call with such a buffer, instead of 3.";
    let joined = "Write the 2 pieces in one call, before fsync (3 times): 3 calls instead of 6.";
    let record = r#"W; write(3</tmp/f>, "x", 9) = 9; fsync(3</tmp/f>) = 0"#;
    let change = r#"3 × R; pwrite64(4</tmp/f>, "x", 20, 0) = 20"#;
    let other = r#"openat(AT_FDCWD</>, "/tmp/f", O_WRONLY) = 4</tmp/f>"#;
    check_whole(&[
        (
            "O; 5 × W; fsync(3</tmp/f>) = 0; 5 × W; fork 2; 5 × W; fsync(3</tmp/f>) = 0; 5 × W; fsync(3</tmp/f>) = 0",
            ended,
        ),
        ("O; 5 × W", FROM_FULL_TO_CLOSE),
        ("O; 5 × W; +++ killed by SIGKILL +++", &killed),
        (&format!("O; {other}; {change}; {change}; 3 × R"), at_once),
        ("O; 3 × R", ahead),
        (&["O", record, record, record].join("; "), joined),
    ]);
}

#[test]
fn a_barrier_is_named_by_the_call_that_set_it() {
    check(
        r#"O; W; W; …
  ftruncate(4</tmp/g>, 0) = 0; W; W => says before ftruncate (once)
  ioctl(9</x>, FIONREAD, [0]) = 0; W; W => says before ioctl (once)
  renameat2(-100, "/tmp/g", -100, "/tmp/h", 0) = 0; W; W => says before rename (once)
  unlink("/tmp/g") = 0; W; W => says before unlink (once)
  utimensat(-100, "/tmp/g", NULL, 0) = 0; W; W => says before utime (once)
  epoll_wait(4, [], 1, 0) = 0; W; W => says before epoll_wait (once)
  flock(4</tmp/g>, LOCK_EX) = 0; W; W => says before flock (once)
  lseek(3</tmp/f>, 0, SEEK_END) = 40; W; W => says before lseek(SEEK_END) (once)
  openat(AT_FDCWD</>, "/tmp/g", O_WRONLY|O_TRUNC) = 4</tmp/g>; W; W => says before an open that creates or empties another file (once)
  thread 2; W; W => says before the start of a thread by the program or its runtime (once)
  timer_delete(0) = 0; fork 2; W; W => says before fork (once)
  never_heard_of(0) = 0; fork 2; W; W => says before a call that is not known to be harmless (once), fork (once)
  futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1; read(5<pipe:[7]>, "x", 20) = 20; W; W => says before a read of a pipe or socket (once), waiting for or waking another thread (once)
  read(5<pipe:[7]>, "x", 20) = 20; sync() = 0; W; W => says before a read of a pipe or socket (once), sync or syncfs (once)
  read(5<pipe:[7]>, "x", 20) = 20; nanosleep({tv_sec=0, tv_nsec=1}, NULL) = 0; W; W => says before a read of a pipe or socket (once)
  lseek(3</tmp/f>, 40, SEEK_SET) = 40; exit => says before lseek (once)
  getpid() = 1; lseek(3</tmp/f>, 60, SEEK_CUR) = 100; openat(AT_FDCWD</>, "/tmp/g", O_WRONLY|O_CREAT, 0666) = 7</tmp/g>; exit => says lseek (once)
  2 × dup2(3</tmp/f>, 5) = 5</tmp/f>; pwrite64(3</tmp/f>, "x"..., 8, 32) = 8; exit => says sendfile, a write at an offset or one with flags to the same descriptor (once)
  2 × dup2(3</tmp/f>, 5) = 5</tmp/f>; write(5</tmp/f>, "x"..., 8) = 8; exit => says a call through another descriptor of the same open file (once)
  write(2</dev/pts/0<char 136:0>>, "x"..., 9) = 9; exit => says before a read or write of a terminal, a device or another special descriptor (once)
  write(2<pipe:[7]>, "x"..., 9) = 9; exit => says before a write to another pipe or socket (once)
  write(2</tmp/f>, "x"..., 9) = 9; exit => says before a use of the same file through another descriptor (once)"#,
    );
    let three = "O; 3 × W; close(3</tmp/f>) = 0";
    check(&format!(
        "{three}; {three}; {three} => says before each close of the file (3 times), and"
    ));
    let paused = log_in_short("6 × W").replacen("000030", "100030", 1);
    let paused = paused.replace("00004", "10004").replace("00005", "10005");
    let text = actions(&paused).concat();
    assert!(
        text.contains("before a pause of more than 10 ms (once), "),
        "{text}"
    );
}

#[test]
fn a_buffer_of_a_process_that_forks_or_was_forked_is_flushed() {
    check(
        r#"O; …
  thread 2; W; W; 2: fork 3; 3: ended; W; W => says before fork (once), the close
  W; W; fork 3; 3: W; 3: W; 3: ended; wait 3; W; W => says before fork (once)
  W; W; fork 3; 3: W; 3: W; 3: ended; wait 3; W; W => says it flushes its own buffer before it ends
  W; W; fork 3; 3: W; 3: ended; wait 3; W; W => says it flushes its own buffer before it ends"#,
    );
}

/// A buffer in the program changes its writes through every open file description that the same call may have opened.
#[test]
fn a_buffer_heeds_all_openings_of_the_file() {
    check(
        r#"fork 2; O; W; 2: stat("/tmp/f", {st_size=20}) = 0; W; …
  close(3</tmp/f>) = 0; O; 3 × W => 5→2 another thread or process reads the file
  rename("/tmp/f", "/tmp/g") = 0; close(3</tmp/g>) = 0; O; 3 × W => 3→1 another thread or process reads | 2→1 another
fork 2; O; W; 2: stat("/tmp/f", {st_size=20}) = 0; W; close(3</tmp/f>) = 0; exec /bin/x; O; 3 × W => 3→1 adjacent | 2→1 another
O; W; fsync(3</tmp/f>) = 0; W; …; O; 3 × W => says before fsync (once)
  close(3</tmp/f>) = 0
  rename("/tmp/f", "/tmp/g") = 0; close(3</tmp/g>) = 0
openat(AT_FDCWD</>, "/tmp/f", O_RDWR|O_CREAT|O_TRUNC, 0666) = 3</tmp/f>; W; fsync(3</tmp/f>) = 0; W; close(3</tmp/f>) = 0; O; 3 × W => says record, before the close"#,
    );
}

#[test]
fn where_others_may_write_each_call_writes_whole_records() {
    let whole = |what: &str, figures: &str| {
        format!(
            "Others may {what}, and on every way out: {figures}. A failed write shows at a later write, flush or close: check each."
        )
    };
    let file = whole(
        "append to the file: collect whole records in one buffer, count its bytes, and flush it before a record that \
         would leave less than 100 B of room, since a full buffer cuts a record, before the close of the file",
        "1 call with such a buffer, instead of 2",
    );
    let pipe = whole(
        "write to the pipe: collect whole records in one buffer, count its bytes, and flush it before it has more than \
         4 KiB, before the close of the descriptor",
        "2 calls with such a buffer, instead of 4",
    );
    let alone = FROM_FULL_TO_CLOSE.replace('5', "2");
    let append = OPEN.replace("O_CREAT", "O_CREAT|O_APPEND");
    let new = OPEN.replace("O_CREAT", "O_CREAT|O_APPEND|O_EXCL");
    check_whole(&[
        (&format!("{append}; W; W"), &file),
        ("W; W", &file),
        (&format!("{new}; W; W"), &alone),
        // From before the log began.
        (r#"4 × write(1<pipe:[7]>, "x"..., 2000) = 2000"#, &pipe),
    ]);
    // No record is cut in two: 21 records of 3,000 B fit.
    check(&format!(
        "{append}; 43 × write(3</tmp/f>, \"x\"..., 3000) = 3000 => 43→3 adjacent"
    ));
}

#[test]
fn files_that_are_written_in_turn_are_counted_with_a_note_on_their_order() {
    check(
        r#"O; … => says The program writes f in turn with err:
  W; W; write(2</tmp/err>, "x"..., 9) = 9; exit
  W; W; write(2</tmp/err>, "x"..., 9) = 9; close(3</tmp/f>) = 0; exit
  W; W; write(2</tmp/err>, "x"..., 9) = 9
  W; write(2</tmp/err>, "x"..., 9) = 9; W
O; … => says not in turn
  write(2</tmp/err>, "x"..., 9) = 9; W; W; exit
  W; W; close(3</tmp/f>) = 0; write(2</tmp/err>, "x"..., 9) = 9; exit
  W; W; write(4</tmp/err>, "x"..., 9) = 9; exit
open 3 /a/wal; open 4 /a/data; write 3 8; pwrite64 4 100 0; write 3 8; pwrite64 4 100 100 => says  The program writes wal in turn with data: merging changes the order in which their bytes reach the kernel.
open 3 d; open 4 e; open 5 f; open 6 g; open 7 h; write 3 8; write 7 8; write 6 8; write 3 8; write 5 8; write 4 8; write 3 8 => says The program writes d in turn with e, g and h:"#,
    );
}

#[test]
fn a_path_may_lead_to_a_fifo_or_to_a_file_with_another_name() {
    let look = |path: &[u8]| {
        let inode = match path {
            b"/tmp/fifo" => (1, 1),
            b"/tmp/f" | b"/tmp/g" => (1, 2),
            _ => return None,
        };
        let is_fifo = path == b"/tmp/fifo";
        Some(Seen { inode, is_fifo })
    };
    let options = Options {
        shows_all: true,
        look: Some(look),
        ..Options::default()
    };
    for (calls, expected) in [
        (
            "O; openat(AT_FDCWD</>, \"/tmp/fifo\", O_WRONLY) = 4</tmp/fifo>; W; write(4</tmp/fifo>, \"x\", 20) = 20; W",
            "(a write to another pipe or socket between them)",
        ),
        (
            "O; openat(AT_FDCWD</>, \"/tmp/gone\", O_WRONLY) = 4</tmp/gone>; W; write(4</tmp/gone>, \"x\", 20) = 20; W",
            "(a write to another pipe or socket between them)",
        ),
        (
            "openat(AT_FDCWD</>, \"/tmp/gone\", O_WRONLY) = 4</tmp/gone>; 2 × write(4</tmp/gone>, \"x\", 20) = 20",
            "(the log does not show whether it is a file or a FIFO: read the log where its files are)",
        ),
        (
            "openat(AT_FDCWD</>, \"/tmp/gone\", O_WRONLY) = 4</tmp/gone>; fstat(4</tmp/gone>, {st_mode=S_IFREG|0644, st_size=20, ...}) = 0; 2 × write(4</tmp/gone>, \"x\", 20) = 20",
            "[adjacent]",
        ),
        // A link that was made before the log began.
        (
            "O; thread 2; W; 2: stat(\"/tmp/g\", {st_size=20}) = 0; W",
            "(another thread or process reads the file, or asks for its size, while it is written)",
        ),
        (
            "O; thread 2; W; 2: openat(AT_FDCWD</>, \"/tmp/g\", O_WRONLY|O_TRUNC) = 5</tmp/g>; W",
            "(another thread or process uses the same file or descriptor between them)",
        ),
    ] {
        let found = summary(&read_with(&log_in_short(calls), options).0);
        assert_eq!(
            found,
            [format!("adjacent-writes file 2→1: write 5 {expected}")],
            "{calls}"
        );
    }
}
