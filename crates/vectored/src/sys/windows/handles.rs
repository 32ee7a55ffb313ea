//! Lists for handles, whose calls take one buffer.
//!
//! The adjacent slices at the start of a list are written without copying if they are the whole list. They are also
//! written without copying if they have at least 64 KiB. In all other cases, the call writes a copy of the whole
//! segments that fit into 64 KiB. The copy begins at a page, so a file that is open with `FILE_FLAG_NO_BUFFERING`
//! accepts aligned lists.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::windows::io::BorrowedHandle;

use super::native;
use crate::sys::coalesce::adjoins;
use crate::sys::staging::{STAGING_ALIGNMENT, StagingBuffer};

/// The most bytes that are copied together for one call. Copying more bytes takes longer than another call.
const MAX_JOINED_BYTES: usize = 64 * 1024;

pub(super) fn write_list(
    handle: BorrowedHandle<'_>,
    slices: &[IoSlice<'_>],
    offset: Option<u64>,
) -> io::Result<usize> {
    let (count, bytes) = adjoining_start(slices);
    if count < slices.len() && bytes < MAX_JOINED_BYTES {
        return write_joined(handle, slices, MAX_JOINED_BYTES, offset);
    }
    let Some(first) = slices.first() else {
        return Ok(0);
    };
    for slice in &slices[..count] {
        // The kernel reads the memory of all these slices by one pointer: `coalesce` gives the reason.
        slice.as_ptr().expose_provenance();
    }
    let from = std::ptr::with_exposed_provenance(first.as_ptr().addr());
    // SAFETY: the first `count` slices are adjacent in memory and have `bytes` bytes. The slices are borrowed until the
    // call returns.
    unsafe { native::write(handle, from, bytes, offset) }
}

pub(super) fn write_record(
    handle: BorrowedHandle<'_>,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    let (count, _) = adjoining_start(slices);
    if count == slices.len() {
        return write_list(handle, slices, None);
    }
    let bytes = slices.iter().map(|slice| slice.len()).sum();
    write_joined(handle, slices, bytes, None)
}

/// Writes a copy of the first segments that have at most `most_bytes` bytes together. At least one segment fits.
fn write_joined(
    handle: BorrowedHandle<'_>,
    slices: &[IoSlice<'_>],
    most_bytes: usize,
    offset: Option<u64>,
) -> io::Result<usize> {
    let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
    let mut joined = StagingBuffer::with_capacity(bytes.min(most_bytes));
    joined.push_run(slices);
    // SAFETY: the buffer is borrowed until the call returns.
    unsafe { native::write(handle, joined.as_ptr(), joined.len(), offset) }
}

/// Returns the number of adjacent slices at the start, and the number of their bytes.
fn adjoining_start(slices: &[IoSlice<'_>]) -> (usize, usize) {
    let (mut count, mut bytes) = (0, 0);
    let mut last: Option<&IoSlice<'_>> = None;
    for slice in slices {
        if last.is_some_and(|last| !adjoins(last, slice)) {
            break;
        }
        last = Some(slice);
        count += 1;
        bytes += slice.len();
    }
    (count, bytes)
}

pub(super) fn read_list(
    handle: BorrowedHandle<'_>,
    slices: &mut [IoSliceMut<'_>],
    offset: Option<u64>,
) -> io::Result<usize> {
    match slices {
        [] => Ok(0),
        [first, rest @ ..] if rest.is_empty() || first.len() >= MAX_JOINED_BYTES => {
            // SAFETY: the slice is borrowed exclusively until the call returns.
            unsafe { native::read(handle, first.as_mut_ptr(), first.len(), offset) }
        }
        many => read_joined(handle, many, offset),
    }
}

fn read_joined(
    handle: BorrowedHandle<'_>,
    slices: &mut [IoSliceMut<'_>],
    offset: Option<u64>,
) -> io::Result<usize> {
    let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
    let wanted = whole_bytes(slices, bytes.min(MAX_JOINED_BYTES));
    let mut memory = vec![0; wanted + STAGING_ALIGNMENT - 1];
    let start = memory.as_ptr().addr().wrapping_neg() % STAGING_ALIGNMENT;
    let buffer = &mut memory[start..start + wanted];
    // SAFETY: the buffer is borrowed exclusively until the call returns.
    let read = unsafe { native::read(handle, buffer.as_mut_ptr(), wanted, offset)? };
    let mut rest = &buffer[..read];
    for slice in slices {
        let (here, after) = rest.split_at(rest.len().min(slice.len()));
        slice[..here.len()].copy_from_slice(here);
        rest = after;
    }
    Ok(read)
}

/// Returns the number of bytes of the first segments that have at most `most_bytes` bytes together. At least one
/// segment fits.
fn whole_bytes(slices: &[IoSliceMut<'_>], most_bytes: usize) -> usize {
    let mut bytes = 0;
    for slice in slices {
        if slice.len() > most_bytes - bytes {
            break;
        }
        bytes += slice.len();
    }
    bytes
}

pub(super) fn read_uninit<'b>(
    handle: BorrowedHandle<'_>,
    free: &'b mut [MaybeUninit<u8>],
) -> io::Result<&'b mut [u8]> {
    // SAFETY: the memory is borrowed exclusively until the call returns.
    let read = unsafe { native::read(handle, free.as_mut_ptr().cast(), free.len(), None)? };
    // SAFETY: the call has initialized `read` bytes.
    Ok(unsafe { std::slice::from_raw_parts_mut(free.as_mut_ptr().cast(), read) })
}
