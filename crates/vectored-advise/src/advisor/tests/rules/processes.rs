//! Processes, descriptors and open file descriptions.

use crate::advisor::tests::events::*;
use crate::advisor::tests::rules::{SEVERAL_WRITERS, check};
use crate::advisor::{Analysis, Options};
use crate::model::Runtime;
use vectored_strace::event::OpenFlags;

#[test]
fn the_text_in_the_log_resolves_descriptors_that_were_open_before() {
    for (text, target) in [
        ("/tmp/x", "file"),
        ("/dev/shm/x", "file"),
        ("pipe:[12]", "pipe"),
        ("TCP:[127.0.0.1:1->127.0.0.1:2]", "tcp"),
        ("TCPv6:[[::1]:1->[::1]:2]", "tcp"),
        ("UNIX-STREAM:[12->13]", "unix"),
    ] {
        let expected = format!("adjacent-writes {target} 2→1: write 4 [adjacent]");
        check(&[write(1, 8).to(text), write(1, 8).to(text)], &[&expected]);
    }
}

#[test]
fn the_text_in_the_log_wins_over_the_tables() {
    check! {
        open(3), write(3, 8), write(3, 8).to("pipe:[1]"), write(3, 8).to("pipe:[1]")
        => "adjacent-writes pipe 2→1: write 4 [adjacent]"
    }
    check! { open_at(3, "link"), write(3, 8).to("/dev/tty<char 5:0>"), write(3, 8) => }
}

#[test]
fn a_duplicate_leads_to_the_same_open_file_and_a_closed_descriptor_to_none() {
    const TWO: &str = "adjacent-writes file 2→1: write 4 (a call through another descriptor of the same open file between them: with a buffer for each, the order changes)";
    check! { open(3), dup(3, 8), write(3, 8), write(8, 8) => TWO }
    check(&[open(3), write(3, 8), close(3), open(3), write(3, 8)], &[]);
    check! {
        pipe(7, 5), open(3), dup(3, 5), write(3, 8), write(5, 8)
        => TWO
    }
}

#[test]
fn a_child_whose_call_comes_before_its_fork_has_its_parents_descriptors() {
    check! {
        open(3), brk().by(2), fork(2), write(3, 8).by(2), write(3, 8).by(2)
        => "adjacent-writes file 2→1: write 4 [adjacent]"
    }
    check! {
        open(3), brk().by(2), thread(2), write(3, 8).by(2), write(3, 8).by(2)
        => "adjacent-writes file 2→1: write 4 [adjacent]"
    }
}

#[test]
fn a_thread_that_is_taken_for_a_process_is_uncounted_once() {
    // It has the same descriptor as the process that turns out to be its own.
    let lines = [
        write(3, 8).to("/a"),
        write(3, 8).to("/a").by(2),
        thread(2),
        write(3, 8).to("/a").by(2),
    ];
    assert_eq!(analysed(&lines).processes, 1);
}

#[test]
fn processes_that_seem_to_have_forked_each_other_end_the_search() {
    // Both made calls before their forks, and one of these forks is wrong.
    let lines = [
        open(3),
        brk().by(2),
        fork(2),
        fork(1).by(2),
        fork(3),
        write(3, 8).by(3),
        write(3, 8).by(2),
        write(3, 8),
    ];
    assert_eq!(analysed(&lines).processes, 3);
    let own = [fork(1), open(3), write(3, 8), fork(2), write(3, 8).by(2)];
    assert_eq!(analysed(&own).processes, 2);
}

#[test]
fn exec_closes_what_is_to_be_closed() {
    let mut flags = OpenFlags::default();
    flags.close_on_exec = true;
    let unknown = "adjacent-writes unknown 2→1: write 4 (the log does not say what the descriptor leads to: trace again with -yy)";
    check! { open_with(3, "a", flags), execve("/bin/x"), write(3, 8), write(3, 8) => unknown }
    check! { open(3), execve("/bin/x"), write(3, 8), write(3, 8) => "adjacent-writes file 2→1: write 4 [adjacent]" }
}

