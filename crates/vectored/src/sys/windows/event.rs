//! An event for the one call that a thread waits for.
//!
//! # Safety
//!
//! `unsafe` for the calls of Win32 that create an event and wait for it.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;

use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
use windows_sys::Win32::System::Threading::{
    CreateEventW, INFINITE, ResetEvent, WaitForSingleObject,
};

thread_local! {
    /// Kept between the calls of a thread: to create an event is a system call.
    static KEPT: Cell<Option<OwnedHandle>> = const { Cell::new(None) };
}

/// An event that no other call uses. It is kept for the next call of the thread when it is dropped.
pub(crate) struct Event(Option<OwnedHandle>);

impl Event {
    pub(crate) fn take() -> io::Result<Event> {
        // `Err` while the thread ends.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let Some(event) = kept else {
            return create().map(|event| Event(Some(event)));
        };
        // A call that ended at once has set the event, and nothing has waited for it. SAFETY: the handle is open. The call
        // takes no memory.
        match unsafe { ResetEvent(event.as_raw_handle()) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(Event(Some(event))),
        }
    }

    pub(crate) fn raw(&self) -> RawHandle {
        self.0
            .as_ref()
            .map_or(ptr::null_mut(), AsRawHandle::as_raw_handle)
    }

    /// Waits until the event is set and the call `is_done`.
    ///
    /// Aborts the process if the wait fails, since the kernel still uses the caller's memory. (The wait for an open event
    /// cannot fail.)
    pub(crate) fn wait(&self, is_done: impl Fn() -> bool) {
        loop {
            // SAFETY: the handle is open. The call takes no memory.
            let outcome = unsafe { WaitForSingleObject(self.raw(), INFINITE) };
            if outcome != WAIT_OBJECT_0 {
                std::process::abort();
            }
            // The kernel writes the result before it sets the event, so `is_done` holds. If `is_done` did not hold, the
            // kernel would still use memory, which must not be given up.
            if is_done() {
                return;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let event = self.0.take();
        // While the thread ends, the event is closed instead.
        let _ = KEPT.try_with(|kept| kept.set(event));
    }
}

fn create() -> io::Result<OwnedHandle> {
    // SAFETY: no pointer is passed but null pointers, which stand for the defaults. The event is reset by hand, and not
    // set.
    let event = unsafe { CreateEventW(ptr::null(), 1, 0, ptr::null()) };
    if event.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new handle, which nothing else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(event) })
}
