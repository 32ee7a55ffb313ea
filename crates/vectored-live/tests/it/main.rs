//! Tests with real programs, in the kernel of this machine.

mod planted;
mod sites;
