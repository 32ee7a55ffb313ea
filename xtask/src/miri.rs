//! `cargo xtask miri`: the library's tests that make no system call, under Miri.

use std::process::Command;

use anyhow::Result;

use crate::commands::{cargo_of, run as run_command, works};
use crate::skips::missing;

/// Tests that Miri cannot run, most of them since they make system calls. Each word skips the tests whose name
/// contains it.
const NOT_UNDER_MIRI: [&str; 5] = [
    "calibrate::",
    "working_memory_is_kept",
    "a_child_that_is_forked",
    "an_error_of_a_coalesced_call",
    // Miri aborts if an allocation fails, even one that the caller can do without.
    "what_no_memory_holds",
];

/// Tests of thousands of lists, flags or models: Miri takes minutes for each.
const TOO_LONG: [&str; 3] = [
    "what_is_staged_of_an_aligned_list",
    "with_exactly_the_flags_that_are_taken",
    "buffered::gather_writer::tests::after_a_panic",
];

/// Runs the tests. If Miri cannot be installed, that is a skip.
pub fn run() -> Result<()> {
    if !provide() {
        let why =
            "the component cannot be installed; try: rustup +nightly component add miri rust-src";
        return missing("miri", why);
    }
    // The queue also has an unsafe trait of `bytes`, and thread-local memory for writers of tokio.
    for tests in [
        "--lib --",
        "--lib --features bytes,tokio -- queue:: owned_bytes::",
    ] {
        let words = format!("miri test --locked --package vectored {tests}");
        let mut command = cargo_of("nightly", &words.split(' ').collect::<Vec<_>>());
        for word in NOT_UNDER_MIRI.iter().chain(&TOO_LONG) {
            command.args(["--skip", word]);
        }
        // Isolation would refuse proptest its file of failures, and two cases of each property take a minute.
        // Permissive: entries for several segments are made of exposed addresses (`sys/coalesce.rs`).
        // No short calls: Miri makes some writes short at random, also one whose test says what one call writes.
        let flags =
            "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-no-short-fd-operations";
        command.env("MIRIFLAGS", flags);
        command.env("PROPTEST_CASES", "2");
        run_command(&mut command)?;
    }
    Ok(())
}

fn provide() -> bool {
    let words = "+nightly component add miri rust-src";
    works(&mut cargo_of("nightly", &["miri", "--version"]))
        || works(Command::new("rustup").args(words.split(' ')))
}
