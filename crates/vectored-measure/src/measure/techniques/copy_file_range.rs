//! A copy by `copy_file_range`, which leaves the bytes to the file system.

use std::io;
use std::os::fd::BorrowedFd;

use vectored_machine::platform::plain_calls::retry_on_intr;
use vectored_results::model::Target;

use crate::measure::techniques::Technique;
use crate::measure::techniques::copy_mover::{CopyMover, move_all};

pub const COPY_FILE_RANGE: Technique = Technique {
    about: "copy_file_range; from file to file",
    usual: true,
    refuses: |conditions| {
        let is_file = conditions.from == Some(Target::File) && conditions.target.is_file();
        (!is_file).then_some("copies from file to file only")
    },
    cost_ns: |costs| costs.referenced_ns + 4.0 * costs.call_ns,
    copy: Some(|_| Box::new(CopyFileRange)),
    ..Technique::named("copy-file-range")
};

struct CopyFileRange;

impl CopyMover for CopyFileRange {
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        move_all(bytes, |left| copy_some(from, to, left))
    }
}

/// Never inlined: see `write_all`.
#[inline(never)]
fn copy_some(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    Ok(retry_on_intr(|| {
        rustix::fs::copy_file_range(from, None, to, None, bytes)
    })?)
}
