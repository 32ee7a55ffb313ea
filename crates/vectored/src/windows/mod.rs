//! `WriteFileGather` and `ReadFileScatter` of Windows, which move a list of pages in one call without buffering.
//!
//! `WriteFile` takes one buffer. So the functions of the crate root copy short segments together, and make a call for
//! each long segment. `WriteFileGather` and `ReadFileScatter` take a list of large buffers under these conditions:
//!
//! - The file is open with `FILE_FLAG_OVERLAPPED` and `FILE_FLAG_NO_BUFFERING` ([`open_unbuffered`]).
//! - Each segment begins at a memory page and has whole pages. The last segment may be shorter.
//! - The length of all segments together, and the offset in the file, are multiples of the volume's sector size.
//!
//! The functions check the conditions before the call. An error names the segment and the condition.
//! [`write_file_gather`] and [`read_file_scatter`] wait for the end of the call.
//!
//! # Examples
//!
//! ```no_run
//! use std::fs::File;
//! use std::io::{IoSlice, IoSliceMut};
//! use vectored::files::AlignedBuffer;
//! use vectored::windows::{open_unbuffered, page_bytes, read_file_scatter, write_file_gather};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut options = File::options();
//! let file = open_unbuffered("pages.db", options.read(true).write(true).create(true))?;
//! let mut index = AlignedBuffer::zeroed(page_bytes(), page_bytes());
//! let mut rows = AlignedBuffer::zeroed(8 * page_bytes(), page_bytes());
//! index[0] = 1;
//! rows[0] = 2;
//! write_file_gather(&file, &[IoSlice::new(&index), IoSlice::new(&rows)], 0)?;
//!
//! let mut segments = [IoSliceMut::new(&mut index), IoSliceMut::new(&mut rows)];
//! assert_eq!(read_file_scatter(&file, &mut segments, 0)?, 9 * page_bytes() as u64);
//! # Ok(())
//! # }
//! ```

#[cfg(windows)]
pub(crate) mod gather;
pub(crate) mod page_rules;
#[cfg(windows)]
mod sys;

#[cfg(windows)]
pub use gather::{open_unbuffered, read_file_scatter, write_file_gather};
#[cfg(windows)]
pub use sys::page_bytes;
