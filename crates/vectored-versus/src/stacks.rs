//! Counts the stacks in a log of `strace -k`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, BufRead};

use vectored_report::sort::sort_by_key;
use vectored_strace::{frame, is_of_c_library};

use crate::model::CallStack;

/// The number of innermost functions that are kept.
const KEPT_FRAMES: usize = 6;

const KEPT_STACKS: usize = 20;

/// Functions of the C library that call `main` or the function of a thread. Statically linked programs contain these
/// functions.
const STARTS: &str = "_start __libc_start_main __libc_start_call_main start_thread clone";

/// strace writes this frame if it cannot unwind further. The address in the frame differs between runs.
const UNKNOWN: &[u8] = b"unexpected_backtracing_error";

pub type Stacks = BTreeMap<(String, Vec<String>), u64>;

/// A call that another thread interrupts in the log has no stack there. The call is counted at its end.
pub fn stacks(log: impl BufRead) -> io::Result<Stacks> {
    let mut all = Stacks::new();
    let mut call: Option<(String, Vec<Vec<u8>>)> = None;
    let mut count = |call: Option<(String, Vec<Vec<u8>>)>| {
        if let Some((name, frames)) = call.filter(|(_, frames)| !frames.is_empty()) {
            *all.entry((name, functions(&frames))).or_default() += 1;
        }
    };
    for line in log.split(b'\n') {
        let line = line?;
        match (frame(&line), &mut call) {
            (Some(frame), Some((_, frames))) => frames.push(frame.to_vec()),
            (Some(_), None) => {}
            (None, _) => count(std::mem::replace(
                &mut call,
                name(&line).map(|name| (name, Vec::new())),
            )),
        }
    }
    count(call);
    Ok(all)
}

/// The line is for example `12 write(1, "x", 1) = 1` or `12 <... write resumed>) = 1`.
fn name(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let call = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let call = call.strip_prefix("<... ").unwrap_or(call);
    let end = call.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let is_call = call[end..].starts_with('(') || call[end..].starts_with(" resumed");
    (is_call && end > 0).then(|| call[..end].to_owned())
}

/// Returns the functions of the program, the outermost first. The frames that start `main` or a thread are omitted,
/// and the frames of the C library that make the call. Offsets are omitted, because each edit of the program changes
/// them.
fn functions(frames: &[Vec<u8>]) -> Vec<String> {
    let is_outside = |frame: &&Vec<u8>| {
        let name = function(frame).unwrap_or_default();
        is_of_c_library(frame)
            || frame.starts_with(UNKNOWN)
            || STARTS.split(' ').any(|start| start == name)
    };
    let own: Vec<&Vec<u8>> = frames.iter().skip_while(is_outside).collect();
    // In a program without symbols, the frame of `_start` has no name. Therefore, all frames outside the outermost C
    // library frame are cut off.
    let start = own.iter().rposition(&is_outside);
    let own = &own[..start.unwrap_or(own.len())];
    let last = own.iter().rposition(|frame| !is_outside(frame));
    let own = &own[..last.map_or(0, |last| last + 1)];
    let kept = own.iter().take(KEPT_FRAMES).rev();
    let mut functions: Vec<String> = kept.map(|frame| in_words(frame)).collect();
    functions.dedup();
    if functions.is_empty() {
        functions.extend(frames.first().map(|frame| in_words(frame)));
    }
    functions
}

/// Returns the file name if the file has no symbols.
fn in_words(frame: &[u8]) -> String {
    function(frame).unwrap_or_else(|| {
        let text = String::from_utf8_lossy(frame);
        let file = text.split('(').next().unwrap_or_default();
        file.rsplit('/').next().unwrap_or_default().to_owned()
    })
}

/// `/usr/bin/prog(save+0x28) [0x1171]` gives `save`. The hash that Rust appends is removed.
fn function(frame: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(frame);
    let (_, inside) = text.split_once('(')?;
    let (inside, _) = inside.rsplit_once(") [")?;
    let name = inside.rsplit_once("+0x").map_or(inside, |(name, _)| name);
    let name = match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 => path,
        _ => name,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the stacks with more calls in `new`. The largest increase is first.
pub fn grown_stacks(old: &Stacks, new: &Stacks) -> Vec<CallStack> {
    let grown = new.iter().map(|(stack, &new)| CallStack {
        call: stack.0.clone(),
        frames: stack.1.clone(),
        old: old.get(stack).copied().unwrap_or_default(),
        new,
    });
    let mut grown: Vec<CallStack> = grown.filter(|one| one.new > one.old).collect();
    sort_by_key(&mut grown, |one| Reverse(one.new - one.old));
    grown.truncate(KEPT_STACKS);
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"12 write(1, "x", 1) = 1
 > /usr/lib/libc.so.6(__write+0x10) [0xf8350]
 > /w/prog(flush::h0123456789abcdef+0x28) [0x1171]
 > /w/prog(save(int, char)+0x2) [0x1191]
 > /w/prog(main+0x13) [0x11a9]
 > /usr/lib/libc.so.6(__libc_start_main+0x85) [0x27305]
 > /w/prog(_start+0x21) [0x1081]
"#;
    const STRIPPED: &str = r#"13 <... fsync resumed>) = 0
 > /usr/lib/libc.so.6(fsync+0x10) [0xf8350]
 > /w/prog() [0x1171]
 > /w/prog() [0x1191]
 > /usr/lib/libc.so.6(__libc_start_main+0x85) [0x27305]
 > /w/prog() [0x1081]
12 --- SIGCHLD {si_signo=SIGCHLD} ---
12 fsync(3 <unfinished ...>
12 +++ exited with 0 +++
"#;

    #[test]
    fn what_grew_is_named_by_its_functions() {
        let of = |log: &str| stacks(log.as_bytes()).unwrap();
        let moved = ONE.replace("+0x", "+0x1");
        let (old, new) = (of(ONE), of(&(moved + &ONE.repeat(4) + STRIPPED)));
        let grown = grown_stacks(&old, &new).into_iter();
        let grown: Vec<_> = grown
            .map(|one| (one.call, one.frames.join(" > "), one.old, one.new))
            .collect();
        let one = |call: &str, stack: &str, old, new| (call.to_owned(), stack.to_owned(), old, new);
        let expected = [
            one("write", "main > save(int, char) > flush", 1, 5),
            one("fsync", "prog", 0, 1),
        ];
        assert_eq!(grown, expected);
        for (old, new) in [(&new, &old), (&new, &new)] {
            assert_eq!(grown_stacks(old, new), []);
        }
    }

    #[test]
    fn a_stack_that_strace_cannot_end_is_that_of_its_functions() {
        let log = |end: &str| {
            let frames =
                format!(" > /w/p(main+0x1) [0x1]\n > unexpected_backtracing_error [{end}]\n");
            stacks(format!("1 write(1) = 1\n{frames}").as_bytes()).unwrap()
        };
        let all = log("0x7fff5");
        assert_eq!(all[&("write".to_owned(), vec!["main".to_owned()])], 1);
        assert_eq!(all, log("0x7ffe4"));
    }

    #[test]
    fn a_call_of_the_c_library_alone_has_its_function() {
        let log = "1 write(1) = 1\n > /lib/libc.so.6(puts+0x1) [0x1]\n > /w/p(_start+0x1) [0x2]\n";
        let all = stacks(log.as_bytes()).unwrap();
        assert_eq!(all[&("write".to_owned(), vec!["puts".to_owned()])], 1);
    }
}
