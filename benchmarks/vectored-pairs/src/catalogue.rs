//! The list of pairs.

use vectored_advise::model::FindingKind;
use vectored_machine::model::DescriptorKind;

/// The language of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A binary of this package.
    Rust,
    /// A file in `c/`. The sandbox compiles it.
    C,
}

/// The files that a program finds in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// No file.
    None,
    /// An input file of this many bytes.
    Bytes(usize),
    /// An output file of this many bytes, which was written page by page.
    Store(usize),
    /// An input file with as many records as the program reads. A record is a tag, a length of 1 to 16, and as
    /// many bytes.
    Records,
}

impl Input {
    /// Whether a run changes these files.
    pub fn changes(self) -> bool {
        matches!(self, Input::Store(_))
    }
}

/// A program before and after the advised change.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The name of its source file, without the extension.
    pub name: &'static str,
    /// The language of the program.
    pub language: Language,
    /// The files that it finds.
    pub input: Input,
    /// The count for a run of a few tenths of a second.
    pub count: u64,
    /// The count under strace, which makes each call about fifty times slower.
    pub traced_count: u64,
    /// The findings that the advisor should have.
    pub finds: &'static [(FindingKind, DescriptorKind)],
}

/// All pairs.
pub const PAIRS: [Pair; 9] = [
    Pair {
        name: "header_payload",
        language: Language::Rust,
        input: Input::None,
        count: 120_000,
        traced_count: 6_000,
        finds: &[(FindingKind::AdjacentWrites, DescriptorKind::File)],
    },
    Pair {
        name: "log_writer",
        language: Language::Rust,
        input: Input::None,
        count: 100_000,
        traced_count: 4_000,
        finds: &[(FindingKind::AdjacentWrites, DescriptorKind::File)],
    },
    Pair {
        name: "csv_export",
        language: Language::C,
        input: Input::None,
        count: 80_000,
        traced_count: 4_000,
        finds: &[(FindingKind::AdjacentWrites, DescriptorKind::File)],
    },
    Pair {
        name: "record_parser",
        language: Language::Rust,
        input: Input::Records,
        count: 400_000,
        traced_count: 10_000,
        finds: &[(FindingKind::SmallReads, DescriptorKind::File)],
    },
    Pair {
        name: "page_store",
        language: Language::Rust,
        input: Input::Store(16 << 20),
        count: 60_000,
        traced_count: 3_000,
        finds: &[(FindingKind::PositionalWrites, DescriptorKind::File)],
    },
    Pair {
        name: "record_update",
        language: Language::C,
        input: Input::Store(4 << 20),
        count: 500_000,
        traced_count: 10_000,
        finds: &[(FindingKind::SeekThenTransfer, DescriptorKind::File)],
    },
    Pair {
        name: "chunk_copy",
        language: Language::C,
        input: Input::Bytes(4 << 20),
        count: 40,
        traced_count: 1,
        finds: &[
            (FindingKind::SmallReads, DescriptorKind::File),
            (FindingKind::AdjacentWrites, DescriptorKind::File),
        ],
    },
    Pair {
        name: "pipe_producer",
        language: Language::C,
        input: Input::None,
        count: 200_000,
        traced_count: 15_000,
        finds: &[(FindingKind::AdjacentWrites, DescriptorKind::Pipe)],
    },
    Pair {
        name: "answer_server",
        language: Language::Rust,
        input: Input::None,
        count: 25_000,
        traced_count: 2_000,
        finds: &[(FindingKind::AdjacentWrites, DescriptorKind::Unix)],
    },
];
