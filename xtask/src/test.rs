//! `cargo xtask test`: all that the continuous integration runs.
//!
//! The steps are in lists. The steps of a list run in order. Two lists run at a time, since machines with two processors run
//! them. Lists that run at the same time build in different folders, so that neither list waits for a locked folder. All tests,
//! examples and benches come from one build with all features, since cargo builds a package again for each set of features and
//! each profile.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::commands::{FEATURES, cargo_words, run as run_command, script, target_folder};
use crate::packages;
use crate::release;
use crate::root;
use crate::skips::{self, SKIPS};
use crate::steps::{Report, Step};
use crate::{api, instructions, setup, systems, tidy};

/// The option that tells cargo the workspace of the benches.
pub const BENCHMARKS: &str = "--manifest-path benchmarks/Cargo.toml";

/// Variables of the environment that change what programs print or how they are built. The tests do not inherit them.
const NOT_INHERITED: &str = "CARGO_ENCODED_RUSTFLAGS CC CFLAGS CLICOLOR CLICOLOR_FORCE COLUMNS CPPFLAGS CXX CXXFLAGS GOFLAGS \
    GZIP JAVA_TOOL_OPTIONS LANGUAGE LDFLAGS LINES MAKEFLAGS NODE_OPTIONS NO_COLOR POSIXLY_CORRECT PYTHONPATH PYTHONUNBUFFERED \
    RUSTDOCFLAGS RUSTFLAGS TAR_OPTIONS";

/// Examples that need a peer or the name of a file.
const WITH_A_PEER: [&str; 3] = ["copy_progress", "echo_frames", "tcp_message"];

/// Runs every step, or one of them; fails when one failed.
pub fn run(only: Option<&str>) -> Result<()> {
    let lists = lists();
    let names = || lists.iter().flatten().map(|step| step.name);
    let mut report = Report::start("cargo xtask test")?;
    match only {
        None => {
            // `setup` runs alone: the other steps need what it installs.
            report.run("setup", setup::run);
            report.run_lists(&lists, in_own_process);
        }
        Some("setup") => report.run("setup", setup::run),
        Some(only) if names().any(|name| name == only) => {
            report.run(only, || run_command(&mut in_own_process(only)));
        }
        Some(only) => {
            let names: Vec<&str> = names().collect();
            let names = names.join("\n  ");
            bail!("there is no step '{only}'; the steps are:\n  setup\n  {names}");
        }
    }
    report.end()
}

pub fn run_step(name: &str) -> Result<()> {
    let lists = lists();
    let step = lists.iter().flatten().find(|step| step.name == name);
    (step
        .with_context(|| format!("there is no step '{name}'"))?
        .work)()
}

/// This program, with a step to run. Nothing is built incrementally: a whole run would write files for incremental builds, and
/// never use these files. Without debug information, compilers take a sixth less time; a panic still names its line.
fn in_own_process(step: &str) -> Command {
    // This program, not `cargo xtask`, which would build it and wait for another build.
    let program = std::env::current_exe().unwrap_or_else(|_| "xtask".into());
    let mut this = Command::new(program);
    this.args(["step", step]).env("CARGO_INCREMENTAL", "0");
    this.env("CARGO_PROFILE_DEV_DEBUG", "0");
    this.env("LC_ALL", "C.UTF-8");
    for variable in NOT_INHERITED.split_whitespace() {
        this.env_remove(variable);
    }
    this.envs(skips::list().map(|list| (SKIPS, list)));
    this
}

/// All steps but `setup`, in lists. The longest come first; the last steps build in folders of lists that have ended.
fn lists() -> [Vec<Step>; 5] {
    let other = |name| Step::new(name, move || systems::build(name, false));
    let mut others: Vec<Step> = systems::tested().map(other).collect();
    others.push(Step::new("msrv", release::msrv));
    let scripts = |list: [(&'static str, &'static str); 6]| {
        let step = |(name, words): (&'static str, &'static str)| {
            Step::new(name, move || run_script(words))
        };
        list.map(step).into_iter()
    };
    let mut packaged = scripts([
        ("dist", "dist/build.sh target/box try-out"),
        ("site", "site/build.py target/site/out"),
        ("c-library", "c_library/test.sh"),
        ("python", "python.sh"),
        // The code of the remedies uses both libraries.
        ("remedies", "tests/remedies/try.py"),
        ("cluster", "cluster.py"),
    ]);
    let boxed = packaged.by_ref().take(2).collect();
    let mut optimised: Vec<Step> = packaged.collect();
    optimised.extend([
        // Counts instructions of optimised code, and needs the C library.
        Step::new("instructions", instructions::run),
        Step::new("publish", || release::publish(false)),
        Step::new("deny", release::deny),
    ]);
    [others, in_debug(), boxed, optimised, benchmarks()]
}