#[test]
fn threads_that_strace_was_attached_to_are_taken_for_one_process() {
    for (text, target) in [
        ("TCP:[127.0.0.1:1->127.0.0.1:2]", "tcp"),
        ("UNIX-STREAM:[12->13]", "unix"),
        ("pipe:[12]", "pipe"),
        ("/srv/app.log", "file"),
    ] {
        let of = |thread| write(6, 8).to(text).by(thread);
        let expected = format!("adjacent-writes {target} 6→1: write 4 {SEVERAL_WRITERS}");
        let lines: Vec<Line> = [1, 2, 1, 2, 1, 2].map(of).to_vec();
        check(&lines, &[&expected]);
        let expected = format!("adjacent-writes {target} 4→2: write 4 {SEVERAL_WRITERS}");
        check(&[1, 1, 2, 2].map(of), &[&expected]);
        let polls = |thread| [of(thread), call("poll").by(thread), of(thread)];
        let tallies = analysed(&[lines, polls(1).to_vec(), polls(2).to_vec()].concat());
        assert_eq!(tallies.processes, 1);
        let in_rows = tallies.uncounted.values().map(|tally| tally.processes);
        assert!(in_rows.into_iter().all(|processes| processes == 1));
    }
    // An lseek by another process moves the offset of both.
    let text = "/srv/app.log";
    let mut moves = seek(6, 800).by(2);
    if let vectored_strace::event::Action::Seek { descriptor, .. } = &mut moves.action {
        descriptor.leads_to = Some(text.as_bytes());
    }
    check! {
        write(6, 8).to(text), moves, write(6, 8).to(text)
        => "adjacent-writes file 2→1: write 4 (another thread or process uses the same offset, and would continue at a different offset)"
    }
}

#[test]
fn positional_calls_of_a_database_library_are_not_counted() {
    const LIBRARY: &str = "positional-writes file 2→1: pwrite64 4 (a database library of the process makes such calls, not the program: with \
        SQLite, use larger transactions or WAL mode)";
    const COUNTED: &str = "positional-writes file 2→1: pwrite64 4 [adjacent]";
    for (program, library, file, expected) in [
        (
            "/usr/bin/python3",
            "/usr/lib/_sqlite3.cpython-311-x86_64-linux-gnu.so",
            "data",
            LIBRARY,
        ),
        (
            "/usr/bin/node",
            "build/Release/better_sqlite3.node",
            "data",
            LIBRARY,
        ),
        (
            "/usr/bin/perl",
            "auto/DBD/SQLite/SQLite.so",
            "t.db",
            LIBRARY,
        ),
        (
            "/usr/bin/python3",
            "/usr/lib/sqlite3/dbapi2.py",
            "data",
            COUNTED,
        ),
        (
            "/usr/bin/tool",
            "/lib/libsqlite3.so.0.8.6",
            "t.db-journal",
            LIBRARY,
        ),
        ("/usr/bin/tool", "/lib/libsqlite3.so.0.8.6", "data", COUNTED),
        ("/usr/bin/tool", "/lib/libc.so.6", "t.db", COUNTED),
    ] {
        let opened = [execve(program), open_at(9, library), open_at(3, file)];
        let writes = [pwrite(3, 8, 0), pwrite(3, 8, 8)];
        check(&[&opened[..], &writes].concat(), &[expected]);
        // A child has the library as well, and another program does not.
        let child = [fork(2), pwrite(3, 8, 0).by(2), pwrite(3, 8, 8).by(2)];
        check(&[&opened[..], &child].concat(), &[expected]);
        let executed = [
            &opened[..2],
            &[execve("/usr/bin/python3"), open_at(3, file)],
            &writes,
        ]
        .concat();
        check(&executed, &[COUNTED]);
    }
    // Other calls have remedies.
    let lines = [
        execve("/usr/bin/python3"),
        open_at(9, "libsqlite3.so"),
        open_at(3, "t"),
        write(3, 8),
        write(3, 8),
    ];
    check(&lines, &["adjacent-writes file 2→1: write 4 [adjacent]"]);
}

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
