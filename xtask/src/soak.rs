//! `cargo xtask soak`: the conformance suite with random lists, queues and faults.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::fuzz::{nightly, works};
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
    /// Build it with AddressSanitizer.
    pub asan: bool,
}

/// Runs it in a process of its own, since it changes signal handlers and limits; false if bytes were lost or records torn.
pub fn run(options: &Options) -> Result<bool> {
    let words = "run --release --quiet --locked --package vectored-conformance --bin soak";
    let words: Vec<&str> = words.split(' ').collect();
    let mut command = match options.asan {
        true => with_sanitizer(&words)?,
        false => {
            let mut command = cargo();
            command.args(words).current_dir(root());
            command
        }
    };
    command.arg("--");
    command.args(["--seconds", &options.seconds.to_string()]);
    command.args(["--seed", &options.seed.to_string()]);
    command.args(["--form", options.form, "--backend", options.backend]);
    if options.records > 0 {
        command.args(["--records", &options.records.to_string()]);
    }
    let status = command.status().context("cannot start the soak")?;
    Ok(status.success())
}

/// A cargo command whose program is built with AddressSanitizer: for the target alone, so that build scripts are not.
///
/// The sanitizer sees what this process does with memory, and not what the kernel does. With `vectored_asan`, the back ends check
/// that the memory of a transfer was not freed before the transfer ended. The rest is left to the canaries of the soak.
fn with_sanitizer(words: &[&str]) -> Result<Command> {
    if !works(nightly(&["--version"])) {
        bail!("--asan needs a nightly toolchain: rustup toolchain install nightly");
    }
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = nightly(words);
    // Of its own, so that it waits for no other build.
    command.args(["--target", &target, "--target-dir", "target/asan"]);
    let settings = [
        // A report names functions and lines.
        "strip=false",
        "debug='line-tables-only'",
        // The sanitizer costs more time than the optimiser saves, and the build takes a fraction of the time.
        "opt-level=1",
        "package.vectored-lab.opt-level=0",
    ];
    for setting in settings {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    command.env("RUSTFLAGS", "-Zsanitizer=address --cfg vectored_asan");
    Ok(command)
}
