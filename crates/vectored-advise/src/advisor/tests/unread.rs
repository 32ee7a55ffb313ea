//! Lines, calls and flags that could not be read, and calls that are missing.

use crate::advisor::Options;
use crate::advisor::tests::logs::*;

#[test]
fn what_could_not_be_read_ends_runs() {
    check(
        r#"O; W; …; W => 2→1 a line between them that could not be read
  fsync(3</tmp/f>saved; ) = 0
  saved
  <... futex resumed>) = 0
  fsync(9999999999999999999999)
  dup2(3</tmp/f>, 4 <unfinished ...>
O; thread 2; W; 2: …; W => -
  write(3</tmp/f>, "x"..., 20 <detached ...>
  write(3</tmp/f>, 0x7f00, 0x99999999999999999999) = 20
O; W; poll([{fd=9, events=POLLIN}], 1, -1saved; W => 2→1 poll, select or epoll_wait between them
O; thread 2; W; 2: …; W => 2→1 adjacent
  poll([{fd=9, events=POLLIN}], 1, -1 <unfinished ...>
  dup2(3</tmp/f>, 4 <unfinished ...>
O; thread 2; W; 2: …; W => 2→1 several threads or processes write to it
  write(3</tmp/f>, "x"..., 20 <unfinished ...>
O; thread 2; W; 2: …; W => 2→1 a line between them that could not be read
  saved
openat(AT_FDCWD, "/tmp/f", O_WRONLY) = 3; saved; 2 × write 3 20 => adjacent-writes unknown 2→1 the log does not say what the descriptor leads to: trace again with -yy
open 3 a; 2 × write 3 5; access(0x7f00, F_OK) = 0; 2 × write 3 5 => 4→2 adjacent
openat(AT_FDCWD</>, "/tmp/f", 0x42, 0666) = 3</tmp/f>; W; W => 2→1 the log has the flags of open as numbers: trace again without -X raw
O; fcntl(3</tmp/f>, 0x4, 0x4000) = 0; W; W => 2→1 the log has the flags of open as numbers"#,
    );
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let tallies = tallies_of("O; 2 × W; +++ killed by SIGKILL +++; O; 2 × W");
    assert_eq!((tallies.processes, tallies.transfers), (2, 4));
    let clone = "clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>; 2: set_robust_list(0x7f, 24) = 0; \
        <... clone resumed>, child_tidptr=0x7f) = 2";
    assert_eq!(tallies_of(clone).calls, 2);
}

/// If a log has no times, all its calls are listed together, and a process counts once.
#[test]
fn a_log_may_have_no_times_or_a_clock_that_was_set_back() {
    let log = log_in_short("O; W; W; fsync(3</tmp/f>) = 0; W; brk; W");
    let untimed = log.lines().map(|line| {
        let call = line.splitn(3, ' ').nth(2).unwrap();
        format!("1 {}\n", call.replace(" <0.000001>", ""))
    });
    let tallies = read_with(&untimed.collect::<String>(), whole());
    let counts = tallies
        .listed()
        .map(|(_, tally)| (tally.calls, tally.processes, tally.openings));
    assert_eq!(counts.collect::<Vec<_>>(), [(4, 1, 1)]);
    let set_back = log_in_short("O; W; W").replace("736.000020", "735.000020");
    let found = summary(&read_with(&set_back, whole()));
    assert!(
        found[0].0.contains("2→1 the clock was set back"),
        "{found:?}"
    );
}

#[test]
fn a_log_of_some_classes_of_calls_is_not_believed() {
    check_with(
        Options::default(),
        r#"O; W; W; …
  fsync(3) = 0 => 2→1 the log has few kinds of calls: -e hides waits, and -p what came before: trace again without -e
  2 × futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1; nanosleep({tv_sec=0, tv_nsec=1}, NULL) = 0 => 2→1 the log has few
  prctl(PR_SET_NAME, "x") = 0; futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1 => 2→1 the log has few
  poll => 2→1 the log has few
  wait4(-1, NULL, 0, NULL) = 7; fork 7 => 2→1 the log has few
  poll; wait4(-1, NULL, 0, NULL) = 7 => 2→1 the log has few
  brk => 2→1 the log has few
  set_robust_list(0x7f, 24) = 0 => 2→1 adjacent
  prctl(PR_SET_NAME, "x") = 0; futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1; getrandom("x", 8, 0) = 8 => 2→1 adjacent
  poll; wait4(-1, NULL, 0, NULL) = 7; rt_sigprocmask(SIG_BLOCK, NULL, [], 8) = 0 => 2→1 adjacent"#,
    );
    // A program without a C library, by Free Pascal or an assembler: its log counts as whole unless a call shows the
    // contrary.
    let limit = "getrlimit(RLIMIT_STACK, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) = 0";
    let table = r#"exec ./p; LIMIT; O; W; W; exit => 2→1 adjacent
exec ./p; O; W; W; exit(0) = ? => 2→1 adjacent
exec ./p; O; W; W; exit => 2→1 the log has few
exec ./p; openat(AT_FDCWD</>, "/lib/libc.so.6", O_RDONLY) = 4</lib/libc.so.6>; LIMIT; O; W; W; exit => 2→1 the log has few
exec ./p; read(7</tmp/g>, "x"..., 20) = 20; LIMIT; O; W; W; exit => 2→1 the log has few
exec ./p; arch_prctl(ARCH_SET_FS, 0x7f) = 0; LIMIT; O; W; W; exit => 2→1 the log has few
exec ./p; LIMIT; O; W; W => 2→1 the log has few
LIMIT; O; W; W; exit => 2→1 the log has few"#;
    check_with(Options::default(), &table.replace("LIMIT", limit));
}
