//! Lists that are written and read without a [`Gather`](crate::gather::Gather): nothing is copied.

use pyo3::prelude::*;
use vectored::SegmentCursor;

use crate::cursor::Cursor;
use crate::transfer::{place, read, write};

#[pyfunction]
#[pyo3(signature = (fd, buffers, *, offset = None))]
pub fn write_all(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    offset: Option<i64>,
) -> PyResult<u64> {
    let offset = offset.map(place).transpose()?;
    let start = &mut SegmentCursor::new();
    write(fd, buffers, start, |fd, segments, cursor| match offset {
        None => vectored::write_from(fd, segments, cursor),
        Some(offset) => vectored::write_all_vectored_at(fd, segments, offset),
    })
}

#[pyfunction]
pub fn write_from(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    cursor: &Bound<'_, Cursor>,
) -> PyResult<u64> {
    let mut cursor = cursor.get().take()?;
    write(fd, buffers, &mut cursor.at, |fd, segments, cursor| {
        vectored::write_from(fd, segments, cursor)
    })
}

#[pyfunction]
pub fn write_once(fd: &Bound<'_, PyAny>, buffers: &Bound<'_, PyAny>) -> PyResult<u64> {
    let start = &mut SegmentCursor::new();
    write(fd, buffers, start, |fd, segments, _| {
        vectored::write_once(fd, segments)
    })
}

#[pyfunction]
#[pyo3(signature = (fd, buffers, *, offset = None))]
pub fn read_exact(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    offset: Option<i64>,
) -> PyResult<u64> {
    let offset = offset.map(place).transpose()?;
    let start = &mut SegmentCursor::new();
    read(fd, buffers, start, |fd, segments, cursor| match offset {
        None => vectored::read_into(fd, segments, cursor),
        Some(offset) => vectored::read_exact_vectored_at(fd, segments, offset),
    })
}

#[pyfunction]
#[pyo3(signature = (fd, buffers, *, offset = None))]
pub fn read_up_to_eof(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    offset: Option<i64>,
) -> PyResult<u64> {
    let offset = offset.map(place).transpose()?;
    let start = &mut SegmentCursor::new();
    read(fd, buffers, start, |fd, segments, _| match offset {
        None => vectored::read_up_to_eof_vectored(fd, segments),
        Some(offset) => vectored::read_up_to_eof_vectored_at(fd, segments, offset),
    })
}

#[pyfunction]
pub fn read_into(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    cursor: &Bound<'_, Cursor>,
) -> PyResult<u64> {
    let mut cursor = cursor.get().take()?;
    read(fd, buffers, &mut cursor.at, |fd, segments, cursor| {
        vectored::read_into(fd, segments, cursor)
    })
}
