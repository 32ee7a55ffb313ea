//! A function that moves a list, in one form for all functions.

use std::fmt;
use std::io::{IoSlice, IoSliceMut};

use vectored::SegmentCursor;
use vectored::bindings::BorrowedDescriptor;

use crate::outcome::Outcome;

/// Writes a list from the cursor on, and advances the cursor by the bytes that were written.
pub type WriteFn =
    Box<dyn FnMut(BorrowedDescriptor<'_>, &[IoSlice<'_>], &mut SegmentCursor) -> Outcome>;

/// Fills a list from the cursor on, and advances the cursor by the bytes that were read.
pub type ReadFn =
    Box<dyn FnMut(BorrowedDescriptor<'_>, &mut [IoSliceMut<'_>], &mut SegmentCursor) -> Outcome>;

pub type WriteWay = Way<WriteFn>;
pub type ReadWay = Way<ReadFn>;

pub struct Way<F> {
    pub name: &'static str,
    /// Whether the function needs a descriptor with an offset. If the function reads, it does not move the position
    /// of the file.
    pub only_files: bool,
    /// Whether an early end of the file is success with fewer bytes, and not the error `UnexpectedEof`.
    pub stops_at_eof: bool,
    /// Whether a call reads bytes after the list, which are kept for the next list.
    pub reads_ahead: bool,
    /// Makes the function, with the state that the function keeps from list to list.
    pub make: fn() -> F,
}

impl<F> Way<F> {
    /// A way that moves a whole list to or from every descriptor, or fails.
    pub(crate) const fn new(name: &'static str, make: fn() -> F) -> Self {
        Way {
            name,
            only_files: false,
            stops_at_eof: false,
            reads_ahead: false,
            make,
        }
    }

    pub(crate) const fn of_files(mut self) -> Self {
        self.only_files = true;
        self
    }

    pub(crate) const fn that_stops(mut self) -> Self {
        self.stops_at_eof = true;
        self
    }

    #[cfg(unix)]
    pub(crate) const fn that_reads_ahead(mut self) -> Self {
        self.reads_ahead = true;
        self
    }
}

impl<F> fmt::Debug for Way<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
