//! Lists whose short segments are copied together.

use libc::{c_int, iovec, size_t, ssize_t};
use vectored::Gather;

use crate::cost_model::vectored_cost_model;
use crate::cursor::vectored_cursor;
use crate::entry::{free_object, new_object, object, object_ref};
use crate::list::{place, resumed, write};

/// Writes lists with short segments faster than writev(2): the handle copies runs of short segments into its buffer, and
/// references long segments, in the same system call.
///
/// Make a handle with `vectored_gather_new` or `vectored_gather_with_model`, and use it for all lists of a thread, to any
/// descriptors. Free it with `vectored_gather_free`. The first list that is copied allocates the buffer of 256 KiB, and
/// further lists allocate nothing. When a function returns, no byte of the list waits in the buffer.
///
/// Copied bytes are not wiped from the buffer, neither after a call nor when the buffer is freed.
pub struct vectored_gather(Gather);

/// Returns a new gather handle, or NULL with errno ENOMEM. Free it with `vectored_gather_free`.
#[unsafe(no_mangle)]
pub extern "C" fn vectored_gather_new() -> *mut vectored_gather {
    new_object(|| Ok(vectored_gather(Gather::default())))
}

/// Returns a new gather handle with a cost model that decides which segments are copied. Pass the model for the kind of
/// descriptor that is written to. The function copies the model, so you may free the model.
///
/// Errors (NULL and errno): EFAULT if `model` is NULL, ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_gather_with_model(
    model: *const vectored_cost_model,
) -> *mut vectored_gather {
    new_object(|| {
        // SAFETY: the caller promises that it is null or a model.
        let model = unsafe { object_ref(model) }?.0;
        Ok(vectored_gather(Gather::with_model(model)))
    })
}

/// Frees a gather handle. NULL is allowed. errno is kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_gather_free(gather: *mut vectored_gather) {
    // SAFETY: the caller promises that it is null or a handle that is not used again.
    unsafe { free_object(gather) };
}

/// Writes all segments in order, and returns the number of their bytes.
///
/// Writes like `vectored_write_all`, but copies short segments, as by memcpy(3). If this process cannot read the memory
/// of a short segment, for example because its `iov_base` is NULL, the process gets the signal SIGSEGV instead of the
/// error EFAULT.
///
/// Errors: as `vectored_write_all`; EFAULT if `gather` is NULL. After an error the handle can be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_gather_write_all(
    gather: *mut vectored_gather,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle and the list, and that `done` is null or can be written.
    unsafe {
        write(done, fd, iov, iovcnt, |fd, list| {
            let gather = object(gather)?;
            Ok(list.gather_all(&mut gather.0, fd)?)
        })
    }
}

/// Writes from `cursor` to the end of the list, and returns the number of bytes of this call.
///
/// Writes like `vectored_resume_write`, but copies short segments. Copied bytes are not kept. If the transfer stops,
/// `cursor` is at the rest of your list. Any gather handle, or `vectored_resume_write`, may continue from there.
///
/// Errors: as `vectored_resume_write`; EFAULT if `gather` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_gather_resume_write(
    gather: *mut vectored_gather,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    cursor: *mut vectored_cursor,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle, the list and the cursor, and that `done` is null or can be written.
    unsafe {
        write(done, fd, iov, iovcnt, |fd, list| {
            let gather = object(gather)?;
            resumed(object(cursor)?, list, |at| {
                Ok(gather.0.resume_write(fd, list.slices()?, at)?)
            })
        })
    }
}

/// Writes all segments in order into a file at `offset`, and returns the number of their bytes.
///
/// Writes like `vectored_pwrite_all`, but copies short segments.
///
/// Errors: as `vectored_pwrite_all`; EFAULT if `gather` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_gather_pwrite_all(
    gather: *mut vectored_gather,
    fd: c_int,
    iov: *const iovec,
    iovcnt: size_t,
    offset: i64,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the handle and the list, and that `done` is null or can be written.
    unsafe {
        write(done, fd, iov, iovcnt, |fd, list| {
            let gather = object(gather)?;
            Ok(gather.0.write_all_at(fd, list.slices()?, place(offset)?)?)
        })
    }
}
