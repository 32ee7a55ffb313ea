//! The exceptions of transfers.

use std::ffi::c_int;
use std::io;

use pyo3::exceptions::{PyEOFError, PyOSError};
use pyo3::prelude::*;
use vectored::TransferError;

use crate::signals;

/// The exception of a transfer that stopped, with the attribute `done`: the bytes that it had moved.
///
/// It is the exception of the signal handler that stopped it, `EOFError` at the end of the file, or else an `OSError`.
pub fn raised(py: Python<'_>, error: TransferError) -> PyErr {
    let done = error.transferred();
    let exception = match (error.kind(), signals::take_raised()) {
        (io::ErrorKind::Interrupted, Some(raised)) => raised,
        (io::ErrorKind::UnexpectedEof, _) => PyEOFError::new_err(error.io_error().to_string()),
        _ => os_error(py, error.io_error(), done),
    };
    // An exception of the program's own class may refuse attributes. It is raised all the same.
    if exception.value(py).setattr("done", done).is_err() {
        return exception;
    }
    exception
}

/// Python makes it the subclass of the number: `BlockingIOError`, `BrokenPipeError` and the others.
fn os_error(py: Python<'_>, error: &io::Error, done: u64) -> PyErr {
    let Some(code) = error.raw_os_error() else {
        return PyOSError::new_err((code_of(error.kind()), error.to_string()));
    };
    let text = match text_of(py, code) {
        Ok(text) => text,
        Err(other) => return other,
    };
    match error.kind() {
        // The third argument is `characters_written`.
        io::ErrorKind::WouldBlock => PyOSError::new_err((code, text, done)),
        _ => PyOSError::new_err((code, text)),
    }
}

/// The text of an error of the system, as Python words it.
fn text_of(py: Python<'_>, code: c_int) -> PyResult<String> {
    py.import("os")?
        .call_method1("strerror", (code,))?
        .extract()
}

/// The number of an error that the library makes itself.
fn code_of(kind: io::ErrorKind) -> c_int {
    match kind {
        // A list that is not one message, one call, or within the offsets of a file.
        io::ErrorKind::InvalidInput => libc::EINVAL,
        // A driver that refuses `writev`, of which a record has one call.
        io::ErrorKind::Unsupported => libc::EOPNOTSUPP,
        io::ErrorKind::OutOfMemory => libc::ENOMEM,
        // A call that took nothing or a part.
        _ => libc::EIO,
    }
}
