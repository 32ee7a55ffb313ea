//! The files of a run.

use std::path::PathBuf;

use crate::advisor::tests::texts::tallies_of;

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
        let named = |file: &crate::advisor::WrittenFile| {
            let names = file
                .names
                .iter()
                .map(|name| name.strip_prefix("/w").unwrap_or(name));
            names
                .map(|name| name.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
                .join(">")
        };
        let names: Vec<String> = files.written.iter().map(named).collect();
        assert_eq!(names.join(" "), expected, "{log}");
        assert!(files.made.contains(&PathBuf::from("/w/a")), "{log}");
    }
}
