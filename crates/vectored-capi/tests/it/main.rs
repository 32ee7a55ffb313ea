//! The C library as far as Rust can test it: the header, and that its functions are in the crate. What C programs do
//! with it is tested by `cargo xtask test-c`.

mod header;
