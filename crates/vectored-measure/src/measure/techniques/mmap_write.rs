//! A copy by `write` from a mapping of the source.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{SeekFrom, fstat, seek};
use vectored_results::model::Target;

use crate::measure::techniques::Technique;
use crate::measure::techniques::copy_mover::CopyMover;
use crate::sys::mapping::Mapping;

pub const MMAP_WRITE: Technique = Technique {
    about: "write from a mapping of the source; from a file",
    usual: true,
    refuses: |conditions| (conditions.from != Some(Target::File)).then_some("maps files only"),
    // Five more calls: two of lseek, fstat, mmap, munmap.
    cost_ns: |costs| costs.copied_ns + 5.0 * costs.call_ns,
    copy: Some(|_| Box::new(MmapWrite)),
    ..Technique::named("mmap-write")
};

/// In every copy, maps the range that `read` would read, writes it and unmaps it. The file position moves as after a
/// `read`.
struct MmapWrite;

impl CopyMover for MmapWrite {
    fn call(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
        let place = seek(from, SeekFrom::Current(0))?;
        let end = place + bytes as u64;
        if end > fstat(from)?.st_size as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Mapping::to_read(from, place, bytes)?.write_all_to(to, bytes)?;
        seek(from, SeekFrom::Start(end))?;
        Ok(())
    }
}
