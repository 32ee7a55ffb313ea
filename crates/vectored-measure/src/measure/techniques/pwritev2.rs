//! One `pwritev2` for the whole array.

use std::io::{self, IoSlice};

use vectored_machine::platform::calls::pwritev2;
use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::retry_on_intr;

use crate::measure::techniques::Technique;
use crate::measure::techniques::gathering::{Gathering, WithArray};
use crate::measure::techniques::writev::{ListShape, send_rest};

pub const PWRITEV2: Technique = Technique {
    about: "writev by the newer call, without flags",
    // Slightly more than the technique that it resembles.
    cost_ns: |costs| costs.referenced_ns + 0.1 * costs.call_ns,
    write: Some(|_| Box::new(WithArray::new(Pwritev2::default()))),
    ..Technique::named("pwritev2")
};

/// `pwritev2` with offset −1, which means the descriptor's own position. It
/// therefore works on streams as well. Since Linux 4.6.
#[derive(Default)]
struct Pwritev2(ListShape);

impl Gathering for Pwritev2 {
    fn prepare(&mut self, segments: &[&[u8]]) {
        self.0.prepare(segments);
    }

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        self.0
            .send_all(iovecs, |chunk, bytes| pwritev2_all(fd, chunk, bytes))
    }
}

/// One `pwritev2`; after a short one, the library's loop writes the rest.
#[inline(never)]
fn pwritev2_all(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>], total_bytes: usize) -> io::Result<()> {
    let written = retry_on_intr(|| pwritev2(fd, iovecs, u64::MAX, 0))?;
    if written < total_bytes {
        send_rest(fd, iovecs, written)?;
    }
    Ok(())
}
