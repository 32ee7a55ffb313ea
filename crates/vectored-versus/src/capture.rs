//! Keeps what a command wrote: the length, the SHA-256 sum, and the first bytes.

use std::io::{self, Read};

use hmac_sha256::Hash;
use vectored_report::sort::sort;
use vectored_report::{visible, words};

const HEAD_BYTES: usize = 1 << 20;

const SHOWN_CHARACTERS: usize = 60;

/// The number of characters shown before the first difference in a line.
const SHOWN_BEFORE: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    bytes: u64,
    sha256: String,
    head: Vec<u8>,
}

pub fn capture(from: impl Read) -> io::Result<Captured> {
    let (mut bytes, mut head) = (0, Vec::new());
    let sha256 = sum(from, |read| {
        bytes += read.len() as u64;
        head.extend(read.iter().take(HEAD_BYTES - head.len()));
    })?;
    Ok(Captured {
        bytes,
        sha256,
        head,
    })
}

/// Returns the SHA-256 sum of all bytes up to the end, and passes each part to `see`.
pub fn sum(mut from: impl Read, mut see: impl FnMut(&[u8])) -> io::Result<String> {
    let mut digest = Hash::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => {
                let sum = digest.finalize();
                return Ok(sum.iter().map(|byte| format!("{byte:02x}")).collect());
            }
            Ok(read) => {
                digest.update(&buffer[..read]);
                see(&buffer[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The part of an output that differs between runs of the old command. A comparison with other commands ignores this
/// part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Varying {
    /// The numbers of the lines, from 1.
    Lines(Vec<usize>),
    Order,
    /// The decimal numbers in all lines, for example times in a log.
    Numbers,
    All,
}

/// Finds what differs between two outputs of the same command: the order of the lines, or some lines. If all lines
/// differ, and only in their decimal numbers, the result is `Numbers`.
///
/// The result is `All` for any other difference. The result is also `All` if the outputs have different numbers of
/// lines, or if an output is longer than the kept part.
pub fn varying(one: &Captured, other: &Captured) -> Option<Varying> {
    if one == other {
        return None;
    }
    let is_whole = |output: &Captured| output.bytes == output.head.len() as u64;
    let are_whole = is_whole(one) && is_whole(other);
    let [one_sorted, other_sorted] = [one, other].map(|output| output.without(&Varying::Order));
    if are_whole && one_sorted == other_sorted {
        return Some(Varying::Order);
    }
    let [one_lines, other_lines] = [one, other].map(Captured::lines);
    let pairs = std::iter::zip(&one_lines, &other_lines).zip(1..);
    let lines: Vec<usize> = pairs
        .filter(|((one, other), _)| one != other)
        .map(|(_, number)| number)
        .collect();
    let are_known = are_whole && one_lines.len() == other_lines.len();
    let [one, other] = [one, other].map(|output| output.without(&Varying::Numbers));
    Some(match (are_known, lines.len() < one_lines.len()) {
        (true, true) => Varying::Lines(lines),
        (true, false) if one == other => Varying::Numbers,
        _ => Varying::All,
    })
}

impl Varying {
    pub fn join(&mut self, other: &Varying) {
        match (&mut *self, other) {
            (Varying::Lines(lines), Varying::Lines(others)) => {
                lines.extend(others);
                sort(lines);
                lines.dedup();
            }
            (Varying::Order, Varying::Order) | (Varying::Numbers, Varying::Numbers) => {}
            _ => *self = Varying::All,
        }
    }
}

/// Returns the last line that is not blank, cut after `SHOWN_CHARACTERS`.
pub fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    let shown: String = line.chars().take(SHOWN_CHARACTERS).collect();
    let end = if shown.len() < line.len() { "…" } else { "" };
    visible(&format!("{shown}{end}"))
}

impl Captured {
    /// Returns an empty string if the kept part is not the whole output.
    pub fn last_line(&self) -> String {
        let is_whole = self.bytes == self.head.len() as u64;
        if is_whole { last_line(&self.head) } else { String::new() }
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.head.split_inclusive(|byte| *byte == b'\n').collect()
    }

    /// Removes the varying part. [`Varying::Lines`] empties the lines with these numbers. [`Varying::Order`] sorts the
    /// lines. [`Varying::Numbers`] replaces each number with 0. [`Varying::All`] removes the whole output.
    pub fn without(&self, varying: &Varying) -> Captured {
        let mut lines = self.lines();
        match varying {
            Varying::Lines(numbers) => {
                for number in numbers {
                    if let Some(line) = lines.get_mut(number - 1) {
                        *line = b"\n";
                    }
                }
            }
            Varying::Order => {
                // The last line may have no newline.
                lines
                    .iter_mut()
                    .for_each(|line| *line = line.strip_suffix(b"\n").unwrap_or(line));
                sort(&mut lines);
                lines = lines
                    .into_iter()
                    .flat_map(|line| [line, &b"\n"[..]])
                    .collect();
            }
            Varying::Numbers | Varying::All => {}
        }
        let head = match varying {
            Varying::All => Vec::new(),
            Varying::Numbers => with_zeros(&self.head),
            Varying::Lines(_) | Varying::Order => lines.concat(),
        };
        Captured {
            bytes: self.bytes - self.head.len() as u64 + head.len() as u64,
            sha256: String::new(),
            head,
        }
    }
}

fn with_zeros(text: &[u8]) -> Vec<u8> {
    let is_same = |one: &u8, other: &u8| one.is_ascii_digit() && other.is_ascii_digit();
    let parts = text.chunk_by(is_same);
    let zeros = parts.map(|part| if part[0].is_ascii_digit() { b"0" } else { part });
    zeros.collect::<Vec<_>>().concat()
}

/// Describes the first difference: `line 3 is 'b' instead of 'a'`.
pub fn difference(old: &Captured, new: &Captured) -> Option<String> {
    if old == new {
        return None;
    }
    let shorter = old.head.len().min(new.head.len());
    let mut pairs = old.head.iter().zip(&new.head);
    let equal = pairs.position(|(old, new)| old != new).unwrap_or(shorter);
    let [old_bytes, new_bytes] = [old.bytes, new.bytes].map(words::bytes);
    if equal == shorter && old.head.len() == new.head.len() {
        let first = words::bytes(HEAD_BYTES as u64);
        return Some(format!(
            "the first {first} are equal, and the rest differs ({old_bytes} in old, {new_bytes} in new)"
        ));
    }
    if shorter == 0 {
        let [was, is] = [&old.head, &new.head].map(|head| {
            if head.is_empty() { "empty".to_owned() } else { quoted(head, 0) }
        });
        return Some(format!("it is {is} instead of {was}"));
    }
    // A NUL byte is taken as a sign of binary data.
    if [&old.head, &new.head].iter().any(|head| head.contains(&0)) {
        let [was, is] = [&old.head, &new.head].map(|head| {
            let byte = head.get(equal);
            byte.map_or_else(|| "missing".to_owned(), |byte| format!("{byte:#04x}"))
        });
        let number = words::grouped(equal as u64 + 1);
        return Some(format!("byte {number} is {is} instead of {was}"));
    }
    let number = old.head[..equal]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1;
    let [was, is] = [&old.head, &new.head].map(|head| {
        if equal == head.len() && head.ends_with(b"\n") {
            "missing".to_owned()
        } else {
            quoted(head, equal)
        }
    });
    if was == is {
        let line_end =
            |head: &[u8]| if head.get(equal) == Some(&b'\n') { "with" } else { "without" };
        let [was, is] = [line_end(&old.head), line_end(&new.head)];
        return Some(format!(
            "line {number} is {is} a line feed instead of {was} one"
        ));
    }
    Some(format!("line {number} is {is} instead of {was}"))
}

fn quoted(text: &[u8], at: usize) -> String {
    let is_end = |byte: &u8| *byte == b'\n';
    let begin = text[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = text[begin..].iter().position(is_end);
    let line = &text[begin..end.map_or(text.len(), |length| begin + length)];
    let at = (at - begin).min(line.len());
    let (before, line) = match std::str::from_utf8(line) {
        // The byte may be inside a multi-byte character.
        Ok(line) => {
            let before = line
                .char_indices()
                .take_while(|(index, c)| index + c.len_utf8() <= at);
            (before.count(), line.to_owned())
        }
        Err(_) => {
            let before = line[..at].escape_ascii().count();
            (before, line.escape_ascii().to_string())
        }
    };
    let left_out = if before + SHOWN_BEFORE > SHOWN_CHARACTERS { before - SHOWN_BEFORE } else { 0 };
    let mut rest = line.chars().skip(left_out);
    let shown: String = rest.by_ref().take(SHOWN_CHARACTERS).collect();
    let [less, more] = [left_out > 0, rest.next().is_some()].map(|is| if is { "…" } else { "" });
    format!("'{less}{}{more}'", visible(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_sha256sum() {
        let seen = std::cell::Cell::new(0);
        let abc = sum(&b"abc"[..], |read| seen.set(seen.get() + read.len())).unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((&*abc, seen.get()), (expected, 3));
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        for (old, new, words) in [
            ("a\nb\nc\n", "a\nx\nc\n", "line 2 is 'x' instead of 'b'"),
            ("a\nb\n", "a\n", "line 2 is missing instead of 'b'"),
            ("a\n", "a\nb\n", "line 2 is 'b' instead of missing"),
            (
                "a\n",
                "a",
                "line 1 is without a line feed instead of with one",
            ),
            ("", "b\n", "it is 'b' instead of empty"),
            ("long", "longer", "line 1 is 'longer' instead of 'long'"),
            (
                "\u{1b}[1m",
                "\u{7}",
                "line 1 is '\\u{7}' instead of '\\u{1b}[1m'",
            ),
            ("a\0b", "a\0\r", "byte 3 is 0x0d instead of 0x62"),
            ("a\0b", "a\0", "byte 3 is missing instead of 0x62"),
            // The UTF-8 forms of these characters differ in the last byte only.
            ("é", "è", "line 1 is 'è' instead of 'é'"),
        ] {
            let [old, new] = [old, new].map(|text| capture(text.as_bytes()).unwrap());
            assert_eq!(difference(&old, &new).as_deref(), Some(words));
            assert_eq!(difference(&old, &old), None);
        }
        let [old, new] = [&b"a\xff"[..], b"a\xfe"].map(|bytes| capture(bytes).unwrap());
        let words = difference(&old, &new);
        assert_eq!(
            words.as_deref(),
            Some(r"line 1 is 'a\xfe' instead of 'a\xff'")
        );
        let [old, new] = ["b", "c"].map(|end| capture(("a".repeat(40) + end).as_bytes()).unwrap());
        assert!(!difference(&old, &new).unwrap().contains('…'));
        let long = |middle: &str| "é".repeat(500) + middle + &"z".repeat(500);
        let [old, new] = ["b", "c"].map(|middle| capture(long(middle).as_bytes()).unwrap());
        let part = |middle: &str| format!("'…{}{middle}{}…'", "é".repeat(20), "z".repeat(39));
        let expected = format!("line 1 is {} instead of {}", part("c"), part("b"));
        assert_eq!(difference(&old, &new), Some(expected));
    }

    #[test]
    fn lines_that_vary_are_left_out() {
        for (one, other, expected) in [
            ("a\nb\n", "a\nb\n", None),
            (
                "at 1\nb\nat 1",
                "at 2\nb\nat 2",
                Some(Varying::Lines(vec![1, 3])),
            ),
            ("at 1\nb\n", "at 2\nb\nc\n", Some(Varying::All)),
            ("at 9\nat 9 b\n", "at 10\nat 12 b\n", Some(Varying::Numbers)),
            ("at 1\n", "on 2\n", Some(Varying::All)),
            ("a\nb\nc", "c\na\nb\n", Some(Varying::Order)),
        ] {
            let [one, other] = [one, other].map(|text| capture(text.as_bytes()).unwrap());
            assert_eq!(varying(&one, &other), expected);
            assert_eq!(varying(&one, &one), None);
        }
        let long =
            ["1\n", "2\n"].map(|first| [first.as_bytes(), &b"a\n".repeat(HEAD_BYTES)].concat());
        let [one, other] = long.map(|text| capture(&*text).unwrap());
        assert_eq!(varying(&one, &other), Some(Varying::All));
        let mut lines = Varying::Lines(vec![1, 3]);
        lines.join(&Varying::Lines(vec![2, 3]));
        assert_eq!(lines, Varying::Lines(vec![1, 2, 3]));
        let [old, new, other] = ["at 1\nb\n", "at 2\nb\n", "at 2\nc\n"].map(|text| {
            capture(text.as_bytes())
                .unwrap()
                .without(&Varying::Lines(vec![1]))
        });
        assert_eq!(difference(&old, &new), None);
        let words = difference(&old, &other);
        assert_eq!(words.as_deref(), Some("line 2 is 'c' instead of 'b'"));
    }

    #[test]
    fn the_last_line_is_the_last_one_with_text() {
        assert_eq!(last_line(b"a\nb\n \n"), "b");
        assert_eq!(last_line("x".repeat(61).as_bytes()), "x".repeat(60) + "…");
        let long = vec![b'a'; HEAD_BYTES + 1];
        let last = |output: &[u8]| capture(output).unwrap().last_line();
        assert_eq!([last(b"a\nb\n"), last(&long)], ["b", ""]);
        let other = [&long[1..], b"b"].concat();
        let [old, new] = [long, other].map(|bytes| capture(&*bytes).unwrap());
        let words = difference(&old, &new).unwrap();
        assert!(words.starts_with("the first 1 MiB are equal"), "{words}");
    }
}
