//! `cargo xtask test`: all that the continuous integration runs.
//!
//! The steps run three at a time, the longest chains of them first. All tests, examples and benches come from one build
//! with all features, since cargo builds a package again for each set of features and each profile. The tests, which
//! sleep and wait as well, run beside the other builds.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::benchmarks::MANIFEST;
use crate::packages::{NOT_INCREMENTAL, Package, Target, cargo, metadata, packages};
use crate::programs::Build;
use crate::skips::{SKIPS, Skips, append_skip};
use crate::steps::{Output, Report, Step};
use crate::systems::{self, Facts, Scope};
use crate::workflow;

/// Every feature of the workspace but `vectored-cli/mpi`, which needs the headers of MPI: `cargo xtask cluster` builds and
/// tests that one. `--all-features` would make them necessary for every build, those for other systems included.
pub const FEATURES: &str = "--features vectored/bytes,vectored/codec,vectored/serde,vectored/tokio,vectored/uring,xtask/lab";

/// Steps that run at the same time. One more than the smallest machines have processors: some wait for the kernel, the
/// network or Wine.
pub const LANES: usize = 3;

/// The folders that cargo locks while it builds.
const DEBUG: &str = "target/debug";
const RELEASE: &str = "target/release";
const FUZZ: &str = "fuzz/target";
const BENCHMARKS: &str = "benchmarks/target";
const MSRV: &str = "target/msrv";

/// The build of all tests, examples and benches.
pub const BUILD_TESTS: &str = "build-tests";

/// The first line of a bench, which runs as `cargo test --benches` runs it, not optimised: times depend on the machine,
/// so they decide nothing.
const BENCH_HEADING: &str = "   run once: fails on errors; its figures are for information";

/// Runs every step, or one of them; false when one failed.
pub fn run(only: Option<&str>) -> Result<bool> {
    let skips = Skips::new()?;
    let packages = packages(&metadata()?);
    let tests = everything_build(&packages);
    let facts = Facts::default();
    // Alone: the others need what it installs.
    let mut first = vec![Step::command("setup", || xtask("setup"))];
    // Most of the run is builds, which wait for each other's folder: tests run as soon as they are built.
    let mut all = checks();
    all.push(workflow(&skips.path));
    all.extend(builds(&tests));
    all.extend(released(&skips.path));
    all.extend(systems::steps(&facts, &skips.path, Scope::Minutes));
    all.extend(programs(&packages, &tests, &skips.path));
    all.extend(benchmarks(&skips.path));
    if let Some(only) = only {
        let names = names(first.iter().chain(&all));
        first.retain(|step| step.name == only);
        all.retain(|step| step.name == only);
        if first.is_empty() && all.is_empty() {
            bail!("there is no step '{only}'; the steps are:\n  {names}");
        }
    }
    let mut report = Report::start("cargo xtask test");
    report.run(&first, 1);
    report.run(&all, LANES);
    println!("{}\n", skips.listed()?);
    print!("{}", facts.listed());
    println!("{}", report.summary());
    Ok(report.is_well())
}

fn names<'a>(steps: impl Iterator<Item = &'a Step<'a>>) -> String {
    let names: Vec<&str> = steps.map(|step| &*step.name).collect();
    names.join("\n  ")
}

/// Format and the rules of this repository: seconds.
pub fn checks<'a>() -> Vec<Step<'a>> {
    vec![
        Step::command("tidy", || xtask("tidy")),
        Step::command("format", || cargo_words("fmt --all --check")),
        Step::command("format-fuzz", || {
            cargo_words("fmt --manifest-path fuzz/Cargo.toml --check")
        }),
        Step::command("format-benchmarks", || {
            cargo_words(&format!("fmt --all {MANIFEST} --check"))
        }),
    ]
}

/// The syntax of the workflow for GitHub Actions.
fn workflow(skips: &Path) -> Step<'_> {
    Step::new("workflow", |output| match workflow::check(output)? {
        None => Ok(()),
        Some(why) => append_skip(skips, &format!("workflow: {why}")),
    })
}

