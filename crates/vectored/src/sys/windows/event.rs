//! An event that signals the end of one call to the waiting thread.
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
    /// The event is kept between the calls of a thread, because creating an event is a system call.
    static KEPT: Cell<Option<OwnedHandle>> = const { Cell::new(None) };
}

/// An event that no other call uses. Dropping the event keeps the handle for the next call of the thread.
pub(crate) struct Event(Option<OwnedHandle>);

impl Event {
    pub(crate) fn take() -> io::Result<Event> {
        // `try_with` fails while the thread ends.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let Some(event) = kept else {
            return create().map(|event| Event(Some(event)));
        };
        // A call that completed at once has set the event, and no wait has reset the event. SAFETY: the handle is open.
        // The call takes no memory.
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

    /// Waits until the event is set and `is_done` returns true.
    ///
    /// Aborts the process if the wait fails, because the kernel still uses the caller's memory. (The wait for an open
    /// event cannot fail.)
    pub(crate) fn wait(&self, is_done: impl Fn() -> bool) {
        loop {
            // SAFETY: the handle is open. The call takes no memory.
            let outcome = unsafe { WaitForSingleObject(self.raw(), INFINITE) };
            if outcome != WAIT_OBJECT_0 {
                std::process::abort();
            }
            // The kernel writes the result before the event is set, so `is_done` is true. If `is_done` were false, the
            // kernel would still use the memory, and the memory could not be released.
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
        // While the thread ends, `try_with` fails and the event is closed.
        let _ = KEPT.try_with(|kept| kept.set(event));
    }
}

fn create() -> io::Result<OwnedHandle> {
    // SAFETY: the pointers are null, which selects the defaults. The event has a manual reset, and is not set.
    let event = unsafe { CreateEventW(ptr::null(), 1, 0, ptr::null()) };
    if event.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is new, so no other code owns the handle.
    Ok(unsafe { OwnedHandle::from_raw_handle(event) })
}
