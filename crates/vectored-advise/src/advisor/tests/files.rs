//! The files of a run.

use std::path::PathBuf;

use crate::advisor::analysis::Analysis;
use crate::advisor::options::Options;
use crate::advisor::tests::texts::{OPEN, WRITE, log_of, tallies_of};
use crate::advisor::{RunFiles, WrittenFile};
use vectored_strace::Reader;

/// The begin of a log: a program that opens a file.
const BEGIN: &str = "\
7 1.0 execve(\"/bin/p\", [\"p\"...], 0x1 /* 9 vars */) = 0 <0.000010>
7 1.1 openat(AT_FDCWD</w>, \"a\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</w/a> <0.000010>
";

#[test]
fn a_file_that_was_written_has_all_names_that_it_got() {
    let write =
        "7 2.0 write(3</w/a>, \"x\"..., 5) = 5 <0.000010>\n7 2.0 close(3</w/a>) = 0 <0.000010>";
    for (lines, expected) in [
        (vec![write], "a"),
        (vec![], ""),
        // By a process that inherits it, as a standard stream.
        (
            vec![
                "7 2.0 dup2(3</w/a>, 1</dev/pts/1<char 136:1>>) = 1</w/a> <0.000010>",
                "7 2.1 vfork() = 8 <0.000010>",
                "8 2.2 execve(\"/bin/q\", [\"q\"...], 0x1 /* 9 vars */) = 0 <0.000010>",
                "8 2.3 write(1</w/a>, \"x\"..., 5) = 5 <0.000010>",
            ],
            "a",
        ),
        (
            vec![write, "7 2.1 rename(\"a\", \"b\") = 0 <0.000010>"],
            "a>b",
        ),
        (
            vec![
                write,
                "7 2.1 renameat2(AT_FDCWD</w>, \"a\", AT_FDCWD</w>, \"b\", RENAME_NOREPLACE) = 0 <0.000010>",
                "7 2.2 link(\"b\", \"c\") = 0 <0.000010>",
                "7 2.3 rename(\"/w\", \"/v\") = 0 <0.000010>",
            ],
            "a>b>c>/v/c",
        ),
        (
            vec![write, "7 2.1 rename(\"ab\", \"b\") = 0 <0.000010>"],
            "a",
        ),
        (
            vec![
                "7 2.0 mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED, 3</w/a>, 0) = 0x7f0000000000 <0.000010>",
            ],
            "a",
        ),
        (
            vec![
                "7 2.0 mmap(NULL, 9, PROT_READ, MAP_PRIVATE, 3</w/a>, 0) = 0x7f0000000000 <0.000010>",
            ],
            "",
        ),
        // Its transfers do not show.
        (
            vec![
                "7 2.0 io_uring_enter(4<anon_inode:[io_uring]>, 1, 1, 0x1, NULL, 8) = 1 <0.000010>",
            ],
            "a",
        ),
        // The text of a file with an umlaut, a quotation mark and a backslash in its name.
        (
            vec![
                r#"7 2.0 openat(AT_FDCWD</w>, "\303\244\"\\", O_WRONLY) = 4</w/\303\244"\\> <0.000010>"#,
                r#"7 2.1 write(4</w/\303\244"\\>, "x"..., 5) = 5 <0.000010>"#,
            ],
            "\u{e4}\"\\",
        ),
    ] {
        let log = lines
            .iter()
            .fold(BEGIN.to_owned(), |log, line| log + line + "\n");
        let files = tallies_of(&log, true).run_files();
        assert_eq!(names(&files), expected, "{log}");
        assert!(files.made.contains(&PathBuf::from("/w/a")), "{log}");
    }
}

/// The files that were written: `a>b` is one with two names.
fn names(files: &RunFiles) -> String {
    let named = |file: &WrittenFile| {
        let names = file
            .names
            .iter()
            .map(|name| name.strip_prefix("/w").unwrap_or(name));
        let names: Vec<_> = names.map(|name| name.to_str().unwrap()).collect();
        names.join(">")
    };
    files
        .written
        .iter()
        .map(named)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_file_is_counted_if_a_finding_has_some_of_its_writes() {
    let calls = [OPEN, WRITE, WRITE];
    for (calls, expected) in [(&calls[..2], false), (&calls, true)] {
        let log = log_of(calls);
        let files = tallies_of(&log, true).run_files();
        let counted: Vec<bool> = files.written.iter().map(|file| file.is_counted).collect();
        assert_eq!(counted, [expected], "{log}");
    }
}

#[test]
fn a_relative_name_begins_in_the_folder_of_its_call() {
    let [open, write] = [
        r#"open("o/a", O_WRONLY|O_CREAT, 0666) = 3</w/o/a>"#,
        r#"write(3</w/o/a>, "x"..., 5) = 5"#,
    ];
    let [from_root, by_folder] = [
        r#"open("a", O_WRONLY|O_CREAT, 0666) = 3</a>"#,
        r#"openat(5</w/o>, "a", O_WRONLY|O_CREAT, 0666) = 3</w/o/a>"#,
    ];
    for (begins_in, lines, expected) in [
        // No call shows the working folder but the open.
        (
            "",
            vec![open, write, r#"rename("o/a", "./o//b") = 0"#],
            "o/a>o/b",
        ),
        (
            "",
            vec![
                open,
                write,
                r#"chdir("o") = 0"#,
                r#"rename("a", "../b") = 0"#,
            ],
            "o/a>b",
        ),
        (
            "",
            vec![
                r#"creat("./a", 0666) = 3</w/o/a>"#,
                write,
                r#"rename("a", "b") = 0"#,
            ],
            "o/a>o/b",
        ),
        (
            "",
            vec![
                r#"chdir("o") = 0"#,
                &open.replace("o/a\"", "a\""),
                write,
                r#"rename("a", "b") = 0"#,
            ],
            "o/a>o/b",
        ),
        (
            "",
            vec![
                from_root,
                r#"write(3</a>, "x"..., 5) = 5"#,
                r#"link("a", "w/b") = 0"#,
            ],
            "/a>b",
        ),
        // The command began in the folder.
        (
            "/w/x",
            vec![
                &open.replace("o/a\"", "../o/a\""),
                write,
                r#"rename("../o/a", "b") = 0"#,
            ],
            "o/a>x/b",
        ),
        (
            "/w",
            vec![
                r#"chdir("o") = 0"#,
                by_folder,
                write,
                r#"rename("a", "b") = 0"#,
            ],
            "o/a>o/b",
        ),
        // The folder of the call is another one.
        (
            "/w",
            vec![
                by_folder,
                write,
                r#"renameat(5</w/o>, "a", AT_FDCWD</w>, "b") = 0"#,
                r#"rename("b", "c") = 0"#,
            ],
            "o/a>b>c",
        ),
        // A symbolic link begins in its own folder.
        (
            "/w",
            vec![
                open,
                write,
                r#"symlink("a", "o/b") = 0"#,
                r#"symlink("o/a", "o/c") = 0"#,
            ],
            "o/a>o/b",
        ),
        (
            "/w",
            vec![open, write, r#"symlinkat("../a", 5</w/o/p>, "b") = 0"#],
            "o/a>o/p/b",
        ),
        // Each process has its own working folder, even if its first call is logged before the fork returns.
        (
            "",
            vec![
                open,
                write,
                "fork() = 8",
                r#"8 chdir("o") = 0"#,
                "8 fork() = 10",
                r#"rename("o/a", "a") = 0"#,
                "9 sched_yield() = 0",
                "fork() = 9",
                r#"9 rename("a", "b") = 0"#,
                r#"10 rename("../b", "c") = 0"#,
            ],
            "o/a>a>b>o/c",
        ),
    ] {
        let time = " <0.000010>\n";
        let mut log = format!("7 1.0 execve(\"./p\", [\"p\"...], 0x1 /* 9 vars */) = 0{time}");
        for (index, line) in lines.iter().enumerate() {
            let is_other = line.starts_with(|first: char| first.is_ascii_digit());
            let (thread, call) = line
                .split_once(' ')
                .filter(|_| is_other)
                .unwrap_or(("7", line));
            log += &format!("{thread} 2.{index:02} {call}{time}");
            if call.starts_with("write") {
                log += &format!("7 2.{index:02} close(3) = 0{time}");
            }
        }
        let mut analysis = Analysis::new(Options::default());
        analysis.begin_in(begins_in.as_bytes());
        let mut reader = Reader::new(log.as_bytes());
        while let Some(event) = reader.next().unwrap() {
            analysis.follow(&event);
        }
        assert_eq!(names(&analysis.finish().run_files()), expected, "{log}");
    }
}

#[test]
fn a_program_is_known_by_its_whole_path() {
    let log = b"7 chdir(\"bin\") = 0\n7 clone(child_stack=NULL, flags=SIGCHLD) = 8\n8 chdir(\"..\") = 0\n";
    let mut analysis = Analysis::new(Options::default());
    analysis.begin_in(b"/w");
    let mut reader = Reader::new(&log[..]);
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    for (thread, expected) in [(7, "/w/bin/p"), (8, "/w/p")] {
        assert_eq!(analysis.path_of(thread, b"./p"), expected.as_bytes());
    }
    assert_eq!(analysis.path_of(7, b"/p"), b"/p");
}
