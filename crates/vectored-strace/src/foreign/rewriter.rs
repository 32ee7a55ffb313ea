//! From records to lines of strace: calls whose lines need more than one record.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use super::{ReadLine, Record, plain};

/// Most threads that are remembered. More are forgotten at once.
const MAX_THREADS: usize = 1 << 16;

/// Most threads at once within `clone3`.
const MAX_MAKERS: usize = 64;

/// A line without an event: strace says something about itself.
const NO_EVENT: &[u8] = b"strace: \n";

/// State that is kept between lines.
pub(super) struct Rewriter {
    read_line: ReadLine,
    /// When the unfinished calls began, by thread.
    began_ns: HashMap<u32, u64>,
    /// The arguments of unfinished calls of `openat`, by thread.
    opening: HashMap<u32, Vec<u8>>,
    /// Threads within `clone3`.
    makers: Vec<u32>,
    /// New threads of `clone3`, until they and their makers have returned from it.
    children: HashMap<u32, Child>,
    /// Threads that need no name: they had one, or a call made them. A thread may give itself any name later.
    named: HashSet<u32>,
}

/// What `clone3` made. If the log does not show its flags, the first call of what was made tells: a thread registers itself. A
/// process of the C library has the memory of its parent, which waits for its `execve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Child {
    New,
    Thread,
    Process,
    /// The line of its maker was written, before its first call.
    Written,
    /// Its maker has returned first.
    Returned,
}

impl Child {
    fn flags(self) -> Vec<u8> {
        let flags = if self == Child::Process { "CLONE_VFORK" } else { "CLONE_THREAD|CLONE_FILES" };
        format!("{{flags={flags}}}, 88").into_bytes()
    }
}

impl Rewriter {
    pub(super) fn new(read_line: ReadLine) -> Self {
        Self {
            read_line,
            began_ns: HashMap::new(),
            opening: HashMap::new(),
            makers: Vec::new(),
            children: HashMap::new(),
            named: HashSet::new(),
        }
    }

