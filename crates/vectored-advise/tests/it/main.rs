//! Tests of what is found in logs, and how it is reported, in one binary.

mod advice;
#[path = "../../../vectored-results/tests/it/damage.rs"]
mod damage;
mod rows;
