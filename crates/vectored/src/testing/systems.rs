//! Scripted kernels with the rules of other systems for one call: so these rules are tested on this system.

use std::io::{self, IoSlice, IoSliceMut};

use crate::sys::codes;

/// The answer of a system to a call that is larger than it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Moves as much as it takes.
    Short,
    /// Answers `EINVAL`, and moves nothing.
    Invalid,
}

/// The rules of a system for `writev`, `readv` and their forms with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemRules {
    pub(crate) name: &'static str,
    /// `IOV_MAX`: a longer list, and one of no entries, is `EINVAL`.
    pub(crate) segments: usize,
    /// The most bytes of a call.
    pub(crate) bytes: u64,
    pub(crate) beyond_bytes: Beyond,
    /// Whether there are calls for lists at all: macOS has the ones with an offset since version 11.
    pub(crate) has_lists: bool,
}

const fn rules(
    name: &'static str,
    segments: usize,
    bytes: u64,
    beyond_bytes: Beyond,
    has_lists: bool,
) -> SystemRules {
    SystemRules {
        name,
        segments,
        bytes,
        beyond_bytes,
        has_lists,
    }
}

const INT_MAX: u64 = 0x7fff_ffff;

/// The rules of the systems that the crate is built for.
pub(crate) const SYSTEMS: [SystemRules; 6] = [
    // "Notes" of write(2); `MAX_RW_COUNT` in include/linux/fs.h, with pages of 4096 bytes.
    rules("Linux", 1024, 0x7fff_f000, Beyond::Short, true),
    // aarch64 may have pages of 64 KiB.
    rules(
        "Linux with pages of 64 KiB",
        1024,
        0x7fff_0000,
        Beyond::Short,
        true,
    ),
    // A sum of lengths that overflows 32 bits with a sign is `EINVAL`: write(2).
    rules("macOS", 1024, INT_MAX, Beyond::Invalid, true),
    rules(
        "macOS before version 11, at an offset",
        1024,
        INT_MAX,
        Beyond::Invalid,
        false,
    ),
    // `EINVAL` above `SSIZE_MAX`, or above `INT_MAX` with the sysctl debug.iosize_max_clamp: write(2).
    rules(
        "FreeBSD with debug.iosize_max_clamp",
        1024,
        INT_MAX,
        Beyond::Invalid,
        true,
    ),
    // `_XOPEN_IOV_MAX` of <limits.h>.
    rules(
        "a system with the least that POSIX guarantees",
        16,
        INT_MAX,
        Beyond::Invalid,
        true,
    ),
];

/// A kernel with these rules. It counts bytes and keeps none, so lists may be longer than memory.
#[derive(Debug)]
pub(crate) struct RuledKernel {
    rules: SystemRules,
    /// All bytes that it moved.
    pub(crate) moved: u64,
    /// Calls that it refused as invalid: a fault of their caller.
    pub(crate) invalid: usize,
    /// Lists that it refused since it knows no lists.
    pub(crate) unknown: usize,
}

impl RuledKernel {
    pub(crate) fn new(rules: SystemRules) -> RuledKernel {
        RuledKernel {
            rules,
            moved: 0,
            invalid: 0,
            unknown: 0,
        }
    }

    /// One `writev`, or `write` of one slice.
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.call(slices.iter().map(|slice| slice.len()))
    }

    /// One `readv`, or `read` into one slice, from a source that has bytes without end.
    pub(crate) fn read(&mut self, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.call(slices.iter().map(|slice| slice.len()))
    }

    fn call(&mut self, lengths: impl ExactSizeIterator<Item = usize>) -> io::Result<usize> {
        let rules = self.rules;
        let count = lengths.len();
        if count > 1 && !rules.has_lists {
            self.unknown += 1;
            return Err(io::Error::from_raw_os_error(codes::ENOSYS));
        }
        let bytes: u64 = lengths.map(|length| length as u64).sum();
        let is_beyond = bytes > rules.bytes && rules.beyond_bytes == Beyond::Invalid;
        if count == 0 || count > rules.segments || is_beyond {
            self.invalid += 1;
            return Err(io::Error::from_raw_os_error(codes::EINVAL));
        }
        let moved = bytes.min(rules.bytes);
        self.moved += moved;
        // A call of more than `usize` holds is beyond every limit.
        Ok(moved as usize)
    }
}
