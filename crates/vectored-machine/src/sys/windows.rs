//! Calls of Windows without a safe interface.
//!
//! # Safety
//!
//! `unsafe` for handles and sockets that are lent to types of the standard library, and for calls that write their
//! answers to variables of this stack.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::net::TcpStream;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{
    AsRawHandle, AsRawSocket, BorrowedHandle, BorrowedSocket, FromRawHandle, FromRawSocket,
};
use std::path::Path;
use std::ptr;

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, FILETIME};
use windows_sys::Win32::Networking::WinSock::{FIONREAD, SOCKET_ERROR, ioctlsocket};
use windows_sys::Win32::Storage::FileSystem::{
    GetDiskFreeSpaceExW, GetVolumeInformationW, GetVolumePathNameW,
};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::SystemInformation::{
    GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentProcessorNumber, GetCurrentThread, GetProcessAffinityMask,
    GetThreadTimes, SetThreadAffinityMask,
};

pub(crate) fn with_file<T>(handle: BorrowedHandle<'_>, call: impl FnOnce(&File) -> T) -> T {
    // SAFETY: the handle is open while it is borrowed. The file is never dropped, so it is not closed.
    let file = ManuallyDrop::new(unsafe { File::from_raw_handle(handle.as_raw_handle()) });
    call(&file)
}

pub(crate) fn with_socket<T>(socket: BorrowedSocket<'_>, call: impl FnOnce(&TcpStream) -> T) -> T {
    // SAFETY: as in `with_file`.
    let stream = ManuallyDrop::new(unsafe { TcpStream::from_raw_socket(socket.as_raw_socket()) });
    call(&stream)
}

/// Number of bytes in a pipe; 0 if the other end is closed.
pub(crate) fn pipe_unread_bytes(pipe: BorrowedHandle<'_>) -> io::Result<u64> {
    let mut bytes = 0;
    // SAFETY: the call writes the number to `bytes` alone: it gets no buffer.
    let is_known = unsafe {
        PeekNamedPipe(
            pipe.as_raw_handle(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
            &mut bytes,
            ptr::null_mut(),
        )
    };
    match is_known {
        0 => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(ERROR_BROKEN_PIPE as i32) => Ok(0),
            error => Err(error),
        },
        _ => Ok(bytes.into()),
    }
}

pub(crate) fn socket_unread_bytes(socket: BorrowedSocket<'_>) -> io::Result<u64> {
    let mut bytes = 0;
    // SAFETY: this request writes one number to `bytes`.
    let outcome = unsafe { ioctlsocket(socket.as_raw_socket() as usize, FIONREAD, &mut bytes) };
    match outcome {
        SOCKET_ERROR => Err(io::Error::last_os_error()),
        _ => Ok(bytes.into()),
    }
}

/// CPU time of the calling thread in user mode and in the kernel. The time grows in steps, often of 15.6 ms.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut times = [FILETIME::default(); 4];
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: the call writes to the four times alone. The pseudo handle of the thread is always valid.
    if unsafe { GetThreadTimes(GetCurrentThread(), created, ended, kernel, user) } == 0 {
        return 0;
    }
    // Units of 100 ns.
    let ns = |time: &FILETIME| {
        100 * ((u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime))
    };
    ns(kernel) + ns(user)
}

/// The CPUs among the first 64 that this process may use. Pinning a thread does not change the answer.
pub fn allowed() -> Vec<usize> {
    let (mut of_process, mut of_system) = (0, 0);
    // SAFETY: the call writes to the two masks alone.
    let is_known =
        unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut of_process, &mut of_system) };
    let allows = |cpu: &usize| (of_process >> cpu) & 1 == 1;
    match is_known {
        0 => Vec::new(),
        _ => (0..usize::BITS as usize).filter(allows).collect(),
    }
}

pub(crate) fn current() -> usize {
    // SAFETY: the call takes nothing and returns a number.
    unsafe { GetCurrentProcessorNumber() as usize }
}

pub fn pin(cpu: usize) -> io::Result<()> {
    let mask = 1_usize.checked_shl(cpu as u32).unwrap_or(0);
    // SAFETY: the call takes a pseudo handle, which is always valid, and a number.
    match unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The version of the system: `10.0.19045`.
pub(crate) fn system_version() -> String {
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the call writes to `version`, whose size is an argument. It always succeeds.
    unsafe { RtlGetVersion(&mut version) };
    let OSVERSIONINFOW {
        dwMajorVersion: major,
        dwMinorVersion: minor,
        dwBuildNumber: build,
        ..
    } = version;
    format!("{major}.{minor}.{build}")
}

pub(crate) fn memory_bytes() -> Option<u64> {
    let mut status = MEMORYSTATUSEX {
        dwLength: size_of::<MEMORYSTATUSEX>() as u32,
        ..MEMORYSTATUSEX::default()
    };
    // SAFETY: the call writes to `status`, whose size is an argument.
    let is_known = unsafe { GlobalMemoryStatusEx(&mut status) } != 0;
    is_known.then_some(status.ullTotalPhys)
}

/// The version of Wine, if Wine stands in for Windows: `wine_get_version` of Wine's `ntdll.dll`.
pub(crate) fn wine_version() -> Option<String> {
    let library: Vec<u16> = "ntdll.dll\0".encode_utf16().collect();
    // SAFETY: both names end with a zero. The library is loaded in every process and never unloaded.
    let function = unsafe {
        let library = GetModuleHandleW(library.as_ptr());
        GetProcAddress(library, c"wine_get_version".as_ptr().cast())?
    };
    // SAFETY: only Wine exports this name. Its function takes nothing and returns a text that lives for ever.
    let text = unsafe {
        let function: unsafe extern "C" fn() -> *const std::ffi::c_char =
            std::mem::transmute(function);
        CStr::from_ptr(function())
    };
    Some(text.to_string_lossy().into_owned())
}

/// The size of a directory's volume (0 without a limit), the bytes that are free for this user, and its file system.
pub(crate) fn volume(directory: &Path) -> io::Result<(u64, u64, Option<String>)> {
    let text = directory.as_os_str().encode_wide();
    let path: Vec<u16> = text.chain(std::iter::once(0)).collect();
    let (mut free_bytes, mut total_bytes) = (0, 0);
    // SAFETY: the path ends with a zero; the call writes to the two numbers alone.
    let is_known = unsafe {
        GetDiskFreeSpaceExW(
            path.as_ptr(),
            &mut free_bytes,
            &mut total_bytes,
            ptr::null_mut(),
        )
    };
    if is_known == 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut root, mut name) = ([0_u16; 1024], [0_u16; 64]);
    // SAFETY: the path and the root end with a zero, also if the first call fails. The calls write to `root` and `name`,
    // whose lengths are arguments, and end the texts with a zero.
    let is_named = unsafe {
        GetVolumePathNameW(path.as_ptr(), root.as_mut_ptr(), root.len() as u32) != 0
            && GetVolumeInformationW(
                root.as_ptr(),
                ptr::null_mut(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                name.as_mut_ptr(),
                name.len() as u32,
            ) != 0
    };
    let length = name.iter().position(|&unit| unit == 0);
    let text = String::from_utf16_lossy(&name[..length.unwrap_or(name.len())]);
    Ok((
        total_bytes,
        free_bytes,
        Some(text).filter(|text| is_named && !text.is_empty()),
    ))
}
