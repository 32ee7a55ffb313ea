//! Loads shared libraries at run time, so that the program builds and runs without them.
//!
//! # Safety
//!
//! `unsafe` for `dlopen` and `dlsym`, and for the cast of a symbol's address to the function type that its
//! header declares.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// A loaded library. It stays loaded until the process ends, so the addresses in it stay valid.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    handle: NonNull<c_void>,
    name: &'static CStr,
}

impl Library {
    /// Loads a library by its file name, which includes the ABI version.
    ///
    /// # Errors
    ///
    /// The message of the dynamic linker.
    pub fn load(name: &'static CStr) -> Result<Self, String> {
        // SAFETY: the name is a C string. The initialisers of the libraries that this crate loads may run
        // at any time.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        match NonNull::new(handle) {
            Some(handle) => Ok(Library { handle, name }),
            None => Err(last_error()),
        }
    }

    /// The address of a function, as a function pointer.
    ///
    /// # Errors
    ///
    /// If the library has no such function.
    ///
    /// # Safety
    ///
    /// `F` is the function pointer type of the C function of this name.
    ///
    /// # Panics
    ///
    /// If `F` does not have the size of a pointer.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        // SAFETY: the handle is open, and the name is a C string.
        let address = unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) };
        if address.is_null() {
            return Err(format!("{:?} has no function {name:?}", self.name));
        }
        // SAFETY: not null, of the same size, and by the contract above a pointer to a function of this type.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
    }
}

fn last_error() -> String {
    // SAFETY: the message is null or a C string, which is unchanged until the next call of this family in
    // this thread.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "the dynamic linker gives no reason".to_owned();
    }
    // SAFETY: see above.
    let message = unsafe { CStr::from_ptr(message) };
    message.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named() {
        let error = Library::load(c"libnosuchthing.so.7").unwrap_err();
        assert!(error.contains("libnosuchthing.so.7"), "{error}");
    }

    #[test]
    fn a_function_of_the_c_library_can_be_called() {
        let library = Library::load(c"libc.so.6").unwrap();
        // SAFETY: `int abs(int)`, stdlib.h.
        let abs: unsafe extern "C" fn(i32) -> i32 = unsafe { library.function(c"abs") }.unwrap();
        // SAFETY: `abs` is defined for every number but the smallest.
        assert_eq!(unsafe { abs(-3) }, 3);
        // SAFETY: there is no such function, so it is not called.
        let none = unsafe { library.function::<unsafe extern "C" fn()>(c"no_such_function") };
        assert!(none.is_err());
    }
}
