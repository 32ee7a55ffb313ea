//! Programs, and logs of any length.

use crate::advisor::tests::logs::{log_in_short, summary};
use crate::advisor::{Analysis, Options};
use crate::model::Runtime;
use vectored_strace::Reader;

fn begun() -> Analysis {
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        ..Options::default()
    });
    analysis.begin_log();
    analysis
}

fn feed(analysis: &mut Analysis, log: &str) {
    let mut reader = Reader::new(log.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
        assert!(!analysis.is_full(), "{event:?}");
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
        feed(&mut analysis, &log_in_short(&writes));
        analysis.finish().findings.values().next().unwrap().runtime
    };
    assert_eq!(of("/usr/bin/node"), Some(Runtime::Node));
    assert_eq!(of("/usr/local/bin/tar"), None);
    // An option of the system's program is no remedy for the user's, who can edit none of the system's.
    for program in [
        "/usr/bin/tool",
        "/usr/bin/tar",
        "/usr/bin/dd",
        "/usr/lib/git-core/git",
    ] {
        assert_eq!(of(program), Some(Runtime::System), "{program}");
    }
    assert_eq!(of("/usr/bin/octave"), None);
    assert_eq!(of("/home/u/dd"), Some(Runtime::C));
    assert_eq!(of("./grep"), Some(Runtime::C));
}

#[test]
fn any_log_is_analysed_in_bounded_memory_and_time() {
    let mut analysis = begun();
    let writes = log_in_short("open 3 /d; 3 × write 3 8");
    feed(&mut analysis, &writes);
    let open = |number: u32| format!("1 openat(AT_FDCWD, \"a\", O_RDONLY) = {number}\n");
    let fork = |by: u32, child: u32| format!("{by} clone(flags=SIGCHLD) = {child}\n");
    let thread = |child: u32| format!("1 clone(flags=CLONE_FILES|CLONE_THREAD) = {child}\n");
    // More than there may be of open files, processes and threads. A chain of forks, and the forks of one process with a high
    // descriptor; descriptors that are looked through for each call.
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
        feed(&mut analysis, &(0..140_000).map(line).collect::<String>());
    }
    feed(&mut analysis, &writes);
    let found = summary(&analysis.finish());
    assert_eq!(found, ["adjacent-writes file 6→2: write 4 [adjacent]"]);
}
