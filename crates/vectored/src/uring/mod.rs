//! Transfers by io_uring, which own their buffers and descriptors. With feature `uring`, on Linux.
//!
//! A [`Ring`] has many transfers in flight, on many descriptors, in one thread and without an async runtime. Each
//! transfer is complete, like a transfer by the functions for blocking descriptors. The [`Completion`] returns the
//! buffers of the transfer.
//!
//! The [`std::io::Result`] of [`Ring::wait`] is about the ring. The result of a transfer is in its [`Completion`].
//!
//! # If there is no io_uring
//!
//! Many containers and some distributions forbid io_uring. [`Ring::new`] then returns an error whose
//! [`is_disabled`](SetupError::is_disabled) is true. Plain calls can make the transfers one after another:
//!
//! ```
//! use std::fs::File;
//! use std::io;
//! use vectored::SegmentQueue;
//! use vectored::uring::Ring;
//!
//! fn write_two(logs: [File; 2], mut queues: [SegmentQueue; 2]) -> io::Result<()> {
//!     match Ring::new(2) {
//!         Ok(mut ring) => {
//!             for ((token, log), queue) in (0..).zip(logs).zip(queues) {
//!                 ring.submit_write(log, queue, token);
//!             }
//!             while let Some(done) = ring.wait()? {
//!                 done.result?;
//!             }
//!         }
//!         Err(error) if error.is_disabled() => {
//!             for (log, queue) in logs.iter().zip(&mut queues) {
//!                 queue.write_to(log)?;
//!             }
//!         }
//!         Err(error) => return Err(error.into()),
//!     }
//!     Ok(())
//! }
//! # write_two([File::create("/dev/null")?, File::create("/dev/null")?], Default::default())?;
//! # Ok::<(), io::Error>(())
//! ```

mod buffer;
mod completion;
mod descriptor;
mod ring;
mod setup_error;
mod sys;
mod transfer;
#[cfg(test)]
mod transfer_tests;

pub use buffer::Buffer;
pub use completion::{Completion, Data};
pub use descriptor::{Descriptor, SharedDescriptor};
pub use ring::Ring;
pub use setup_error::SetupError;
