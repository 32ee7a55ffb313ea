//! Lists for handles, whose calls take one buffer: short segments are joined for one call.
//!
//! A call writes the adjoining slices at the start of a list without copying, if they are the whole list or at least 64 KiB.
//! Otherwise it writes as many whole segments as fit 64 KiB, joined in memory that begins at a page. So a file that is open
//! with `FILE_FLAG_NO_BUFFERING` takes aligned lists.
//!
//! # Safety
//!
//! `unsafe` for calls of [`native`](super::native), with the memory of slices.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::windows::io::BorrowedHandle;

use super::native;
use crate::sys::coalesce::adjoins;
use crate::sys::staging::{STAGING_ALIGNMENT, StagingBuffer};

/// The most bytes that are joined for one call. To copy more takes longer than another call.
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
        // The kernel reads the memory of all these slices: see `coalesce`.
        slice.as_ptr().expose_provenance();
    }
    let from = std::ptr::with_exposed_provenance(first.as_ptr().addr());
    // SAFETY: the first `count` slices follow one another in memory and have `bytes` bytes. They are borrowed meanwhile.
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

/// Writes the segments at the start of `slices` that fit `most_bytes` together: at least one.
fn write_joined(
    handle: BorrowedHandle<'_>,
    slices: &[IoSlice<'_>],
    most_bytes: usize,
    offset: Option<u64>,
) -> io::Result<usize> {
    let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
    let mut joined = StagingBuffer::with_capacity(bytes.min(most_bytes));
    joined.push_run(slices);
    // SAFETY: the buffer is borrowed meanwhile.
    unsafe { native::write(handle, joined.as_ptr(), joined.len(), offset) }
}

/// The number of slices at the start that follow one another in memory, and their bytes.
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

/// Reads into the start of `slices`, by one call.
pub(super) fn read_list(
    handle: BorrowedHandle<'_>,
    slices: &mut [IoSliceMut<'_>],
    offset: Option<u64>,
) -> io::Result<usize> {
    match slices {
        [] => Ok(0),
        [first, rest @ ..] if rest.is_empty() || first.len() >= MAX_JOINED_BYTES => {
            // SAFETY: the slice is borrowed exclusively meanwhile.
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
    // SAFETY: as in `read_list`.
    let read = unsafe { native::read(handle, buffer.as_mut_ptr(), wanted, offset)? };
    let mut rest = &buffer[..read];
    for slice in slices {
        let (here, after) = rest.split_at(rest.len().min(slice.len()));
        slice[..here.len()].copy_from_slice(here);
        rest = after;
    }
    Ok(read)
}

/// The bytes of the segments at the start that fit `most_bytes` together: at least one segment fits.
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
    // SAFETY: the memory is borrowed exclusively meanwhile.
    let read = unsafe { native::read(handle, free.as_mut_ptr().cast(), free.len(), None)? };
    // SAFETY: the call has initialised that many bytes.
    Ok(unsafe { std::slice::from_raw_parts_mut(free.as_mut_ptr().cast(), read) })
}
