//! A copy with the holes of its input.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, OFlags, SeekFrom, fcntl_getfl, fstat, ftruncate, seek, tell};
use rustix::io::Errno;
use vectored::copy::{Copied, CopyError, Options};

/// Why a copy with holes ended.
pub enum HolesError {
    /// One of the two is no file, or the output would keep bytes where the holes are.
    Unsuited(&'static str),
    /// A position or the length of a file.
    File(io::Error),
    /// The copy of one part with data failed; the number of bytes before that part.
    Part(u64, CopyError),
}

impl From<Errno> for HolesError {
    fn from(error: Errno) -> Self {
        HolesError::File(error.into())
    }
}

/// Copies a file up to its end. Only the parts with data are written; `before` gets the place of each in the copy.
pub fn copy_with_holes(
    options: Options<'_>,
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    before: &Cell<u64>,
) -> Result<Copied, HolesError> {
    for fd in [from, to] {
        if FileType::from_raw_mode(fstat(fd)?.st_mode) != FileType::RegularFile {
            return Err(HolesError::Unsuited("both must be files"));
        }
    }
    let (start, output_start) = (tell(from)?, tell(to)?);
    let length = u64::try_from(fstat(to)?.st_size).unwrap_or(0);
    if fcntl_getfl(to)?.contains(OFlags::APPEND) || length > output_start {
        let why = "the output has bytes where the holes would be";
        return Err(HolesError::Unsuited(why));
    }
    let mut options = options;
    let mut copied: Option<Copied> = None;
    let mut at = start;
    let end = loop {
        let before_search = seek(from, SeekFrom::End(0))?;
        let data = match seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            // No data up to the end. What was appended or cut off meanwhile is no hole.
            Err(Errno::NXIO) => break seek(from, SeekFrom::End(0))?.min(before_search).max(at),
            Err(error) => return Err(error.into()),
        };
        let hole = match seek(from, SeekFrom::Hole(data)) {
            Ok(hole) => hole,
            // It was cut off meanwhile.
            Err(Errno::NXIO) => continue,
            Err(error) => return Err(error.into()),
        };
        seek(from, SeekFrom::Start(data))?;
        seek(to, SeekFrom::Start(output_start + data - start))?;
        before.set(data - start);
        options = options.limit(hole - data);
        let part = options.copy(from, to);
        let part = part.map_err(|error| HolesError::Part(data - start, error))?;
        at = data + part.bytes;
        let calls = copied.map_or(0, |before| before.calls);
        copied = Some(part);
        if let Some(copied) = &mut copied {
            copied.calls += calls;
        }
        // It was cut off meanwhile, or is shorter than its size says, like files of /sys.
        if at < hole {
            break at;
        }
    };
    ftruncate(to, output_start + end - start)?;
    seek(to, SeekFrom::End(0))?;
    options = options.limit(0);
    // Nothing but holes: the counts of a copy of nothing.
    let mut copied = match copied {
        Some(copied) => copied,
        None => options
            .copy(from, to)
            .map_err(|error| HolesError::Part(0, error))?,
    };
    copied.bytes = end - start;
    Ok(copied)
}
