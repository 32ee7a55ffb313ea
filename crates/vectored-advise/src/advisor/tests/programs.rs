//! Programs, and logs of any length.

use crate::advisor::Analysis;
use crate::advisor::tests::logs::{follow, log_in_short, read_with, summary, whole};
use crate::model::Runtime;

fn begun() -> Analysis {
    let mut analysis = Analysis::new(whole());
    analysis.begin_log();
    analysis
}

/// `execve` names a program by its path, and a log names a thread beside its number. A thread may change its name at
/// any time.
#[test]
fn the_name_beside_a_thread_is_its_program_and_lies_between_no_calls() {
    let log = log_in_short("O; W; W").replace("1 1795", "7<reader> 1795");
    let log = log.replacen(
        "7<reader> 1795312736.000020",
        "7<writer 2> 1795312736.000020",
        1,
    );
    let execute = "7<sh> 1795312736.000000 execve(\"/bin/tool\", [\"tool\"], 0x1) = 0\n";
    // The kernel uses the number of an ended process again.
    let again = log_in_short("exec /bin/sh; exit; exec /bin/tool; O; W; W");
    for (log, calls, program) in [
        (again, 6, "tool"),
        (log.clone(), 3, "reader"),
        (execute.to_owned() + &log, 4, "tool"),
    ] {
        let tallies = read_with(&log, whole());
        assert_eq!(tallies.calls, calls);
        let found: Vec<_> = tallies.counted().collect();
        let [(key, tally)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((&*key.program, tally.merged_calls), (program, 1));
    }
}

#[test]
fn the_runtime_of_a_program_is_that_of_its_name_or_its_executable() {
    let of = |program: &str| {
        let mut analysis = begun();
        for file in ["/usr/bin/tool", "/usr/bin/dd", "/home/u/dd"] {
            analysis.name_runtime(file.as_bytes(), Runtime::C);
        }
        let writes = format!(
            "exec /usr/bin/python3; exec {program}; open 9 /lib/libstdc++.so.6; open 3 A.pm; 2 × write 3 8"
        );
        follow(&mut analysis, &log_in_short(&writes));
        analysis.finish().counted().next().unwrap().1.runtime
    };
    // A program of the user gets no option of a system program as a remedy, and the user cannot edit a system program.
    for (program, expected) in [
        ("/usr/bin/node", Some(Runtime::Node)),
        ("/usr/local/bin/tar", None),
        ("/usr/bin/tool", Some(Runtime::System)),
        ("/usr/bin/tar", Some(Runtime::System)),
        ("/usr/bin/dd", Some(Runtime::System)),
        ("/usr/lib/git-core/git", Some(Runtime::System)),
        ("/usr/bin/octave", None),
        ("/home/u/dd", Some(Runtime::C)),
        ("./grep", Some(Runtime::C)),
    ] {
        assert_eq!(of(program), expected, "{program}");
    }
}

#[test]
fn any_log_is_analysed_in_bounded_memory_and_time() {
    let mut analysis = begun();
    let writes = log_in_short("open 3 /d; 3 × write 3 8");
    follow(&mut analysis, &writes);
    let open = |number: u32| format!("1 openat(AT_FDCWD, \"a\", O_RDONLY) = {number}\n");
    let fork = |by: u32, child: u32| format!("{by} clone(flags=SIGCHLD) = {child}\n");
    let thread = |child: u32| format!("1 clone(flags=CLONE_FILES|CLONE_THREAD) = {child}\n");
    // More open files, processes and threads than are kept: a chain of forks, the forks of one process with a high
    // descriptor, and calls that each search many descriptors.
    let many: [&dyn Fn(u32) -> String; 6] = [
        &open,
        &|number| format!("1 pipe2([{}, {}], 0) = 0\n", 2 * number, 2 * number + 1),
        &|number| fork(number + 1, number + 2),
        &|number| if number == 0 { open(1023) } else { fork(1, number + 1) },
        &|number| thread(number + 2),
        &|number| {
            if number < 30_000 {
                open(number)
            } else {
                "1 dup2(1, 30001) = 30001\n".to_owned()
            }
        },
    ];
    for line in many {
        follow(&mut analysis, &(0..140_000).map(line).collect::<String>());
    }
    follow(&mut analysis, &writes);
    let found = summary(&analysis.finish());
    assert_eq!(found[0].0, "adjacent-writes file 6→2 adjacent");
}
