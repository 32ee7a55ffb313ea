//! Tests of the description of a machine, in one binary.

mod host;
