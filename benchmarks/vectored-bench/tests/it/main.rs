//! One binary for all tests of this crate that use it from outside.

mod peers;
mod programs;
mod promises;
mod tls;
