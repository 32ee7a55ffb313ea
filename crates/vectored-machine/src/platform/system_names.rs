//! The names that a system gives to itself and to the machine.

use std::io;

pub(crate) struct Names {
    pub(crate) host: String,
    /// System and processor.
    pub(crate) system: String,
    pub(crate) kernel: String,
    pub(crate) cpu_model: Option<String>,
    pub(crate) memory_bytes: Option<u64>,
    /// The program that stands in for the system, such as `Wine 8.0`.
    pub(crate) emulator: Option<String>,
}

/// The names by uname(2) and, on Linux, by files.
#[cfg(unix)]
pub(crate) fn names() -> Names {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let line = |path: &str, begin: &str| {
        let text = kernel_text(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(begin))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = line("/proc/meminfo", "MemTotal");
    let kib = memory.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    Names {
        host: text(uname.nodename()),
        system: format!("{} {}", text(uname.sysname()), text(uname.machine())),
        kernel: format!("{} {}", text(uname.release()), text(uname.version())),
        cpu_model: line("/proc/cpuinfo", "model name"),
        memory_bytes: kib.map(|kib| kib * 1024),
        emulator: None,
    }
}

/// The names by calls of Windows and by environment variables.
#[cfg(windows)]
pub(crate) fn names() -> Names {
    use crate::sys::windows::{memory_bytes, system_version, wine_version};
    let variable = |name| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let emulator = wine_version().map(|version| format!("Wine {version}"));
    let passing = emulator.as_ref();
    let passing = passing.map_or_else(String::new, |emulator| format!(" ({emulator})"));
    Names {
        host: variable("COMPUTERNAME").unwrap_or_else(|| "unknown".to_owned()),
        system: format!("Windows {}", std::env::consts::ARCH),
        kernel: system_version() + &passing,
        cpu_model: variable("PROCESSOR_IDENTIFIER"),
        memory_bytes: memory_bytes(),
        emulator,
    }
}

/// The text of a file of `/proc` or `/sys`. Windows has no such file: under Wine, the path would lead to a file of the
/// system that runs Wine.
pub fn kernel_text(path: &str) -> io::Result<String> {
    if cfg!(windows) {
        Err(io::ErrorKind::NotFound.into())
    } else {
        std::fs::read_to_string(path)
    }
}
