//! A copy with the holes of its input.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, OFlags, SeekFrom, fcntl_getfl, fstat, ftruncate, seek, tell};
use rustix::io::{Errno, pread};
use vectored::copy::{Copied, CopyError, Options, Side};

use super::ends::Output;

pub enum HolesError {
    /// An end is no file, or the output would keep bytes where the holes are.
    Unsuited(&'static str),
    File(Side, io::Error),
    /// The copy of one part with data failed; the number of bytes before that part.
    Part(u64, CopyError),
}

/// Copies a file up to its end. Only the parts with data are written; `before` gets the place of each in the copy. Where the file
/// system does not say what is a hole, all is copied.
pub fn copy_with_holes(
    options: Options<'_>,
    from: BorrowedFd<'_>,
    output: &Output,
    before: &Cell<u64>,
) -> Result<Copied, HolesError> {
    let to = output.fd();
    if !is_file(from) || !is_file(to) {
        return Err(HolesError::Unsuited("both must be files"));
    }
    let output_start = tell(to).map_err(of_output)?;
    let is_cut = output.has_old_bytes();
    let appends = fcntl_getfl(to).map_err(of_output)?.contains(OFlags::APPEND);
    if appends || length(to).map_err(of_output)? > output_start && !is_cut {
        let why = "the output has bytes where the holes would be";
        return Err(HolesError::Unsuited(why));
    }
    let mut copy = Copy {
        options: options.limit(0),
        from,
        to,
        output_start,
        start: match tell(from) {
            Err(Errno::SPIPE) => 0,
            place => place.map_err(of_input)?,
        },
        before,
        copied: None,
    };
    // If the first read fails, old bytes are not cut off: a copy of one byte gives the error.
    if pread(from, &mut [0], copy.start).is_err_and(|error| error != Errno::SPIPE) {
        copy.part(copy.start, output_start, 1)?;
    }
    // Where the holes would be there are old bytes.
    output
        .cut_old_bytes(output_start)
        .map_err(|error| HolesError::File(Side::Output, error))?;
    copy.finish()
}

pub fn is_file(fd: BorrowedFd<'_>) -> bool {
    fstat(fd).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file())
}

fn length(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    Ok(u64::try_from(fstat(fd)?.st_size).unwrap_or(0))
}

struct Copy<'c, 'p> {
    options: Options<'p>,
    from: BorrowedFd<'c>,
    to: BorrowedFd<'c>,
    start: u64,
    output_start: u64,
    before: &'c Cell<u64>,
    copied: Option<Copied>,
}

impl Copy<'_, '_> {
    fn finish(mut self) -> Result<Copied, HolesError> {
        let mut at = self.start;
        loop {
            let length = self.length()?;
            let data = match seek(self.from, SeekFrom::Data(at)) {
                Ok(data) => data,
                Err(error) => {
                    // Bytes appended or cut off meanwhile are no hole.
                    let end = self.length()?.min(length);
                    if error == Errno::NXIO && end > at && self.may_end_in_a_hole()? {
                        at = end;
                    }
                    // A read finds the end: files of /proc have a size of 0.
                    break;
                }
            };
            let Ok(hole) = seek(self.from, SeekFrom::Hole(data)) else {
                at = data;
                break;
            };
            let bytes = self.part(data, self.output_start + data - self.start, hole - data)?;
            at = data + bytes;
            // The file was cut off meanwhile, or is shorter than its size says, like files of /sys.
            if at < hole {
                break;
            }
        }
        at += self.part(at, self.output_start + at - self.start, u64::MAX)?;
        let mut copied = self.copied.expect("a part was copied");
        copied.bytes = at - self.start;
        let end = self.output_start + copied.bytes;
        if length(self.to).map_err(of_output)? < end {
            ftruncate(self.to, end).map_err(of_output)?;
            seek(self.to, SeekFrom::Start(end)).map_err(of_output)?;
        }
        Ok(copied)
    }

    /// A whole file cannot be a hole if it has blocks: some file systems have answered so for data that was not written yet.
    fn may_end_in_a_hole(&self) -> Result<bool, HolesError> {
        let has_data = self.copied.is_some_and(|copied| copied.bytes > 0);
        Ok(self.start > 0 || has_data || fstat(self.from).map_err(of_input)?.st_blocks == 0)
    }

    fn length(&self) -> Result<u64, HolesError> {
        length(self.from).map_err(of_input)
    }

    /// Copies up to this many bytes from one place to another, and returns their number.
    fn part(&mut self, from: u64, to: u64, most: u64) -> Result<u64, HolesError> {
        match tell(self.from) {
            Ok(at) if at == from => {}
            Ok(_) => drop(seek(self.from, SeekFrom::Start(from)).map_err(of_input)?),
            // A file that cannot seek is copied from its position.
            Err(Errno::SPIPE) => {}
            Err(error) => return Err(of_input(error)),
        }
        seek(self.to, SeekFrom::Start(to)).map_err(of_output)?;
        let before = to - self.output_start;
        self.before.set(before);
        self.options = std::mem::take(&mut self.options).limit(most);
        let part = self.options.copy(self.from, self.to);
        let part = part.map_err(|error| HolesError::Part(before, error))?;
        match &mut self.copied {
            Some(copied) => copied.join(part),
            None => self.copied = Some(part),
        }
        Ok(part.bytes)
    }
}

fn of_input(error: Errno) -> HolesError {
    HolesError::File(Side::Input, error.into())
}

fn of_output(error: Errno) -> HolesError {
    HolesError::File(Side::Output, error.into())
}
