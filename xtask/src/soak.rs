//! `cargo xtask soak`: the conformance suite with random lists and faults.

use anyhow::{Context, Result};

use crate::packages::cargo;
use crate::root;

/// The options of the soak.
pub struct Options {
    pub seconds: usize,
    pub seed: u64,
    pub backend: &'static str,
}

/// Runs it in a process of its own, since it changes signal handlers and limits; false if bytes were lost.
pub fn run(options: &Options) -> Result<bool> {
    let words = "run --release --quiet --locked --package vectored-conformance --bin soak --";
    let mut command = cargo();
    command.args(words.split(' ')).current_dir(root());
    command.args(["--seconds", &options.seconds.to_string()]);
    command.args(["--seed", &options.seed.to_string()]);
    command.args(["--backend", options.backend]);
    let status = command.status().context("cannot start the soak")?;
    Ok(status.success())
}
