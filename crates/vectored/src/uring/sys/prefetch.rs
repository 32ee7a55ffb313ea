//! Memory that is used soon.

/// On x86-64, has the processor load a value into its cache.
///
/// It accesses nothing: the address may be of any memory, or of none.
#[inline]
pub(in crate::uring) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is one of every x86-64, and no access of the program: it never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
