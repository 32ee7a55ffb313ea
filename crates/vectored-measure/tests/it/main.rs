//! Tests of the measuring engine, in one binary.

mod axes;
mod crossovers;
mod engine;
mod faults;
mod honesty;
mod in_flight;
mod noise;
mod places;
mod ranks;
mod refused_aio;
mod refused_calls;
mod simulation;
mod support;
mod thread_group;
mod watched;
