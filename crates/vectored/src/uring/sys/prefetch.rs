//! Prefetches memory that is used soon.

/// Loads a value into the cache of the processor, on x86-64 only. The address may be invalid, because the function does
/// not access the memory.
#[inline]
pub(in crate::uring) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has this instruction. The instruction never faults, even with an invalid
        // address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
