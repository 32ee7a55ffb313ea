//! The longest segments that are copied without a call of `memcpy`.

/// Eight registers of 16 bytes.
pub(crate) const MAX_BY_16: usize = 128;

/// Eight registers of 32 bytes.
#[cfg_attr(not(all(unix, target_arch = "x86_64")), allow(dead_code))]
pub(crate) const MAX_BY_32: usize = 256;
