//! What needs `unsafe`: descriptors and buffers of Python.
//!
//! # Safety
//!
//! `unsafe` for functions of Python's C interface, and for lists of memory that Python's objects own.

#![allow(unsafe_code)]

mod exports;

pub use exports::{Access, Exports, slices_mut};

use std::ffi::c_int;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::OnceLock;

use pyo3::exceptions::{PyImportError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{ffi, intern};

/// Modules whose files encode the bytes that a program writes: the descriptors get other bytes.
const ENCODERS: [&str; 5] = ["ssl", "OpenSSL.SSL", "gzip", "bz2", "lzma"];

/// The descriptor of an int, or of an object with a method `fileno`.
///
/// # Errors
///
/// `TypeError` for any other object and for a file of a module in [`ENCODERS`], `ValueError` if the number is negative or
/// the file is closed, `io.UnsupportedOperation` for a file in memory, with a note of what to use instead.
pub fn descriptor(file: &Bound<'_, PyAny>) -> PyResult<RawFd> {
    if !file.is_exact_instance_of::<PyInt>() {
        refuse_encoders(file)?;
    }
    // SAFETY: `file` is an object, and this thread is attached to the interpreter, as its type says.
    let fd: c_int = unsafe { ffi::PyObject_AsFileDescriptor(file.as_ptr()) };
    if fd < 0 {
        Err(without_descriptor(file, PyErr::fetch(file.py())))
    } else {
        Ok(fd)
    }
}

fn refuse_encoders(file: &Bound<'_, PyAny>) -> PyResult<()> {
    for class in file.get_type().mro() {
        // `__module__` of a class of the program may be any object.
        let module = class.getattr(intern!(file.py(), "__module__"))?;
        let module = module.extract::<String>().unwrap_or_default();
        if ENCODERS.contains(&&*module) {
            return Err(PyTypeError::new_err(format!(
                "an object of the module '{module}' encodes what is written to it, and its descriptor has the encoded bytes: use \
                 its own methods"
            )));
        }
    }
    Ok(())
}

/// The error of an object that gives no descriptor. `BytesIO` raises an error whose only text is the word "fileno".
fn without_descriptor(file: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = file.py();
    if error.is_instance_of::<PyTypeError>(py)
        && !file.hasattr(intern!(py, "fileno")).unwrap_or(true)
    {
        let is_list = file.is_instance_of::<PyList>() || file.is_instance_of::<PyTuple>();
        let remedy = if is_list || is_buffer(file) {
            ": are the file and the buffers swapped?"
        } else if file.is_instance_of::<PyString>()
            || file.hasattr(intern!(py, "__fspath__")).unwrap_or(false)
        {
            ": open the path with buffering=0"
        } else if file.is_instance_of::<PyFloat>() {
            ": pass an int"
        } else if file.is_callable() {
            ": call it"
        } else if file.hasattr(intern!(py, "writelines")).unwrap_or(false) {
            ": use its own writelines"
        } else {
            ""
        };
        let name = file.get_type().name();
        return name.map_or_else(
            |error| error,
            |name| {
                let message =
                    format!("a file must be an int or have a method fileno, not '{name}'{remedy}");
                PyTypeError::new_err(message)
            },
        );
    }
    // `io.UnsupportedOperation` has both bases; testing for them needs no import.
    if error.is_instance_of::<PyOSError>(py) && error.is_instance_of::<PyValueError>(py) {
        if let Ok(name) = file.get_type().name() {
            let text = format!(
                "an object of the type '{name}' has no descriptor: use its own methods, such as writelines, or pass a file, a pipe \
                 or a socket"
            );
            note(py, &error, &text);
        }
    } else if error.to_string().contains("negative") && !file.is_instance_of::<PyInt>() {
        note(py, &error, "a socket that is closed has the descriptor -1");
    }
    error
}

/// Adds a note to an exception. If that fails, the exception stays right without the note.
pub fn note(py: Python<'_>, exception: &PyErr, text: &str) {
    // A new name would stay in the interpreter's cache of attributes.
    let add_note = intern!(py, "add_note");
    let _ = exception.value(py).call_method1(add_note, (text,));
}

/// A descriptor for the time of a transfer.
///
/// # Panics
///
/// If the number is negative. [`descriptor`] returns no negative number.
pub fn borrowed<'fd>(fd: RawFd) -> BorrowedFd<'fd> {
    assert!(fd >= 0, "{fd} is no descriptor");
    // SAFETY: the number is not -1. It is only passed to system calls, and never closed. If it is not open, or another thread
    // closes it, the calls fail like `os.write`.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The position of a descriptor in its file. None if the descriptor has no position, such as a pipe.
pub fn position(fd: RawFd) -> Option<i64> {
    // SAFETY: the call uses no memory, and moves the position by nothing.
    let at = unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) };
    (at >= 0).then_some(at)
}

/// Whether an object is a buffered file or a text file of Python, or has the method `tell` of such a file. Such files read
/// ahead.
///
/// # Errors
///
/// The errors of an attribute that the program defines.
pub fn reads_ahead(file: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASSES: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
    let py = file.py();
    let classes = CLASSES.get_or_try_init(py, || {
        let io = py.import("io")?;
        let names = ["BufferedReader", "BufferedRandom", "TextIOWrapper"];
        let classes: Vec<_> = names
            .iter()
            .map(|name| io.getattr(name))
            .collect::<PyResult<_>>()?;
        Ok::<_, PyErr>(PyTuple::new(py, classes)?.unbind())
    })?;
    if file.is_instance(classes.bind(py))? {
        return Ok(true);
    }
    let Some(tell) = file.getattr_opt(intern!(py, "tell"))? else {
        return Ok(false);
    };
    // `tempfile` wraps the methods of a file.
    let tell = tell
        .getattr_opt(intern!(py, "__wrapped__"))?
        .unwrap_or(tell);
    match tell.getattr_opt(intern!(py, "__self__"))? {
        Some(owner) => owner.is_instance(classes.bind(py)),
        None => Ok(false),
    }
}

/// Refuses the module to all interpreters of the process but the first one that imports the module.
///
/// The first interpreter makes the classes, once for the process, and the classes must not outlive this interpreter. CPython
/// 3.12 and newer refuse such a module in an interpreter that has its own lock, but not in an interpreter that shares the lock.
/// CPython 3.11 refuses no such module.
///
/// # Errors
///
/// `ImportError` in another interpreter.
pub fn refuse_other_interpreters(py: Python<'_>) -> PyResult<()> {
    static FIRST: OnceLock<i64> = OnceLock::new();
    // SAFETY: this thread is attached to an interpreter, as `py` says. Its state is there for the call.
    let this = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if this < 0 {
        return Err(PyErr::fetch(py));
    }
    if *FIRST.get_or_init(|| this) == this {
        Ok(())
    } else {
        Err(PyImportError::new_err(
            "another interpreter of this process has imported 'vectored': only one can",
        ))
    }
}

/// Whether an object has the buffer protocol.
pub fn is_buffer(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: `object` is an object, and this thread is attached to the interpreter, as its type says.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) == 1 }
}
