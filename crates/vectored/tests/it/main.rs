//! Tests of the public interface on real descriptors.

#![allow(
    clippy::incompatible_msrv,
    reason = "tests are built by the newest compiler"
)]

#[cfg(unix)]
mod copy;
mod direct;
#[cfg(target_os = "linux")]
mod fallback;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(unix)]
mod messages;
#[cfg(unix)]
mod once;
mod positional;
#[cfg(all(feature = "tokio", unix))]
mod queue_tokio;
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
#[cfg(windows)]
mod windows;
