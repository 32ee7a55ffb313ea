//! Tests of the measuring engine, in one binary.

mod engine;
mod honest_reads;
mod honesty;
mod plot;
mod report;
mod simulation;
