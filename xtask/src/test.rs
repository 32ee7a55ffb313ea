//! `cargo xtask test`: all that the continuous integration runs.
//!
//! The steps are in lists, each of which runs in its order, in two lanes, for machines with two processors. Lists that run
//! at the same time build in different folders, so that neither waits for a folder that the other has locked. All tests,
//! examples and benches come from one build with all features, since cargo builds a package again for each set of features
//! and each profile.

use std::process::Command;

use anyhow::{Result, bail};

use crate::commands::{FEATURES, cargo_words, run as run_command, script};
use crate::packages::{Package, Programs, Target, packages};
use crate::release;
use crate::root;
use crate::skips::{self, SKIPS};
use crate::steps::{Report, Step};
use crate::{api, instructions, setup, systems, tidy};

/// The option by which cargo finds the workspace of the benches.
pub const BENCHMARKS: &str = "--manifest-path benchmarks/Cargo.toml";

/// The build of all tests, examples and benches.
pub const BUILD_TESTS: &str = "build-tests";

/// Variables of who runs the tests that change what programs print or how they are built.
const NOT_INHERITED: [&str; 24] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CC",
    "CFLAGS",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "GOFLAGS",
    "GZIP",
    "JAVA_TOOL_OPTIONS",
    "LANGUAGE",
    "LDFLAGS",
    "LINES",
    "MAKEFLAGS",
    "NODE_OPTIONS",
    "NO_COLOR",
    "POSIXLY_CORRECT",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "TAR_OPTIONS",
];

/// The first line of a bench, which runs as `cargo test --benches` runs it, not optimised: times depend on the machine,
/// so they decide nothing.
const BENCH_HEADING: &str = "   run once: fails on errors; its figures are for information";

/// Runs every step, or one of them; fails when one failed.
pub fn run(only: Option<&str>) -> Result<()> {
    let packages = packages()?;
    let lists = lists(&packages);
    let mut report = Report::start("cargo xtask test")?;
    match only {
        None => {
            // Alone: the others need what it installs.
            report.run("setup", setup::run);
            report.run_lists(&lists, in_own_process);
        }
        Some("setup") => report.run("setup", setup::run),
        Some(only) => {
            let mut names = lists.iter().flatten().map(|step| &*step.name);
            if !names.any(|name| name == only) {
                let names: Vec<&str> = lists.iter().flatten().map(|step| &*step.name).collect();
                let names = names.join("\n  ");
                bail!("there is no step '{only}'; the steps are:\n  setup\n  {names}");
            }
            report.run(only, || run_command(&mut in_own_process(only)));
        }
    }
    report.end()
}

