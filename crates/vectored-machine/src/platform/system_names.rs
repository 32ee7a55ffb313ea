//! The names that a system gives to itself and to the machine.

use std::io;

/// The names of a machine and its system.
pub(crate) struct Names {
    pub(crate) host: String,
    /// System and processor.
    pub(crate) system: String,
    /// Release and version.
    pub(crate) kernel: String,
}

/// The names that uname(2) gives.
#[cfg(unix)]
pub(crate) fn names() -> Names {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    Names {
        host: text(uname.nodename()),
        system: format!("{} {}", text(uname.sysname()), text(uname.machine())),
        kernel: format!("{} {}", text(uname.release()), text(uname.version())),
    }
}

/// The names that the system and its environment variables give.
#[cfg(windows)]
pub(crate) fn names() -> Names {
    let emulator = emulator().map_or_else(String::new, |emulator| format!(" ({emulator})"));
    Names {
        host: variable("COMPUTERNAME").unwrap_or_else(|| "unknown".to_owned()),
        system: format!("Windows {}", std::env::consts::ARCH),
        kernel: crate::sys::windows::system_version() + &emulator,
    }
}

#[cfg(windows)]
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.to_string_lossy().into_owned())
}

/// A program that only passes for the system, such as `Wine 8.0`.
#[cfg(windows)]
pub(crate) fn emulator() -> Option<String> {
    let version = crate::sys::windows::wine_version()?;
    Some(format!("Wine {version}"))
}

/// Nothing passes for a Unix.
#[cfg(unix)]
pub(crate) fn emulator() -> Option<String> {
    None
}

/// The bytes of physical memory, if the system reports them without a file.
#[cfg(windows)]
pub(crate) fn memory_bytes() -> Option<u64> {
    crate::sys::windows::memory_bytes()
}

/// Linux reports them in a file.
#[cfg(unix)]
pub(crate) fn memory_bytes() -> Option<u64> {
    None
}

/// The model of the processor, if the system reports it without a file.
#[cfg(windows)]
pub(crate) fn cpu_model() -> Option<String> {
    variable("PROCESSOR_IDENTIFIER")
}

/// Linux reports it in a file.
#[cfg(unix)]
pub(crate) fn cpu_model() -> Option<String> {
    None
}

/// A file of `/proc` or `/sys`. Windows has none: under Wine such a path leads to the files of another system.
pub fn kernel_text(path: &str) -> io::Result<String> {
    if cfg!(windows) {
        Err(io::ErrorKind::NotFound.into())
    } else {
        std::fs::read_to_string(path)
    }
}
