//! An open file description: what an `open` made, and all duplicates of its descriptor share.

use super::event::OpenFlags;
use super::lane::Lane;
use super::leads::Kind;
use super::tables::ProcessId;

/// What is known of one, and its transfers that are not yet counted.
#[derive(Debug)]
pub(super) struct Opening {
    /// What it leads to.
    pub(super) kind: Kind,
    /// `O_APPEND`, `O_SYNC` and the like.
    pub(super) flags: OpenFlags,
    /// Whether it was open before the log began, so that who else has it is not known.
    pub(super) is_inherited: bool,
    /// Descriptors that lead to it, in all tables.
    pub(super) descriptors: u32,
    /// Tables that have such a descriptor.
    pub(super) tables: u32,
    /// Its offset, if known.
    pub(super) position: Option<u64>,
    /// The event that set its offset since the last transfer; 0 if none did.
    pub(super) sought: u64,
    /// The thread that used it last, by its serial number; 0 for none.
    pub(super) thread: u64,
    /// That thread's process.
    pub(super) owner: ProcessId,
    /// That process's number.
    pub(super) process: u32,
    /// That process's program.
    pub(super) program: u32,
    /// The process that wrote to it first, if it is a pipe.
    pub(super) writer: Option<ProcessId>,
    /// Whether others have.
    pub(super) has_other_writers: bool,
    /// `flock` or `fcntl` was called on it: that it is closed lets others go on.
    pub(super) was_locked: bool,
    /// Whether bytes ever went through it: a folder looks like a file until then.
    pub(super) was_used: bool,
    /// The number of the descriptor that bytes went through last, or of its first one.
    pub(super) number: i32,
    /// What the log showed last.
    pub(super) text: Vec<u8>,
    /// The path that it was opened by; unused if `text` tells.
    pub(super) path: Vec<u8>,
    /// Openings of the same file, by place; 0 is no such group.
    pub(super) group: u32,
    /// Patterns that it was counted for.
    pub(super) counted: Bits,
    /// Writes, then reads.
    pub(super) lanes: [Lane; 2],
}

impl Opening {
    pub(super) fn new(kind: Kind, flags: OpenFlags, number: i32) -> Opening {
        Opening {
            kind,
            flags,
            is_inherited: false,
            descriptors: 0,
            tables: 0,
            position: None,
            sought: 0,
            thread: 0,
            owner: ProcessId::default(),
            process: 0,
            program: 0,
            writer: None,
            has_other_writers: false,
            was_locked: false,
            was_used: false,
            number,
            text: Vec::new(),
            path: Vec::new(),
            group: 0,
            counted: Bits::default(),
            lanes: [Lane::default(), Lane::default()],
        }
    }
}

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number: whether it is new.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}
