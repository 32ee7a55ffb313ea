//! `cargo xtask soak`: the conformance suite with random lists, queues and faults.

use anyhow::{Context, Result};

use crate::packages::cargo;
use crate::root;

/// The options of the soak.
pub struct Options {
    pub seconds: usize,
    pub seed: u64,
    pub form: &'static str,
    /// Instead of a soak, have this many records written by two processes.
    pub records: u64,
    pub backend: &'static str,
}

/// Runs it in a process of its own, since it changes signal handlers and limits; false if bytes were lost or records torn.
pub fn run(options: &Options) -> Result<bool> {
    let words = "run --release --quiet --locked --package vectored-conformance --bin soak --";
    let mut command = cargo();
    command.args(words.split(' ')).current_dir(root());
    command.args(["--seconds", &options.seconds.to_string()]);
    command.args(["--seed", &options.seed.to_string()]);
    command.args(["--form", options.form, "--backend", options.backend]);
    if options.records > 0 {
        command.args(["--records", &options.records.to_string()]);
    }
    let status = command.status().context("cannot start the soak")?;
    Ok(status.success())
}
