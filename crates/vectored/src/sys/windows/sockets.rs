//! Lists for sockets: `WSASend` and `WSARecv`, which take an array of buffers.
//!
//! # Safety
//!
//! The module uses `unsafe` for calls of Winsock. Without an `OVERLAPPED`, `WSASend` and `WSARecv` return after the
//! kernel has stopped using the memory, on every socket.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::windows::io::{AsRawSocket, BorrowedSocket};
use std::ptr;

use windows_sys::Win32::Networking::WinSock::{
    SO_TYPE, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_STREAM, SOCKET, SOCKET_ERROR,
    SOL_SOCKET, WSAESHUTDOWN, WSAGetLastError, WSARecv, WSASend, getsockopt, recv,
};

use crate::sys::coalesce::{EntryBuffer, any_adjoin, coalesce};
use crate::sys::entry::Entry;

fn raw(socket: BorrowedSocket<'_>) -> SOCKET {
    socket.as_raw_socket() as SOCKET
}

/// Sends a list in one call. Adjacent segments are coalesced, unless `may_adjoin` is false.
pub(super) fn send(
    socket: BorrowedSocket<'_>,
    slices: &[IoSlice<'_>],
    may_adjoin: bool,
) -> io::Result<usize> {
    if may_adjoin && any_adjoin(slices) {
        let mut buffer = EntryBuffer::new();
        if let Some(entries) = coalesce(slices, &mut buffer) {
            // SAFETY: `entries` has this length. By the invariant of `entries`, the memory of the entries is readable.
            return unsafe { send_entries(socket, entries.as_ptr(), entries.len()) };
        }
    }
    // SAFETY: an `IoSlice` is guaranteed to be ABI compatible with a `WSABUF`. The slices are borrowed until the call
    // returns.
    unsafe { send_entries(socket, slices.as_ptr().cast(), slices.len()) }
}

/// # Safety
///
/// `entries` must point to `count` entries. The entries and their memory must be readable until the function returns.
unsafe fn send_entries(
    socket: BorrowedSocket<'_>,
    entries: *const Entry,
    count: usize,
) -> io::Result<usize> {
    let mut sent = 0;
    // SAFETY: the caller keeps the contract. The call writes only the number of bytes.
    let result = unsafe {
        WSASend(
            raw(socket),
            entries,
            count as u32,
            &mut sent,
            0,
            ptr::null_mut(),
            None,
        )
    };
    match result {
        SOCKET_ERROR => Err(last_error()),
        _ => Ok(sent as usize),
    }
}

/// Receives into a list in one call. 0 is the end of the stream.
pub(super) fn receive(
    socket: BorrowedSocket<'_>,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    let (mut received, mut flags) = (0, 0);
    // SAFETY: an `IoSliceMut` is guaranteed to be ABI compatible with a `WSABUF`. The slices and the two numbers are
    // borrowed exclusively until the call returns.
    let result = unsafe {
        WSARecv(
            raw(socket),
            slices.as_ptr().cast(),
            slices.len() as u32,
            &mut received,
            &mut flags,
            ptr::null_mut(),
            None,
        )
    };
    match result {
        SOCKET_ERROR => end_or_error(),
        _ => Ok(received as usize),
    }
}

pub(super) fn receive_uninit<'b>(
    socket: BorrowedSocket<'_>,
    free: &'b mut [MaybeUninit<u8>],
) -> io::Result<&'b mut [u8]> {
    let len = i32::try_from(free.len()).unwrap_or(i32::MAX);
    // SAFETY: the slice has at least `len` bytes, and is borrowed exclusively until the call returns.
    let received = unsafe { recv(raw(socket), free.as_mut_ptr().cast(), len, 0) };
    let received = match usize::try_from(received) {
        Ok(received) => received,
        Err(_) => end_or_error()?,
    };
    // SAFETY: the call has initialized `received` bytes.
    Ok(unsafe { std::slice::from_raw_parts_mut(free.as_mut_ptr().cast(), received) })
}

/// Returns the result of a failed receive. If this side was shut down for reading, the result is the end of the stream,
/// as in the standard library.
fn end_or_error() -> io::Result<usize> {
    let error = last_error();
    match error.raw_os_error() {
        Some(WSAESHUTDOWN) => Ok(0),
        _ => Err(error),
    }
}

fn last_error() -> io::Error {
    // SAFETY: the function takes no argument and returns a number.
    io::Error::from_raw_os_error(unsafe { WSAGetLastError() })
}

/// Returns the type of a socket that keeps messages apart. Returns `None` for stream sockets and invalid sockets.
pub(super) fn message_type(socket: BorrowedSocket<'_>) -> Option<&'static str> {
    let mut kind = 0_i32;
    let mut bytes = size_of::<i32>() as i32;
    // SAFETY: the call writes up to `bytes` bytes to `kind`, and the number of these bytes to `bytes`.
    let result = unsafe {
        getsockopt(
            raw(socket),
            SOL_SOCKET,
            SO_TYPE,
            ptr::from_mut(&mut kind).cast(),
            &mut bytes,
        )
    };
    match (result, kind) {
        (SOCKET_ERROR, _) | (_, SOCK_STREAM) => None,
        (_, SOCK_DGRAM) => Some("SOCK_DGRAM"),
        (_, SOCK_SEQPACKET) => Some("SOCK_SEQPACKET"),
        (_, SOCK_RAW) => Some("SOCK_RAW"),
        (_, SOCK_RDM) => Some("SOCK_RDM"),
        _ => Some("not SOCK_STREAM"),
    }
}
