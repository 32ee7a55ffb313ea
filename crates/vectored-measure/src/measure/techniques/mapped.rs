//! Copies between the segments and a shared mapping of a file, and writes from a mapping.

use std::io;
use std::os::fd::BorrowedFd;

use memmap2::Mmap;
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fstat, ftruncate, seek};
use vectored_results::model::{Conditions, SyncMode, Target};

use crate::measure::techniques::plain::write_all;
use crate::measure::techniques::{Mover, Technique};
use crate::sys::mapping::{map_to_read, map_to_write};

pub const MMAP: Technique = Technique {
    about: "a shared mapping for each call; files",
    refuses,
    // Four more calls: fstat, ftruncate, mmap, munmap.
    cost_ns: |costs| costs.copied_ns + 4.0 * costs.call_ns,
    write: Some(|_| Box::new(MmapWrite::default())),
    read: Some(|_| {
        Box::new(|fd: BorrowedFd<'_>, segments: &mut [&mut [u8]]| {
            let bytes = segments.iter().map(|segment| segment.len()).sum();
            read_mapped(fd, bytes, |mapping| {
                let mut rest = &mapping[..];
                for segment in segments {
                    let (bytes, behind) = rest.split_at(segment.len());
                    segment.copy_from_slice(bytes);
                    rest = behind;
                }
                Ok(())
            })
        })
    }),
    ..Technique::named("mmap")
};

pub const MMAP_WRITE: Technique = Technique {
    about: "write from a mapping of the source; from a file",
    usual: true,
    refuses: |conditions| (conditions.from != Some(Target::File)).then_some("maps files only"),
    // Five more calls: two of lseek, fstat, mmap, munmap.
    cost_ns: |costs| costs.copied_ns + 5.0 * costs.call_ns,
    copy: Some(|_| {
        Box::new(|from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes| {
            read_mapped(from, bytes, |mapping| write_all(to, mapping))
        })
    }),
    ..Technique::named("mmap-write")
};

fn refuses(conditions: &Conditions) -> Option<&'static str> {
    if !conditions.target.is_file() {
        Some("is for files only")
    } else if matches!(conditions.sync, SyncMode::Dsync | SyncMode::Sync) {
        // Flags of the descriptor have no effect on a mapping.
        Some("writes to a mapping, which --sync dsync and sync do not reach: use --sync fsync")
    } else if conditions.direct {
        Some("maps pages of the page cache: omit --direct")
    } else {
        None
    }
}

/// Each call maps the range that `write` would write, copies the segments there, and unmaps the range, like a program that
/// appends occasionally.
///
/// The file is first extended with `ftruncate`. Nothing is synced: like written bytes, the copied bytes are in the page
/// cache, where every reader of the file sees them at once. The file position moves as after a `write`.
#[derive(Default)]
struct MmapWrite {
    /// Whether the descriptor has `O_APPEND`; read in the first call, which is
    /// not timed.
    appends: Option<bool>,
}

impl Mover for MmapWrite {
    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let appends = match self.appends {
            Some(appends) => appends,
            None => *self
                .appends
                .insert(fcntl_getfl(fd)?.contains(OFlags::APPEND)),
        };
        let length = fstat(fd)?.st_size as u64;
        let place = if appends { length } else { seek(fd, SeekFrom::Current(0))? };
        let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        let end = place + bytes as u64;
        if end > length {
            ftruncate(fd, end)?;
        }
        let mut mapping = map_to_write(fd, place, bytes)?;
        let mut rest = &mut mapping[..];
        for segment in segments {
            let (place, behind) = rest.split_at_mut(segment.len());
            place.copy_from_slice(segment);
            rest = behind;
        }
        drop(mapping);
        if !appends {
            seek(fd, SeekFrom::Start(end))?;
        }
        Ok(())
    }
}

/// Maps the range that `read` would read, uses the mapping, and unmaps the range. The file position moves as after a
/// `read`.
fn read_mapped(
    fd: BorrowedFd<'_>,
    bytes: usize,
    using: impl FnOnce(&Mmap) -> io::Result<()>,
) -> io::Result<()> {
    let place = seek(fd, SeekFrom::Current(0))?;
    let end = place + bytes as u64;
    // Touching a mapping beyond the end of the file raises SIGBUS.
    if end > fstat(fd)?.st_size as u64 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    using(&map_to_read(fd, place, bytes)?)?;
    seek(fd, SeekFrom::Start(end))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, Write};
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use vectored_machine::platform::files::unnamed_file;

    use super::*;

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
        let mut appending = MmapWrite::default();
        file.rewind().unwrap();
        appending.call(file.as_fd(), &[b"ab", b"c"]).unwrap();
        appending.call(file.as_fd(), &[b"d"]).unwrap();
        assert_eq!(content(&file), "0123456789abcd");

        rustix::fs::fcntl_setfl(&file, OFlags::empty()).unwrap();
        let mut writing = MmapWrite::default();
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
