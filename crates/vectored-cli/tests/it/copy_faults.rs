//! Tests that a failed copy damages no file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;

use crate::copy::{check, content, said_in_shell};
use crate::support::{Bench, VECTORED, entries, needs_strace};

fn names(bench: &Bench) -> Vec<PathBuf> {
    entries(&bench.work())
}

/// Each copy is run to an existing file and to a new file.
const REFUSED: &str = "\
cat from | COPY --sparse - TO => 2: --sparse: both must be files
COPY --technique splice from TO => 2: from or to a pipe; choose another --technique
cat from | COPY --technique copy-file-range - TO => 2: between two regular files
cat from | COPY --technique sendfile - TO => 2: only from a file
COPY - TO < / => 2: standard input is a directory
COPY / TO => 2: '/' is a directory
COPY - TO 0>unread => 1: cannot read standard input after 0 bytes: Bad file descriptor
COPY - TO <&- => 1: standard input is closed
COPY nowhere TO => 2: cannot open 'nowhere'
COPY /proc/self/mem TO => 1: cannot read '/proc/self/mem' after 0 bytes
COPY --sparse /proc/self/mem TO => 1: cannot read '/proc/self/mem' after 0 bytes
COPY --technique stdio /proc/self/mem TO => 1: cannot copy '/proc/self/mem'
COPY --technique splice - TO < /proc/self/mem => 2: from or to a pipe
COPY --force from dangling => 2: cannot open 'dangling': No such file
COPY from '' => 2: cannot make ''
COPY from /proc/new => 2: cannot make '/proc/new'
COPY --sync from | cat => 0: --sync works only on files and block devices
COPY --sync from /dev/null => 2: --sync works only on files and block devices";

