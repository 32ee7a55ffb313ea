//! One `writev` for the whole array.

use std::io::{self, IoSlice};

use vectored::write_all;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::{retry_on_intr, writev};
use vectored_results::model::Conditions;

use crate::measure::techniques::Technique;
use crate::measure::techniques::gathering::{Gathering, WithArray};

pub const WRITEV: Technique = Technique {
    about: "one call for the whole list",
    usual: true,
    refuses: TAKES_LISTS,
    cost_ns: |costs| costs.referenced_ns,
    write: Some(|_| Box::new(WithArray::new(Writev::default()))),
    ..Technique::named("writev")
};

/// The refusal of `writev` and `readv`: on Windows, WriteFile and ReadFile take one buffer.
pub const TAKES_LISTS: fn(&Conditions) -> Option<&'static str> = |conditions| {
    let takes_lists = !cfg!(windows) || conditions.target.is_socket();
    (!takes_lists).then_some("is for sockets only")
};

#[derive(Default)]
struct Writev {
    iov_max: usize,
    total_bytes: usize,
}

impl Gathering for Writev {
    fn prepare(&mut self, segments: &[&[u8]]) {
        self.iov_max = vectored::limits::iov_max();
        self.total_bytes = segments.iter().map(|segment| segment.len()).sum();
    }

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        if iovecs.len() <= self.iov_max {
            return writev_all(fd, iovecs, self.total_bytes);
        }
        iovecs
            .chunks(self.iov_max)
            .try_for_each(|chunk| writev_all(fd, chunk, chunk.iter().map(|s| s.len()).sum()))
    }
}

/// One `writev`; after a short one, the library's loop writes the rest. Never
/// inlined: see `write_all`.
#[inline(never)]
fn writev_all(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], total_bytes: usize) -> io::Result<()> {
    let written = retry_on_intr(|| writev(fd, iovecs))?;
    if written < total_bytes {
        send_rest(fd, iovecs, written)?;
    }
    Ok(())
}

#[cold]
fn send_rest(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], written: usize) -> io::Result<()> {
    let mut rest: Vec<IoSlice<'_>> = iovecs.iter().map(|s| IoSlice::new(s)).collect();
    let mut rest = rest.as_mut_slice();
    IoSlice::advance_slices(&mut rest, written);
    write_all(fd, rest)?;
    Ok(())
}
