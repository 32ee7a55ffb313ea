//! The position in a list of buffers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyMemoryView, PySlice};
use vectored::SegmentCursor;

use crate::transfer::{move_by, with_list};

/// A position in a list of buffers: the index of a buffer, and how many of its bytes have been moved.
///
/// A cursor is the whole state of a transfer that a non-blocking descriptor has interrupted. Pass the same buffers each
/// time. Buffers may be added at the end. A call that uses the cursor while another call uses it raises RuntimeError.
///
/// The attributes cannot be set, and the module `copy` refuses a cursor: `Cursor(c.segment, c.offset)` is a copy of `c`.
#[pyclass(frozen, module = "vectored")]
pub struct Cursor(Mutex<State>);

struct State {
    at: SegmentCursor,
    is_in_use: bool,
}

/// The position of a cursor that a call uses. The position goes back into the cursor when this value is dropped.
pub struct InUse<'c> {
    cursor: &'c Cursor,
    pub at: SegmentCursor,
}

impl Cursor {
    /// Takes the position for a call that moves it.
    ///
    /// # Errors
    ///
    /// `RuntimeError` if another call uses the cursor: both calls would move the same bytes.
    pub fn take(&self) -> PyResult<InUse<'_>> {
        let mut state = self.state();
        if state.is_in_use {
            return Err(PyRuntimeError::new_err(
                "the cursor is in use by another call, in another thread or before a signal handler",
            ));
        }
        state.is_in_use = true;
        Ok(InUse {
            cursor: self,
            at: state.at,
        })
    }

    /// Takes the position for a call that goes on with these buffers.
    ///
    /// # Errors
    ///
    /// The errors of [`take`](Cursor::take), and `TypeError` for an iterator: the first call would exhaust it.
    pub fn take_for(&self, buffers: &Bound<'_, PyAny>) -> PyResult<InUse<'_>> {
        if buffers.cast::<PyIterator>().is_ok() {
            let message = "buffers must be a list, not an iterator: the first call would use it up";
            return Err(PyTypeError::new_err(message));
        }
        self.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut state = self.cursor.state();
        state.at = self.at;
        state.is_in_use = false;
    }
}

#[pymethods]
impl Cursor {
    #[new]
    #[pyo3(signature = (segment = 0, offset = 0))]
    fn new(segment: usize, offset: usize) -> Cursor {
        Cursor(Mutex::new(State {
            at: SegmentCursor::at(segment, offset),
            is_in_use: false,
        }))
    }

    /// The index of the buffer with the next byte; at the end of the list, the number of buffers.
    #[getter]
    fn segment(&self) -> usize {
        self.state().at.segment()
    }

    /// The number of moved bytes of the buffer `segment`.
    #[getter]
    fn offset(&self) -> usize {
        self.state().at.offset()
    }

    /// Move forward by `count` bytes, for example by `done` of an exception. ValueError if fewer are left.
    fn advance(&self, buffers: &Bound<'_, PyAny>, count: u64) -> PyResult<()> {
        let mut cursor = self.take()?;
        let at = with_list(buffers, cursor.at, |list, mut at| {
            let left = list.remaining_bytes(at);
            if count > left {
                let message = format!("cannot advance by {count} bytes: only {left} remain");
                return Err(PyValueError::new_err(message));
            }
            // Each step fits a `usize`. A list that has a buffer many times may have more bytes than a `usize` counts.
            let mut count = count;
            while count > 0 {
                let step = usize::try_from(count).unwrap_or(usize::MAX);
                list.advance(&mut at, step);
                count -= step as u64;
            }
            Ok(at)
        })?;
        move_by(&mut cursor.at, at);
        Ok(())
    }

    /// The bytes from here to the end of the list.
    fn remaining_bytes(&self, buffers: &Bound<'_, PyAny>) -> PyResult<u64> {
        let at = self.state().at;
        with_list(buffers, at, |list, at| Ok(list.remaining_bytes(at)))
    }

    /// For `GatherWriter`: removes the bytes before the cursor from the first `count` objects of a list, and moves the
    /// cursor to the start. Returns false if the cursor is at the start already. After `MemoryError`, nothing has
    /// changed.
    #[pyo3(name = "_forget")]
    fn forget(&self, pieces: &Bound<'_, PyList>, count: usize) -> PyResult<bool> {
        let mut cursor = self.take()?;
        if cursor.at == SegmentCursor::new() {
            return Ok(false);
        }
        let py = pieces.py();
        let (segment, offset) = (cursor.at.segment(), cursor.at.offset());
        if segment < count && offset > 0 {
            let view = PyMemoryView::from(&pieces.get_item(segment)?)?;
            let rest = view.get_item(PySlice::new(py, offset as isize, isize::MAX, 1))?;
            pieces.set_slice(0, segment + 1, PyList::new(py, [rest])?.as_any())?;
        } else if segment > 0 {
            pieces.set_slice(0, segment.min(count), PyList::empty(py).as_any())?;
        }
        cursor.at = SegmentCursor::new();
        Ok(true)
    }

    fn __eq__(&self, other: &Cursor) -> bool {
        let at = self.state().at;
        at == other.state().at
    }

    fn __repr__(&self) -> String {
        let at = self.state().at;
        format!("Cursor(segment={}, offset={})", at.segment(), at.offset())
    }
}