    /// Writes one line for each line.
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
                if record.name == b"clone3"
                    && self.children.remove(&thread) != Some(Child::Returned)
                {
                    self.children.insert(thread, Child::New);
                }
                return output.extend_from_slice(NO_EVENT);
            }
            self.named.extend(number(result));
        }
        self.note_first_call(thread, &record, output);
        if record.result.is_some() {
            let began_ns = self.began_ns.remove(&thread);
            let took_ns = began_ns.and_then(|began_ns| record.at_ns?.checked_sub(began_ns));
            record.took_ns = record.took_ns.or(took_ns);
        } else if let Some(at_ns) = record.at_ns {
            self.began_ns.insert(thread, at_ns);
        }
        let instead = match record.name {
            b"clone3" => self.clone3(thread, &mut record),
            b"openat" => self.open(thread, &mut record),
            b"execve" | b"execveat" => execute(&mut record),
            _ => None,
        };
        if !self.named.insert(thread) {
            record.program = b"";
        }
        match instead {
            Some(text) => output.extend_from_slice(text),
            None => record.write(output),
        }
    }

    fn forget_if_full(&mut self) {
        if self.began_ns.len() + self.children.len() + self.named.len() >= MAX_THREADS
            || self.makers.len() >= MAX_MAKERS
        {
            self.began_ns.clear();
            self.opening.clear();
            self.makers.clear();
            self.children.clear();
            self.named.clear();
        }
    }

    /// Writes the line of the maker of a thread before its first call, if only one thread may be that.
    fn note_first_call(&mut self, thread: u32, record: &Record<'_>, output: &mut Vec<u8>) {
        let Some(child @ Child::New) = self.children.get_mut(&thread) else {
            return;
        };
        let is_thread = matches!(record.name, b"rseq" | b"set_robust_list");
        *child = if is_thread { Child::Thread } else { Child::Process };
        if let [maker] = self.makers[..] {
            let made = Record {
                program: b"",
                thread: Some(maker),
                at_ns: record.at_ns,
                name: b"clone3",
                arguments: Some(child.flags()),
                result: Some(thread.to_string().into_bytes()),
                took_ns: None,
            };
            made.write(output);
            *child = Child::Written;
        }
    }

    /// Completes a record of `clone3`. Returns what is written instead, if anything is.
    fn clone3(&mut self, thread: u32, record: &mut Record<'_>) -> Option<&'static [u8]> {
        let shown = record.arguments.as_deref();
        if shown.is_some_and(|shown| memmem::find(shown, b"flags=").is_some()) {
            return None;
        }
        let Some(result) = record.result.as_deref() else {
            self.makers.push(thread);
            return Some(NO_EVENT);
        };
        let is_begun = self.makers.contains(&thread);
        self.makers.retain(|maker| *maker != thread);
        let made = number(result);
        let child = made.and_then(|made| self.children.remove(&made));
        if child == Some(Child::Written) {
            return Some(b"");
        }
        if let (None, Some(made)) = (child, made) {
            self.children.insert(made, Child::Returned);
        }
        if is_begun || record.arguments.is_some() {
            record.arguments = Some(child.unwrap_or(Child::Thread).flags());
        }
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
}

/// Completes a record of `execve`. The thread has the name of the new program at the end.
fn execute(record: &mut Record<'_>) -> Option<&'static [u8]> {
    if record.result.is_none() {
        return Some(NO_EVENT);
    }
    if !record
        .arguments
        .as_deref()
        .is_some_and(|shown| shown.contains(&b'"'))
    {
        let folder = if record.name == b"execve" { "" } else { "AT_FDCWD, " };
        let program: Vec<u8> = record.program.iter().map(plain).collect();
        record.arguments = Some([folder.as_bytes(), b"\"", &program, b"\", 0x1, 0x1"].concat());
    }
    None
}

fn number(text: &[u8]) -> Option<u32> {
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::super::Rewritten;

    struct FailsOnce(bool);

    impl Read for FailsOnce {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            let has_failed = std::mem::replace(&mut self.0, true);
            has_failed
                .then_some(0)
                .ok_or(io::ErrorKind::InvalidData.into())
        }
    }

    #[test]
    fn an_error_within_the_first_bytes_comes_after_them() {
        for log in ["sync() = 0\n", "1.000 (         ): p/1 sync() = 0\n"] {
            let mut bytes = Vec::new();
            let mut log = Rewritten::new(log.as_bytes().chain(FailsOnce(false)));
            let error = log.read_to_end(&mut bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(String::from_utf8_lossy(&bytes).contains("sync("));
        }
    }

    /// What `clone3` made, with the first call of thread 2 before or after the return of thread 1.
    #[test]
    fn what_clone3_made_is_known_by_its_first_call() {
        let line = |text: &str| format!("1.000 (         ): {text}\n");
        let begun = line("p/1 clone3(uargs: 0x7f, size: 88)      ...");
        let returned = line("p/1  ... [continued]: clone3())       = 2");
        let child = line("p/2  ... [continued]: clone3())       = 0");
        let [thread, process] = ["rseq(rseq: 0x7f)", "rt_sigprocmask(how: BLOCK)"]
            .map(|call| line(&format!("p/2 {call} = 0")));
        for (lines, expected) in [
            ([&begun, &child, &thread, &returned], ["1 THREAD", "2"]),
            ([&begun, &child, &process, &returned], ["1 VFORK", "2"]),
            ([&begun, &returned, &child, &thread], ["1 THREAD", "2"]),
            ([&child, &begun, &process, &returned], ["1 VFORK", "2"]),
            ([&child, &thread, &begun, &returned], ["2", "1 THREAD"]),
        ] {
            let log = lines.map(String::as_str).concat();
            let mut text = String::new();
            Rewritten::new(log.as_bytes())
                .read_to_string(&mut text)
                .unwrap();
            let short = |line: &str| {
                let kind = ["THREAD", "VFORK"]
                    .into_iter()
                    .find(|kind| line.contains(kind));
                format!("{} {}", &line[..1], kind.unwrap_or_default())
                    .trim()
                    .to_owned()
            };
            let calls: Vec<String> = text
                .lines()
                .filter(|line| !line.starts_with("strace"))
                .map(short)
                .collect();
            assert_eq!(calls, expected, "{log}\n{text}");
        }
    }
}
