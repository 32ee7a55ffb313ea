//! Programs, and logs of any length.

use crate::advisor::tests::events::*;
use crate::advisor::{Analysis, Options};
use crate::model::Runtime;

#[test]
fn the_runtime_of_a_program_is_that_of_its_name_or_its_executable() {
    let of = |program: &'static str| {
        let mut analysis = Analysis::new(Options {
            shows_all: true,
            ..Options::default()
        });
        analysis.begin_log();
        for file in ["/usr/bin/tool", "/usr/bin/dd", "/home/u/dd"] {
            analysis.name_runtime(file.as_bytes(), Runtime::C);
        }
        let library = open_at(9, "/lib/libstdc++.so.6");
        let before = execve("/usr/bin/python3");
        let writes = [
            before,
            execve(program),
            library,
            open_at(3, "A.pm"),
            write(3, 8),
            write(3, 8),
        ];
        feed(&mut analysis, &writes);
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
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        ..Options::default()
    });
    analysis.begin_log();
    let writes = [open(3), write(3, 8), write(3, 8), write(3, 8)];
    feed(&mut analysis, &writes);
    let many = |analysis: &mut Analysis, line: &dyn Fn(i32) -> Line| {
        for number in 0..200_000 {
            feed(analysis, &[line(number)]);
            assert!(!analysis.is_full(), "{number}");
        }
    };
    many(&mut analysis, &|number| open_at(number, "a"));
    many(&mut analysis, &|number| pipe(2 * number, 2 * number + 1));
    // A chain of forks, and the forks of one process with a high descriptor.
    many(&mut analysis, &|number| {
        fork(number as u32 + 2).by(number as u32 + 1)
    });
    many(&mut analysis, &|number| {
        if number == 0 { open(1023) } else { fork(number as u32 + 1) }
    });
    many(&mut analysis, &|number| thread(number as u32 + 2));
    // Descriptors that are looked through for each call.
    many(&mut analysis, &|number| {
        if number < 30_000 { open(number) } else { dup(1, 30_001) }
    });
    feed(&mut analysis, &writes);
    let found = summary(&analysis.finish());
    assert_eq!(found, ["adjacent-writes file 6→2: write 4 [adjacent]"]);
}
