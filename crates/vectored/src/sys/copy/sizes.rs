//! The longest segments that are copied without a call of `memcpy`.

/// The bytes of eight registers of 16.
pub(crate) const MAX_BY_16: usize = 128;

/// The bytes of eight registers of 32.
#[cfg_attr(not(all(unix, target_arch = "x86_64")), allow(dead_code))]
pub(crate) const MAX_BY_32: usize = 256;
