//! The pairs.

use vectored_lab::model::{FindingKind, Leads};

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A binary of this package.
    Rust,
    /// A file of `c/`, compiled when it is needed.
    C,
}

/// What a program finds in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    None,
    /// A file of so many bytes.
    Bytes(usize),
    /// Its output is there already, with so many bytes, written page by page.
    Store(usize),
    /// Records of a tag, a length up to 16 and as many bytes: as many as the program is asked for.
    Records,
}

impl Input {
    /// Whether a run changes it.
    pub fn changes(self) -> bool {
        matches!(self, Input::Store(_))
    }
}

/// A program before and after the change.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Its file without the ending.
    pub name: &'static str,
    /// What it is written in.
    pub language: Language,
    /// What it reads.
    pub input: Input,
    /// How much it does in a run of a few tenths of a second.
    pub count: u64,
    /// How much it does when its calls are recorded, which makes each some fifty times slower.
    pub traced_count: u64,
    /// What the advisor should find.
    pub finds: &'static [(FindingKind, Leads)],
}

/// All of them.
pub const PAIRS: [Pair; 9] = [
    Pair {
        name: "header_payload",
        language: Language::Rust,
        input: Input::None,
        count: 120_000,
        traced_count: 6_000,
        finds: &[(FindingKind::AdjacentWrites, Leads::File)],
    },
    Pair {
        name: "log_writer",
        language: Language::Rust,
        input: Input::None,
        count: 100_000,
        traced_count: 4_000,
        finds: &[(FindingKind::AdjacentWrites, Leads::File)],
    },
    Pair {
        name: "csv_export",
        language: Language::C,
        input: Input::None,
        count: 80_000,
        traced_count: 4_000,
        finds: &[(FindingKind::AdjacentWrites, Leads::File)],
    },
    Pair {
        name: "record_parser",
        language: Language::Rust,
        input: Input::Records,
        count: 400_000,
        traced_count: 10_000,
        finds: &[(FindingKind::SmallReads, Leads::File)],
    },
    Pair {
        name: "page_store",
        language: Language::Rust,
        input: Input::Store(16 << 20),
        count: 60_000,
        traced_count: 3_000,
        finds: &[(FindingKind::PositionalWrites, Leads::File)],
    },
    Pair {
        name: "record_update",
        language: Language::C,
        input: Input::Store(4 << 20),
        count: 500_000,
        traced_count: 10_000,
        finds: &[(FindingKind::SeekThenTransfer, Leads::File)],
    },
    Pair {
        name: "chunk_copy",
        language: Language::C,
        input: Input::Bytes(4 << 20),
        count: 40,
        traced_count: 1,
        finds: &[
            (FindingKind::SmallReads, Leads::File),
            (FindingKind::AdjacentWrites, Leads::File),
        ],
    },
    Pair {
        name: "pipe_producer",
        language: Language::C,
        input: Input::None,
        count: 200_000,
        traced_count: 15_000,
        finds: &[(FindingKind::AdjacentWrites, Leads::Pipe)],
    },
    Pair {
        name: "answer_server",
        language: Language::Rust,
        input: Input::None,
        count: 25_000,
        traced_count: 2_000,
        finds: &[(FindingKind::AdjacentWrites, Leads::Unix)],
    },
];
