//! `cargo xtask test`: all that the continuous integration runs.
//!
//! The steps are in lists. A list runs in its order, and two lists run at a time, for machines with two processors. Lists that run
//! at the same time build in different folders, so that neither waits for a folder that the other has locked. All tests,
//! examples and benches come from one build with all features, since cargo builds a package again for each set of features
//! and each profile.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::commands::{FEATURES, cargo_words, run as run_command, script};
use crate::packages::{Package, Programs, Target, packages};
use crate::release;
use crate::root;
use crate::skips::{self, SKIPS};
use crate::steps::{Report, Step};
use crate::{api, instructions, setup, systems, tidy};

/// The option that tells cargo the workspace of the benches.
pub const BENCHMARKS: &str = "--manifest-path benchmarks/Cargo.toml";

/// The build of all tests, examples and benches.
const BUILD_TESTS: &str = "build-tests";

/// Variables of who runs the tests that change what programs print or how they are built.
const NOT_INHERITED: &str = "CARGO_ENCODED_RUSTFLAGS CC CFLAGS CLICOLOR CLICOLOR_FORCE COLUMNS CPPFLAGS CXX CXXFLAGS GOFLAGS \
    GZIP JAVA_TOOL_OPTIONS LANGUAGE LDFLAGS LINES MAKEFLAGS NODE_OPTIONS NO_COLOR POSIXLY_CORRECT PYTHONPATH PYTHONUNBUFFERED \
    RUSTDOCFLAGS RUSTFLAGS TAR_OPTIONS";

/// Examples that need a peer or the name of a file. Tests of their packages include and run them.
const WITH_A_PEER: [&str; 3] = ["copy_progress", "echo_frames", "tcp_message"];

/// The first line of a bench, which runs as `cargo test --benches` runs it, not optimised: times depend on the machine,
/// so they decide nothing.
const BENCH_HEADING: &str = "   run once: fails on errors; its figures are for information";

/// Runs every step, or one of them; fails when one failed.
pub fn run(only: Option<&str>) -> Result<()> {
    let packages = packages()?;
    let lists = lists(&packages);
    let names = || lists.iter().flatten().map(|step| &*step.name);
    let mut report = Report::start("cargo xtask test")?;
    match only {
        None => {
            // Alone: the others need what it installs.
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

/// Runs a step of a list in this process.
pub fn run_step(name: &str) -> Result<()> {
    let packages = packages()?;
    let lists = lists(&packages);
    let step = lists.iter().flatten().find(|step| step.name == name);
    (step
        .with_context(|| format!("there is no step '{name}'"))?
        .work)()
}

/// This program with a step. Nothing is built incrementally: a whole run would write files for that which it never uses. Without
/// debug information compilers take a sixth less; a panic still has its line.
fn in_own_process(step: &str) -> Command {
    // Not `cargo xtask`, which would build it and wait for another build.
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

/// All steps but `setup`, in lists. The longest come first; the last ones build in folders of lists that have ended.
fn lists(packages: &[Package]) -> [Vec<Step<'_>>; 5] {
    let other = |name| Step::new(name, move || systems::build(name, false));
    let mut others: Vec<Step<'_>> = systems::tested().map(other).collect();
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
        // Their code uses both libraries.
        ("remedies", "tests/remedies/try.py"),
        ("cluster", "cluster.py"),
    ]);
    let boxed = packaged.by_ref().take(2).collect();
    let mut optimised: Vec<Step<'_>> = packaged.collect();
    optimised.extend([
        // Counts instructions of optimised code, and needs the C library.
        Step::new("instructions", instructions::run),
        Step::new("publish", || release::publish(false)),
        Step::new("deny", release::deny),
    ]);
    [others, in_debug(packages), boxed, optimised, benchmarks()]
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
fn in_debug(packages: &[Package]) -> Vec<Step<'_>> {
    let mut steps = vec![
        Step::new("tidy", tidy::run),
        cargo_step("format", "fmt --all --check"),
        cargo_step("format-fuzz", "fmt --manifest-path fuzz/Cargo.toml --check"),
        cargo_step(
            "format-benchmarks",
            format!("fmt --all {BENCHMARKS} --check"),
        ),
        Step::new("workflow", release::workflow),
        Step::new("bpf", || run_script("bpf.sh")),
        Step::new(BUILD_TESTS, || {
            Programs::build(&tests_build())?;
            Programs::build(&benches_build(packages)).map(drop)
        }),
    ];
    let all = packages.iter().flat_map(|package| {
        let targets = package.targets.iter();
        targets.map(move |target| (package, target))
    });
    steps.extend(all.filter_map(|(package, target)| program(packages, package, target)));
    steps.extend([
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
    ]);
    steps
}

/// The words with which cargo builds all tests and examples, with all features.
fn tests_build() -> String {
    format!("test --workspace {FEATURES} --locked --no-run")
}

/// The words with which cargo builds all benches, with the profile of the tests: optimised, all dependencies would be
/// built a second time.
///
/// Each bench is named: with `--all-targets` cargo builds each example as a test program, whose `main` never runs.
fn benches_build(packages: &[Package]) -> String {
    let targets = packages.iter().flat_map(|package| &package.targets);
    let benches = targets.filter(|target| target.kind == "bench");
    benches.fold(tests_build(), |words, bench| {
        words + " --bench " + &bench.name
    })
}

/// The step that runs a test program, an example or a bench: `tests:vectored/lib`, `example:vectored/gather`.
fn program<'a>(
    packages: &'a [Package],
    package: &'a Package,
    target: &'a Target,
) -> Option<Step<'a>> {
    let is_bench = target.kind == "bench";
    let kind = match &*target.kind {
        _ if target.is_tested => "tests",
        kind @ ("example" | "bench")
            if target.is_program && !WITH_A_PEER.contains(&&*target.name) =>
        {
            kind
        }
        _ => return None,
    };
    let name = if target.kind == "lib" { "lib" } else { &target.name };
    let work = move || {
        let build = if is_bench { benches_build(packages) } else { tests_build() };
        let mut command = Programs::build(&build)?.command(package, target)?;
        if is_bench {
            println!("{BENCH_HEADING}");
            command.args(["--test", "--bench"]);
        }
        run_command(&mut command)
    };
    let mut step = Step::new(format!("{kind}:{}/{name}", package.name), work);
    step.needs = Some(BUILD_TESTS);
    Some(step)
}

/// The lints, tests and doc tests of `benchmarks/`, each of its benches once, and the targets of the fuzzer. They build in the
/// folder of the main workspace, which has built most of their dependencies.
fn benchmarks<'a>() -> Vec<Step<'a>> {
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

/// A step that runs cargo with these words.
fn cargo_step<'a>(name: &str, words: impl Into<String>) -> Step<'a> {
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

    #[test]
    fn every_tested_target_example_bench_and_system_has_a_step_of_its_own() {
        let packages = packages().unwrap();
        let lists = lists(&packages);
        let mut names: Vec<&str> = lists.iter().flatten().map(|step| &*step.name).collect();
        for expected in [
            "tests:vectored/lib",
            "tests:vectored/it",
            "tests:vectored/allocations",
            "tests:vectored-cli/vectored",
            "tests:vectored-measure/it",
            "tests:xtask/xtask",
            "example:vectored/gather",
            "bench:vectored/copy",
            "s390x-unknown-linux-gnu",
        ] {
            assert!(names.contains(&expected), "{expected}: {names:?}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}
