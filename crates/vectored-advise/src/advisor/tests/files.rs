//! The files of a run.

use std::path::PathBuf;

use crate::advisor::RunFiles;
use crate::advisor::analysis::Analysis;
use crate::advisor::options::Options;
use crate::advisor::tests::logs::{follow, log_in_short, tallies_of, whole};

/// The written files: `a>b` is a file with two names.
fn names(files: &RunFiles) -> String {
    let named = |(names, _): (Vec<PathBuf>, bool)| {
        let names = names.iter();
        let names = names.map(|name| name.strip_prefix("/w").unwrap_or(name).to_str().unwrap());
        names.collect::<Vec<_>>().join(">")
    };
    files.written().map(named).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_that_was_written_has_all_names_that_it_got() {
    let table = r#"getpid() = 7 => 
write(3</w/a>, "x", 5) = 5; close(3</w/a>) = 0 => a
dup2(3</w/a>, 1</dev/pts/1<char 136:1>>) = 1</w/a>; vfork() = 8; 8: exec /bin/q; 8: write(1</w/a>, "x", 5) = 5 => a
write(3</w/a>, "x", 5) = 5; close(3</w/a>) = 0; rename("a", "b") = 0 => a>b
write(3</w/a>, "x", 5) = 5; close(3</w/a>) = 0; rename("ab", "b") = 0 => a
write(3</w/a>, "x", 5) = 5; close(3</w/a>) = 0; renameat2(AT_FDCWD</w>, "a", AT_FDCWD</w>, "b", RENAME_NOREPLACE) = 0; link("b", "c") = 0; rename("/w", "/v") = 0 => a>b>c>/v/c
write(3</w/a>, "x", 5) = -1 ENOSPC (No space left on device) => 
mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED, 3</w/a>, 0) = 0x7f0000000000 => a
mmap(NULL, 9, PROT_READ, MAP_PRIVATE, 3</w/a>, 0) = 0x7f0000000000 => 
io_uring_enter(4<anon_inode:[io_uring]>, 1, 1, 0x1, NULL, 8) = 1 => a
openat(AT_FDCWD</w>, "\303\244\"\\", O_WRONLY) = 4</w/\303\244"\\>; write(4</w/\303\244"\\>, "x", 5) = 5 => ä"\"#;
    for (calls, expected) in table.lines().map(|line| line.split_once(" => ").unwrap()) {
        let open = r#"openat(AT_FDCWD</w>, "a", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/a>"#;
        let files = tallies_of(&format!("exec /bin/p; {open}; {calls}")).files;
        assert_eq!(names(&files), expected, "{calls}");
    }
}

#[test]
fn a_file_is_counted_if_a_finding_has_some_of_its_writes() {
    for (calls, expected) in [
        ("O; W", &[false][..]),
        ("O; W; W", &[true]),
        ("O; R; R", &[]),
        ("O; 3 × R; lseek(3</tmp/f>, 0, SEEK_CUR) = 60; W", &[false]),
        ("O; seek 3 9; R; seek 3 70; R", &[]),
        ("O; seek 3 9; W; seek 3 70; W", &[true]),
    ] {
        let tallies = tallies_of(calls);
        assert!(tallies.counted().count() == 1 || calls == "O; W", "{calls}");
        let counted: Vec<bool> = tallies.files.written().map(|file| file.1).collect();
        assert_eq!(counted, expected, "{calls}");
    }
    // The events may be in any log.
    let mut analysis = Analysis::new(whole());
    for calls in ["O; W; W", "O; W"] {
        analysis.begin_log();
        follow(&mut analysis, &log_in_short(calls));
    }
    let files = analysis.finish().files;
    assert_eq!(
        files.written().collect::<Vec<_>>(),
        [(vec!["/tmp/f".into()], true)]
    );
}

/// Lines `FOLDER CALLS => NAMES`. The command begins in `FOLDER`; `-` means an unknown folder. `OPEN` opens `/w/o/a` by
/// its name in `/w`, and `WRITE` writes to the file.
const RELATIVE: &str = r#"- OPEN; WRITE; rename("o/a", "./o//b") = 0 => o/a>o/b
- OPEN; WRITE; chdir("o") = 0; rename("a", "../b") = 0 => o/a>b
- creat("./a", 0666) = 3</w/o/a>; WRITE; rename("a", "b") = 0 => o/a>o/b
- chdir("o") = 0; open("a", O_WRONLY|O_CREAT, 0666) = 3</w/o/a>; WRITE; rename("a", "b") = 0 => o/a>o/b
- open("a", O_WRONLY|O_CREAT, 0666) = 3</a>; write(3</a>, "x", 5) = 5; close 3; link("a", "w/b") = 0 => /a>b
/w/x open("../o/a", O_WRONLY|O_CREAT, 0666) = 3</w/o/a>; WRITE; rename("../o/a", "b") = 0 => o/a>x/b
/w chdir("o") = 0; openat(5</w/o>, "a", O_WRONLY|O_CREAT, 0666) = 3</w/o/a>; WRITE; rename("a", "b") = 0 => o/a>o/b
/w openat(5</w/o>, "a", O_WRONLY|O_CREAT, 0666) = 3</w/o/a>; WRITE; renameat(5</w/o>, "a", AT_FDCWD</w>, "b") = 0; rename("b", "c") = 0 => o/a>b>c
/w OPEN; WRITE; symlink("a", "o/b") = 0; symlink("o/a", "o/c") = 0 => o/a>o/b
/w OPEN; WRITE; symlinkat("../a", 5</w/o/p>, "b") = 0 => o/a>o/p/b
- OPEN; WRITE; fork 8; 8: chdir("o") = 0; 8: fork 10; rename("o/a", "a") = 0; 9: brk; fork 9; 9: rename("a", "b") = 0; 10: rename("../b", "c") = 0 => o/a>a>b>o/c"#;

#[test]
fn a_relative_name_begins_in_the_folder_of_its_call() {
    for line in RELATIVE.lines() {
        let (calls, expected) = line.split_once(" => ").unwrap();
        let (folder, calls) = calls.split_once(' ').unwrap();
        let calls = calls
            .replace("OPEN", r#"open("o/a", O_WRONLY|O_CREAT, 0666) = 3</w/o/a>"#)
            .replace("WRITE", r#"write(3</w/o/a>, "x", 5) = 5; close 3"#);
        let log = log_in_short(&format!("exec ./p; {calls}"));
        let mut analysis = Analysis::new(Options::default());
        analysis.begin_in(folder.strip_prefix('-').unwrap_or(folder).as_bytes());
        follow(&mut analysis, &log);
        assert_eq!(names(&analysis.finish().files), expected, "{log}");
    }
}

#[test]
fn a_program_is_known_by_its_whole_path() {
    let mut analysis = Analysis::new(Options::default());
    analysis.begin_in(b"/w");
    let log = log_in_short("chdir(\"bin\") = 0; fork 8; 8: chdir(\"..\") = 0");
    follow(&mut analysis, &log);
    for (thread, name, expected) in [(1, "./p", "/w/bin/p"), (8, "./p", "/w/p"), (1, "/p", "/p")] {
        assert_eq!(
            analysis.path_of(thread, name.as_bytes()),
            expected.as_bytes()
        );
    }
}
