//! A file that is removed unless it is kept, also when a signal ends this process.
//!
//! A signal handler removes the file. The handler needs no thread and no descriptor, so a lack of either cannot stop the
//! removal.
//!
//! # Safety
//!
//! `unsafe` for `sigaction`, `pthread_sigmask` and `raise`, and for the name, which the handler takes by its address.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::fs::File;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{io, ptr};

use super::signals::is_default;
use super::standard::close;

/// The signals that end a process that does not handle them. KILL (it cannot be handled), PIPE (programs in Rust ignore it) and
/// signals of Linux with numbers above 31 are left out. A signal that has another handler keeps that handler: SEGV and BUS
/// have the handler of Rust's runtime.
const DEADLY: &[c_int] = &[
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGXCPU,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGSYS,
    #[cfg(target_os = "linux")]
    libc::SIGIO,
    #[cfg(target_os = "linux")]
    libc::SIGPWR,
    #[cfg(target_os = "linux")]
    libc::SIGSTKFLT,
];

/// The file to remove; null if there is none. Whoever takes the pointer owns the file.
static TO_REMOVE: AtomicPtr<Named> = AtomicPtr::new(ptr::null_mut());

/// A path, and the device and inode of the file that was created at this path.
struct Named(CString, u64, u64);

/// A new file. If the file is not kept, it is removed when this value is dropped, or when a signal ends this process.
pub struct ProvisionalFile {
    /// `None` once the file is closed.
    file: Option<File>,
}

impl ProvisionalFile {
    /// Creates the only provisional file of this process, at a path where no file exists. Signals that arrive meanwhile are
    /// handled afterwards.
    pub fn make(path: &Path, mode: u32) -> io::Result<Self> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        for &signal in DEADLY {
            if is_default(signal)? {
                handle(signal)?;
            }
        }
        let _blocked = Blocked::all()?;
        let mut options = File::options();
        options.write(true).create_new(true).mode(mode);
        let file = options.open(path)?;
        let made = file.metadata().inspect_err(|_| {
            let _ = rustix::fs::unlink(&name);
        })?;
        let named = Box::new(Named(name, made.dev(), made.ino()));
        let before = TO_REMOVE.swap(Box::into_raw(named), Ordering::SeqCst);
        assert!(before.is_null(), "one file at a time");
        Ok(ProvisionalFile { file: Some(file) })
    }

    pub fn file(&self) -> &File {
        self.file.as_ref().expect("it is open until it is kept")
    }

    /// Closes the file and keeps it. If close(2) fails, the file is removed.
    pub fn keep(mut self) -> io::Result<()> {
        self.file
            .take()
            .map_or(Ok(()), |file| close(OwnedFd::from(file)))?;
        drop(taken());
        Ok(())
    }
}

impl Drop for ProvisionalFile {
    fn drop(&mut self) {
        if let Some(named) = taken() {
            remove(&named);
        }
    }
}

fn taken() -> Option<Box<Named>> {
    let named = TO_REMOVE.swap(ptr::null_mut(), Ordering::SeqCst);
    // SAFETY: a pointer that is not null comes from `Box::into_raw`, and whoever takes it leaves null.
    (!named.is_null()).then(|| unsafe { Box::from_raw(named) })
}

/// Removes the name if it still names the file. `lstat` and `unlink` are safe in the handler of a signal, and allocate
/// nothing.
// The integers' types differ between systems.
#[allow(clippy::unnecessary_cast)]
fn remove(Named(name, device, inode): &Named) {
    let is_same = rustix::fs::lstat(name)
        .is_ok_and(|found| (found.st_dev as u64, found.st_ino as u64) == (*device, *inode));
    if is_same {
        let _ = rustix::fs::unlink(name);
    }
}

/// Removes the file, and raises the signal again. The signal has its default action by then, and arrives when the handler
/// returns.
extern "C" fn remove_and_end(signal: c_int) {
    if let Some(named) = taken() {
        remove(&named);
        // The memory of the name may belong to an allocation that the signal has interrupted.
        std::mem::forget(named);
    }
    // SAFETY: the call has no conditions, and is safe in the handler of a signal.
    unsafe { libc::raise(signal) };
}

fn handle(signal: c_int) -> io::Result<()> {
    // SAFETY: all zeros is an action: no signals in the mask, no flags.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = remove_and_end as extern "C" fn(c_int) as usize;
    action.sa_flags = libc::SA_RESETHAND;
    // SAFETY: the action has this mask.
    unsafe { libc::sigfillset(&mut action.sa_mask) };
    // SAFETY: the action is complete. Its handler makes only async-signal-safe calls.
    if unsafe { libc::sigaction(signal, &action, ptr::null_mut()) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Blocks all signals. A blocked signal arrives when this value is dropped.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn all() -> io::Result<Self> {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: both have room for a set. The first call fills `all`. The second call reads `all`, and fills `before`.
        let failed = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr())
        };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: the call has succeeded, and so has filled `before`.
        Ok(Blocked(unsafe { before.assume_init() }))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: a call has filled the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
    }
}
