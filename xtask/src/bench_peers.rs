//! `cargo xtask bench-peers`: installs the peers of the benchmark, and runs it.

use anyhow::{Context, Result};

use crate::packages::cargo;
use crate::{root, setup};

/// Installs what is missing and runs the benchmark; false when it failed.
pub fn run(words: &[String]) -> Result<bool> {
    setup::provide_peers();
    let mut command = cargo();
    command.args([
        "bench",
        "--locked",
        "--package",
        "vectored-bench",
        "--bench",
        "peers",
        "--",
    ]);
    let status = command.args(words).current_dir(root()).status();
    Ok(status.context("cannot run cargo bench")?.success())
}
