//! The CPUs that a thread may use.

pub(crate) use crate::sys::windows::current;
pub use crate::sys::windows::{allowed, pin};

pub(crate) const CAN_PIN: bool = true;
