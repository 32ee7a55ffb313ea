//! `cargo xtask bench-programs`: programs that send many buffers, by how they send them.

use anyhow::{Context, Result};

use crate::packages::cargo;
use crate::root;

/// Runs the benchmark; false when it failed.
pub fn run(words: &[String]) -> Result<bool> {
    let mut command = cargo();
    // Quiet, since standard output may be JSON.
    let bench = "bench --quiet --locked --package vectored-bench --bench programs --";
    command.args(bench.split(' '));
    let status = command.args(words).current_dir(root()).status();
    Ok(status.context("cannot run cargo bench")?.success())
}
