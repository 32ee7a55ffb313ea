//! The conformance suite, over every way to write and to read a list.

mod everywhere;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod lists;
#[cfg(unix)]
mod read_faults;
#[cfg(unix)]
mod read_lists;
#[cfg(unix)]
mod seeds;
#[cfg(unix)]
mod soak;
mod support;
