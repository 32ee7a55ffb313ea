//! The conformance suite, over every writer and reader.

mod faults;
mod lists;
mod read_faults;
mod read_lists;
mod seeds;
mod soak;
mod support;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tls;
