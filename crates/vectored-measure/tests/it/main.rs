//! Tests of the measuring engine, in one binary.

mod asynchronous;
mod axes;
mod compare;
mod conclusions;
mod copies;
mod crossovers;
mod damage;
mod direct;
mod engine;
mod experiments;
mod faults;
mod honest_reads;
mod honesty;
mod pages;
mod ranks;
mod refused_aio;
mod refused_calls;
mod report;
mod shown;
mod simulation;
mod support;
mod sweeps;
mod thread_group;
mod writers;
