//! Tests of what is said of a machine, in one binary.

mod host;
