//! Runs a transfer of Python's buffers: exported, and without Python's lock.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{BorrowedFd, RawFd};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};
use vectored::bindings::{RawList, interruptible};
use vectored::{SegmentCursor, TransferError};

use crate::failure::raised;
use crate::signals::should_stop;
use crate::sys::{
    Access, Exports, borrowed, descriptor, is_buffer, position, reads_ahead, slices_mut,
};

/// Writes from a position in a list of buffers on, by `call`. The position moves with the bytes that were written. `rest` is
/// the function that goes on after `BlockingIOError`; None if `call` can be repeated.
pub fn write<'py>(
    file: &Bound<'py, PyAny>,
    buffers: &Bound<'py, PyAny>,
    cursor: &mut SegmentCursor,
    rest: Option<&str>,
    call: impl Send
    + FnOnce(BorrowedFd<'_>, &[IoSlice<'_>], &mut SegmentCursor) -> Result<u64, TransferError>,
) -> PyResult<u64> {
    let fd = descriptor(file)?;
    flush(file)?;
    let exports = exported(buffers, *cursor, Access::Read)?;
    let list = exports.slices()?;
    let mut at = within(*cursor, &exports)?;
    let result = without_lock(file, rest, || call(borrowed(fd), list, &mut at));
    move_by(cursor, at);
    result
}

/// Flushes a file object, so that its buffered bytes come first.
fn flush(file: &Bound<'_, PyAny>) -> PyResult<()> {
    if file.is_exact_instance_of::<PyInt>() {
        return Ok(());
    }
    if let Some(flush) = file.getattr_opt(intern!(file.py(), "flush"))? {
        flush.call0()?;
    }
    Ok(())
}

/// Refuses a file object whose position is before the position of its descriptor. A pipe or a socket has no position, so
/// it is unknown what its object has read ahead.
fn refuse_read_ahead(file: &Bound<'_, PyAny>, fd: RawFd) -> PyResult<()> {
    let py = file.py();
    if file.is_exact_instance_of::<PyInt>() {
        return Ok(());
    }
    let reads_ahead = reads_ahead(file)?;
    // Flushing moves the descriptor of a file that is also written back to the position of the file. Flushing a text file would
    // forget that `next` has read ahead.
    if !reads_ahead || !file.hasattr(intern!(py, "buffer"))? {
        flush(file)?;
    }
    if !reads_ahead || position(fd).is_none() {
        return Ok(());
    }
    let told = match file.call_method0(intern!(py, "tell")) {
        // In some states, the position of a file of text is no number of bytes.
        Ok(told) => told.extract().ok(),
        // The error of `tell` after `next`.
        Err(error)
            if error
                .value(py)
                .getattr(intern!(py, "errno"))
                .is_ok_and(|number| number.is_none()) =>
        {
            None
        }
        Err(error) => return Err(error),
    };
    // `tell` of a text file writes the buffered bytes, and so moves the descriptor.
    if told == position(fd) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "an object of the type '{}' has read ahead: open it with buffering=0, or read_exact and read_up_to_eof take \
         offset=file.tell()",
        file.get_type().name()?
    )))
}

/// Reads into a list of buffers from a position on, by `call`. The position moves with the bytes that were read. `offset` is
/// the place in the file; None if it is the file's own position. `rest` as for [`write()`].
pub fn read<'py>(
    file: &Bound<'py, PyAny>,
    buffers: &Bound<'py, PyAny>,
    cursor: &mut SegmentCursor,
    offset: Option<u64>,
    rest: Option<&str>,
    call: impl Send
    + FnOnce(
        BorrowedFd<'_>,
        &mut [IoSliceMut<'_>],
        &mut SegmentCursor,
    ) -> Result<u64, TransferError>,
) -> PyResult<u64> {
    let fd = descriptor(file)?;
    match offset {
        None => refuse_read_ahead(file, fd)?,
        Some(_) => flush(file)?,
    }
    let mut exports = exported(buffers, *cursor, Access::Write)?;
    let mut at = within(*cursor, &exports)?;
    let mut list = exports.list_mut()?;
    let list = slices_mut(&mut list);
    let result = without_lock(file, rest, || call(borrowed(fd), list, &mut at));
    move_by(cursor, at);
    result
}

