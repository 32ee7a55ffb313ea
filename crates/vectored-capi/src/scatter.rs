//! Lists whose short segments are read through a buffer.

use libc::{c_int, iovec, size_t, ssize_t};
use vectored::Scatter;

use crate::cost_model::vectored_cost_model;
use crate::cursor::{keep, position, vectored_cursor};
use crate::entry::{free_object, new_object, object, object_ref};
use crate::list::{place, read};

/// Reads lists with short segments faster than readv(2): the handle reads runs of short segments into its buffer, and
/// copies the bytes to the segments.
///
/// Keep the handle for all lists of a thread, and free it with `vectored_scatter_free`. When a function returns, all
/// bytes that were read are in your segments.
pub struct vectored_scatter(Scatter);

/// Returns a new scatter handle, or NULL with errno ENOMEM. Free it with `vectored_scatter_free`.
#[unsafe(no_mangle)]
pub extern "C" fn vectored_scatter_new() -> *mut vectored_scatter {
    new_object(|| Ok(vectored_scatter(Scatter::default())))
}

/// Returns a new scatter handle with a copy of a cost model.
///
/// Errors (NULL and errno): EFAULT if `model` is NULL, ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_scatter_with_model(
    model: *const vectored_cost_model,
) -> *mut vectored_scatter {
    new_object(|| {
        // SAFETY: the caller promises that it is null or a model.
        let model = unsafe { object_ref(model) }?.0;
        Ok(vectored_scatter(Scatter::with_model(model)))
    })
}

/// Frees a scatter handle. NULL is allowed. errno is kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_scatter_free(scatter: *mut vectored_scatter) {
    // SAFETY: the caller promises that it is null or a handle that is not used again.
    unsafe { free_object(scatter) };
}

/// Reads into all segments in order until they are full, and returns the number of their bytes.
///
/// Errors: as `vectored_read_exact`; EFAULT if `scatter` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_scatter_read_exact(
    scatter: *mut vectored_scatter,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle and the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            let scatter = object(scatter)?;
            Ok(scatter.0.read_exact(fd, list.slices())?)
        })
    }
}

/// Reads from `cursor` on until the segments are full, and returns the number of bytes of this call. `cursor` moves as with
/// `vectored_resume_read`.
///
/// Errors: as `vectored_resume_read`; EFAULT if `scatter` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_scatter_resume_read(
    scatter: *mut vectored_scatter,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    cursor: *mut vectored_cursor,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle, the list and the cursor, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            let scatter = object(scatter)?;
            let cursor = object(cursor)?;
            let mut at = position(cursor, |at| list.contains(at))?;
            let read = scatter.0.resume_read(fd, list.slices(), &mut at);
            keep(cursor, at);
            Ok(read?)
        })
    }
}

/// Reads into the segments in order until they are full or the file ends, and returns the number of bytes read, like
/// `vectored_read_up_to_eof`.
///
/// Errors: as `vectored_read_up_to_eof`; EFAULT if `scatter` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_scatter_read_up_to_eof(
    scatter: *mut vectored_scatter,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle and the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            let scatter = object(scatter)?;
            Ok(scatter.0.read_up_to_eof(fd, list.slices())?)
        })
    }
}

/// Reads into all segments in order from `offset` of a file on, and returns the number of their bytes, like `vectored_pread_exact`.
///
/// Errors: as `vectored_pread_exact`; EFAULT if `scatter` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_scatter_pread_exact(
    scatter: *mut vectored_scatter,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    offset: i64,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle and the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            let scatter = object(scatter)?;
            Ok(scatter.0.read_exact_at(fd, list.slices(), place(offset)?)?)
        })
    }
}

/// Reads like `vectored_scatter_pread_exact` until the segments are full or the file ends. Returns the number of bytes
/// read, like `vectored_pread_up_to_eof`.
///
/// Errors: as `vectored_pread_up_to_eof`; EFAULT if `scatter` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_scatter_pread_up_to_eof(
    scatter: *mut vectored_scatter,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    offset: i64,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle and the list, and that `done` is null or can be written.
    unsafe {
        read(done, fd, iov, iovcnt, |fd, list| {
            let scatter = object(scatter)?;
            Ok(scatter
                .0
                .read_up_to_eof_at(fd, list.slices(), place(offset)?)?)
        })
    }
}
