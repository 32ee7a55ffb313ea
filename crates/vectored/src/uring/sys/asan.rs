//! Whether the memory of a call was freed before the call ended, as AddressSanitizer knows: for `cargo xtask soak --asan`.
//!
//! The sanitizer checks the accesses of the program to memory, but not the kernel's. So the list of a call and its
//! buffers are checked when the call has ended: memory that was freed meanwhile is reported, as if the program had read
//! the memory. The sanitizer gives freed memory out again only when much more was freed after it.

use std::io::{IoSlice, IoSliceMut};
use std::ptr;

unsafe extern "C" {
    /// The first byte of a region that the program must not access, or null. Declared by the sanitizer.
    fn __asan_region_is_poisoned(start: *const u8, bytes: usize) -> *const u8;
}

/// The regions that the kernel was given: the list and the buffers of a call.
#[derive(Default)]
pub(super) struct Given(Vec<(*const u8, usize)>);

// SAFETY: the pointers are passed to the sanitizer alone.
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

    /// Lets the sanitizer end the process with its report if any of this memory was freed.
    pub(super) fn check(&self) {
        for &(start, bytes) in &self.0 {
            // SAFETY: the sanitizer looks at its own map of the memory.
            let freed = unsafe { __asan_region_is_poisoned(start, bytes) };
            if !freed.is_null() {
                // SAFETY: no access is sound. The sanitizer ends the process before this access, with the stacks of the
                // allocation and of the deallocation.
                let byte = unsafe { ptr::read_volatile(freed) };
                panic!(
                    "memory of a call in flight was freed (now {byte}), and the sanitizer has not reported it"
                );
            }
        }
    }
}
