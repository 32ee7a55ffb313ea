//! Copies a file with its holes.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;

use anyhow::anyhow;
use rustix::fs::{FileType, OFlags, SeekFrom, fcntl_getfl, fstat, ftruncate, seek, tell};
use rustix::io::{Errno, pread};
use vectored::copy::{Copied, CopyError, Options};

use super::ends::{Input, Output};
use crate::failure::Failure;

pub enum HolesError {
    /// Holes cannot be found in the input, or cannot be made in the output.
    Holes(Failure),
    Part(CopyError),
}

/// Copies a file and writes only its data. `before` receives the offset of each part in the output. If the file
/// system cannot report holes, all bytes are copied.
pub fn copy_with_holes(
    options: Options<'_>,
    input: &Input,
    output: &Output,
    before: &Cell<u64>,
) -> Result<Copied, HolesError> {
    let mut copy = Copy {
        options,
        input,
        output,
        start: 0,
        output_start: 0,
        before,
        copied: None,
    };
    let (from, to) = (input.fd(), output.fd());
    if !is_file(from) || !is_file(to) {
        return Err(unsuited("both must be files"));
    }
    copy.output_start = copy.of_output(tell(to))?;
    let appends = copy.of_output(fcntl_getfl(to))?.contains(OFlags::APPEND);
    let has_bytes = copy.of_output(length(to))? > copy.output_start;
    if appends || has_bytes && !output.has_old_bytes() {
        return Err(unsuited("the output has bytes where the holes would be"));
    }
    copy.start = match tell(from) {
        Err(Errno::SPIPE) => 0,
        place => copy.of_input(place)?,
    };
    // A failed first read must not change the old bytes of the output. Copying one byte returns the read error.
    if pread(from, &mut [0], copy.start).is_err_and(|error| error != Errno::SPIPE) {
        copy.part(copy.start, 1)?;
    }
    // Old bytes would remain at the places of the holes.
    copy.of_output(output.cut_old_bytes(copy.output_start))?;
    copy.finish()
}

pub fn is_file(fd: BorrowedFd<'_>) -> bool {
    fstat(fd).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file())
}

fn length(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    Ok(u64::try_from(fstat(fd)?.st_size).unwrap_or(0))
}

fn unsuited(why: &str) -> HolesError {
    HolesError::Holes(Failure::usage(format!("--sparse: {why}")))
}

struct Copy<'c, 'p> {
    options: Options<'p>,
    input: &'c Input,
    output: &'c Output,
    start: u64,
    output_start: u64,
    before: &'c Cell<u64>,
    copied: Option<Copied>,
}

impl Copy<'_, '_> {
    fn finish(mut self) -> Result<Copied, HolesError> {
        let (from, to) = (self.input.fd(), self.output.fd());
        let mut at = self.start;
        loop {
            let before = self.of_input(length(from))?;
            let data = match seek(from, SeekFrom::Data(at)) {
                Ok(data) => data,
                Err(error) => {
                    // Bytes that were appended or cut off during the call are no hole, so the hole ends at the smaller
                    // length.
                    let end = self.of_input(length(from))?.min(before);
                    if error == Errno::NXIO && end > at && self.may_end_in_a_hole()? {
                        at = end;
                    }
                    // A file of /proc has the size 0, so only read(2) finds the end.
                    break;
                }
            };
            let Ok(hole) = seek(from, SeekFrom::Hole(data)) else {
                at = data;
                break;
            };
            at = data + self.part(data, hole - data)?;
            // The file was truncated during the copy, or is shorter than its reported size. Files of /sys are
            // shorter.
            if at < hole {
                break;
            }
        }
        at += self.part(at, u64::MAX)?;
        let mut copied = self.copied.expect("a part was copied");
        copied.bytes = at - self.start;
        let end = self.output_start + copied.bytes;
        if self.of_output(length(to))? < end {
            self.of_output(ftruncate(to, end))?;
            self.of_output(seek(to, SeekFrom::Start(end)))?;
        }
        Ok(copied)
    }

    /// Some file systems report a hole for data that is not written back yet. A file with allocated blocks is
    /// therefore not taken as a single hole.
    fn may_end_in_a_hole(&self) -> Result<bool, HolesError> {
        let has_data = self.copied.is_some_and(|copied| copied.bytes > 0);
        let found = self.of_input(fstat(self.input.fd()))?;
        Ok(self.start > 0 || has_data || found.st_blocks == 0)
    }

    /// Copies at most `most` bytes from the offset `at`. Returns the number of copied bytes.
    fn part(&mut self, at: u64, most: u64) -> Result<u64, HolesError> {
        let (from, to) = (self.input.fd(), self.output.fd());
        match tell(from) {
            Ok(place) if place == at => {}
            // A file without seek support is copied from its position.
            Err(Errno::SPIPE) => {}
            place => drop(self.of_input(place.and_then(|_| seek(from, SeekFrom::Start(at))))?),
        }
        self.before.set(at - self.start);
        let place = SeekFrom::Start(self.output_start + self.before.get());
        self.of_output(seek(to, place))?;
        self.options = std::mem::take(&mut self.options).limit(most);
        let part = self.options.copy(from, to).map_err(HolesError::Part)?;
        match &mut self.copied {
            Some(copied) => copied.join(part),
            None => self.copied = Some(part),
        }
        Ok(part.bytes)
    }

    fn of_input<T>(&self, done: Result<T, Errno>) -> Result<T, HolesError> {
        failing(done, || {
            format!("cannot find the holes of {}", self.input.name)
        })
    }

    fn of_output<T>(&self, done: Result<T, impl Into<io::Error>>) -> Result<T, HolesError> {
        failing(done, || {
            format!("cannot leave holes in {}", self.output.name)
        })
    }
}

fn failing<T>(
    done: Result<T, impl Into<io::Error>>,
    what: impl Fn() -> String,
) -> Result<T, HolesError> {
    done.map_err(|error| {
        let (what, error) = (what(), error.into());
        HolesError::Holes(anyhow!("{what}: {error}; copy without --sparse").into())
    })
}
