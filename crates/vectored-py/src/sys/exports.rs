//! Buffers that are exported by their objects for the time of a call.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use libc::iovec;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString, PyTuple};
use vectored::bindings::{RawList, RawListMut};

use super::note;

/// What the transfer does with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The transfer reads the bytes.
    Read,
    /// The transfer overwrites the bytes.
    Write,
}

/// The exported buffers of a list, in order. Dropping this value releases the buffers.
///
/// While a buffer is exported, its object neither moves nor frees nor resizes the memory of the buffer. An `Exports` cannot be
/// sent to another thread, nor dropped while Python's lock is released.
pub struct Exports<'py> {
    /// The views of objects that are no `bytes`. Boxed, since an exporter may store the address of a view within the view.
    views: Box<[MaybeUninit<ffi::Py_buffer>]>,
    /// The number of initialized `views`.
    count: usize,
    entries: Vec<iovec>,
    /// The tuple keeps the objects alive, and shows that this thread is attached to the interpreter.
    _buffers: Bound<'py, PyTuple>,
}

impl<'py> Exports<'py> {
    /// Exports the buffers from index `from` on.
    ///
    /// # Errors
    ///
    /// `TypeError` if an object has no buffer, `BufferError` if its buffer is not contiguous, or read-only and to be written.
    /// A note gives the index of the object.
    pub fn new(
        buffers: &Bound<'py, PyTuple>,
        from: usize,
        access: Access,
    ) -> PyResult<Exports<'py>> {
        let mut exports = Exports {
            views: Box::new([]),
            count: 0,
            entries: Vec::with_capacity(buffers.len().saturating_sub(from)),
            _buffers: buffers.clone(),
        };
        for (index, object) in buffers.iter().enumerate().skip(from) {
            match object.cast_exact::<PyBytes>() {
                Ok(bytes) if access == Access::Read => exports.push_bytes(bytes),
                _ => {
                    if exports.views.is_empty() {
                        exports.views = Box::new_uninit_slice(buffers.len() - index);
                    }
                    exports
                        .push(&object, access)
                        .map_err(|error| with_index(&object, error, access, index))?;
                }
            }
        }
        Ok(exports)
    }

    /// A bytes object never changes, so it need not be exported. (An export takes longer than copying a short object.)
    fn push_bytes(&mut self, bytes: &Bound<'py, PyBytes>) {
        let bytes = bytes.as_bytes();
        self.entries.push(iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        });
    }

    fn push(&mut self, object: &Bound<'py, PyAny>, access: Access) -> PyResult<()> {
        let flags = match access {
            Access::Read => ffi::PyBUF_SIMPLE,
            Access::Write => ffi::PyBUF_WRITABLE,
        };
        let view = self.views[self.count].as_mut_ptr();
        // SAFETY: `object` is an object, this thread is attached to the interpreter, and the view can be written.
        let status = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view, flags) };
        if status != 0 {
            let error = PyErr::fetch(object.py());
            return Err(as_buffer_error(object, error, access));
        }
        self.count += 1;
        // SAFETY: the call succeeded, so it has filled the view.
        let view = unsafe { &*view };
        // `len` is never negative. An empty buffer may have a null address, and a list with a null address would be
        // copied.
        self.entries.push(iovec {
            iov_base: if view.buf.is_null() && view.len == 0 {
                NonNull::<u8>::dangling().as_ptr().cast()
            } else {
                view.buf
            },
            iov_len: view.len.unsigned_abs(),
        });
        Ok(())
    }

    /// The number of bytes of the first buffer; 0 without a buffer.
    pub fn first_bytes(&self) -> usize {
        self.entries.first().map_or(0, |entry| entry.iov_len)
    }

    /// The buffers as a list to write.
    pub fn list(&self) -> PyResult<RawList<'_>> {
        // SAFETY: `entries` does not change while it is borrowed. Each entry is the memory of a bytes object, which
        // `_buffers` keeps alive, or of an exported buffer, which its object neither moves nor frees until the view is released.
        // Both end when `self` is dropped. Python code may change the bytes of a buffer meanwhile, as it may during
        // `os.writev`: the library passes them to the kernel or copies them, and takes no decision by their content.
        let list = unsafe { RawList::new(self.entries.as_ptr(), self.entries.len()) };
        Ok(list?)
    }

    /// The buffers as a list for the library's functions that write: nothing else may dereference a segment.
    pub fn slices(&self) -> PyResult<&[IoSlice<'_>]> {
        // SAFETY: `transfer` passes the list on to these functions.
        Ok(unsafe { self.list()?.slices() }?)
    }

    /// The buffers as a list to fill.
    ///
    /// # Errors
    ///
    /// `ValueError` if two buffers overlap.
    pub fn list_mut(&mut self) -> PyResult<RawListMut<'_>> {
        self.refuse_overlaps()?;
        // SAFETY: as in `list`. The buffers were exported as writable, and no two of them overlap. Python code that uses
        // the same memory at the same time sees any mixture of old and new bytes, as during `os.readv`.
        let list = unsafe { RawListMut::new(self.entries.as_ptr(), self.entries.len()) };
        Ok(list?)
    }

    fn refuse_overlaps(&self) -> PyResult<()> {
        let filled = self.entries.iter().filter(|entry| entry.iov_len > 0);
        let mut ranges: Vec<(usize, usize)> = filled
            .map(|entry| (entry.iov_base.addr(), entry.iov_len))
            .collect();
        ranges.sort_unstable();
        let overlaps = ranges
            .windows(2)
            .any(|pair| pair[1].0 - pair[0].0 < pair[0].1);
        if overlaps {
            Err(PyValueError::new_err(
                "two buffers of the list overlap: a read fills each byte once",
            ))
        } else {
            Ok(())
        }
    }
}

