//! Turns records into lines of strace. The lines of some calls need more than one record.

use std::collections::{HashMap, HashSet};

use super::{ReadLine, Record, plain};

/// The most threads that are remembered. When this number is reached, all are forgotten at once.
const MAX_THREADS: usize = 1 << 16;

/// A line without an event: strace says something about itself.
const NO_EVENT: &[u8] = b"strace: \n";

pub(super) struct Rewriter {
    read_line: ReadLine,
    /// When the unfinished calls began, by thread.
    began_ns: HashMap<u32, u64>,
    /// The arguments of unfinished calls of `openat`, by thread.
    opening: HashMap<u32, Vec<u8>>,
    /// Processes that run another program, while the call that made them has not returned.
    spawned: HashSet<u32>,
    /// Threads that need no name: they had a name, or a call made them. A thread may give itself any name later.
    named: HashSet<u32>,
}

impl Rewriter {
    pub(super) fn new(read_line: ReadLine) -> Self {
        Self {
            read_line,
            began_ns: HashMap::new(),
            opening: HashMap::new(),
            spawned: HashSet::new(),
            named: HashSet::new(),
        }
    }

    pub(super) fn rewrite(&mut self, line: &[u8], output: &mut Vec<u8>) {
        match (self.read_line)(line) {
            Some(Some(record)) => self.write(record, output),
            Some(None) => output.extend_from_slice(NO_EVENT),
            None => output.extend_from_slice(&[line, b"\n"].concat()),
        }
    }

    fn write(&mut self, mut record: Record<'_>, output: &mut Vec<u8>) {
        self.forget_if_full();
        let thread = record.thread.unwrap_or_default();
        if matches!(record.name, b"clone" | b"clone3" | b"fork" | b"vfork")
            && let Some(result) = record.result.as_deref()
        {
            if matches!(result, b"0" | b"") {
                // The return in the child, which strace does not show.
                self.named.insert(thread);
                return output.extend_from_slice(NO_EVENT);
            }
            self.named.extend(number(result));
        }
        if record.result.is_some() {
            let began_ns = self.began_ns.remove(&thread);
            let took_ns = began_ns.and_then(|began_ns| record.at_ns?.checked_sub(began_ns));
            record.took_ns = record.took_ns.or(took_ns);
        } else if let Some(at_ns) = record.at_ns {
            self.began_ns.insert(thread, at_ns);
        }
        let instead = match record.name {
            b"clone3" => self.clone3(&mut record),
            b"openat" => self.open(thread, &mut record),
            b"execve" | b"execveat" => self.execute(thread, &mut record),
            _ => None,
        };
        if let Some(text) = instead {
            return output.extend_from_slice(text);
        }
        if !self.named.insert(thread) {
            record.program = b"";
        }
        record.write(output);
    }

    fn forget_if_full(&mut self) {
        if self.began_ns.len() + self.spawned.len() + self.named.len() >= MAX_THREADS {
            self.began_ns.clear();
            self.opening.clear();
            self.spawned.clear();
            self.named.clear();
        }
    }