/// Runs a step of a list in this process.
pub fn run_step(name: &str) -> Result<()> {
    let packages = packages()?;
    let lists = lists(&packages);
    let Some(step) = lists.iter().flatten().find(|step| step.name == name) else {
        bail!("there is no step '{name}'");
    };
    (step.work)()
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
    for variable in NOT_INHERITED {
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
    let packaged = vec![
        Step::new("dist", || {
            let folder = root().join("target/box");
            run_command(script("dist/build.sh").arg(folder).arg("try-out"))
        }),
        Step::new("site", || {
            run_command(script("site/build.py").arg(root().join("target/site/out")))
        }),
    ];
    let optimised = vec![
        Step::new("c-library", || {
            run_command(&mut script("c_library/test.sh"))
        }),
        Step::new("python", || run_command(&mut script("python.sh"))),
        // Their code uses both libraries.
        Step::new("remedies", || {
            run_command(&mut script("tests/remedies/try.py"))
        }),
        Step::new("cluster", || run_command(&mut script("cluster.py"))),
        // Counts instructions of optimised code, and needs the C library too.
        Step::new("instructions", instructions::run),
        Step::new("publish", || release::publish(false)),
        Step::new("deny", release::deny),
    ];
    [
        others,
        in_debug(packages),
        packaged,
        optimised,
        benchmarks(),
    ]
}

/// The checks and tests of this workspace, which build in `target/debug`.
fn in_debug(packages: &[Package]) -> Vec<Step<'_>> {
    let mut steps = checks();
    steps.push(Step::new("workflow", release::workflow));
    steps.push(Step::new(BUILD_TESTS, || {
        Programs::build(&tests_build())?;
        Programs::build(&benches_build(packages)).map(drop)
    }));
    steps.extend(test_programs(packages));
    steps.extend([
        clippy(),
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

/// Format and the rules of this repository: seconds.
pub fn checks<'a>() -> Vec<Step<'a>> {
    vec![
        Step::new("tidy", tidy::run),
        cargo_step("format", "fmt --all --check"),
        cargo_step("format-fuzz", "fmt --manifest-path fuzz/Cargo.toml --check"),
        cargo_step(
            "format-benchmarks",
            format!("fmt --all {BENCHMARKS} --check"),
        ),
    ]
}

/// The lints of everything.
pub fn clippy<'a>() -> Step<'a> {
    let words = format!("clippy --workspace --all-targets {FEATURES} --locked -- -D warnings");
    cargo_step("clippy", words)
}

/// The words with which cargo builds all tests and examples, with all features.
pub fn tests_build() -> String {
    format!("test --workspace {FEATURES} --locked --no-run")
}

/// The words with which cargo builds all benches, with the profile of the tests: optimised, all dependencies would be
/// built a second time.
///
/// Each bench is named: with `--all-targets` cargo builds each example as a test program, whose `main` never runs.
fn benches_build(packages: &[Package]) -> String {
    let benches = of_kind(packages, "bench").map(|(_, bench)| format!(" --bench {}", bench.name));
    tests_build() + &benches.collect::<String>()
}

/// A step for each test program, example and bench.
fn test_programs(packages: &[Package]) -> Vec<Step<'_>> {
    let tests = tested(packages).map(|(package, target)| {
        let work =
            move || run_command(&mut Programs::build(&tests_build())?.command(package, target)?);
        Step::new(test_name(package, target), work)
    });
    let examples = of_kind(packages, "example").map(|(package, target)| {
        let work =
            move || run_command(&mut Programs::build(&tests_build())?.command(package, target)?);
        Step::new(format!("example:{}/{}", package.name, target.name), work)
    });
    let benches = of_kind(packages, "bench").map(|(package, target)| {
        let work = move || {
            println!("{BENCH_HEADING}");
            let programs = Programs::build(&benches_build(packages))?;
            run_command(
                programs
                    .command(package, target)?
                    .args(["--test", "--bench"]),
            )
        };
        Step::new(format!("bench:{}/{}", package.name, target.name), work)
    });
    let all = tests.chain(examples).chain(benches);
    all.map(|step| step.needs(BUILD_TESTS)).collect()
}

/// The lints, tests and doc tests of `benchmarks/`, each of its benches once, and the targets of the fuzzer. They build in the
/// folder of the main workspace, which has built most of their dependencies.
fn benchmarks<'a>() -> Vec<Step<'a>> {
    let folder = "--target-dir target";
    let test = |words| format!("test --workspace {BENCHMARKS} {folder} --locked {words}");
    let benches = test("--benches -- --test");
    let example = format!("run {BENCHMARKS} {folder} --locked --example hyper_server");
    let clippy =
        format!("clippy --workspace --all-targets {BENCHMARKS} {folder} --locked -- -D warnings");
    // Without the fuzzer itself, which is C++ and needs a nightly toolchain.
    let fuzz = format!(
        "check --quiet --manifest-path fuzz/Cargo.toml {folder} --no-default-features --locked"
    );
    vec![
        cargo_step("benchmarks-tests", test("--lib --bins --tests")),
        Step::new("benchmarks", move || {
            println!("{BENCH_HEADING}");
            run_command(&mut cargo_words(&benches))
        }),
        cargo_step("benchmarks-example", example),
        cargo_step("benchmarks-doctests", test("--doc")),
        cargo_step("benchmarks-clippy", clippy),
        cargo_step("fuzz-targets", fuzz),
    ]
}

/// The libraries, binaries and tests that `cargo test` runs.
pub fn tested(packages: &[Package]) -> impl Iterator<Item = (&Package, &Target)> {
    all_targets(packages).filter(|(_, target)| target.is_tested)
}

fn of_kind<'a>(
    packages: &'a [Package],
    kind: &'a str,
) -> impl Iterator<Item = (&'a Package, &'a Target)> {
    all_targets(packages).filter(move |(_, target)| target.kind == kind && target.is_program)
}

fn all_targets(packages: &[Package]) -> impl Iterator<Item = (&Package, &Target)> {
    packages.iter().flat_map(|package| {
        let targets = package.targets.iter();
        targets.map(move |target| (package, target))
    })
}

/// The name of a step that runs a test program: `tests:vectored/lib`, `tests:vectored/it`.
pub fn test_name(package: &Package, target: &Target) -> String {
    let name = match &*target.kind {
        "lib" => "lib",
        _ => &target.name,
    };
    format!("tests:{}/{name}", package.name)
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
