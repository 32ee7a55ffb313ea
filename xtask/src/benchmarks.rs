//! The benches of `benchmarks/` that need more than cargo, or have a command of their own.

use anyhow::Result;

use crate::commands::{cargo_words, succeeds};
use crate::setup;

/// The option by which cargo finds the workspace of the benches.
pub const MANIFEST: &str = "--manifest-path benchmarks/Cargo.toml";

/// `cargo xtask bench-peers`: installs the peers of the benchmark, and runs it; false when it failed.
pub fn peers(words: &[String]) -> Result<bool> {
    setup::provide_peers();
    run("peers", words)
}

/// `cargo xtask bench-programs`: programs that send many buffers, by how they send them; false when it failed.
pub fn programs(words: &[String]) -> Result<bool> {
    run("programs", words)
}

/// `cargo xtask pairs`: predicted and measured savings of programs of ours. Installs strace if it is missing; false when it
/// failed.
pub fn pairs(words: &[String]) -> Result<bool> {
    setup::provide_strace();
    run("pairs", words)
}

fn run(bench: &str, words: &[String]) -> Result<bool> {
    // Quiet, since standard output may be JSON.
    let cargo = format!("bench --quiet {MANIFEST} --locked --bench {bench} --");
    succeeds(cargo_words(&cargo).args(words))
}
