//! The queue of segments.

use std::ffi::c_void;

use libc::{c_int, iovec, size_t, ssize_t};
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;
use vectored::queue::Segment;

use crate::cost_model::target_kind;
use crate::entry::{
    Failure, descriptor, free_object, new_object, object, object_ref, status, transfer, value,
};

/// A queue of bytes that a connection or a log owns. A program puts messages in, and one system call then writes many.
///
/// The queue owns its bytes and its position. Whether a call succeeds or fails, exactly the bytes that were written are
/// removed from the queue. After EAGAIN, wait until the descriptor is ready, and write again.
///
/// Make a queue with `vectored_queue_new` or `vectored_queue_for_target`, and free it with `vectored_queue_free`.
pub struct vectored_queue(SegmentQueue);

/// A function that a queue calls once for each segment of `vectored_queue_push`, with the `context` that was passed with
/// the segment.
///
/// The function must not call a function of the same queue, and must not leave by longjmp, pthread_exit or a C++ exception.
pub type vectored_release = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Returns a new, empty queue, or NULL with errno ENOMEM. The queue is full at 1 MiB.
#[unsafe(no_mangle)]
pub extern "C" fn vectored_queue_new() -> *mut vectored_queue {
    new_object(|| Ok(vectored_queue(SegmentQueue::new())))
}

/// Returns a new, empty queue for a kind of descriptor, one of `enum vectored_target`. The most bytes of a call depend on
/// the kind. The queue is full when it holds `limit` bytes. A `limit` of 0 means 2 MiB for files and 1 MiB for other kinds.
///
/// Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, ENOMEM.
#[unsafe(no_mangle)]
pub extern "C" fn vectored_queue_for_target(target: c_int, limit: size_t) -> *mut vectored_queue {
    new_object(|| {
        let kind = target_kind(target)?;
        let mut policy = QueuePolicy::for_target(kind);
        if limit > 0 {
            policy.limit_bytes = limit;
        }
        Ok(vectored_queue(SegmentQueue::with_policy(policy)))
    })
}

/// Releases the segments that are left, and frees the queue. Bytes that were not written are lost. NULL is allowed. errno
/// is kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_free(queue: *mut vectored_queue) {
    // SAFETY: the caller promises that it is null or a queue that is not used again.
    unsafe { free_object(queue) };
}

/// Appends a copy of `bytes` bytes at `data`. The bytes must not be memory of the queue. Returns 0. A full queue also
/// takes the bytes: ask `vectored_queue_is_full` first.
///
/// Errors (-1 and errno): EFAULT if `queue` is NULL, or if `data` is NULL and `bytes` is not 0; EINVAL if `bytes` is more
/// than SSIZE_MAX; ENOMEM. The queue is unchanged then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_put(
    queue: *mut vectored_queue,
    data: *const c_void,
    bytes: size_t,
) -> c_int {
    // SAFETY: the caller promises the queue and the bytes.
    status(|| unsafe {
        let queue = object(queue)?;
        let bytes = slice(data, bytes)?;
        reserve(queue, bytes.len())?;
        queue.0.put_slice(bytes);
        Ok(())
    })
}

/// Appends `bytes` bytes at `data`. Up to 3 KiB are copied; more bytes are not copied. Returns 0.
///
/// Do not change or free the memory at `data` before the queue calls `release(context)`. The queue calls `release` once:
/// when the bytes are written, when they are removed by `vectored_queue_advance`, `vectored_queue_clear` or
/// `vectored_queue_free`, or, if they were copied, before this function returns. `release` runs in the thread that called
/// the queue's function. `release` may be NULL for memory that lives as long as the queue.
///
/// Errors (-1 and errno): as `vectored_queue_put`. Nothing was appended and `release` is not called then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_push(
    queue: *mut vectored_queue,
    data: *const c_void,
    bytes: size_t,
    release: vectored_release,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller promises the queue and the bytes, which stay until they are released.
    status(|| unsafe {
        let queue = object(queue)?;
        let bytes = slice(data, bytes)?;
        let is_copied = bytes.len() <= queue.0.policy().copy_below_bytes;
        // Memory is reserved before there is an `Owner`: a dropped `Owner` releases the bytes.
        reserve(queue, if is_copied { bytes.len() } else { 0 })?;
        let owner = Owner {
            bytes,
            release,
            context,
        };
        if is_copied {
            queue.0.put_slice(bytes);
            drop(owner);
        } else {
            queue.0.push(Segment::from_owner(owner));
        }
        Ok(())
    })
}

/// Marks the end of a record, after its last byte was put or pushed: for a log with several writers (O_APPEND). A system
/// call takes as many whole records as it can, and also the bytes after the last mark: mark a record before you write the
/// queue. So a call ends within a record only if the kernel ends the call there, or if the record is too long for one call.
///
/// Returns 0, or -1 with errno EFAULT if `queue` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_end_record(queue: *mut vectored_queue) -> c_int {
    status(|| {
        // SAFETY: the caller promises the queue.
        let queue = unsafe { object(queue) }?;
        queue.0.end_record();
        Ok(())
    })
}

/// Writes what one system call takes, and returns the number of bytes. 0 means that the queue is empty. For an event
/// loop: call the function when the descriptor is ready.
///
/// Errors (-1 and errno; no byte was written): as `vectored_write_all`; EFAULT if `queue` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_write_some(
    queue: *mut vectored_queue,
    fd: c_int,
) -> ssize_t {
    // SAFETY: `done` is null, and the caller promises the queue.
    unsafe {
        transfer(std::ptr::null_mut(), || {
            let queue = object(queue)?;
            let fd = descriptor(fd)?;
            Ok(queue.0.write_some(fd)? as u64)
        })
    }
}

