//! Turns records into lines of strace. The lines of some calls need more than one record.

use std::collections::HashMap;

use super::{ReadLine, Record, plain};

/// The most threads that are remembered. If a log has more, all threads are forgotten at once.
const MAX_THREADS: usize = 1 << 16;

/// A line without an event, in the form of a message of strace.
const NO_EVENT: &[u8] = b"strace: \n";

pub(super) struct Rewriter {
    read_line: ReadLine,
    threads: HashMap<u32, Thread>,
}

#[derive(Default)]
struct Thread {
    /// When the unfinished call began.
    began_ns: Option<u64>,
    /// The arguments of an unfinished call of `openat`.
    opening: Option<Vec<u8>>,
    /// Whether the thread is a process that runs another program, while the call that made the process has not
    /// returned.
    is_spawned: bool,
    /// Whether the thread needs no name: it had a name, or a call made the thread. Later, a thread may give itself any
    /// name.
    is_named: bool,
}

impl Rewriter {
    pub(super) fn new(read_line: ReadLine) -> Self {
        let threads = HashMap::new();
        Self { read_line, threads }
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        if self.threads.len() >= MAX_THREADS {
            self.threads.clear();
        }
        self.threads.entry(number).or_default()
    }

    pub(super) fn rewrite(&mut self, line: &[u8], output: &mut Vec<u8>) {
        match (self.read_line)(line) {
            Some(Some(record)) => self.write(record, output),
            Some(None) => output.extend_from_slice(NO_EVENT),
            None => output.extend_from_slice(&[line, b"\n"].concat()),
        }
    }

    fn write(&mut self, mut record: Record<'_>, output: &mut Vec<u8>) {
        let thread = record.thread.unwrap_or_default();
        if matches!(record.name, b"clone" | b"clone3" | b"fork" | b"vfork")
            && let Some(result) = record.result.as_deref()
        {
            if matches!(result, b"0" | b"") {
                // This is the return in the child, which strace does not show.
                self.thread(thread).is_named = true;
                return output.extend_from_slice(NO_EVENT);
            }
            if let Some(child) = number(result) {
                self.thread(child).is_named = true;
            }
        }
        if record.result.is_some() {
            let began_ns = self.thread(thread).began_ns.take();
            let took_ns = began_ns.and_then(|began_ns| record.at_ns?.checked_sub(began_ns));
            record.took_ns = record.took_ns.or(took_ns);
        } else {
            self.thread(thread).began_ns = record.at_ns;
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
        if std::mem::replace(&mut self.thread(thread).is_named, true) {
            record.program = b"";
        }
        record.write(output);
    }

    /// Completes a record of `clone3` whose flags the log does not show. If the child runs another program before the
    /// parent's `clone3` returns, the child is a process: the C library lets the parent wait for the `execve`. Every
    /// other child is a thread.
    fn clone3(&mut self, record: &mut Record<'_>) -> Option<&'static [u8]> {
        let Some(result) = record.result.as_deref() else {
            return Some(NO_EVENT);
        };
        let shown = record.arguments.as_deref().unwrap_or_default();
        if shown.starts_with(b"{flags=") {
            return None;
        }
        let made = number(result).map(|made| self.thread(made));
        let is_process = made.is_some_and(|made| std::mem::take(&mut made.is_spawned));
        let flags = if is_process { "CLONE_VFORK" } else { "CLONE_THREAD|CLONE_FILES" };
        record.arguments = Some(format!("{{flags={flags}}}, 88").into_bytes());
        None
    }

    /// Completes a record of `openat`. Its path may come with its result.
    fn open(&mut self, thread: u32, record: &mut Record<'_>) -> Option<&'static [u8]> {
        let path = match record.arguments.take() {
            Some(all) if !all.starts_with(b"\"") => {
                if record.result.is_none() {
                    self.thread(thread).opening = Some(all);
                    return Some(NO_EVENT);
                }
                record.arguments = Some(all);
                return None;
            }
            path => path,
        };
        let held = self.thread(thread).opening.take()?;
        let parts: Vec<&[u8]> = held.splitn(3, |byte| *byte == b' ').collect();
        record.arguments = match (path, &parts[..]) {
            (Some(path), [folder, _, flags]) => {
                Some([*folder, b" ", &path[..], b", ", *flags].concat())
            }
            _ => Some(held),
        };
        None
    }

    /// Completes a record of `execve`. When the call ends, the thread has the name of the new program.
    fn execute(&mut self, thread: u32, record: &mut Record<'_>) -> Option<&'static [u8]> {
        let Some(result) = record.result.as_deref() else {
            return Some(NO_EVENT);
        };
        if result == b"0" {
            self.thread(thread).is_spawned = true;
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

    /// Lines with `; ` between them, and the line of strace for the last line.
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
