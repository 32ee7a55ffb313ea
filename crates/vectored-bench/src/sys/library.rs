//! Shared libraries that are loaded while the program runs, so that it can be
//! built, and run without them, where they are not installed.
//!
//! # Safety
//!
//! `unsafe` for `dlopen` and `dlsym`, and for taking the address that a symbol
//! has for a function of the type that its header declares.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// A library. It stays loaded until the process ends, so what is found in it
/// stays valid.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    handle: NonNull<c_void>,
    name: &'static CStr,
}

impl Library {
    /// Loads the library of this name, which has its ABI version in it.
    ///
    /// # Errors
    ///
    /// What the dynamic linker says.
    pub fn load(name: &'static CStr) -> Result<Self, String> {
        // SAFETY: the name is a C string. The libraries that are asked for have
        // initialisers that may run at any time.
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
    /// When the library has no such function.
    ///
    /// # Safety
    ///
    /// `F` is the function pointer type of the C function of this name.
    ///
    /// # Panics
    ///
    /// When `F` is no pointer.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        // SAFETY: the handle is open, and the name is a C string.
        let address = unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) };
        if address.is_null() {
            return Err(format!("{:?} has no function {name:?}", self.name));
        }
        // SAFETY: not null, of the same size, and by the caller's promise a
        // pointer to a function of this type.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
    }
}

fn last_error() -> String {
    // SAFETY: the message is null or a C string, which stays as it is until the
    // next call of this family in this thread.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "the dynamic linker does not say why".to_owned();
    }
    // SAFETY: see above.
    let message = unsafe { CStr::from_ptr(message) };
    message.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let error = Library::load(c"libnosuchthing.so.7").unwrap_err();
        assert!(error.contains("libnosuchthing.so.7"), "{error}");
    }

    #[test]
    fn a_function_of_the_c_library_can_be_called() {
        let library = Library::load(c"libc.so.6").unwrap();
        // SAFETY: `int abs(int)`, stdlib.h.
        let abs: unsafe extern "C" fn(i32) -> i32 = unsafe { library.function(c"abs") }.unwrap();
        // SAFETY: any number but the smallest will do.
        assert_eq!(unsafe { abs(-3) }, 3);
        // SAFETY: there is none, so it is not called.
        let none = unsafe { library.function::<unsafe extern "C" fn()>(c"no_such_function") };
        assert!(none.is_err());
    }
}
