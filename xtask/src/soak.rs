//! `cargo xtask soak`: the conformance suite with random lists, queues and faults.

use std::process::Command;

use anyhow::{Result, bail};

use crate::commands::{cargo_of, cargo_words, run as run_command, works};

/// Runs the soak with these options, in a process of its own, since it changes signal handlers and limits; fails if
/// bytes were lost or records torn. `--asan` among the options builds it with AddressSanitizer.
pub fn run(mut options: Vec<String>) -> Result<()> {
    let words = "run --release --quiet --locked --package vectored-conformance --bin soak";
    let mut command = match options.iter().position(|word| word == "--asan") {
        None => cargo_words(words),
        Some(place) => {
            options.remove(place);
            with_sanitizer(words)?
        }
    };
    run_command(command.arg("--").args(options))
}

/// A cargo command whose program is built with AddressSanitizer: for the target alone, so that build scripts are not.
///
/// The sanitizer sees what this process does with memory, and not what the kernel does. With `vectored_asan`, the back ends check
/// that the memory of a transfer was not freed before the transfer ended. The rest is left to the canaries of the soak.
fn with_sanitizer(words: &str) -> Result<Command> {
    if !works(&mut cargo_of("nightly", &["--version"])) {
        bail!("--asan needs a nightly toolchain: rustup toolchain install nightly");
    }
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = cargo_of("nightly", &words.split(' ').collect::<Vec<_>>());
    // With its own build folder, the soak waits for no other build.
    command.args(["--target", &target, "--target-dir", "target/asan"]);
    let settings = [
        // A report names functions and lines.
        "strip=false",
        "debug='line-tables-only'",
        // The sanitizer costs more time than the optimiser saves, and the build takes a fraction of the time.
        "opt-level=1",
        "package.vectored-measure.opt-level=0",
        "package.vectored-results.opt-level=0",
    ];
    for setting in settings {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    command.env("RUSTFLAGS", "-Zsanitizer=address --cfg vectored_asan");
    Ok(command)
}
