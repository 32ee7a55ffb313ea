//! The header of the C library, and the functions that the header names. `cargo xtask test-c` tests C programs.

mod header;
