//! An allocator that counts its calls. `GlobalAlloc` is an unsafe trait.
//!
//! # Safety
//!
//! Every call is passed to the allocator of the system without a change.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// The number of allocations of this thread. The counter has no destructor and a constant initial value, so
    /// counting allocates no memory.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

pub fn allocations() -> u64 {
    COUNT.get()
}

fn count() {
    COUNT.set(COUNT.get() + 1);
}

// SAFETY: every method calls the method of `System` with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: `memory` comes from `System`, and the caller keeps the contract of `realloc`.
        unsafe { System.realloc(memory, layout, bytes) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` comes from `System`, and the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}