/// The lints of everything.
pub fn clippy<'a>() -> Step<'a> {
    Step::command("clippy", || {
        let words = format!("clippy --workspace --all-targets {FEATURES} --locked -- -D warnings");
        cargo_words(&words)
    })
    .builds_in(DEBUG)
}

/// All tests and examples, with all features.
pub fn tests_build() -> Build {
    Build::new(format!("test --workspace {FEATURES} --locked --no-run"))
}

/// All tests, examples and benches, with all features. The benches have the profile of the tests, with all checks of
/// the compiler: optimised they would need all dependencies a second time.
///
/// The benches are named: with `--all-targets` cargo builds each example as a test program, whose `main` never runs.
fn everything_build(packages: &[Package]) -> Build {
    let mut benches = format!("test --workspace {FEATURES} --locked --no-run");
    for (_, bench) in of_kind(packages, "bench") {
        benches.push_str(" --bench ");
        benches.push_str(&bench.name);
    }
    tests_build().and(benches).not_incremental()
}

/// The build of the tests.
pub fn build_tests(tests: &Build) -> Step<'_> {
    Step::new(BUILD_TESTS, |output| tests.build(output)).builds_in(DEBUG)
}

/// The steps of cargo alone: builds, lints and docs.
fn builds(tests: &Build) -> Vec<Step<'_>> {
    vec![
        build_tests(tests),
        // Without the fuzzer itself, which is C++ and needs a nightly toolchain.
        Step::command("fuzz-targets", || {
            cargo_words(
                "check --quiet --manifest-path fuzz/Cargo.toml --no-default-features --locked",
            )
        })
        .builds_in(FUZZ),
        clippy(),
        Step::command("docs", || {
            let words =
                format!("doc --workspace --no-deps --document-private-items {FEATURES} --locked");
            let mut command = cargo_words(&words);
            command.env("RUSTDOCFLAGS", "-D warnings");
            command
        })
        .builds_in(DEBUG),
        // The library as its users build it by default, and xtask as `cargo xtask` builds it.
        Step::command("clippy-no-features", || {
            cargo_words(
                "clippy --package vectored --package xtask --all-targets --locked -- -D warnings",
            )
        })
        .builds_in(DEBUG),
        Step::command("doctests", || {
            cargo_words(&format!("test --workspace {FEATURES} --locked --doc"))
        })
        .builds_in(DEBUG)
        .needs(BUILD_TESTS),
    ]
}

/// A step for each test program, example and bench, and one that counts instructions.
fn programs<'a>(packages: &'a [Package], tests: &'a Build, skips: &'a Path) -> Vec<Step<'a>> {
    let mut steps = test_programs(packages, tests, skips, &[]);
    for (package, target) in of_kind(packages, "example") {
        let name = format!("example:{}/{}", package.name, target.name);
        let run = program(tests, (package, target), &[], skips);
        steps.push(Step::new(name, run).needs(BUILD_TESTS));
    }
    for (package, target) in of_kind(packages, "bench") {
        let run = program(tests, (package, target), &["--test", "--bench"], skips);
        let name = bench_step(package, target);
        let run = move |output: &Output| {
            output.line(BENCH_HEADING)?;
            run(output)
        };
        steps.push(Step::new(name, run).needs(BUILD_TESTS));
    }
    // It counts optimised code, and needs the C library as well, which the steps of releases have built.
    steps.push(recorded("instructions", &["instructions"], skips).builds_in(RELEASE));
    steps.push(recorded("publish", &["publish"], skips));
    steps.push(recorded("msrv", &["msrv"], skips).builds_in(MSRV));
    steps.push(recorded("deny", &["deny"], skips));
    steps
}

/// The lints, tests and doc tests of `benchmarks/`, and each of its benches once.
fn benchmarks(skips: &Path) -> Vec<Step<'_>> {
    let test = move |words: &str| {
        let mut command = cargo_words(&format!("test --workspace {MANIFEST} --locked {words}"));
        command.env(SKIPS, skips);
        command
    };
    let steps = [
        Step::command("benchmarks-tests", move || test("--lib --bins --tests")),
        Step::new("benchmarks", move |output| {
            output.line(BENCH_HEADING)?;
            output.run(&mut test("--benches -- --test"))
        }),
        Step::command("benchmarks-example", || {
            cargo_words(&format!("run {MANIFEST} --locked --example hyper_server"))
        }),
        Step::command("benchmarks-doctests", move || test("--doc")),
        Step::command("benchmarks-clippy", || {
            let words = "clippy --workspace --all-targets";
            cargo_words(&format!("{words} {MANIFEST} --locked -- -D warnings"))
        }),
    ];
    steps.map(|step| step.builds_in(BENCHMARKS)).into()
}

