//! The size of a page.
//!
//! # Safety
//!
//! `unsafe` for one call that writes to memory of this stack.
#![allow(unsafe_code)]

use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};

/// The bytes of a page of memory on this system: 4096 on x86-64 and arm64.
#[must_use]
pub fn page_bytes() -> usize {
    let mut info = SYSTEM_INFO::default();
    // SAFETY: the call writes to `info` alone.
    unsafe { GetSystemInfo(&mut info) };
    info.dwPageSize as usize
}
