//! The behaviour of the public interface, on real descriptors.

#[cfg(feature = "bytes")]
mod buf;
mod cursor;
mod descriptors;
mod direct;
#[cfg(target_os = "linux")]
mod fallback;
mod flags;
mod gather_writer;
#[cfg(target_os = "linux")]
mod memory;
mod messages;
mod once;
mod positional;
mod reads;
mod support;
