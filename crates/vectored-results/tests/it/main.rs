//! Tests of results: statistics, reports, and what is read back.

mod compare;
mod conclusions;
mod damage;
mod experiments;
mod hostile;
mod pages;
mod report;
mod samples;
mod saved;
