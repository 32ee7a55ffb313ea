//! Transfers that the kernel makes on borrowed buffers while the program goes on.
#![allow(unsafe_code)]

mod aio;
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub(super) mod lent_ring;

pub use aio::AioQueue;
