//! A completion port, and transfers that own their memory until the port has their packet.
//!
//! # Safety
//!
//! The kernel uses the buffers and the `OVERLAPPED` of a transfer from [`Port::start`] on, until the packet of the
//! transfer comes out of the port. Meanwhile they are owned by a raw pointer in `in_flight`, which nothing follows. They
//! become accessible again, or are freed, only when the packet with their address has come. If the port is forgotten they
//! leak; if it is dropped it cancels them and waits for their packets.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::io::IoSliceMut;
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::Storage::FileSystem::FILE_SEGMENT_ELEMENT;
use windows_sys::Win32::System::IO::{
    CancelIoEx, CreateIoCompletionPort, GetQueuedCompletionStatus, OVERLAPPED,
};
use windows_sys::Win32::System::Threading::INFINITE;

use super::calls::{Direction, Elements, Started, finished, overlapped_at, start};
use crate::transfer::aligned_buffer::AlignedBuffer;

/// A completion port with its files and the transfers that are in flight.
pub(crate) struct Port {
    port: OwnedHandle,
    files: Vec<File>,
    /// The transfers by the address of their `OVERLAPPED`. Each pointer is from `Box::into_raw`.
    in_flight: HashMap<usize, *mut InFlight>,
}

// SAFETY: the pointers are owned, what they point to can be sent (buffers and numbers), and calls on a file that belongs
// to a port are not bound to the thread that began them.
unsafe impl Send for Port {}

/// A transfer that the kernel may be working on.
#[repr(C)]
struct InFlight {
    /// First, so that it has the address of the transfer.
    overlapped: OVERLAPPED,
    id: u64,
    file: usize,
    buffers: Vec<AlignedBuffer>,
    /// Read by the call.
    _elements: Vec<FILE_SEGMENT_ELEMENT>,
}

pub(crate) struct Ended {
    pub(crate) id: u64,
    pub(crate) buffers: Vec<AlignedBuffer>,
    pub(crate) result: io::Result<usize>,
}

/// The state of a transfer after the attempt to start it.
pub(crate) enum Outcome {
    InFlight,
    /// The transfer has ended already, with no bytes.
    Ended(Ended),
    Refused(io::Error, Vec<AlignedBuffer>),
}

impl Port {
    pub(crate) fn new() -> io::Result<Port> {
        // SAFETY: a new port; no memory is passed.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, ptr::null_mut(), 0, 1) };
        if port.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(Port {
            // SAFETY: a new handle, which nothing else owns.
            port: unsafe { OwnedHandle::from_raw_handle(port) },
            files: Vec::new(),
            in_flight: HashMap::new(),
        })
    }

    /// Adds a file, which the port closes when it is dropped, and returns its index.
    pub(crate) fn add(&mut self, file: File) -> io::Result<usize> {
        let index = self.files.len();
        // SAFETY: both handles are open; no memory is passed.
        let port = unsafe {
            CreateIoCompletionPort(file.as_raw_handle(), self.port.as_raw_handle(), index, 0)
        };
        if port.is_null() {
            return Err(io::Error::last_os_error());
        }
        self.files.push(file);
        Ok(index)
    }

    pub(crate) fn file(&self, index: usize) -> &File {
        &self.files[index]
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Starts a transfer of all bytes of `buffers`, which were checked.
    pub(crate) fn start(
        &mut self,
        (id, file): (u64, usize),
        direction: Direction,
        mut buffers: Vec<AlignedBuffer>,
        offset: u64,
        page_bytes: usize,
    ) -> Outcome {
        let mut segments: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        let elements = Elements::to_read(&mut segments, page_bytes);
        let bytes = elements.bytes() as usize;
        let elements = elements.into_array();
        let array = elements.as_ptr();
        let transfer = Box::into_raw(Box::new(InFlight {
            overlapped: overlapped_at(offset),
            id,
            file,
            buffers,
            _elements: elements,
        }));
        // SAFETY: from the allocation that was just made.
        let overlapped = unsafe { &raw mut (*transfer).overlapped };
        let handle = self.files[file].as_handle();
        // SAFETY: the port owns the file, and `transfer` owns the pages and the `OVERLAPPED`; neither is touched before
        // the packet has come. The buffers' memory does not move with them.
        let started = unsafe { start(handle, direction, array, bytes, overlapped) };
        let result = match started {
            Ok(Started::InFlight) => {
                self.in_flight.insert(overlapped.addr(), transfer);
                return Outcome::InFlight;
            }
            Ok(Started::AtEnd) => Ok(0),
            Err(error) => Err(error),
        };
        // SAFETY: from `Box::into_raw`, and the call was not begun: the kernel does not know of it.
        let transfer = unsafe { Box::from_raw(transfer) };
        match result {
            Ok(_) => Outcome::Ended(Ended {
                id,
                buffers: transfer.buffers,
                result,
            }),
            Err(error) => Outcome::Refused(error, transfer.buffers),
        }
    }

    /// Waits for the end of a transfer; `None` if none is in flight.
    pub(crate) fn wait(&mut self) -> io::Result<Option<Ended>> {
        while !self.in_flight.is_empty() {
            let (mut bytes, mut key) = (0, 0);
            let mut overlapped: *mut OVERLAPPED = ptr::null_mut();
            // SAFETY: the port is open. The call writes to the three variables.
            let is_well = unsafe {
                GetQueuedCompletionStatus(
                    self.port.as_raw_handle(),
                    &mut bytes,
                    &mut key,
                    &mut overlapped,
                    INFINITE,
                )
            };
            if is_well == 0 && overlapped.is_null() {
                return Err(io::Error::last_os_error());
            }
            // A call on a duplicate of a file's handle also has its packet here. Its `OVERLAPPED` is not ours.
            let Some(transfer) = self.in_flight.remove(&overlapped.addr()) else {
                continue;
            };
            // SAFETY: from `Box::into_raw`, once, since it was removed. The packet with its address says that the kernel
            // is done with it.
            let transfer = unsafe { Box::from_raw(transfer) };
            let file = self.files[transfer.file].as_handle();
            return Ok(Some(Ended {
                id: transfer.id,
                // SAFETY: the call has ended.
                result: unsafe { finished(file, &transfer.overlapped) },
                buffers: transfer.buffers,
            }));
        }
        Ok(None)
    }

    /// Asks the kernel to end all transfers. Each still has its packet.
    pub(crate) fn cancel(&self) {
        for file in &self.files {
            // SAFETY: the file is open, and no `OVERLAPPED` is named: all calls of this process on the handle are meant.
            // The call fails if there is nothing to cancel.
            unsafe { CancelIoEx(file.as_raw_handle(), ptr::null()) };
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.cancel();
        // If the port fails, what is in flight leaks: the kernel may still use it.
        while let Ok(Some(_)) = self.wait() {}
    }
}
