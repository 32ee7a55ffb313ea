//! The conformance suite, over every writer and reader.

mod faults;
mod lists;
mod read_faults;
mod read_lists;
mod seeds;
mod soak;
mod support;
mod tls;
