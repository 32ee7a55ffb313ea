//! `cargo xtask pairs`: predicted and measured savings of programs of ours.

use anyhow::{Context, Result};

use crate::packages::cargo;
use crate::{root, setup};

/// Installs strace if it is missing and runs the pairs; false if that failed.
pub fn run(words: &[String]) -> Result<bool> {
    setup::provide_strace();
    let mut command = cargo();
    let bench = "bench --locked --package vectored-pairs --bench pairs --";
    command.args(bench.split(' '));
    let status = command.args(words).current_dir(root()).status();
    Ok(status.context("cannot run cargo bench")?.success())
}
