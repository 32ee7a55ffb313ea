//! Tests of the measuring engine, in one binary.

mod engine;
mod honest_reads;
mod honesty;
mod host;
mod plot;
mod report;
mod simulation;
