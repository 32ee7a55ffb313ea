//! Lists that are written and read without a [`Gather`](crate::gather::Gather): nothing is copied.

use pyo3::prelude::*;
use vectored::{SegmentCursor, files};

use crate::cursor::Cursor;
use crate::transfer::{place, read, write};

/// Write all buffers in order, and return the number of bytes. Nothing is copied.
///
/// With `offset`, write at that place of a file. The file's position is neither used nor moved. Linux appends to a file that
/// is open with "ab" (O_APPEND), whatever the offset is.
///
/// A list takes several system calls if it has more than IOV_MAX buffers, or if a call takes only a part. Other writers
/// may write between two calls. For short buffers, Gather.write_all is faster.
///
/// If a non-blocking descriptor is full, BlockingIOError is raised. Use resume_write if you expect that.
#[pyfunction]
#[pyo3(signature = (fd, buffers, offset = None))]
pub fn write_all(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    offset: Option<i64>,
) -> PyResult<u64> {
    let offset = offset.map(place).transpose()?;
    let start = &mut SegmentCursor::new();
    write(
        fd,
        buffers,
        start,
        Some("resume_write"),
        |fd, list, cursor| match offset {
            None => vectored::resume_write(fd, list, cursor),
            Some(offset) => files::write_all_at(fd, list, offset),
        },
    )
}

/// Write from the cursor to the end of the list, and return the number of bytes of this call. Nothing is copied.
///
/// The cursor moves by exactly the bytes that were written, also if an exception is raised. After BlockingIOError, wait
/// until the descriptor is ready and repeat the call with the same list and cursor. The function returns when all of the
/// list is written.
#[pyfunction]
pub fn resume_write(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    cursor: &Bound<'_, Cursor>,
) -> PyResult<u64> {
    let mut cursor = cursor.get().take_for(buffers)?;
    write(fd, buffers, &mut cursor.at, None, |fd, list, cursor| {
        vectored::resume_write(fd, list, cursor)
    })
}

/// Write all buffers in exactly one system call, and return the number of bytes.
///
/// For messages on datagram sockets, records of up to 4096 bytes on a pipe with several writers, and lines of a log that
/// several programs append to. If one call cannot take the list, OSError (EINVAL) is raised before any byte. If the call
/// was short, OSError (EIO) is raised: the first `done` bytes of the record are written, and stay. Causes are a full disk
/// or the limit of a file's size, a non-blocking stream socket, and a signal during a long write.
#[pyfunction]
pub fn write_once(fd: &Bound<'_, PyAny>, buffers: &Bound<'_, PyAny>) -> PyResult<u64> {
    let start = &mut SegmentCursor::new();
    write(fd, buffers, start, None, |fd, list, _| {
        vectored::write_once(fd, list)
    })
}

/// Read until all buffers are full, and return the number of bytes. Bytes after the list stay in the stream.
///
/// With `offset`, read from that place of a file. The file's position is neither used nor moved.
///
/// If the file or stream ends before the buffers are full, EOFError is raised. The first `done` bytes of the list are read then.
#[pyfunction]
#[pyo3(signature = (fd, buffers, offset = None))]
pub fn read_exact(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    offset: Option<i64>,
) -> PyResult<u64> {
    let offset = offset.map(place).transpose()?;
    let start = &mut SegmentCursor::new();
    read(
        fd,
        buffers,
        start,
        offset,
        Some("resume_read"),
        |fd, list, cursor| match offset {
            None => vectored::resume_read(fd, list, cursor),
            Some(offset) => files::read_exact_at(fd, list, offset),
        },
    )
}

/// Read until all buffers are full or the file ends, and return the number of bytes read.
///
/// If the buffers have more bytes, the file or stream has ended. `offset` is as for read_exact.
#[pyfunction]
#[pyo3(signature = (fd, buffers, offset = None))]
pub fn read_up_to_eof(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    offset: Option<i64>,
) -> PyResult<u64> {
    let offset = offset.map(place).transpose()?;
    let start = &mut SegmentCursor::new();
    read(
        fd,
        buffers,
        start,
        offset,
        Some("resume_read"),
        |fd, list, _| match offset {
            None => vectored::read_up_to_eof(fd, list),
            Some(offset) => files::read_up_to_eof_at(fd, list, offset),
        },
    )
}

/// Read from the cursor on until the buffers are full, and return the number of bytes of this call.
///
/// The cursor moves by exactly the bytes that were read, also if an exception is raised. After BlockingIOError, wait
/// until the descriptor is readable and repeat the call with the same list and cursor.
#[pyfunction]
pub fn resume_read(
    fd: &Bound<'_, PyAny>,
    buffers: &Bound<'_, PyAny>,
    cursor: &Bound<'_, Cursor>,
) -> PyResult<u64> {
    let mut cursor = cursor.get().take_for(buffers)?;
    read(
        fd,
        buffers,
        &mut cursor.at,
        None,
        None,
        |fd, list, cursor| vectored::resume_read(fd, list, cursor),
    )
}
