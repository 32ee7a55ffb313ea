//! Copies into a shared mapping of the file, instead of `write`.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fstat, ftruncate, seek};

use crate::measure::write::mover::Mover;
use crate::sys::mapping::Mapping;

/// In every call, maps the range that `write` would write, copies the segments
/// there and unmaps it, as a program does that appends occasionally.
///
/// The file is first extended with `ftruncate`. Nothing is synced: like written
/// bytes, the copied ones are in the page cache, where every reader of the file
/// sees them at once. The file position moves as after a `write`.
#[derive(Default)]
pub struct Mmap {
    /// Whether the descriptor has `O_APPEND`; read in the first call, which is
    /// not timed.
    appends: Option<bool>,
}

impl Mover for Mmap {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let appends = match self.appends {
            Some(appends) => appends,
            None => *self
                .appends
                .insert(fcntl_getfl(fd)?.contains(OFlags::APPEND)),
        };
        let length = fstat(fd)?.st_size as u64;
        let place = match appends {
            true => length,
            false => seek(fd, SeekFrom::Current(0))?,
        };
        let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        let end = place + bytes as u64;
        if end > length {
            ftruncate(fd, end)?;
        }
        let mut mapping = Mapping::to_write(fd, place, bytes)?;
        for segment in segments {
            mapping.put(segment);
        }
        drop(mapping);
        if !appends {
            seek(fd, SeekFrom::Start(end))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, Write};
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::measure::targets::unnamed_file;

    fn content(file: &File) -> String {
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn segments_go_where_a_write_would_go() {
        let mut file: File = unnamed_file(&std::env::temp_dir(), OFlags::APPEND)
            .unwrap()
            .into();
        file.write_all(b"0123456789").unwrap();
        let mut appending = Mmap::default();
        file.rewind().unwrap();
        appending.call(file.as_fd(), &[b"ab", b"c"]).unwrap();
        appending.call(file.as_fd(), &[b"d"]).unwrap();
        assert_eq!(content(&file), "0123456789abcd");

        rustix::fs::fcntl_setfl(&file, OFlags::empty()).unwrap();
        let mut writing = Mmap::default();
        file.seek(io::SeekFrom::Start(2)).unwrap();
        writing.call(file.as_fd(), &[b"xy", b"z"]).unwrap();
        assert_eq!(content(&file), "01xyz56789abcd");
        assert_eq!(file.stream_position().unwrap(), 5);
        file.seek(io::SeekFrom::Start(12)).unwrap();
        writing.call(file.as_fd(), &[b"long", b"er"]).unwrap();
        assert_eq!(content(&file), "01xyz56789ablonger");
        assert_eq!(file.stream_position().unwrap(), 18);
    }
}
