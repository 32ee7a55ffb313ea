//! A copy by `sendfile`, which takes its bytes from the page cache.

use std::io;
use std::os::fd::BorrowedFd;

use vectored_machine::platform::plain_calls::retry_on_intr;
use vectored_results::model::Target;

use crate::measure::techniques::Technique;
use crate::measure::techniques::copy_mover::{CopyMover, move_all};

pub const SENDFILE: Technique = Technique {
    about: "sendfile; from a file",
    usual: true,
    refuses: |conditions| {
        (conditions.from != Some(Target::File)).then_some("copies from files only")
    },
    cost_ns: |costs| costs.referenced_ns + 7.0 * costs.call_ns,
    copy: Some(|_| Box::new(Sendfile)),
    ..Technique::named("sendfile")
};

struct Sendfile;

impl CopyMover for Sendfile {
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        move_all(bytes, |left| send_some(from, to, left))
    }
}

/// Never inlined: see `write_all`.
#[inline(never)]
fn send_some(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    Ok(retry_on_intr(|| {
        rustix::fs::sendfile(to, from, None, bytes)
    })?)
}
