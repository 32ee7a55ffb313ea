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
use crate::sys::{note, reads_ahead};

/// The exception of a transfer that stopped. Its attribute `done` is the number of bytes that the transfer had moved.
///
/// If a signal handler stopped the transfer, the exception is the exception of the handler. Otherwise the exception is
/// `EOFError` at the end of the file, and an `OSError` after an error. A note of `BlockingIOError` says how to go on: by the
/// function `rest`, or by the same call if `rest` is None.
pub fn raised(file: &Bound<'_, PyAny>, error: TransferError, rest: Option<&str>) -> PyErr {
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
        io::ErrorKind::WouldBlock => note_how_to_go_on(file, &exception, done, rest),
        io::ErrorKind::UnexpectedEof if reads_ahead(file).unwrap_or(false) => {
            note(
                py,
                &exception,
                "The file object may have read ahead: open it with buffering=0.",
            );
        }
        _ => {}
    }
    // An exception of the program's own class may refuse attributes. The exception is raised without the attribute then.
    if exception
        .value(py)
        .setattr(intern!(py, "done"), done)
        .is_err()
    {
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

/// A socket with a timeout blocks in Python's functions, but not here. If the socket is passed as an int, its timeout is
/// unknown.
fn note_how_to_go_on(file: &Bound<'_, PyAny>, exception: &PyErr, done: u64, rest: Option<&str>) {
    let timeout = if file.is_instance_of::<PyInt>() {
        None
    } else {
        let timeout = file.call_method0(intern!(file.py(), "gettimeout"));
        timeout.and_then(|timeout| timeout.extract::<f64>()).ok()
    };
    let has_timeout = timeout.is_some_and(|seconds| seconds > 0.0);
    let (why, instead) = if has_timeout {
        (
            "the descriptor of a socket with a timeout is non-blocking: ",
            ", or call settimeout(None) before",
        )
    } else {
        ("", "")
    };
    let how = match rest {
        Some(rest) => format!(
            "the first {done} bytes are moved, do not repeat the call: go on with {rest} and a Cursor advanced by `done`"
        ),
        None if has_timeout => "wait with select and repeat the call".to_owned(),
        None => return,
    };
    note(file.py(), exception, &format!("{why}{how}{instead}"));
}

/// Python chooses the subclass by the number: `BlockingIOError`, `BrokenPipeError` and the others.
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

/// The text of an error of the system, as `os.strerror` has it. While the interpreter ends, `os` cannot be imported.
fn text_of(error: &io::Error, code: c_int) -> String {
    let text = error.to_string();
    let without_code = text.strip_suffix(&format!(" (os error {code})"));
    without_code.unwrap_or(&text).to_owned()
}

/// The number of an error that the library makes itself.
fn code_of(kind: io::ErrorKind) -> c_int {
    match kind {
        // A list that is not one message, does not fit one call, or ends beyond the last offset of a file.
        io::ErrorKind::InvalidInput => libc::EINVAL,
        // A driver that refuses `writev`, while a record must go by one call.
        io::ErrorKind::Unsupported => libc::EOPNOTSUPP,
        io::ErrorKind::OutOfMemory => libc::ENOMEM,
        // A call that took nothing or a part.
        _ => libc::EIO,
    }
}
