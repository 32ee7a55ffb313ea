//! Times and names beside threads.

use crate::advisor::tests::logs::*;

#[test]
fn after_a_clock_was_set_back_the_time_is_not_known() {
    let log =
        format!("1 02:59:59.999990 {OPEN}\n1 02:59:59.999995 {WRITE}\n1 02:00:00.000010 {WRITE}\n");
    let unknown = "adjacent-writes file 2→1: write 5 (the clock was set back between them: the time is not known)";
    assert_eq!(found_in(&log, true), [unknown]);
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
