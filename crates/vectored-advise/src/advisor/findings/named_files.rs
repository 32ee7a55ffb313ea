//! The files that a run read or wrote, by the names that they have at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use vectored_machine::model::Operation;

use crate::advisor::findings::uses::UsesByName;

const NAMES_MAX: usize = 4096;

const NAMES_OF_A_FILE_MAX: usize = 16;

/// Files that a log shows by calls without a transfer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NamedFiles {
    /// Folders, and files that may not have existed (`O_EXCL`).
    made: BTreeSet<Vec<u8>>,
    /// Files that were changed by shared memory, or may have been by calls that the log does not show.
    changed: BTreeSet<Vec<u8>>,
    /// Names that were given to a file or folder that had another name, in order.
    links: Vec<(Vec<u8>, Vec<u8>)>,
}

impl NamedFiles {
    pub(crate) fn make(&mut self, path: &[u8]) {
        insert(&mut self.made, path);
    }

    pub(crate) fn change(&mut self, path: &[u8]) {
        insert(&mut self.changed, path);
    }

    pub(crate) fn link(&mut self, from: Vec<u8>, to: Vec<u8>) {
        if self.links.len() < NAMES_MAX {
            self.links.push((from, to));
        }
    }

    pub(crate) fn add(&mut self, other: NamedFiles) {
        for path in other.made {
            self.make(&path);
        }
        for path in other.changed {
            self.change(&path);
        }
        for (from, to) in other.links {
            self.link(from, to);
        }
    }
}

fn insert(names: &mut BTreeSet<Vec<u8>>, path: &[u8]) {
    if names.len() < NAMES_MAX && path.starts_with(b"/") {
        names.insert(path.to_vec());
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFiles {
    /// The name of a program, and a file that it read.
    pub read: Vec<(String, PathBuf)>,
    pub written: Vec<WrittenFile>,
    pub made: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WrittenFile {
    pub path: String,
    /// `path`, and the names that the file got later.
    pub names: Vec<PathBuf>,
    pub is_counted: bool,
}

impl RunFiles {
    pub(crate) fn of(uses: &UsesByName, files: &NamedFiles) -> RunFiles {
        let NamedFiles {
            made,
            changed,
            links,
        } = files;
        let links: Vec<_> = links
            .iter()
            .map(|(from, to)| (unescaped(from), unescaped(to)))
            .collect();
        let mut files = RunFiles {
            made: made.iter().map(|name| unescaped(name)).collect(),
            ..RunFiles::default()
        };
        let mut written: BTreeMap<String, bool> =
            changed.iter().map(|name| (lossy(name), false)).collect();
        for used in uses.values().filter(|used| used.kind == "file") {
            match (used.operation, &used.path) {
                (Operation::Read, Some(name)) => {
                    files
                        .read
                        .push((used.program.clone(), unescaped(name.as_bytes())));
                }
                (Operation::Write, Some(name)) if used.bytes > 0 => {
                    *written.entry(name.clone()).or_default() |= used.counted > 0;
                }
                _ => {}
            }
        }
        let named = |(name, is_counted): (String, bool)| WrittenFile {
            names: names(unescaped(name.as_bytes()), &links),
            path: name,
            is_counted,
        };
        files.written = written.into_iter().map(named).collect();
        files
    }
}

fn names(first: PathBuf, links: &[(PathBuf, PathBuf)]) -> Vec<PathBuf> {
    let mut names = vec![first];
    for (from, to) in links {
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

/// The path that strace prints with these escapes.
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
            (b'\\', [escape, ..]) => match escape {
                b'n' => (b'\n', 1),
                b't' => (b'\t', 1),
                b'r' => (b'\r', 1),
                b'v' => (0x0b, 1),
                b'f' => (0x0c, 1),
                other => (*other, 1),
            },
            _ => (*first, 0),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    PathBuf::from(lossy(&bytes))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
