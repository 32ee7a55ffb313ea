//! Counts the system calls of runs by name, and collects the files that were run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use vectored_report::sort::sort_by_key;
use vectored_strace::Event;
use vectored_strace::event::{Action, Direction};

use crate::model::{Calls, FileUse, GrownCall, Range};

/// Calls that wait or try again, and calls that return memory. The scheduler decides how often a program makes these
/// calls.
const WAITS: [&str; 25] = [
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    "futex_wait",
    "futex_wake",
    "io_getevents",
    "io_pgetevents",
    "io_uring_enter",
    "madvise",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "restart_syscall",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_yield",
    "select",
    "wait4",
    "waitid",
    "waitpid",
];

/// The error of a transfer that would block. [`Calls`] counts this transfer under the name of the call and this word.
const WOULD_WAIT: &str = "EAGAIN";

/// Extensions of files that interpreters read as programs.
const SCRIPTS: [&str; 22] = [
    "awk", "bash", "cjs", "class", "erl", "exs", "jar", "java", "js", "lisp", "lua", "mjs", "php",
    "pl", "pm", "py", "pyc", "R", "rb", "sh", "tcl", "ts",
];

pub fn is_script_name(path: &str) -> bool {
    let (_, end) = path.rsplit_once('.').unwrap_or_default();
    SCRIPTS.contains(&end)
}

/// Names of interpreters, without the digits of a version.
const INTERPRETERS: [&str; 24] = [
    "R", "Rscript", "ash", "awk", "bash", "bun", "dash", "deno", "gawk", "guile", "java", "ksh",
    "lua", "mawk", "node", "nodejs", "ocaml", "perl", "php", "pypy", "python", "ruby", "sh", "zsh",
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// The threads that execute an interpreter and have not opened a file that the command names.
    interpreters: BTreeSet<u32>,
    kinds: BTreeMap<String, u64>,
    reads: u64,
    read_bytes: u64,
    writes: u64,
    written_bytes: u64,
    submits: bool,
    pub skipped_lines: u64,
    /// Paths in the form of the log: a path may be relative, and contains strace's escapes.
    pub files: BTreeSet<(String, FileUse)>,
}

impl Counter {
    /// Counts an event. `named` has the paths of the files that the command names. The first file of `named` that an
    /// interpreter opens is its script. A file with an extension of `SCRIPTS` is also a script.
    pub fn follow(&mut self, event: &Event<'_>, named: &[PathBuf]) {
        let mut run = |path: &[u8], how| {
            let path = String::from_utf8_lossy(path).into_owned();
            self.files.insert((path, how));
        };
        let mut would_wait = false;
        match &event.action {
            // The log has the end of a thread twice: first a call, then `exited` or `killed`.
            Action::Signal | Action::Name { .. } => return,
            Action::Exit { .. } if matches!(event.name, b"exited" | b"killed") => return,
            Action::Execute { program } => {
                run(program, FileUse::Executed);
                self.interpreters.remove(&event.thread);
                if is_interpreter(program) {
                    self.interpreters.insert(event.thread);
                }
            }
            Action::Map {
                descriptor,
                writes_through: false,
            } => {
                let leads_to = descriptor.leads_to.filter(|name| name.starts_with(b"/"));
                if let Some(path) = leads_to {
                    run(path, FileUse::Mapped);
                }
            }
            Action::Open {
                descriptor,
                path,
                flags,
                ..
            } if !flags.directory && !flags.creates => {
                let path = descriptor.leads_to.unwrap_or(path);
                let text = String::from_utf8_lossy(path);
                let is_named = named.iter().any(|name| name.as_os_str() == &*text);
                let is_script = is_named && self.interpreters.remove(&event.thread);
                if is_script_name(&text) || is_script {
                    run(path, FileUse::Script);
                }
            }
            Action::Submit { .. } => self.submits = true,
            Action::Transfer(transfer) if transfer.result == Err(WOULD_WAIT.as_bytes()) => {
                would_wait = true;
            }
            Action::Transfer(transfer) => {
                let bytes = transfer.result.unwrap_or(0);
                let (calls, all_bytes) = match transfer.direction {
                    Direction::Read => (&mut self.reads, &mut self.read_bytes),
                    Direction::Write => (&mut self.writes, &mut self.written_bytes),
                };
                *calls += 1;
                *all_bytes += bytes;
            }
            _ => {}
        }
        if !event.name.is_empty() {
            let mut name = String::from_utf8_lossy(event.name);
            if would_wait {
                name = format!("{name} {WOULD_WAIT}").into();
            }
            match self.kinds.get_mut(&*name) {
                Some(count) => *count += 1,
                None => drop(self.kinds.insert(name.into_owned(), 1)),
            }
        }
    }

