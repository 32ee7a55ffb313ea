//! What the plans of both directions go by.

use crate::sys::limits::Limits;

/// What a plan goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunPolicy {
    /// The longest segment that may be copied.
    pub(crate) copy_below_bytes: usize,
    /// What a call takes.
    pub(crate) limits: Limits,
    /// A call of fewer bytes is filled up with a part of the segment that does not fit.
    pub(crate) fill_bytes: usize,
}
