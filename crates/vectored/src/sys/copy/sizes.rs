//! Up to which size a segment is copied without a call to `memcpy`.

/// By eight registers of 16 bytes.
pub(crate) const MAX_BY_16: usize = 128;

/// By eight registers of 32 bytes.
pub(crate) const MAX_BY_WIDEST: usize = 256;
