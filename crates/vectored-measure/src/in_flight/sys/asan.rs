//! Whether the memory of a call was freed before the call ended, as AddressSanitizer knows: for `cargo xtask soak --asan`.
//!
//! The sanitizer checks what the program does with memory, and nothing that the kernel does.

use std::ptr;

unsafe extern "C" {
    /// The first byte of a region that the program must not access, or null. Of the sanitizer's interface.
    fn __asan_region_is_poisoned(start: *const u8, bytes: usize) -> *const u8;
}

/// Lets the sanitizer end the process with its report if any of this memory was freed.
pub(super) fn check(start: *const u8, bytes: usize) {
    // SAFETY: the sanitizer looks at its own map of the memory.
    let freed = unsafe { __asan_region_is_poisoned(start, bytes) };
    if !freed.is_null() {
        // SAFETY: no access is sound. The sanitizer ends the process before this one, with the stacks of the allocation and
        // of the deallocation.
        let byte = unsafe { ptr::read_volatile(freed) };
        panic!(
            "memory of a call in flight was freed (now {byte}), and the sanitizer has not reported it"
        );
    }
}