    fn calls(&self) -> u64 {
        self.kinds.values().sum::<u64>() - self.waits()
    }

    fn waits(&self) -> u64 {
        let waits = self.kinds.iter().filter(|(name, _)| Calls::is_wait(name));
        waits.map(|(_, count)| count).sum()
    }
}

fn is_interpreter(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_of_version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    INTERPRETERS.contains(&name.trim_end_matches(is_of_version))
}

impl Calls {
    /// Returns `None` for an empty slice.
    pub fn of_runs(runs: &[Counter]) -> Option<Calls> {
        let range = |of: &dyn Fn(&Counter) -> u64| {
            let counts = runs.iter().map(of);
            Some(Range {
                low: counts.clone().min()?,
                high: counts.max()?,
            })
        };
        let mut kinds = BTreeMap::new();
        for name in runs.iter().flat_map(|run| run.kinds.keys()) {
            let count = range(&|run| run.kinds.get(name).copied().unwrap_or(0))?;
            kinds.insert(name.clone(), count);
        }
        Some(Calls {
            calls: range(&Counter::calls)?,
            waits: range(&Counter::waits)?,
            reads: range(&|run| run.reads)?,
            read_bytes: range(&|run| run.read_bytes)?,
            writes: range(&|run| run.writes)?,
            written_bytes: range(&|run| run.written_bytes)?,
            kinds,
            submits: runs.iter().any(|run| run.submits),
            skipped_lines: runs.iter().map(|run| run.skipped_lines).max()?,
        })
    }

    pub fn is_wait(name: &str) -> bool {
        WAITS.contains(&name) || name.ends_with(WOULD_WAIT)
    }

    /// Returns the calls that the new command makes more often, without waits. The largest increase is first.
    pub fn grown(old: &Calls, new: &Calls) -> Vec<GrownCall> {
        let grown = new.kinds.iter().map(|(call, &new)| GrownCall {
            call: call.clone(),
            old: old.kinds.get(call).copied().unwrap_or_default(),
            new,
        });
        let mut grown: Vec<GrownCall> = grown
            .filter(|one| one.new.low > one.old.high && !Calls::is_wait(&one.call))
            .collect();
        sort_by_key(&mut grown, |one| Reverse(one.new.low - one.old.high));
        grown
    }
}

#[cfg(test)]
mod tests {
    use vectored_strace::Reader;

    use super::*;

    fn counted(log: &str) -> Counter {
        let mut counter = Counter::default();
        let mut reader = Reader::new(log.as_bytes());
        while let Some(event) = reader.next().unwrap() {
            counter.follow(&event, &["/w/x.py.old", "/w/data"].map(PathBuf::from));
        }
        counter
    }

    const RUN: &str = r#"
1 execve("/bin/python3.11", ["p"...], 0x1 /* 2 vars */) = 0
1 mmap(NULL, 9, PROT_READ, MAP_PRIVATE, 3</lib/libc.so.6>, 0) = 0x7f0000000000
1 openat(AT_FDCWD</w>, "/w/x.py.old", O_RDONLY) = 3</w/x.py.old>
1 openat(AT_FDCWD</w>, "data", O_RDONLY) = 4</w/data>
1 openat(AT_FDCWD</w>, "m.py", O_RDONLY|O_CLOEXEC) = 5</w/m.py>
1 read(4</w/data>, ""..., 100) = 30
1 read(4</w/data>, 0x1, 100) = -1 EAGAIN (Resource temporarily unavailable)
1 write(1<pipe:[1]>, ""..., 10) = 10
1 writev(1<pipe:[1]>, [{iov_base=""..., iov_len=5}, {iov_base=""..., iov_len=6}], 2) = 11
1 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 0
1 --- SIGCHLD {si_signo=SIGCHLD} ---
1 exit_group(0) = ?
1 +++ exited with 0 +++
"#;

