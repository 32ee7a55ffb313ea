//! The checks around the work of every function: pointers, `errno`, `done` and panics.

use std::io;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::{c_int, size_t, ssize_t};
use vectored::TransferError;

/// The `errno` after a panic, and so after a defect of the library. No system call of a transfer returns this `errno`.
const PANICKED: c_int = libc::ENOTRECOVERABLE;

/// Why a function failed: the bytes that it had moved, and the `errno`.
pub(crate) struct Failure {
    moved: u64,
    code: c_int,
}

impl Failure {
    pub(crate) fn with_code(code: c_int) -> Failure {
        Failure { moved: 0, code }
    }
}

impl From<io::Error> for Failure {
    #[cold]
    fn from(error: io::Error) -> Failure {
        Failure::with_code(code_of(&error))
    }
}

impl From<TransferError> for Failure {
    #[cold]
    fn from(error: TransferError) -> Failure {
        Failure {
            moved: error.transferred(),
            code: code_of(error.io_error()),
        }
    }
}

/// The `errno` of an error of the system, or of an error that the library makes itself.
fn code_of(error: &io::Error) -> c_int {
    error.raw_os_error().unwrap_or(match error.kind() {
        // A list that is not one message, does not fit one call, or ends beyond the last offset of a file.
        io::ErrorKind::InvalidInput => libc::EINVAL,
        io::ErrorKind::UnexpectedEof => libc::ENODATA,
        // A driver that refuses `writev`, while a record must go by one call.
        io::ErrorKind::Unsupported => libc::EOPNOTSUPP,
        io::ErrorKind::OutOfMemory => libc::ENOMEM,
        // A call that took nothing or a part, or reported more bytes than it was given.
        _ => libc::EIO,
    })
}

/// Runs a transfer, and returns the number of moved bytes, or -1 with `errno`. `*done` gets this number in any case, unless
/// `done` is null.
///
/// # Safety
///
/// `done` is null or can be written.
#[inline(always)]
pub(crate) unsafe fn transfer(
    done: *mut size_t,
    run: impl FnOnce() -> Result<u64, Failure>,
) -> ssize_t {
    // SAFETY: the caller's promise.
    let mut done = unsafe { done.as_mut() };
    if let Some(done) = &mut done {
        **done = 0;
    }
    match guarded(run) {
        Ok(moved) => {
            if let Some(done) = done {
                *done = moved as size_t;
            }
            // A list of more bytes than a `ssize_t` counts would take years to move.
            ssize_t::try_from(moved).unwrap_or(ssize_t::MAX)
        }
        Err(failure) => {
            if let Some(done) = done {
                *done = failure.moved as size_t;
            }
            set_errno(failure.code);
            -1
        }
    }
}

/// Runs `run`, and returns 0, or -1 with `errno`.
#[inline(always)]
pub(crate) fn status(run: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match guarded(run) {
        Ok(()) => 0,
        Err(failure) => {
            set_errno(failure.code);
            -1
        }
    }
}

pub(crate) fn value<T>(otherwise: T, run: impl FnOnce() -> Result<T, Failure>) -> T {
    guarded(run).unwrap_or_else(|failure| {
        set_errno(failure.code);
        otherwise
    })
}

/// Catches a panic, which must not unwind into C.
///
/// A panic may leave an object half changed. The object is still valid, since the library changes it in safe Rust.
#[inline(always)]
fn guarded<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        // The payload of a panic may panic when it is dropped.
        std::mem::forget(payload);
        Err(Failure::with_code(PANICKED))
    })
}

/// A descriptor for the time of a call.
///
/// # Errors
///
/// `EBADF` if `fd` is negative. The kernel refuses a number that is not open.
#[inline(always)]
pub(crate) fn descriptor<'f>(fd: c_int) -> Result<BorrowedFd<'f>, Failure> {
    if fd < 0 {
        Err(Failure::with_code(libc::EBADF))
    } else {
        // SAFETY: `fd` is not -1. The number is used in system calls alone, and never closed. If it is not open, or
        // another thread closes it, these calls fail as the functions of C do.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }
}

/// The object that a pointer of C points to.
///
/// # Errors
///
/// `EFAULT` if the pointer is null.
///
/// # Safety
///
/// `pointer` is null, or points to a `T` that nothing else uses for `'a`.
#[inline(always)]
pub(crate) unsafe fn object<'a, T>(pointer: *mut T) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or(Failure {
        moved: 0,
        code: libc::EFAULT,
    })
}