/// Runs `run` with a list of buffers from a position on.
pub fn with_list<'py, T>(
    buffers: &Bound<'py, PyAny>,
    cursor: SegmentCursor,
    run: impl FnOnce(RawList<'_>, SegmentCursor) -> PyResult<T>,
) -> PyResult<T> {
    let exports = exported(buffers, cursor, Access::Read)?;
    run(exports.list()?, within(cursor, &exports)?)
}

/// Moves a cursor of a whole list to `at`, a position in the part of the list that begins at the cursor's segment.
pub fn move_by(cursor: &mut SegmentCursor, at: SegmentCursor) {
    *cursor = SegmentCursor::at(cursor.segment() + at.segment(), at.offset());
}

/// An offset in a file.
///
/// # Errors
///
/// `ValueError` if the offset is negative.
pub fn place(offset: i64) -> PyResult<u64> {
    u64::try_from(offset)
        .map_err(|_| PyValueError::new_err(format!("offset must be 0 or more, not {offset}")))
}

fn exported<'py>(
    buffers: &Bound<'py, PyAny>,
    cursor: SegmentCursor,
    access: Access,
) -> PyResult<Exports<'py>> {
    let list = listed(buffers, access)?;
    if cursor.segment() > list.len() {
        return Err(outside(cursor, &format!("{} buffers", list.len())));
    }
    Exports::new(&list, cursor.segment(), access)
}

/// The objects of an iterable, as a tuple, which no code can change.
fn listed<'py>(buffers: &Bound<'py, PyAny>, access: Access) -> PyResult<Bound<'py, PyTuple>> {
    if let Ok(list) = buffers.cast::<PyList>() {
        return Ok(list.to_tuple());
    }
    let remedy = if buffers.is_instance_of::<PyString>() {
        Some("encode it, and put it in a list")
    } else {
        is_buffer(buffers).then_some("put it in a list")
    };
    if let Some(remedy) = remedy {
        return Err(PyTypeError::new_err(format!(
            "buffers must be a list of bytes-like objects, not one object of the type '{}': {remedy}",
            buffers.get_type().name()?
        )));
    }
    // A new name would stay in the interpreter's cache of attributes.
    let has = |name| buffers.hasattr(name);
    let py = buffers.py();
    if !has(intern!(py, "__iter__"))? && !has(intern!(py, "__getitem__"))? {
        let remedy = match buffers.extract::<usize>() {
            Ok(bytes) if access == Access::Write => {
                format!(": to read {bytes} bytes, pass [bytearray({bytes})]")
            }
            _ => String::new(),
        };
        return Err(PyTypeError::new_err(format!(
            "buffers must be a list of bytes-like objects, not '{}'{remedy}",
            buffers.get_type().name()?
        )));
    }
    let tuple = buffers.py().get_type::<PyTuple>().call1((buffers,))?;
    Ok(tuple.cast_into::<PyTuple>()?)
}

/// The position of a cursor in buffers that begin at the segment of the cursor.
fn within(cursor: SegmentCursor, exports: &Exports<'_>) -> PyResult<SegmentCursor> {
    let bytes = exports.first_bytes();
    if cursor.offset() <= bytes {
        Ok(SegmentCursor::at(0, cursor.offset()))
    } else {
        Err(outside(cursor, &format!("a buffer of {bytes} bytes there")))
    }
}

fn outside(cursor: SegmentCursor, list: &str) -> PyErr {
    PyValueError::new_err(format!(
        "the cursor (segment {}, offset {}) is outside of the list, which has {list}",
        cursor.segment(),
        cursor.offset()
    ))
}

/// Runs a transfer while other threads of Python run, and stops it if a signal handler raises an exception.
fn without_lock(
    file: &Bound<'_, PyAny>,
    rest: Option<&str>,
    transfer: impl Send + FnOnce() -> Result<u64, TransferError>,
) -> PyResult<u64> {
    file.py()
        .detach(|| interruptible(should_stop, transfer))
        .map_err(|error| raised(file, error, rest))
}