    /// Completes a record of `clone3` whose flags the log does not show. If the child has run another program before the
    /// parent's `clone3` returns, the child is a process: the C library has the parent wait for the `execve`. Every other child
    /// is a thread.
    fn clone3(&mut self, record: &mut Record<'_>) -> Option<&'static [u8]> {
        let Some(result) = record.result.as_deref() else {
            return Some(NO_EVENT);
        };
        let shown = record.arguments.as_deref().unwrap_or_default();
        if shown.starts_with(b"{flags=") {
            return None;
        }
        let is_process = number(result).is_some_and(|made| self.spawned.remove(&made));
        let flags = if is_process { "CLONE_VFORK" } else { "CLONE_THREAD|CLONE_FILES" };
        record.arguments = Some(format!("{{flags={flags}}}, 88").into_bytes());
        None
    }

    /// Completes a record of `openat`, whose path may come with its result.
    fn open(&mut self, thread: u32, record: &mut Record<'_>) -> Option<&'static [u8]> {
        let path = match record.arguments.take() {
            Some(all) if !all.starts_with(b"\"") => {
                if record.result.is_none() {
                    self.opening.insert(thread, all);
                    return Some(NO_EVENT);
                }
                record.arguments = Some(all);
                return None;
            }
            path => path,
        };
        let held = self.opening.remove(&thread)?;
        let parts: Vec<&[u8]> = held.splitn(3, |byte| *byte == b' ').collect();
        record.arguments = match (path, &parts[..]) {
            (Some(path), [folder, _, flags]) => {
                Some([*folder, b" ", &path[..], b", ", *flags].concat())
            }
            _ => Some(held),
        };
        None
    }

    /// Completes a record of `execve`: when the call ends, the thread has the name of the new program.
    fn execute(&mut self, thread: u32, record: &mut Record<'_>) -> Option<&'static [u8]> {
        let Some(result) = record.result.as_deref() else {
            return Some(NO_EVENT);
        };
        if result == b"0" {
            self.spawned.insert(thread);
        }
        let shown = record.arguments.as_deref().unwrap_or_default();
        if !shown.contains(&b'"') {
            let folder = if record.name == b"execve" { "" } else { "AT_FDCWD, " };
            let program: Vec<u8> = record.program.iter().map(plain).collect();
            record.arguments = Some([folder.as_bytes(), b"\"", &program, b"\", 0x1, 0x1"].concat());
        }
        None
    }
}

fn number(text: &[u8]) -> Option<u32> {
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::Rewritten;

    /// Lines with `; ` between them, and the result of the last.
    const LINES: &str = r#"1.000 ( 0.002 ms): a<b/1 openat(dfd: CWD, filename: "/a = b", flags: CREAT) = 5 => 1<a?b> 000000000.001000 openat(AT_FDCWD, "/a = b", O_CREAT) = 5 <0.000002000>
1.000 ( 0.002 ms): c/1 fork() = 2; 2.000 ( 0.002 ms): x/2 close(fd: 3) = 0 => 2 000000000.002000 close(3) = 0 <0.000002000>
1.000 ( 0.002 ms): c/1 wait4(upid: -1) =  => 1<c> 000000000.001000 wait4(0x1) =  <0.000002000>
# a comment; c 12/13 [000] 1.000000: raw_syscalls:sys_enter: NR 3 (4, 0, 0, 0, 0, 0) => 13<c> 000000001.000000 close(4 <unfinished ...>
c 1 [000] 1.000000: raw_syscalls:sys_exit: NR 3 = 0; TABffff do_syscall_64 ([kernel]) => strace:
c 1 [000] 1.000000: raw_syscalls:sys_exit: NR 3 = 0; c 1 [000] 1.000000: PERF_RECORD_COMM: x:1 => strace:
c 1 [000] 1.000000: raw_syscalls:sys_exit: NR 3 = 0; c 1 [000] 1.000000: PERF_RECORD_LOST lost 7 => c 1 [000] 1.000000: PERF_RECORD_LOST lost 7
OPENED /" => 1<c> 000000001.000001 openat(-100, "/\"", O_WRONLY|O_SYNC) = 4 <0.000001000>
OPENED /LONG => 1<c> 000000001.000001 openat(-100, "/LONG", O_WRONLY|O_SYNC) = 4 <0.000001000>
OPENED /LONGx => 1<c> 000000001.000001 openat(-100, 0x7f, O_WRONLY|O_SYNC) = 4 <0.000001000>"#;

    const OPENED: &str =
        "c 1 [0] 1.000000: raw_syscalls:sys_enter: NR 257 (ffffff9c,7f,101001,0,0,0)
c 1 [0] 1.000001: raw_syscalls:sys_exit: NR 257 = 4 0";

    #[test]
    fn lines_are_written_as_strace_would_have_written_them() {
        for row in LINES.lines() {
            let row = row
                .replace("OPENED", OPENED)
                .replace("LONG", &"x".repeat(61));
            let (log, expected) = row.rsplit_once(" => ").unwrap();
            let log = log.replace("; ", "\n").replace("TAB", "\t") + "\n";
            let mut text = String::new();
            Rewritten::new(log.as_bytes())
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text.lines().last().map(str::trim_end), Some(expected));
        }
    }

    #[test]
    fn what_clone3_made_is_a_process_if_it_ran_another_program_before_its_maker_returned() {
        let line = |text: &str| format!("1.000 (         ): {text}\n");
        let begun = line("p/1 clone3(uargs: 0x7f, size: 88)      ...");
        let returned = line("p/1  ... [continued]: clone3())       = 2");
        let child = line("p/2  ... [continued]: clone3())       = 0");
        let execve = line("p/2 execve(filename: 0x7f) = 0");
        for (lines, expected) in [
            ([&begun, &child, &execve, &returned], "CLONE_VFORK"),
            ([&begun, &returned, &child, &execve], "CLONE_THREAD"),
        ] {
            let mut text = String::new();
            let log = lines.map(String::as_str).concat();
            let mut log = Rewritten::new(log.as_bytes());
            log.read_to_string(&mut text).unwrap();
            let made = text.lines().filter(|line| line.starts_with("1<p> "));
            let made: Vec<&str> = made.collect();
            assert!(made.len() == 1 && made[0].contains(expected), "{text}");
        }
    }
}
