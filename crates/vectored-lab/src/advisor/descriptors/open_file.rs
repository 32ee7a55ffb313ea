//! An open file description: what an `open` made, and all duplicates of its descriptor share.

use crate::advisor::descriptors::fd_kind::Kind;
use crate::advisor::findings::held::Held;
use crate::advisor::findings::pending::Pending;
use crate::advisor::runs::barriers::Reason;
use crate::advisor::runs::run_builder::Lane;
use vectored_strace::event::OpenFlags;

/// What is known of one, and its transfers that are not yet counted.
#[derive(Debug)]
pub(crate) struct Opening {
    /// What it leads to.
    pub(crate) kind: Kind,
    /// `O_APPEND`, `O_SYNC` and the like.
    pub(crate) flags: OpenFlags,
    /// Whether it was open before the log began, so that who else has it is not known.
    pub(crate) is_inherited: bool,
    /// Descriptors that lead to it, in all tables.
    pub(crate) descriptors: u32,
    /// Tables that have such a descriptor.
    pub(crate) tables: u32,
    /// Its offset, if known.
    pub(crate) position: Option<u64>,
    /// The event that set its offset since the last transfer; 0 if none did.
    pub(crate) sought: u64,
    /// The thread that did, by its serial number.
    pub(crate) sought_by: u64,
    /// Whether the offset depended on what was written: `SEEK_END`.
    pub(crate) sought_size: bool,
    /// The thread that first read from its offset or from the stream, by its serial number; 0 for none.
    pub(crate) reader: u64,
    /// Why a larger buffer would take what others are to read from the offset or the stream.
    pub(crate) shared_reads: Option<Reason>,
    /// The thread that first read or wrote at its offset, by its serial number; 0 for none.
    pub(crate) offset_user: u64,
    /// Whether others did so, too: calls that give an offset would leave theirs where it is.
    pub(crate) has_shared_offset: bool,
    /// Findings of reads, counted if nobody else uses the offset or the stream.
    pub(crate) held: Held,
    /// Whether processes that do not show may write to it: it is a FIFO.
    pub(crate) has_other_writers: bool,
    /// `flock` or `fcntl` was called on it: that it is closed lets others go on.
    pub(crate) was_locked: bool,
    /// Whether bytes ever went through it: a folder looks like a file until then.
    pub(crate) was_used: bool,
    /// The number of its first descriptor.
    pub(crate) first_number: i32,
    /// The number of the descriptor that bytes went through last, or of its first one.
    pub(crate) number: i32,
    /// What the log showed last.
    pub(crate) text: Vec<u8>,
    /// The path that it was opened by; unused if `text` tells.
    pub(crate) path: Vec<u8>,
    /// Openings of the same file, by place; 0 is no such group.
    pub(crate) group: u32,
    /// Patterns that it was counted for.
    pub(crate) counted: Bits,
    /// Writes, then reads.
    pub(crate) lanes: [Lane; 2],
    /// Whether its writes and its reads are in the table of uses.
    pub(crate) was_counted: [bool; 2],
    /// The number of its descriptor when its calls were first put into that table: all of them go there
    /// under one, since a run of several processes may have used several.
    pub(crate) use_number: Option<i32>,
    /// How many openings before it handed their writes on to it.
    pub(crate) reopened: u64,
    /// Writes, then reads: runs that are over, and how many calls there were.
    pub(crate) pending: [Pending; 2],
}

impl Opening {
    pub(crate) fn new(kind: Kind, flags: OpenFlags, number: i32) -> Opening {
        Opening {
            kind,
            flags,
            is_inherited: false,
            descriptors: 0,
            tables: 0,
            position: None,
            sought: 0,
            sought_by: 0,
            sought_size: false,
            reader: 0,
            shared_reads: None,
            offset_user: 0,
            has_shared_offset: false,
            held: Held::default(),
            has_other_writers: false,
            was_locked: false,
            was_used: false,
            first_number: number,
            number,
            text: Vec::new(),
            path: Vec::new(),
            group: 0,
            counted: Bits::default(),
            lanes: [Lane::default(), Lane::default()],
            was_counted: [false; 2],
            use_number: None,
            reopened: 0,
            pending: [Pending::default(), Pending::default()],
        }
    }
}

impl Opening {
    /// What the log shows of it, or its path.
    pub(crate) fn name(&self) -> &[u8] {
        match self.text.is_empty() {
            true => &self.path,
            false => &self.text,
        }
    }

    /// Whether it was opened by a path.
    pub(crate) fn has_name(&self) -> bool {
        self.text.first().or(self.path.first()) == Some(&b'/')
    }
}

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number: whether it is new.
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}
