//! The calls of Win32.
//!
//! # Safety
//!
//! The kernel uses the pages and the `OVERLAPPED` of a call until the call has ended. The function that makes a call
//! borrows the pages and waits until the call has ended.
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
use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};

use crate::sys::event::Event;

/// Returns the size of a memory page on this system in bytes: 4096 on x86-64 and arm64.
#[must_use]
pub fn page_bytes() -> usize {
    let mut info = SYSTEM_INFO::default();
    // SAFETY: the call writes only to `info`.
    unsafe { GetSystemInfo(&mut info) };
    info.dwPageSize as usize
}

/// The pages of a list, as an array of addresses with a null address at the end.
///
/// Invariant: the pages are borrowed for `'s`. The borrow is exclusive if the kernel reads into the pages.
pub(crate) struct Elements<'s> {
    elements: Vec<FILE_SEGMENT_ELEMENT>,
    bytes: u64,
    reads: bool,
    pages: PhantomData<&'s [u8]>,
}

impl<'s> Elements<'s> {
    /// `PageRules::check` must have accepted the list.
    pub(crate) fn to_write(segments: &'s [IoSlice<'_>], page_bytes: usize) -> Elements<'s> {
        // The kernel does not write through these addresses.
        let segments = segments.iter().map(|s| (s.as_ptr().cast_mut(), s.len()));
        Elements::of(segments, page_bytes, false)
    }

    /// `PageRules::check` must have accepted the list.
    pub(crate) fn to_read(segments: &'s mut [IoSliceMut<'_>], page_bytes: usize) -> Elements<'s> {
        let segments = segments.iter_mut().map(|s| (s.as_mut_ptr(), s.len()));
        Elements::of(segments, page_bytes, true)
    }

    fn of(
        segments: impl Iterator<Item = (*mut u8, usize)>,
        page_bytes: usize,
        reads: bool,
    ) -> Elements<'s> {
        // The field has 64 bits, even on a 32-bit system.
        let element = |address: *mut u8| FILE_SEGMENT_ELEMENT {
            Alignment: address.expose_provenance() as u64,
        };
        let (mut elements, mut bytes) = (Vec::new(), 0);
        for (start, length) in segments {
            let pages = (0..length).step_by(page_bytes);
            elements.extend(pages.map(|offset| element(start.wrapping_add(offset))));
            bytes += length as u64;
        }
        elements.push(element(ptr::null_mut()));
        Elements {
            elements,
            bytes,
            reads,
            pages: PhantomData,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes one call of `bytes` bytes from page `first` on, and waits for its end. A read returns 0 at the end of the
    /// file.
    pub(crate) fn call(
        &self,
        file: BorrowedHandle<'_>,
        first: usize,
        bytes: usize,
        offset: u64,
    ) -> io::Result<usize> {
        let elements = &self.elements[first..];
        assert!(bytes as u64 <= self.bytes && bytes <= u32::MAX as usize);
        let event = Event::take()?;
        let mut overlapped = OVERLAPPED {
            Anonymous: OVERLAPPED_0 {
                Anonymous: OVERLAPPED_0_0 {
                    Offset: offset as u32,
                    OffsetHigh: (offset >> 32) as u32,
                },
            },
            // The lowest bit of the handle prevents a packet to a completion port of the file.
            hEvent: event.raw().map_addr(|address| address | 1),
            ..OVERLAPPED::default()
        };
        let call = if self.reads { ReadFileScatter } else { WriteFileGather };
        // SAFETY: `self` borrows the pages. The `OVERLAPPED` and the event are local variables. If the call was begun,
        // this function does not return before the call has ended.
        let is_done = unsafe {
            call(
                file.as_raw_handle(),
                elements.as_ptr(),
                bytes as u32,
                ptr::null(),
                &raw mut overlapped,
            )
        };
        if is_done == 0 {
            let error = io::Error::last_os_error();
            if code(&error) != Some(ERROR_IO_PENDING) {
                return unless_at_end(error);
            }
        }
        let state = &raw const overlapped.Internal;
        // SAFETY: the field is initialized. The kernel writes a number to the field without the compiler's knowledge.
        event.wait(|| unsafe { state.read_volatile() } != STATUS_PENDING as usize);
        let mut moved = 0;
        // SAFETY: the call of this `OVERLAPPED` has ended. The function only reads the result, and does not wait.
        let is_well = unsafe {
            GetOverlappedResult(file.as_raw_handle(), &raw const overlapped, &mut moved, 0)
        };
        match is_well {
            0 => unless_at_end(io::Error::last_os_error()),
            _ => Ok(moved as usize),
        }
    }
}

/// Returns 0 bytes for the error that means the end of the file.
fn unless_at_end(error: io::Error) -> io::Result<usize> {
    match code(&error) {
        Some(ERROR_HANDLE_EOF) => Ok(0),
        _ => Err(error),
    }
}

fn code(error: &io::Error) -> Option<u32> {
    error.raw_os_error().map(|code| code as u32)
}
