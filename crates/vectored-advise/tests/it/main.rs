//! Tests of the findings in logs, and of their reports, in one binary.

mod advice;
#[path = "../../../vectored-results/tests/it/damage.rs"]
mod damage;
mod rows;
