//! What the crate does with real programs, in this machine's kernel.

mod planted;
mod sites;