/// Runs a script of `xtask/`. Words with a slash are folders of the repository.
fn run_script(words: &str) -> Result<()> {
    let mut words = words.split(' ');
    let mut command = script(words.next().unwrap_or_default());
    for word in words {
        if word.contains('/') {
            command.arg(root().join(word));
        } else {
            command.arg(word);
        }
    }
    run_command(&mut command)
}

/// The checks and tests of this workspace, which build in `target/debug`.
fn in_debug() -> Vec<Step> {
    // All steps name equal packages and features, so cargo builds a package once.
    let all = format!("test --workspace {FEATURES} --locked");
    vec![
        Step::new("tidy", tidy::run),
        cargo_step("format", "fmt --all --check"),
        cargo_step("format-fuzz", "fmt --manifest-path fuzz/Cargo.toml --check"),
        cargo_step(
            "format-benchmarks",
            format!("fmt --all {BENCHMARKS} --check"),
        ),
        Step::new("workflow", release::workflow),
        Step::new("bpf", || run_script("bpf.sh")),
        cargo_step(
            "tests",
            format!("{all} --no-fail-fast --lib --bins --tests"),
        ),
        Step::new("examples", || {
            let mut names = packages::targets("example")?;
            names.retain(|name| !WITH_A_PEER.contains(&&**name));
            let words = format!("build --workspace {FEATURES} --locked --examples");
            run_command(&mut cargo_words(&words))?;
            let built = target_folder().join("debug/examples");
            names
                .into_iter()
                .try_for_each(|name| run_command(&mut Command::new(built.join(name))))
        }),
        // Each bench is named, because `--benches` would build each library once more as a test program. The benches are not
        // optimised, since their figures decide nothing.
        Step::new("benches", move || {
            let names = packages::targets("bench")?;
            let names = names.iter().map(|name| format!(" --bench {name}"));
            let words = format!("{all}{} -- --test --bench", names.collect::<String>());
            run_command(&mut cargo_words(&words))
        }),
        cargo_step(
            "clippy",
            format!("clippy --workspace --all-targets {FEATURES} --locked -- -D warnings"),
        ),
        // The library as its users build it by default, and xtask as `cargo xtask` builds it.
        cargo_step(
            "clippy-no-features",
            "clippy --package vectored --package xtask --all-targets --locked -- -D warnings",
        ),
        Step::new("api", || api::run(false)),
        Step::new("docs", || {
            let words =
                format!("doc --workspace --no-deps --document-private-items {FEATURES} --locked");
            run_command(cargo_words(&words).env("RUSTDOCFLAGS", "-D warnings"))
        }),
        cargo_step(
            "doctests",
            format!("test --workspace {FEATURES} --locked --doc"),
        ),
    ]
}

/// The lints, tests and doc tests of `benchmarks/`, each of its benches once, and the targets of the fuzzer. All build in the
/// folder of the main workspace, since this folder already has most of their dependencies.
fn benchmarks() -> Vec<Step> {
    let at = format!("{BENCHMARKS} --target-dir target --locked");
    let step = |name, words: &str| cargo_step(name, words.replace("BENCHMARKS", &at));
    vec![
        step(
            "benchmarks-tests",
            "test --workspace BENCHMARKS --lib --bins --tests",
        ),
        step(
            "benchmarks",
            "test --workspace BENCHMARKS --benches -- --test",
        ),
        step(
            "benchmarks-example",
            "run BENCHMARKS --example hyper_server",
        ),
        step("benchmarks-doctests", "test --workspace BENCHMARKS --doc"),
        step(
            "benchmarks-clippy",
            "clippy --workspace --all-targets BENCHMARKS -- -D warnings",
        ),
        // Without the fuzzer itself, which is C++ and needs a nightly toolchain.
        cargo_step(
            "fuzz-targets",
            "check --quiet --manifest-path fuzz/Cargo.toml --target-dir target --no-default-features --locked",
        ),
    ]
}

fn cargo_step(name: &'static str, words: impl Into<String>) -> Step {
    let words = words.into();
    Step::new(name, move || run_command(&mut cargo_words(&words)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::metadata;

    #[test]
    fn every_feature_is_built_but_that_of_mpi() {
        let metadata = metadata().unwrap();
        let mut known = Vec::new();
        for package in metadata["packages"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap();
            let features = package["features"].as_object().unwrap().keys();
            known.extend(features.map(|feature| format!("{name}/{feature}")));
        }
        known.sort_unstable();
        let (_, built) = FEATURES.split_once(' ').unwrap();
        let mut built: Vec<&str> = built.split(',').chain(["vectored-cli/mpi"]).collect();
        built.sort_unstable();
        assert_eq!(known, built);
    }
}
