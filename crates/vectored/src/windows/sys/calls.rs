//! `WriteFileGather` and `ReadFileScatter`.
//!
//! # Safety
//!
//! `unsafe` for these calls. The kernel uses the pages and the `OVERLAPPED` of a call until it has ended, so a call is
//! either awaited here, with its memory borrowed, or made by the port, which owns the memory.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_HANDLE_EOF, ERROR_IO_PENDING, STATUS_PENDING};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_SEGMENT_ELEMENT, ReadFileScatter, WriteFileGather,
};
use windows_sys::Win32::System::IO::{
    GetOverlappedResult, OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0,
};

use crate::sys::event::Event;
use crate::windows::page_rules::pages;

/// Whether pages are written to a file or read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Write,
    Read,
}

/// The pages of a list, as an array of addresses with a null address at the end.
///
/// Invariant: the pages are borrowed for `'s`, exclusively if they were made to be read into.
pub(crate) struct Elements<'s> {
    elements: Vec<FILE_SEGMENT_ELEMENT>,
    bytes: u64,
    can_read: bool,
    pages: PhantomData<&'s [u8]>,
}

impl<'s> Elements<'s> {
    /// The pages of a list that `PageRules::check` has accepted.
    pub(crate) fn to_write(segments: &'s [IoSlice<'_>], page_bytes: usize) -> Elements<'s> {
        let address = |(index, offset): (usize, usize)| {
            // Nothing is written through the address of a page that is written to a file.
            element(segments[index][offset..].as_ptr().cast_mut())
        };
        Elements {
            elements: ended(pages(segments, page_bytes).map(address)),
            bytes: segments.iter().map(|segment| segment.len() as u64).sum(),
            can_read: false,
            pages: PhantomData,
        }
    }

    /// The pages of a list to read into that `PageRules::check` has accepted.
    pub(crate) fn to_read(segments: &'s mut [IoSliceMut<'_>], page_bytes: usize) -> Elements<'s> {
        let bytes = segments.iter().map(|segment| segment.len() as u64).sum();
        let places: Vec<_> = pages(segments, page_bytes).collect();
        let mut starts: Vec<*mut u8> = Vec::with_capacity(segments.len());
        starts.extend(segments.iter_mut().map(|segment| segment.as_mut_ptr()));
        let address = |(index, offset): (usize, usize)| element(starts[index].wrapping_add(offset));
        Elements {
            elements: ended(places.into_iter().map(address)),
            bytes,
            can_read: true,
            pages: PhantomData,
        }
    }

    /// The array alone, for a call whose caller keeps the pages.
    pub(super) fn into_array(self) -> Vec<FILE_SEGMENT_ELEMENT> {
        self.elements
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes one call of `bytes` bytes from page `first` on, and waits for its end. A read returns 0 at the end of the
    /// file.
    pub(crate) fn call(
        &self,
        file: BorrowedHandle<'_>,
        direction: Direction,
        first: usize,
        bytes: usize,
        offset: u64,
    ) -> io::Result<usize> {
        assert!(direction == Direction::Write || self.can_read);
        let elements = &self.elements[first..];
        assert!(bytes as u64 <= self.bytes && bytes <= u32::MAX as usize);
        let event = Event::take()?;
        let mut overlapped = overlapped_at(offset);
        // The lowest bit: no packet is sent to a completion port to which the file may belong.
        overlapped.hEvent = event.raw().map_addr(|address| address | 1);
        // SAFETY: the pages are borrowed as long as `self`, and the `OVERLAPPED` and the event live here. If the call was
        // begun, this function does not return before it has ended.
        match unsafe {
            start(
                file,
                direction,
                elements.as_ptr(),
                bytes,
                &raw mut overlapped,
            )?
        } {
            Started::InFlight => {
                let state = &raw const overlapped.Internal;
                // SAFETY: initialised; the kernel writes a number to it, without the compiler's knowledge.
                event.wait(|| unsafe { state.read_volatile() } != STATUS_PENDING as usize);
            }
            Started::AtEnd => return Ok(0),
        }
        // SAFETY: the call of this `OVERLAPPED` has ended.
        unsafe { finished(file, &raw const overlapped) }
    }
}

fn element(address: *mut u8) -> FILE_SEGMENT_ELEMENT {
    // All 64 bits, also where an address has 32.
    FILE_SEGMENT_ELEMENT {
        Alignment: address.expose_provenance() as u64,
    }
}

fn ended(elements: impl Iterator<Item = FILE_SEGMENT_ELEMENT>) -> Vec<FILE_SEGMENT_ELEMENT> {
    let mut all: Vec<_> = elements.collect();
    all.push(FILE_SEGMENT_ELEMENT { Alignment: 0 });
    all
}

/// An `OVERLAPPED` with this offset and no event.
pub(super) fn overlapped_at(offset: u64) -> OVERLAPPED {
    OVERLAPPED {
        Anonymous: OVERLAPPED_0 {
            Anonymous: OVERLAPPED_0_0 {
                Offset: offset as u32,
                OffsetHigh: (offset >> 32) as u32,
            },
        },
        ..OVERLAPPED::default()
    }
}

/// The state of a call that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Started {
    /// The call is in flight or has ended: its event is set, and its packet sent, when it ends.
    InFlight,
    /// A read behind the end of the file, which was not begun.
    AtEnd,
}

/// Begins a call. After an error it was not begun, and the memory is free.
///
/// # Safety
///
/// Until the call has ended: the file is open, `elements` has the addresses of enough pages for `bytes` bytes, which may be
/// read (and, for a read, written), and `overlapped` is used by nothing else. `bytes` fits 32 bits.
pub(super) unsafe fn start(
    file: BorrowedHandle<'_>,
    direction: Direction,
    elements: *const FILE_SEGMENT_ELEMENT,
    bytes: usize,
    overlapped: *mut OVERLAPPED,
) -> io::Result<Started> {
    let call = match direction {
        Direction::Write => WriteFileGather,
        Direction::Read => ReadFileScatter,
    };
    // SAFETY: the caller's promise.
    let is_done = unsafe {
        call(
            file.as_raw_handle(),
            elements,
            bytes as u32,
            ptr::null(),
            overlapped,
        )
    };
    if is_done != 0 {
        return Ok(Started::InFlight);
    }
    let error = io::Error::last_os_error();
    match code(&error) {
        Some(ERROR_IO_PENDING) => Ok(Started::InFlight),
        Some(ERROR_HANDLE_EOF) => Ok(Started::AtEnd),
        _ => Err(error),
    }
}

/// The bytes of a call that has ended, or its error. The end of the file is 0 bytes.
///
/// # Safety
///
/// The call of this `OVERLAPPED` on this file has ended.
pub(super) unsafe fn finished(
    file: BorrowedHandle<'_>,
    overlapped: *const OVERLAPPED,
) -> io::Result<usize> {
    let mut bytes = 0;
    // SAFETY: the caller's promise. The function reads the result from the `OVERLAPPED`, and does not wait.
    let is_well = unsafe { GetOverlappedResult(file.as_raw_handle(), overlapped, &mut bytes, 0) };
    if is_well != 0 {
        return Ok(bytes as usize);
    }
    let error = io::Error::last_os_error();
    match code(&error) {
        Some(ERROR_HANDLE_EOF) => Ok(0),
        _ => Err(error),
    }
}

pub(super) fn code(error: &io::Error) -> Option<u32> {
    error.raw_os_error().map(|code| code as u32)
}