    #[test]
    fn calls_are_counted_once_and_waits_apart() {
        let calls = Calls::of_runs(&[counted(RUN)]).unwrap();
        let one = Range::of;
        assert_eq!(calls.calls, one(9));
        assert_eq!(calls.waits, one(2));
        assert_eq!((calls.reads, calls.read_bytes), (one(1), one(30)));
        assert_eq!((calls.writes, calls.written_bytes), (one(2), one(21)));
        assert_eq!(calls.kinds["openat"], one(3));
        assert_eq!(calls.kinds["exit_group"], one(1));
        assert_eq!(
            (calls.kinds["read"], calls.kinds["read EAGAIN"]),
            (one(1), one(1))
        );
        assert_eq!(calls.kinds.len(), 9);
    }

    #[test]
    fn a_count_that_differs_between_runs_is_a_range() {
        let shorter = RUN.replace("1 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 0\n", "");
        let mut other = counted(&shorter);
        (other.skipped_lines, other.submits) = (3, true);
        let calls = Calls::of_runs(&[counted(RUN), other]).unwrap();
        assert_eq!((calls.skipped_lines, calls.submits), (3, true));
        assert_eq!(calls.kinds["futex"], Range { low: 0, high: 1 });
        assert_eq!(calls.calls, Range { low: 9, high: 9 });
        assert_eq!(Calls::of_runs(&[]), None);
    }

    #[test]
    fn the_calls_that_grew_are_named_by_their_increase() {
        let more = |call: &str, times| format!("1 {call}(1</w>) = 0\n").repeat(times);
        let new = RUN.to_owned() + &more("fsync", 3) + &more("dup", 5) + &more("futex", 9);
        let [old, new] = [RUN, &new].map(|log| Calls::of_runs(&[counted(log)]).unwrap());
        let grown = Calls::grown(&old, &new).into_iter();
        let grown: Vec<_> = grown
            .map(|one| (one.call, one.old.low, one.new.low))
            .collect();
        assert_eq!(
            grown,
            [("dup".to_owned(), 0, 5), ("fsync".to_owned(), 0, 3)]
        );
        assert_eq!(Calls::grown(&new, &old), []);
    }

    #[test]
    fn files_that_are_run_are_known_and_data_are_not() {
        let files: Vec<(String, FileUse)> = counted(RUN).files.into_iter().collect();
        let expected = [
            ("/bin/python3.11", FileUse::Executed),
            ("/lib/libc.so.6", FileUse::Mapped),
            ("/w/m.py", FileUse::Script),
            ("/w/x.py.old", FileUse::Script),
        ];
        assert_eq!(files, expected.map(|(path, how)| (path.to_owned(), how)));
    }

    #[test]
    fn a_file_is_a_script_if_an_interpreter_reads_it() {
        let python = r#"1 execve("/bin/python3.11", ["p"...], 0x1 /* 2 vars */) = 0"#;
        let cat = python.replace("python3.11", "cat");
        let open = r#"1 openat(AT_FDCWD</w>, "data", O_RDONLY) = 4</w/data>"#;
        let made = r#"1 openat(AT_FDCWD</w>, "n.py", O_WRONLY|O_CREAT, 0666) = 5</w/n.py>"#;
        for (lines, is_script) in [
            (vec![python, open], true),
            (vec![&cat, open], false),
            (vec![python, &cat, open], false),
            (vec![python, made], false),
        ] {
            let files = counted(&(lines.join("\n") + "\n")).files;
            let found = files.iter().any(|(_, how)| *how == FileUse::Script);
            assert_eq!(found, is_script, "{lines:?}");
        }
    }
}
