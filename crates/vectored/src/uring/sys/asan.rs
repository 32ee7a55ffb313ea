//! Reports memory that was freed during a call of the kernel, by AddressSanitizer: for `cargo xtask soak --asan`.
//!
//! The sanitizer checks accesses of the program, but not accesses of the kernel. So the list of a call and its buffers
//! are checked after the call. The sanitizer reports memory that was freed during the call. Freed memory is reused only
//! after much more memory was freed.

use std::io::{IoSlice, IoSliceMut};
use std::ptr;

unsafe extern "C" {
    /// Returns the first poisoned byte of a region, or null. The sanitizer declares this function.
    fn __asan_region_is_poisoned(start: *const u8, bytes: usize) -> *const u8;
}

/// The memory that the kernel may access: the list and the buffers of a call.
#[derive(Default)]
pub(super) struct Given(Vec<(*const u8, usize)>);

// SAFETY: only the sanitizer gets the pointers.
unsafe impl Send for Given {}

impl Given {
    pub(super) fn note(&mut self, sources: &[IoSlice<'_>], targets: &[IoSliceMut<'_>]) {
        self.0.clear();
        self.0.extend([
            (sources.as_ptr().cast(), size_of_val(sources)),
            (targets.as_ptr().cast(), size_of_val(targets)),
        ]);
        let sources = sources.iter().map(|slice| (slice.as_ptr(), slice.len()));
        self.0.extend(sources);
        let targets = targets.iter().map(|slice| (slice.as_ptr(), slice.len()));
        self.0.extend(targets);
    }

    /// If any of this memory was freed, the sanitizer reports the memory and ends the process.
    pub(super) fn check(&self) {
        for &(start, bytes) in &self.0 {
            // SAFETY: the sanitizer reads only its own map of the memory.
            let freed = unsafe { __asan_region_is_poisoned(start, bytes) };
            if !freed.is_null() {
                // SAFETY: the access is not sound. The sanitizer ends the process before this access, and prints the
                // stacks of the allocation and of the deallocation.
                let byte = unsafe { ptr::read_volatile(freed) };
                panic!(
                    "memory of a call in flight was freed (now {byte}), and the sanitizer has not reported it"
                );
            }
        }
    }
}
