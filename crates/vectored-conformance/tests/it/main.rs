//! The conformance suite, over every way to move bytes.

mod faults;
mod lists;
mod read_faults;
mod read_lists;
mod seeds;
mod soak;
mod support;
