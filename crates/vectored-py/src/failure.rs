//! The exceptions of transfers.

use std::ffi::c_int;
use std::io;
use std::path::Path;

use pyo3::exceptions::{PyEOFError, PyOSError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use vectored::TransferError;

use crate::signals;

/// The exception of a transfer that stopped, with the attribute `done`: the bytes that it had moved.
///
/// It is the exception of the signal handler that stopped it, `EOFError` at the end of the file, or else an `OSError`. If
/// `file` is a socket with a timeout, for which its descriptor is non-blocking, a note says so.
pub fn raised(file: &Bound<'_, PyAny>, error: TransferError) -> PyErr {
    let py = file.py();
    let done = error.transferred();
    let exception = match (error.kind(), signals::take_raised()) {
        (io::ErrorKind::Interrupted, Some(raised)) => raised,
        (io::ErrorKind::UnexpectedEof, _) => {
            PyEOFError::new_err(format!("{} (after {done} bytes)", error.io_error()))
        }
        _ => os_error(error.io_error(), done),
    };
    match error.kind() {
        io::ErrorKind::WouldBlock => note_timeout(file, &exception),
        io::ErrorKind::UnexpectedEof if file.hasattr(intern!(py, "peek")).unwrap_or(false) => {
            let note = "The file object may have read ahead: open it with buffering=0.";
            // Without the note, the exception is the right one all the same.
            let _ = exception.value(py).call_method1("add_note", (note,));
        }
        _ => {}
    }
    // An exception of the program's own class may refuse attributes. It is raised all the same.
    if exception.value(py).setattr("done", done).is_err() {
        return exception;
    }
    exception
}

/// The exception of an error about a path.
pub fn of_path(error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, text_of(error, code), path.as_os_str().to_owned())),
        None => PyOSError::new_err(format!("{error}: '{}'", path.display())),
    }
}

/// Says why a socket that blocks by Python's functions does not block here. An int has no timeout that is known.
fn note_timeout(file: &Bound<'_, PyAny>, exception: &PyErr) {
    if file.is_instance_of::<PyInt>() {
        return;
    }
    let timeout = file.call_method0("gettimeout");
    let timeout = timeout.and_then(|timeout| timeout.extract::<f64>());
    if timeout.is_ok_and(|seconds| seconds > 0.0) {
        let note = "The descriptor of a socket with a timeout is non-blocking: wait with select and repeat the call, or \
            call settimeout(None) before.";
        let value = exception.value(file.py());
        // The exception is the right one even without the note.
        let _ = value.call_method1("add_note", (note,));
    }
}

/// Python makes it the subclass of the number: `BlockingIOError`, `BrokenPipeError` and the others.
fn os_error(error: &io::Error, done: u64) -> PyErr {
    let Some(code) = error.raw_os_error() else {
        return PyOSError::new_err((code_of(error.kind()), error.to_string()));
    };
    let text = text_of(error, code);
    match error.kind() {
        // The third argument is `characters_written`.
        io::ErrorKind::WouldBlock => PyOSError::new_err((code, text, done)),
        _ => PyOSError::new_err((code, text)),
    }
}

/// The text of an error of the system, as `os.strerror` has it. That cannot be imported while the interpreter ends.
fn text_of(error: &io::Error, code: c_int) -> String {
    let text = error.to_string();
    let without_code = text.strip_suffix(&format!(" (os error {code})"));
    without_code.unwrap_or(&text).to_owned()
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
