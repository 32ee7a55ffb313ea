//! Tests of the measuring engine, in one binary.

mod crossovers;
mod engine;
mod experiments;
mod findings;
mod honest_reads;
mod honesty;
mod host;
mod plot;
mod report;
mod simulation;
