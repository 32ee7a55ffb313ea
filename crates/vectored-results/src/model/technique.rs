//! The names of techniques: the ways to pass several buffers to the kernel.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::model::conditions::Operation;

/// The name of a technique, the same on the command line, in JSON and in tables.
///
/// Results have only the names of techniques, so a program that implements no technique can read results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TechniqueName(&'static str);

/// What a technique does with a list, as far as reports treat it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    Each,
    Copy,
    Gather,
    /// Chooses a technique for each list. Its time mostly equals the time of the chosen technique, so a contest would be
    /// undecidable.
    Adaptive,
    Other,
}

const MAX_BYTES: usize = 40;

static READ: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl TechniqueName {
    pub const WRITE_EACH: TechniqueName = TechniqueName("write-each");
    pub const COPY_THEN_WRITE: TechniqueName = TechniqueName("copy-then-write");
    /// One `writev` over all segments (one per `IOV_MAX`).
    pub const WRITEV: TechniqueName = TechniqueName("writev");
    /// The library's choice: for writes [`vectored::Gather`], which copies small segments, references
    /// large ones, and makes one call; for reads its counterpart.
    pub const ADAPTIVE: TechniqueName = TechniqueName("adaptive");
    pub const READ_EACH: TechniqueName = TechniqueName("read-each");
    pub const READ_THEN_SPLIT: TechniqueName = TechniqueName("read-then-split");
    /// One `readv` over all segments (one per `IOV_MAX`).
    pub const READV: TechniqueName = TechniqueName("readv");

    pub const READ_WRITE: TechniqueName = TechniqueName("read-write");

    pub const fn new(name: &'static str) -> TechniqueName {
        assert!(is_valid(name), "small letters, digits and hyphens");
        TechniqueName(name)
    }

    /// The synchronous call that passes a whole list to the kernel. Asynchronous techniques are compared with this call. Copies
    /// pass no list: their call is `read-write`.
    pub fn vectored_call(operation: Operation) -> TechniqueName {
        match operation {
            Operation::Write => TechniqueName::WRITEV,
            Operation::Read => TechniqueName::READV,
            Operation::Copy => TechniqueName::READ_WRITE,
        }
    }

    /// What the technique does with a list. The role follows from the name, since loaded results have only names.
    pub fn role(self) -> Role {
        match self {
            TechniqueName::WRITE_EACH | TechniqueName::READ_EACH => Role::Each,
            TechniqueName::COPY_THEN_WRITE | TechniqueName::READ_THEN_SPLIT => Role::Copy,
            TechniqueName::WRITEV | TechniqueName::READV => Role::Gather,
            TechniqueName::ADAPTIVE => Role::Adaptive,
            // A second calibration, in the measurements of the project.
            TechniqueName(name) if name.starts_with("adaptive-") => Role::Adaptive,
            _ => Role::Other,
        }
    }

    /// How much the technique asks of a program, the least first: a call for each segment; a buffer (`copy-then-write`, and a
    /// copy by `read` and `write`); the library; an array of `iovec`, and code for a transfer that ends within a segment; calls
    /// that only some targets take; a queue of transfers in flight.
    pub fn effort(self) -> u8 {
        match (self.role(), self) {
            (Role::Each, _) => 0,
            (Role::Copy, _) | (_, TechniqueName::READ_WRITE | TechniqueName("stdio")) => 1,
            (Role::Adaptive, _) => 2,
            (Role::Gather, _) => 3,
            (Role::Other, TechniqueName("io-uring" | "linux-aio")) => 5,
            (Role::Other, _) => 4,
        }
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

const fn is_valid(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !matches!(bytes[at], b'a'..=b'z' | b'0'..=b'9' | b'-') {
            return false;
        }
        at += 1;
    }
    !bytes.is_empty() && bytes.len() <= MAX_BYTES
}

impl Deref for TechniqueName {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl fmt::Display for TechniqueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl<'de> Deserialize<'de> for TechniqueName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if !is_valid(&name) {
            let message = format!(
                "{name:?} is no name of a technique: expected small letters, digits and hyphens, at most {MAX_BYTES}"
            );
            return Err(de::Error::custom(message));
        }
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let known = read.get(&*name).copied();
        Ok(TechniqueName(known.unwrap_or_else(|| {
            // Few names are ever read, and each is kept once.
            let kept: &'static str = name.leak();
            read.insert(kept);
            kept
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_read_equals_the_one_that_was_written() {
        for name in [TechniqueName::WRITEV, TechniqueName::new("of-a-guest-2")] {
            let json = serde_json::to_string(&name).unwrap();
            assert_eq!(json, format!("\"{name}\""));
            let read: TechniqueName = serde_json::from_str(&json).unwrap();
            assert_eq!(read, name);
            let again: TechniqueName = serde_json::from_str(&json).unwrap();
            assert!(std::ptr::eq(read.0, again.0));
        }
        let read: TechniqueName = serde_json::from_str("\"readv\"").unwrap();
        assert_eq!(read.role(), Role::Gather);
    }

    #[test]
    fn a_name_with_other_characters_is_refused() {
        for name in [
            "",
            "writeV",
            "a b",
            "<b>",
            "ü",
            "\u{1b}[31m",
            &"a".repeat(41),
        ] {
            let json = serde_json::to_string(name).unwrap();
            let error = serde_json::from_str::<TechniqueName>(&json).unwrap_err();
            assert!(
                error.to_string().contains("no name of a technique"),
                "{error}"
            );
        }
    }
}
