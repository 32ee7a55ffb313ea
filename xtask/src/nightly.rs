//! The commands that need a nightly toolchain: `cargo xtask soak --asan`, `fuzz` and `miri`.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::{cargo_of, cargo_words, run as run_command, works};
use crate::root;
use crate::skips::missing;
use crate::sources::files;

/// Words of the names of tests that Miri does not run: most make system calls, and the last three have thousands of lists, flags or
/// models.
const NOT_UNDER_MIRI: [&str; 8] = [
    "calibrate::",
    "working_memory_is_kept",
    "a_child_that_is_forked",
    "an_error_of_a_coalesced_call",
    // Miri aborts if an allocation fails, even an allocation that the caller can do without.
    "what_no_memory_holds",
    "what_is_staged_of_an_aligned_list",
    "with_the_flag_or_is_synced",
    "buffered::gather_writer::tests::after_a_panic",
];

/// `cargo +nightly` with these words, which have no spaces in them.
fn nightly(words: &str) -> Result<Command> {
    if !works(&mut cargo_of("nightly", &["--version"])) {
        bail!("this needs a nightly toolchain: rustup toolchain install nightly");
    }
    Ok(cargo_of("nightly", &words.split(' ').collect::<Vec<_>>()))
}

/// Runs the conformance suite with random lists, queues and faults; fails if bytes were lost or records torn. The suite runs in
/// a process of its own, since it changes signal handlers and limits. `--asan` among the options builds the suite with
/// AddressSanitizer.
pub fn soak(mut options: Vec<String>) -> Result<()> {
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

/// A cargo command whose program is built with AddressSanitizer. The flags are for the target alone, so that build scripts have
/// no sanitizer.
///
/// The sanitizer sees what this process does with memory, and not what the kernel does. With `vectored_asan`, the back ends check
/// that the memory of a transfer was not freed before the transfer ended. The rest is left to the canaries of the soak.
fn with_sanitizer(words: &str) -> Result<Command> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = nightly(words)?;
    // With its own build folder, the soak waits for no other build.
    command.args(["--target", &target, "--target-dir", "target/asan"]);
    let settings = [
        // A report names functions and lines.
        "strip=false",
        "debug='line-tables-only'",
        // The sanitizer, not the optimiser, decides how long the program takes. A build at this level takes a fraction of the
        // time.
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

/// Runs every target of `fuzz/fuzz_targets`, or one of them, for `seconds` each. Fails at the first finding. Installs
/// cargo-fuzz if it is missing.
pub fn fuzz(seconds: u32, only: Option<&str>) -> Result<()> {
    if !works(&mut nightly("fuzz --version")?) {
        println!("   cargo install --locked cargo-fuzz (a minute or two)");
        run_command(&mut nightly("install --quiet --locked cargo-fuzz@0.13.2")?)?;
    }
    let all = targets()?;
    let names = all.join(", ");
    let is_wanted = |target: &String| only.is_none_or(|only| target == only);
    let targets: Vec<String> = all.into_iter().filter(is_wanted).collect();
    ensure!(
        !targets.is_empty(),
        "there is no such fuzz target; the targets are {names}"
    );
    for target in targets {
        let corpus = format!("fuzz/corpus/{target}");
        fs::create_dir_all(root().join(&corpus)).context("cannot make a corpus")?;
        println!("── {target}, {seconds} s");
        let mut command = nightly(&format!("fuzz run --fuzz-dir fuzz {target}"))?;
        // The fuzzer adds new inputs to the first folder, and leaves the seeds as they are.
        command.args([&corpus, &format!("fuzz/seeds/{target}"), "--"]);
        command.arg(format!("-max_total_time={seconds}"));
        let finding = || format!("a finding; the input is in fuzz/artifacts/{target}");
        run_command(&mut command).with_context(finding)?;
        println!("   {target}: no finding in {seconds} s\n");
    }
    Ok(())
}

/// The names of the targets: the names of their files.
fn targets() -> Result<Vec<String>> {
    let files = files(&root().join("fuzz/fuzz_targets"), &|name| {
        name.ends_with(".rs")
    })?;
    let names = files.iter().filter_map(|path| path.file_stem());
    Ok(names.map(|name| name.to_string_lossy().into()).collect())
}

/// Runs the library's tests that make no system call under Miri. If Miri cannot be installed, that is a skip.
pub fn miri() -> Result<()> {
    let words = "+nightly component add miri rust-src";
    let is_there = works(&mut cargo_of("nightly", &["miri", "--version"]))
        || works(Command::new("rustup").args(words.split(' ')));
    if !is_there {
        let why =
            "the component cannot be installed; try: rustup +nightly component add miri rust-src";
        return missing("miri", why);
    }
    // The queue also has an unsafe trait of `bytes`, and thread-local memory for writers of tokio.
    for tests in [
        "--lib --",
        "--lib --features bytes,tokio -- queue:: owned_bytes::",
    ] {
        let mut command = nightly(&format!("miri test --locked --package vectored {tests}"))?;
        command.args(NOT_UNDER_MIRI.iter().flat_map(|word| ["--skip", word]));
        // Isolation would refuse proptest its file of failures, and two cases of each property take a minute.
        // Permissive: entries for several segments are made of exposed addresses (`sys/coalesce.rs`).
        // No short calls: Miri makes some writes short at random, also a write whose test expects its whole length.
        let flags =
            "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-no-short-fd-operations";
        command.env("MIRIFLAGS", flags);
        command.env("PROPTEST_CASES", "2");
        run_command(&mut command)?;
    }
    Ok(())
}
