//! Forms of lines: times, contexts, names beside threads, hexadecimal strings.

use crate::advisor::tests::events::summary;
use crate::advisor::tests::logs::*;

#[test]
fn times_since_1970_may_have_few_digits() {
    for seconds in ["7", "12345", "1234567"] {
        let log = log_of(&[OPEN, WRITE, WRITE]).replace("1795312736", seconds);
        assert_eq!(found_in(&log, true), [WRITES], "{log}");
        let alone = log.replace("\n1 ", "\n");
        assert_eq!(found_in(&alone[2..], true), [WRITES], "{alone}");
    }
    // Time since the line before, as `-r` prints it. Blanks at the start of lines may be lost.
    let gap = "adjacent-writes file 2→1: write 5 (a gap of more than 10 ms)";
    for blanks in ["1          ", "     ", ""] {
        let log = format!(
            "{blanks}0.000000 {OPEN}\n{blanks}0.000500 {WRITE}\n{blanks}0.020000 {WRITE}\n"
        );
        assert_eq!(found_in(&log, true), [gap], "{log}");
    }
    let back =
        format!("1 02:59:59.999990 {OPEN}\n1 02:59:59.999995 {WRITE}\n1 02:00:00.000010 {WRITE}\n");
    let unknown = "adjacent-writes file 2→1: write 5 (the clock was set back between them: the time is not known)";
    assert_eq!(found_in(&back, true), [unknown]);
}

#[test]
fn contexts_of_threads_and_files_are_left_out() {
    let log = log_of(&[OPEN, WRITE, WRITE]).replace("f>", "f> [user_tmp_t]");
    let log = log.replace("/tmp/f\"", "/tmp/f\" [user_tmp_t]");
    for thread in ["1 ", "1 [unconfined_t] ", "[pid 1] [u:r:t:s0] "] {
        let line = |line: &str| format!("{thread}{}\n", &line[2..]);
        let log: String = log.lines().map(line).collect();
        assert_eq!(found_in(&log, true), [WRITES], "{log}");
    }
}

#[test]
fn a_log_with_hexadecimal_strings_says_what_another_says() {
    // As `-xx` writes them.
    let path: String = "/tmp/f"
        .bytes()
        .map(|byte| format!("\\x{byte:02x}"))
        .collect();
    let log = log_of(&[OPEN, WRITE, WRITE]).replace("/tmp/f", &path);
    let log = log.replace("</>", "<\\x2f>").replace("\"x\"", "\"\\x78\"");
    let tallies = tallies_of(&log);
    assert_eq!(summary(&tallies), [WRITES]);
    let mut paths = tallies.findings.values().map(|tally| tally.path.as_deref());
    assert_eq!(paths.next(), Some(Some("/tmp/f")));
}

#[test]
fn the_name_beside_a_thread_is_its_program_and_lies_between_no_calls() {
    // A thread may change its name at any time.
    let log = log_of(&[OPEN, WRITE, WRITE]).replace("1 1795", "7<reader> 1795");
    let log = log.replace(
        "7<reader> 1795312736.000020",
        "7<writer 2> 1795312736.000020",
    );
    // `execve` names a program by its path.
    let execute = "7<sh> 1795312736.000000 execve(\"/bin/tool\", [\"tool\"], 0x1) = 0\n";
    for (log, calls, program) in [
        (log.clone(), 3, "reader"),
        (execute.to_owned() + &log, 4, "tool"),
    ] {
        let tallies = tallies_of(&log);
        assert_eq!(
            (summary(&tallies), tallies.calls),
            (vec![WRITES.to_owned()], calls)
        );
        assert!(
            tallies.findings.keys().all(|key| key.program == program),
            "{log}"
        );
    }
}

#[test]
fn the_descriptor_is_the_one_that_was_used_and_the_process_counts_once() {
    let calls = "O; dup2(3</tmp/f>, 1</dev/pts/0>) = 1</tmp/f>; close(3</tmp/f>) = 0; 2 × write(1</tmp/f>, \"x\", 20) = 20; exit; ended";
    for calls in [calls, calls.strip_suffix("; exit; ended").unwrap()] {
        let tallies = tallies_of(&log_in_short(calls));
        let tally = tallies.findings.values().next().unwrap();
        assert_eq!((tally.descriptor, tally.processes), (1, 1));
    }
}
