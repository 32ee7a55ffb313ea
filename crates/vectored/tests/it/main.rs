//! The behaviour of the public interface, on real descriptors.

#[cfg(feature = "bytes")]
mod buf;
#[cfg(feature = "codec")]
mod codec;
mod cursor;
mod descriptors;
mod direct;
#[cfg(target_os = "linux")]
mod fallback;
mod flags;
// Files in memory, the size of a pipe, and calls that the kernel counts or keeps apart.
#[cfg(target_os = "linux")]
mod gather_writer;
#[cfg(target_os = "linux")]
mod memory;
mod messages;
mod once;
mod positional;
#[cfg(feature = "tokio")]
mod queue_tokio;
mod reads;
mod support;
#[cfg(all(
    feature = "uring",
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
mod sys;
#[cfg(all(
    feature = "uring",
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
mod uring;
