//! Tests of the measuring engine, in one binary.

mod engine;
mod honesty;
mod report;
mod simulation;
