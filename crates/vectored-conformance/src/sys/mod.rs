//! What safe interfaces do not offer: signals, and memory without content. The only part in which
//! `unsafe` code is allowed.

pub mod signals;
pub(crate) mod uninit;