/// The steps that build with the profile of releases, in one folder.
fn released(skips: &Path) -> Vec<Step<'_>> {
    let steps = [
        recorded("deb", &["deb", "--try-out"], skips),
        recorded("cluster", &["cluster"], skips),
        recorded("c-library", &["test-c"], skips),
        recorded("python", &["python"], skips),
    ];
    steps.map(|step| step.builds_in(RELEASE)).into()
}

/// A step that runs this program with these words, and records what is skipped.
fn recorded<'a>(name: &str, words: &'static [&'static str], skips: &'a Path) -> Step<'a> {
    Step::command(name, move || {
        let mut command = xtask(words[0]);
        command.args(&words[1..]).env(SKIPS, skips);
        command
    })
}

/// A step for each test program, with these words.
pub fn test_programs<'a>(
    packages: &'a [Package],
    tests: &'a Build,
    skips: &'a Path,
    words: &'static [&'static str],
) -> Vec<Step<'a>> {
    let targets = packages
        .iter()
        .flat_map(|package| package.targets.iter().map(move |target| (package, target)));
    targets
        .filter(|(_, target)| target.is_tested)
        .map(|(package, target)| {
            let run = program(tests, (package, target), words, skips);
            Step::new(test_step(package, target), run).needs(BUILD_TESTS)
        })
        .collect()
}

/// The name of a step that runs a test program: `tests:vectored/lib`, `tests:vectored/it`.
fn test_step(package: &Package, target: &Target) -> String {
    let name = match &*target.kind {
        "lib" => "lib",
        _ => &target.name,
    };
    format!("tests:{}/{name}", package.name)
}

fn bench_step(package: &Package, target: &Target) -> String {
    format!("bench:{}/{}", package.name, target.name)
}

/// Runs a program of a build with these words.
fn program<'a>(
    build: &'a Build,
    (package, target): (&'a Package, &'a Target),
    words: &'static [&'static str],
    skips: &'a Path,
) -> impl Fn(&Output) -> Result<(), String> + Send + Sync + 'a {
    move |output| {
        let mut command = build.command(output, package, target)?;
        output.run(command.args(words).env(SKIPS, skips))
    }
}

fn of_kind<'a>(
    packages: &'a [Package],
    kind: &'a str,
) -> impl Iterator<Item = (&'a Package, &'a Target)> {
    packages.iter().flat_map(move |package| {
        let targets = package.targets.iter();
        targets
            .filter(move |target| target.kind == kind && target.is_program)
            .map(move |target| (package, target))
    })
}

fn cargo_words(words: &str) -> Command {
    let mut command = cargo();
    command.args(words.split(' ')).envs(NOT_INCREMENTAL);
    command
}

/// This program with another command.
fn xtask(command: &str) -> Command {
    // The program itself, not `cargo xtask`, which would build it and wait for another build.
    let program = std::env::current_exe().unwrap_or_else(|_| "xtask".into());
    let mut this = Command::new(program);
    this.arg(command).envs(NOT_INCREMENTAL);
    this
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn every_tested_target_example_and_bench_of_the_workspace_has_a_step_of_its_own() {
        let packages = packages(&metadata().unwrap());
        let tests = everything_build(&packages);
        let steps = programs(&packages, &tests, Path::new("skips"));
        let mut names: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
        for expected in [
            "tests:vectored/lib",
            "tests:vectored/it",
            "tests:vectored/refused",
            "tests:vectored-cli/vectored",
            "tests:vectored-lab/it",
            "tests:xtask/xtask",
            "example:vectored/gather",
            "bench:vectored/copy",
        ] {
            assert!(names.contains(&expected), "{expected}: {names:?}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}
