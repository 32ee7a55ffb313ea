//! Moves lists of segments by the asynchronous interfaces of Linux, with several transfers in flight on one descriptor.
//!
//! | | [`RingQueue`] | [`AioQueue`] |
//! |---|---|---|
//! | interface | io_uring, by [`vectored::uring::Ring`] | Linux native AIO: `io_submit`, `io_getevents` |
//! | a file without `O_DIRECT` | asynchronous | `io_submit` moves the bytes before it returns |
//! | a pipe, socket or character device | asynchronous | `io_submit` moves the bytes before it returns, if the driver has `read_iter` or `write_iter`; otherwise `EINVAL` |
//!
//! The buffers are borrowed. [`ListQueue::write`] and [`ListQueue::read`] return, or unwind, only when the kernel has
//! ended every transfer. So no buffer is copied, and none is allocated. [`move_by_ring`], which a [`RingQueue`] calls,
//! also moves lists that own their buffers.

mod engine;
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
mod ring;
mod sys;

pub use engine::{Event, ListQueue, Place, ReadList, WriteList};
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub use ring::{move_by_ring, uncopied_queue};
pub use sys::AioQueue;
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub use sys::lent_ring::RingQueue;
