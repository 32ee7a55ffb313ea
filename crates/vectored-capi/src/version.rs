//! The version of the library.

use libc::{c_char, c_int};

/// The version of the header: `MAJOR.MINOR.PATCH`. `vectored_version` returns the version of the library.
pub const VECTORED_VERSION_MAJOR: c_int = 0;
/// See `VECTORED_VERSION_MAJOR`.
pub const VECTORED_VERSION_MINOR: c_int = 1;
/// See `VECTORED_VERSION_MAJOR`.
pub const VECTORED_VERSION_PATCH: c_int = 0;

/// Returns the version of the library that the program runs with: `MAJOR * 1000000 + MINOR * 1000 + PATCH`. A shared
/// library may be newer than the header.
#[unsafe(no_mangle)]
pub extern "C" fn vectored_version() -> c_int {
    VECTORED_VERSION_MAJOR * 1_000_000 + VECTORED_VERSION_MINOR * 1000 + VECTORED_VERSION_PATCH
}

/// Returns the version as text, such as "0.1.0". The text is static: do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn vectored_version_string() -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_and_the_text_are_those_of_the_package() {
        let (major, minor, patch) = (
            VECTORED_VERSION_MAJOR,
            VECTORED_VERSION_MINOR,
            VECTORED_VERSION_PATCH,
        );
        let package = env!("CARGO_PKG_VERSION");
        assert_eq!(format!("{major}.{minor}.{patch}"), package);
        // SAFETY: the text is static and ends with a zero.
        let text = unsafe { std::ffi::CStr::from_ptr(vectored_version_string()) };
        assert_eq!(text.to_str(), Ok(package));
    }
}
