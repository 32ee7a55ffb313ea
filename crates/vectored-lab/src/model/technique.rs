//! The ways to hand several buffers to the kernel.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Operation;

/// A way to move the bytes of several segments through one descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Technique {
    /// One `write` a segment.
    WriteEach,
    /// Every segment copied into one staging buffer, then one `write`.
    CopyThenWrite,
    /// One `writev` over all segments (one per `IOV_MAX`).
    Writev,
    /// The choice of the library, segment by segment: for writes
    /// [`vectored::Gather`], the small copied, the large referenced, one call;
    /// for reads its counterpart.
    Adaptive,
    /// One `read` a segment.
    ReadEach,
    /// One `read` into a staging buffer, then a copy to every segment.
    ReadThenSplit,
    /// One `readv` over all segments (one per `IOV_MAX`).
    Readv,
}

impl Technique {
    /// Every technique, in the order of the tables.
    pub const ALL: [Technique; 7] = [
        Technique::WriteEach,
        Technique::CopyThenWrite,
        Technique::Writev,
        Technique::ReadEach,
        Technique::ReadThenSplit,
        Technique::Readv,
        Technique::Adaptive,
    ];

    /// The techniques of one operation, in the order of the tables.
    pub fn of(operation: Operation) -> [Technique; 4] {
        match operation {
            Operation::Write => [
                Technique::WriteEach,
                Technique::CopyThenWrite,
                Technique::Writev,
                Technique::Adaptive,
            ],
            Operation::Read => [
                Technique::ReadEach,
                Technique::ReadThenSplit,
                Technique::Readv,
                Technique::Adaptive,
            ],
        }
    }

    /// The name, the same on the command line, in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Technique::WriteEach => "write-each",
            Technique::CopyThenWrite => "copy-then-write",
            Technique::Writev => "writev",
            Technique::Adaptive => "adaptive",
            Technique::ReadEach => "read-each",
            Technique::ReadThenSplit => "read-then-split",
            Technique::Readv => "readv",
        }
    }

    /// Whether this is one fixed technique. `adaptive` is not: it mostly equals
    /// one of the others, so a contest between it and them has no answer.
    pub fn is_pure(self) -> bool {
        self != Technique::Adaptive
    }
}

impl fmt::Display for Technique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name given is none of [`Technique::ALL`].
#[derive(Debug)]
pub struct UnknownTechnique(String);

impl fmt::Display for UnknownTechnique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Technique::ALL.map(Technique::name).join(", ");
        write!(f, "unknown technique '{}': choose from {names}", self.0)
    }
}

impl std::error::Error for UnknownTechnique {}

impl FromStr for Technique {
    type Err = UnknownTechnique;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Technique::ALL
            .into_iter()
            .find(|technique| technique.name() == name)
            .ok_or_else(|| UnknownTechnique(name.to_owned()))
    }
}