/// A list for the library's functions that read: nothing else may dereference a segment.
pub fn slices_mut<'s, 'a>(list: &'s mut RawListMut<'a>) -> &'s mut [IoSliceMut<'a>] {
    // SAFETY: `transfer` passes the list on to these functions.
    unsafe { list.slices() }
}

impl Drop for Exports<'_> {
    fn drop(&mut self) {
        for view in &mut self.views[..self.count] {
            // SAFETY: the first `count` views were filled by `PyObject_GetBuffer`, and are released once. `self._buffers` says that
            // this thread is attached to the interpreter.
            unsafe { ffi::PyBuffer_Release(view.as_mut_ptr()) };
        }
    }
}

/// The error of a buffer that is not contiguous or not writable, as a `BufferError`. Some objects raise a `ValueError`
/// instead: arrays of numpy, and bytes objects that are to be written.
fn as_buffer_error(object: &Bound<'_, PyAny>, error: PyErr, access: Access) -> PyErr {
    let py = object.py();
    if !error.is_instance_of::<PyValueError>(py) {
        return error;
    }
    let wanted = match access {
        Access::Read => "C-contiguous",
        Access::Write => "C-contiguous and writable",
    };
    let message = format!("a buffer must be {wanted}: {}", error.value(py));
    let refused = PyBufferError::new_err(message);
    refused.set_cause(py, Some(error));
    refused
}

/// The error with a note of the object's index in its list, and of what to do.
fn with_index(object: &Bound<'_, PyAny>, error: PyErr, access: Access, index: usize) -> PyErr {
    let py = object.py();
    let is_buffer = error.is_instance_of::<PyBufferError>(py);
    if is_buffer || error.is_instance_of::<PyTypeError>(py) {
        let remedy = match access {
            _ if object.is_instance_of::<PyString>() => ": encode it",
            _ if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() => {
                ": pass its elements, not the list"
            }
            _ if is_buffer && error.to_string().contains("released") => {
                ": make a new view, this one is released"
            }
            Access::Read if object.is_instance_of::<PyInt>() => {
                ": bytes([n]) is one byte, and bytes(n) are n zeros"
            }
            Access::Read if object.is_none() => ": leave it out",
            Access::Read if is_buffer => {
                ": copy it, for example by bytes(view) or numpy.ascontiguousarray(array)"
            }
            Access::Read => "",
            Access::Write => ": read into a bytearray or another writable buffer",
        };
        note(
            py,
            &error,
            &format!("at index {index} of the list of buffers{remedy}"),
        );
    }
    error
}
