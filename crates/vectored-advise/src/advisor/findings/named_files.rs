//! The files that a run read or wrote, by their names at the end of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const NAMES_MAX: usize = 4096;

const NAMES_OF_A_FILE_MAX: usize = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFiles {
    pub read: BTreeSet<PathBuf>,
    /// By the name in the log: whether a finding counts writes to the file.
    written: BTreeMap<String, bool>,
    /// Old and new names of files and folders, in the order of the calls.
    links: Vec<(PathBuf, PathBuf)>,
}

impl RunFiles {
    pub fn read(&mut self, name: &[u8]) {
        if !name.is_empty() && self.read.len() < NAMES_MAX {
            self.read.insert(unescaped(name));
        }
    }

    /// Notes a file that was changed by a write, by shared memory, or perhaps by calls that are not in the log.
    pub fn write(&mut self, name: &[u8], is_counted: bool) {
        let name = String::from_utf8_lossy(name).into_owned();
        let is_known = self.written.contains_key(&name);
        if is_known || !name.is_empty() && self.written.len() < NAMES_MAX {
            *self.written.entry(name).or_default() |= is_counted;
        }
    }

    /// Notes that a finding counts writes to a file. A file that was only read stays unwritten.
    pub(crate) fn count(&mut self, name: &str) {
        if let Some(is_counted) = self.written.get_mut(name) {
            *is_counted = true;
        }
    }

    pub fn link(&mut self, from: &[u8], to: &[u8]) {
        if self.links.len() < NAMES_MAX {
            self.links.push((unescaped(from), unescaped(to)));
        }
    }

    pub(crate) fn add(&mut self, other: RunFiles) {
        self.read.extend(other.read);
        for (name, is_counted) in other.written {
            self.write(name.as_bytes(), is_counted);
        }
        self.links.extend(other.links);
    }

    /// The written files: all names of each, the name in the log first, and whether a finding counts the writes.
    pub fn written(&self) -> impl Iterator<Item = (Vec<PathBuf>, bool)> + '_ {
        let written = self.written.iter();
        written.map(|(name, &is_counted)| (self.names(unescaped(name.as_bytes())), is_counted))
    }

    fn names(&self, first: PathBuf) -> Vec<PathBuf> {
        let mut names = vec![first];
        for (from, to) in &self.links {
            let moved = |name: &PathBuf| {
                let rest = name.strip_prefix(from).ok()?;
                Some(if rest == Path::new("") { to.clone() } else { to.join(rest) })
            };
            if let Some(new) = names.iter().rev().find_map(moved)
                && !names.contains(&new)
                && names.len() < NAMES_OF_A_FILE_MAX
            {
                names.push(new);
            }
        }
        names
    }
}

/// The path that strace prints as `text`, with escapes.
pub fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        let (byte, length) = match (first, after) {
            (b'\\', [b'0'..=b'7', ..]) => {
                let digits = after
                    .iter()
                    .take(3)
                    .take_while(|digit| matches!(digit, b'0'..=b'7'));
                let value = |sum: u8, digit: &u8| sum.wrapping_mul(8).wrapping_add(digit - b'0');
                (digits.clone().fold(0, value), digits.count())
            }
            (b'\\', [b'x', high, low, ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or_default() as u8;
                (digit(*high) * 16 + digit(*low), 3)
            }
            (b'\\', [escape, ..]) => {
                let known = b"ntrvf".iter().position(|known| known == escape);
                (known.map_or(*escape, |at| b"\n\t\r\x0b\x0c"[at]), 1)
            }
            _ => (*first, 0),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn octal_hexadecimal_and_named_escapes_are_decoded() {
        for (text, path) in [
            (r"/a\x22\\x22", "/a\"\\x22"),
            (r"/\303\274\0", "/\u{fc}\0"),
            (r"/\xc3\xbc\t\x4", "/\u{fc}\tx4"),
        ] {
            assert_eq!(unescaped(text.as_bytes()).to_str(), Some(path), "{text}");
        }
    }
}