/// The object that a pointer of C points to, for reading only.
///
/// # Safety
///
/// `pointer` is null, or points to a `T` that nothing changes for `'a`.
#[inline(always)]
pub(crate) unsafe fn object_ref<'a, T>(pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Failure {
        moved: 0,
        code: libc::EFAULT,
    })
}

/// A new object on the heap, for C to hold; null with `ENOMEM` if there is no memory.
pub(crate) fn new_object<T>(make: impl FnOnce() -> Result<T, Failure>) -> *mut T {
    const { assert!(size_of::<T>() > 0) };
    value(std::ptr::null_mut(), || {
        let object = make()?;
        let layout = std::alloc::Layout::new::<T>();
        // SAFETY: the size is not 0.
        let memory = unsafe { std::alloc::alloc(layout) }.cast::<T>();
        if memory.is_null() {
            return Err(Failure::with_code(libc::ENOMEM));
        }
        // SAFETY: the memory is new, aligned for a `T` and large enough.
        unsafe { memory.write(object) };
        Ok(memory)
    })
}

/// Frees an object of [`new_object`]. Keeps `errno`, as free(3) does.
///
/// # Safety
///
/// `pointer` is null, or comes from [`new_object`] and is not used again.
pub(crate) unsafe fn free_object<T>(pointer: *mut T) {
    if pointer.is_null() {
        return;
    }
    let before = errno();
    // SAFETY: `new_object` has allocated it as a `Box` does: with the global allocator and the layout of `T`.
    let object = unsafe { Box::from_raw(pointer) };
    let _ = status(|| {
        drop(object);
        Ok(())
    });
    set_errno(before);
}

#[cfg(any(target_os = "linux", target_os = "emscripten", target_os = "redox"))]
use libc::__errno_location as errno_place;

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
use libc::__error as errno_place;

#[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
use libc::__errno as errno_place;

#[cold]
fn set_errno(code: c_int) {
    // SAFETY: the function returns the place of this thread's `errno`.
    unsafe { *errno_place() = code };
}

fn errno() -> c_int {
    // SAFETY: as in `set_errno`.
    unsafe { *errno_place() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed<T>(result: T, failure: &T) -> Option<c_int>
    where
        T: PartialEq,
    {
        (result == *failure).then(errno)
    }

    #[test]
    fn a_panic_is_an_error_and_does_not_unwind() {
        let mut done = 7;
        // SAFETY: `done` is a variable.
        let moved = unsafe { transfer(&mut done, || panic!("a defect, on purpose")) };
        assert_eq!(failed(moved, &-1), Some(libc::ENOTRECOVERABLE));
        assert_eq!(done, 0);
        let result = status(|| panic!("a defect, on purpose"));
        assert_eq!(failed(result, &-1), Some(libc::ENOTRECOVERABLE));
        let object = new_object(|| -> Result<u8, Failure> { panic!("a defect, on purpose") });
        let null = std::ptr::null_mut();
        assert_eq!(failed(object, &null), Some(libc::ENOTRECOVERABLE));
    }

    #[test]
    fn the_bytes_before_an_error_are_counted() {
        let mut done = 7;
        let stop = || Err(TransferError::new(300, io::ErrorKind::WriteZero.into()).into());
        // SAFETY: `done` is a variable.
        let moved = unsafe { transfer(&mut done, stop) };
        assert_eq!(failed(moved, &-1), Some(libc::EIO));
        assert_eq!(done, 300);
    }

    #[test]
    fn a_payload_that_panics_when_it_is_dropped_is_forgotten() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let result = status(|| std::panic::panic_any(Bomb));
        assert_eq!(failed(result, &-1), Some(libc::ENOTRECOVERABLE));
    }

    #[test]
    fn errors_of_the_library_have_a_code_and_those_of_the_system_keep_theirs() {
        let check = |error: io::Error, code| assert_eq!(code_of(&error), code, "{error}");
        check(io::Error::from_raw_os_error(libc::ENOSPC), libc::ENOSPC);
        check(io::ErrorKind::InvalidInput.into(), libc::EINVAL);
        check(io::ErrorKind::UnexpectedEof.into(), libc::ENODATA);
        check(io::ErrorKind::WriteZero.into(), libc::EIO);
        check(io::ErrorKind::Unsupported.into(), libc::EOPNOTSUPP);
    }

    #[test]
    fn freeing_keeps_errno_and_takes_null() {
        set_errno(libc::EAGAIN);
        let object = new_object(|| Ok(String::from("an object")));
        // SAFETY: the object is new and not used again; null is allowed.
        unsafe {
            assert_eq!(&*object, "an object");
            free_object(object);
            free_object::<String>(std::ptr::null_mut());
        }
        assert_eq!(errno(), libc::EAGAIN);
    }
}