#[test]
fn what_cannot_be_copied_leaves_a_file_and_makes_none() {
    let bench = Bench::new();
    let present = bench.work().join("present");
    for (name, text) in [("present", "keep"), ("from", "some bytes"), ("unread", "")] {
        fs::write(bench.work().join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", bench.work().join("dangling")).unwrap();
    let before = names(&bench);
    for line in REFUSED.lines() {
        for to in ["--force present", "new"] {
            check(&bench, &line.replace("TO", to));
            assert_eq!(fs::read_to_string(&present).unwrap(), "keep", "{line}");
            assert_eq!(names(&bench), before, "{line}");
        }
    }
    // A readable source truncates the file, even if the source is empty.
    for words in [
        "COPY --force from present",
        "COPY --sparse --force unread present",
    ] {
        fs::write(&present, vec![7; 100_000]).unwrap();
        assert_eq!(said_in_shell(&bench, words), (0, String::new()));
        let from = words.split(' ').rev().nth(1).unwrap();
        assert_eq!(
            fs::read(&present).unwrap(),
            fs::read(bench.work().join(from)).unwrap()
        );
    }
}

#[test]
fn a_copy_needs_neither_a_thread_nor_a_descriptor_more() {
    let bench = Bench::new();
    fs::write(bench.work().join("from"), content()).unwrap();
    // Named files take the descriptors 3 and 4.
    for (names, redirections, limit) in [
        ("from to", "", 5),
        ("--sparse from to", "", 5),
        ("- to", "< from", 4),
        ("", "< from > to", 4),
    ] {
        let words = format!("(ulimit -n {limit}; exec COPY {names}) {redirections}");
        assert_eq!(said_in_shell(&bench, &words), (0, String::new()), "{words}");
        assert_eq!(
            fs::read(bench.work().join("to")).unwrap(),
            content(),
            "{words}"
        );
        fs::remove_file(bench.work().join("to")).unwrap();
    }
    let (code, said) = said_in_shell(&bench, "ulimit -n 4; COPY from to");
    assert!(code == 2 && said.contains("ulimit -n"), "{said}");
}

/// The whole file is copied if the file system cannot report holes, or reports data as a hole.
#[test]
fn files_that_do_not_tell_their_holes_are_copied_whole() {
    let bench = Bench::new();
    check(
        &bench,
        "COPY --sparse /proc/version to; cmp /proc/version to => 0: ",
    );
    needs_strace!();
    fs::write(bench.work().join("from"), content()).unwrap();
    for (error, options) in [("ENXIO", ""), ("EINVAL", "--force")] {
        // The numbers of the lseek(2) calls for data and for holes are unknown, so each call fails in turn.
        let once = (1..10).map(|n| n.to_string());
        for when in once.chain((1..10).map(|n| format!("{n}+"))) {
            fs::write(bench.work().join("to"), "old").unwrap();
            if options.is_empty() {
                fs::remove_file(bench.work().join("to")).unwrap();
            }
            let words = format!(
                "strace -o /dev/null -e inject=lseek:error={error}:when={when} COPY {options} --sparse from to"
            );
            let (code, said) = said_in_shell(&bench, &words);
            let to = fs::read(bench.work().join("to")).ok();
            let is_right = match code {
                0 => to == Some(content()),
                _ if options.is_empty() => to.is_none(),
                _ => to.is_some_and(|to| to == b"old" || content().starts_with(&to)),
            };
            assert!(is_right, "{words}: {code}, {said}");
        }
    }
}

/// In the tests, the system calls of this copy fail one after another.
struct Scene {
    options: &'static str,
    /// The previous content of the output file. `None` if the file is new.
    old: Option<&'static [u8]>,
    /// Whether the copy uses standard input and standard output.
    is_filter: bool,
}

/// The file has a hole at its start and a hole at its end.
fn source() -> Vec<u8> {
    let hole = [0; 1 << 16];
    [&hole, &content()[..], &hole].concat()
}

impl Scene {
    /// Runs the copy under strace with options for strace. Returns the exit status, the message and the output file.
    fn run(&self, strace: &[&str]) -> (Option<i32>, String, Option<Vec<u8>>) {
        let bench = Bench::new();
        let [from, to] = ["from", "to"].map(|name| bench.work().join(name));
        let file = File::create(&from).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &content(), 1 << 16).unwrap();
        file.set_len(source().len() as u64).unwrap();
        if let Some(old) = self.old {
            fs::write(&to, old).unwrap();
        }
        let mut command = bench.program("strace");
        command.args(strace).args([VECTORED, "copy"]);
        command.args(self.options.split_whitespace());
        if self.is_filter {
            command.stdin(File::open(&from).unwrap());
            command.stdout(File::create(&to).unwrap());
        } else {
            command.args(["from", "to"]);
        }
        let output = command.output().unwrap();
        assert_eq!(fs::read(&from).unwrap(), source(), "{strace:?}");
        let others = names(&bench).len() - 1 - usize::from(to.exists());
        assert_eq!(others, 0, "{strace:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said, fs::read(&to).ok())
    }

    /// Returns the name of each call, and the number of the call among the calls of this name.
    fn calls(&self) -> Vec<(String, usize)> {
        let log = Bench::new();
        let log = log.work().join("log");
        let (code, said, to) = self.run(&["-o", log.to_str().unwrap()]);
        assert_eq!((code, said.as_str(), to), (Some(0), "", Some(source())));
        let log = fs::read_to_string(log).unwrap();
        let mut counts = BTreeMap::new();
        let calls = log.lines().filter_map(|line| {
            let (name, _) = line.split_once('(')?;
            let count: &mut usize = counts.entry(name).or_default();
            *count += 1;
            Some((line, name.to_owned(), *count))
        });
        // Before the handler of SIGXFSZ is set, only the runtime makes calls.
        let of_copy = calls.skip_while(|(line, ..)| !line.contains("SIGXFSZ"));
        // brk(2) returns an address in the kernel's interface, so the C library does not see an injected error.
        let of_copy = of_copy.filter(|(_, name, _)| !name.starts_with("exit") && name != "brk");
        of_copy.map(|(_, name, count)| (name, count)).collect()
    }

    fn check(&self, name: &str, count: usize) {
        let error = match name {
            "write" | "copy_file_range" | "ftruncate" => "ENOSPC",
            "openat" => "EMFILE",
            "mmap" => "ENOMEM",
            _ => "EIO",
        };
        let inject = format!("inject={name}:error={error}:when={count}");
        let (code, said, to) = self.run(&["-o", "/dev/null", "-e", &inject]);
        let what = format!("{inject} {:?}: {code:?}, {said}", self.options);
        let whole = source();
        if code == Some(0) {
            assert!(to.as_ref() == Some(&whole), "{what}");
            return;
        }
        assert!(said.starts_with("error: "), "{what}");
        match (self.old, to) {
            // After an error, a new file may exist only if the file is complete.
            (None, Some(to)) if !self.is_filter => {
                assert!(to == whole && said.contains("is complete"), "{what}");
            }
            (None, None) => {}
            _ if said.contains("cannot cut off the old bytes") => {}
            (old, to) => {
                let to = to.unwrap();
                assert!(Some(&*to) == old || whole.starts_with(&to), "{what}");
            }
        }
    }
}

#[test]
fn an_error_of_any_call_harms_nothing() {
    needs_strace!();
    let scene = |options, old, is_filter| Scene {
        options,
        old,
        is_filter,
    };
    let old = Some(&[7_u8; 300_000][..]);
    let scenes = [
        scene("", None, false),
        scene("--force", old, false),
        scene("--sparse --sync", None, false),
        scene("--sparse --force", old, false),
        scene("--technique stdio --force", old, false),
        scene("", None, true),
    ];
    std::thread::scope(|scope| {
        for scene in &scenes {
            scope.spawn(|| {
                // All signal handlers are set by the same code, so one call of 16 is tested.
                let is_one_of_many =
                    |name: &str, count: usize| name == "rt_sigaction" && !count.is_multiple_of(16);
                for (name, count) in scene.calls() {
                    if !is_one_of_many(&name, count) {
                        scene.check(&name, count);
                    }
                }
            });
        }
    });
}