/// Writes all bytes, and returns their number. On success the queue is empty. After an error the queue holds the bytes
/// that were not written.
///
/// Errors (-1 and errno, with the bytes that this call wrote in `*done`): as `vectored_write_all`; EFAULT if `queue` is
/// NULL. EINVAL on a file with O_DIRECT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_write_all(
    queue: *mut vectored_queue,
    fd: c_int,
    done: *mut size_t,
) -> ssize_t {
    // SAFETY: the caller promises the queue, and that `done` is null or can be written.
    unsafe {
        transfer(done, || {
            let queue = object(queue)?;
            let fd = descriptor(fd)?;
            Ok(queue.0.write_to(fd)?)
        })
    }
}

/// Returns the number of bytes to be written; 0 if `queue` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_len(queue: *const vectored_queue) -> size_t {
    // SAFETY: the caller promises that it is null or a queue.
    unsafe { queue.as_ref() }.map_or(0, |queue| queue.0.len())
}

/// Returns 1 if the queue holds at least as many bytes as its limit. Otherwise, and if `queue` is NULL, returns 0. Write
/// a full queue before you put more in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_is_full(queue: *const vectored_queue) -> c_int {
    // SAFETY: the caller promises that it is null or a queue.
    unsafe { queue.as_ref() }
        .is_some_and(|queue| queue.0.is_full())
        .into()
}

/// Stores the next segments to be written in `iov`, at most `iovcnt`, and returns their number: for calls of your own,
/// such as SSL_write or sendmsg(2). After such a call, remove the written bytes with `vectored_queue_advance`.
///
/// The segments belong to the queue, and are valid until the queue is changed.
///
/// Error (0 and errno): EFAULT if `queue` is NULL, or if `iov` is NULL and `iovcnt` is not 0, and no other. With valid pointers,
/// 0 says that the queue is empty or `iovcnt` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_segments(
    queue: *const vectored_queue,
    iov: *mut iovec,
    iovcnt: size_t,
) -> size_t {
    value(0, || {
        // SAFETY: the caller promises that it is null or a queue.
        let queue = unsafe { object_ref(queue) }?;
        if iov.is_null() && iovcnt > 0 {
            return Err(Failure::with_code(libc::EFAULT));
        }
        let mut count = 0;
        for segment in queue.0.segments().take(iovcnt) {
            let entry = iovec {
                iov_base: segment.as_ptr().cast_mut().cast(),
                iov_len: segment.len(),
            };
            // SAFETY: the caller promises that `iovcnt` entries can be written, and `count` is less.
            unsafe { iov.add(count).write(entry) };
            count += 1;
        }
        Ok(count)
    })
}

/// Removes the first `bytes` bytes, which were written by other means, and releases their segments. Returns 0.
///
/// Errors (-1 and errno): EFAULT if `queue` is NULL; EINVAL if the queue holds fewer bytes. Nothing is removed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_advance(
    queue: *mut vectored_queue,
    bytes: size_t,
) -> c_int {
    status(|| {
        // SAFETY: the caller promises the queue.
        let queue = unsafe { object(queue) }?;
        if bytes > queue.0.len() {
            return Err(Failure::with_code(libc::EINVAL));
        }
        queue.0.advance(bytes);
        Ok(())
    })
}

/// Removes all bytes, and releases their segments. If a message was written in part, its rest is lost. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vectored_queue_clear(queue: *mut vectored_queue) {
    // SAFETY: the caller promises that it is null or a queue.
    if let Some(queue) = unsafe { queue.as_mut() } {
        status(|| {
            queue.0.clear();
            Ok(())
        });
    }
}

/// Memory for `bytes` more copied bytes and one more segment.
///
/// # Errors
///
/// `ENOMEM`.
fn reserve(queue: &mut vectored_queue, bytes: usize) -> Result<(), Failure> {
    let reserved = queue.0.try_reserve(bytes);
    reserved.map_err(|_| Failure::with_code(libc::ENOMEM))
}

/// Memory of C. Dropping the owner releases the memory.
struct Owner {
    bytes: &'static [u8],
    release: vectored_release,
    context: *mut c_void,
}

// SAFETY: the header says that a queue may be used by any thread, one at a time, and that `release` is called there.
unsafe impl Send for Owner {}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the caller gave a function that may be called once with this context, as the header asks. The bytes are
            // not used again.
            unsafe { release(self.context) };
        }
    }
}

/// Memory of C as a slice.
///
/// # Errors
///
/// `EFAULT` if `data` is null and `bytes` is not 0, `EINVAL` if `bytes` is more than `isize::MAX`.
///
/// # Safety
///
/// `bytes` bytes at `data` can be read, and do not change, for `'a`.
unsafe fn slice<'a>(data: *const c_void, bytes: size_t) -> Result<&'a [u8], Failure> {
    match (data.is_null(), bytes) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::with_code(libc::EFAULT)),
        (false, bytes) if bytes > isize::MAX as usize => Err(Failure::with_code(libc::EINVAL)),
        // SAFETY: the caller's promise; the pointer is not null and the length is the length of an object.
        (false, bytes) => Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes) }),
    }
}
