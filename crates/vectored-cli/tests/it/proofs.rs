//! The proof of an edit that `advise` prints, typed as it stands: an edit that loses a record is seen, and one that loses none
//! passes.

use std::fs;
use std::path::Path;

use crate::advise::costs;
use crate::support::{Bench, VECTORED, needs_strace, said_by};

struct Program {
    /// The files, and their texts.
    files: &'static [(&'static str, &'static str)],
    command: &'static str,
    /// The file that is edited, what is in the place of a part of it when the edit loses a record, and when it loses none.
    edit: (&'static str, &'static str, &'static str, &'static str),
}

const PROGRAMS: [Program; 4] = [
    // Another script writes. It makes its standard output a file.
    Program {
        files: &[
            ("w.sh", "cd 'in a folder' && perl w.pl\n"),
            (
                "in a folder/w.pl",
                "open(STDOUT, '>', 'a b'); $| = 1; print \"line $_\\n\" for 1..1000;",
            ),
        ],
        command: "sh w.sh",
        edit: ("in a folder/w.pl", "1..1000", "1..999", "1 .. 1000"),
    },
    // A child inherits the file.
    Program {
        files: &[(
            "w.sh",
            "exec >out\nperl -e '$| = 1; print \"$_\\n\" for 1..1000'\n",
        )],
        command: "sh w.sh",
        edit: ("w.sh", "1..1000", "1..999", "1 .. 1000"),
    },
    // The reader of a pipe writes the file, under a name that it has no longer.
    Program {
        files: &[(
            "w.pl",
            "open(F, '|-', 'cat > t; mv t out'); syswrite(F, \"line $_\\n\") for 1..1000; close(F);",
        )],
        command: "perl ./w.pl",
        edit: ("w.pl", "1..1000", "1..999", "1 .. 1000"),
    },
    // A module, which Python compiles, writes. The new text has the length of the old one.
    Program {
        files: &[
            ("w.py", "import m\nm.run()\n"),
            (
                "m.py",
                "import os, sys\ndef run():\n    \
                 os.dup2(os.open('ä.out', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)\n    \
                 for i in range(1000): print(i, file=sys.stderr)\n",
            ),
        ],
        command: "python3 w.py",
        // Python takes a file with the same length and second for the one that it has compiled.
        edit: ("m.py", "range(1000)", "range(1000 + 1)", "range(1_000)"),
    },
];

#[test]
fn a_proof_sees_an_edit_that_loses_a_record() {
    needs_strace!();
    let folder = Path::new(VECTORED).parent().unwrap().to_str().unwrap();
    for program in PROGRAMS {
        let bench = Bench::new();
        let at = |name: &str| bench.work().join(name);
        fs::write(at("costs.json"), costs()).unwrap();
        for (name, text) in program.files {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        }
        let typed = |line: &str, code: i32| {
            let line = format!("PATH={folder}:$PATH COLUMNS=2000; export PATH COLUMNS; {line}");
            said_by(
                assert_cmd::Command::from_std(bench.program("sh")).args(["-c", &line]),
                code,
            )
        };
        let advise = format!(
            "vectored advise --quiet --costs costs.json -- {} </dev/null",
            program.command
        );
        let (_, stderr) = typed(&advise, 0);
        let lines = stderr
            .lines()
            .find_map(|line| line.strip_prefix("Before the edit: "));
        let (before, after) = lines
            .and_then(|line| line.split_once(". After it: "))
            .expect(&stderr);
        let after = after.replace(
            "vectored versus",
            "vectored versus --quiet --warmup 0 --rounds 1",
        );
        typed(before, 0);
        let (edited, part, wrong, right) = program.edit;
        let old = fs::read_to_string(at(edited)).unwrap();
        assert!(old.contains(part), "{edited}");
        for (new, code) in [(wrong, 5), (right, 0)] {
            let new = old.replace(part, new);
            fs::write(at(edited), &new).unwrap();
            typed(&after, code);
            assert_eq!(fs::read_to_string(at(edited)).unwrap(), new, "{after}");
        }
    }
}
