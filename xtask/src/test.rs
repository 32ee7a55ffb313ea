//! `cargo xtask test`: all that the continuous integration runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::packages::{Extra, cargo, extras, metadata};
use crate::ruler::{PlainExperiments, PlainLoops};
use crate::steps::{Failed, Steps};
use crate::{instructions, tidy, tools};

/// Names the file that a test which cannot run appends its reason to.
const SKIPS: &str = "VECTORED_SKIPS";

/// Runs every step; false when one failed.
pub fn run() -> Result<bool> {
    let skips = fresh_file()?;
    let mut steps = Steps::start();
    let outcome = all(&mut steps, &skips);
    println!("{}", skipped(&std::fs::read_to_string(&skips)?));
    println!("{}", steps.summary());
    std::fs::remove_file(&skips).context("cannot remove the list of skipped tests")?;
    Ok(outcome.is_ok())
}

fn all(steps: &mut Steps, skips: &Path) -> Result<(), Failed> {
    steps.step("tools", |_| tools::provide().map_err(|line| tell(&line)))?;
    steps.step("tidy", |_| match tidy::run() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failed),
        Err(error) => Err(tell(&format!("{error:#}"))),
    })?;
    steps.command("format", cargo().args(["fmt", "--all", "--check"]))?;
    let words = "fmt --manifest-path fuzz/Cargo.toml --check";
    steps.command("format of the fuzz targets", cargo().args(words.split(' ')))?;
    let words = "clippy --workspace --all-targets --all-features --locked -- -D warnings";
    steps.command("clippy", cargo().args(words.split(' ')))?;
    // What users get who ask for nothing: without the features that the workspace turns on.
    let words = "clippy --package vectored --all-targets --locked -- -D warnings";
    steps.command("clippy without features", cargo().args(words.split(' ')))?;
    let words = "doc --workspace --no-deps --document-private-items --all-features --locked";
    steps.command(
        "docs",
        cargo()
            .args(words.split(' '))
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    let words = "test --workspace --all-features --locked";
    steps.command("tests", cargo().args(words.split(' ')).env(SKIPS, skips))?;
    // Without the fuzzer itself, which is C++ and needs a nightly toolchain.
    let words = "check --quiet --manifest-path fuzz/Cargo.toml --no-default-features --locked";
    steps.command("fuzz targets", cargo().args(words.split(' ')))?;
    let metadata = metadata().map_err(|error| tell(&format!("{error:#}")))?;
    for example in extras(&metadata, "example") {
        let name = format!("example {}/{}", example.package, example.name);
        steps.quiet_command(&name, extra("run", "--example", &example).env(SKIPS, skips))?;
    }
    for bench in extras(&metadata, "bench") {
        let mut command = extra("bench", "--bench", &bench);
        steps.command(
            &bench_step(&bench),
            command.args(["--", "--test"]).env(SKIPS, skips),
        )?;
    }
    steps.step("instructions", |_| count_instructions(skips))?;
    steps.step("plain C loops", |_| {
        let tried = PlainLoops::compile().and_then(|loops| loops.try_out());
        tried.map_err(|error| tell(&format!("{error:#}")))
    })?;
    steps.step("plain C experiments", |_| {
        let tried = PlainExperiments::compile().and_then(|plain| plain.try_out());
        tried.map_err(|error| tell(&format!("{error:#}")))
    })
}

/// The heading of a benchmark that runs once: times depend on the machine, so they decide nothing.
fn bench_step(bench: &Extra) -> String {
    let Extra { package, name, .. } = bench;
    format!("bench {package}/{name}, run once (fails on errors; its figures are for information)")
}

/// The output says which of the figures decide; see [`instructions`].
fn count_instructions(skips: &Path) -> Result<(), Failed> {
    if let Some(reason) = instructions::missing() {
        let list = std::fs::read_to_string(skips).map_err(|error| tell(&error.to_string()))?;
        let list = format!("{list}instructions: {reason}\n");
        return std::fs::write(skips, list).map_err(|error| tell(&error.to_string()));
    }
    match instructions::run() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failed),
        Err(error) => Err(tell(&format!("{error:#}"))),
    }
}

/// `cargo run --example …` or `cargo bench --bench …`.
fn extra(verb: &str, kind: &str, extra: &Extra) -> Command {
    let mut command = cargo();
    command.args([verb, "--quiet", "--locked", "--package", &extra.package]);
    command.args([kind, &extra.name]);
    if !extra.features.is_empty() {
        command.args(["--features", &extra.features.join(",")]);
    }
    command
}

fn tell(what: &str) -> Failed {
    println!("   {what}");
    Failed
}

fn fresh_file() -> Result<PathBuf> {
    let name = format!("vectored-skips-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, "").with_context(|| format!("cannot write '{}'", path.display()))?;
    Ok(path)
}

/// The end of the run: what was skipped, each once.
fn skipped(list: &str) -> String {
    let mut lines: Vec<&str> = list
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() {
        "skipped: none".to_owned()
    } else {
        format!("skipped:\n  {}", lines.join("\n  "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_listed_once_each_with_their_reason() {
        assert_eq!(skipped("\n"), "skipped: none");
        let list = "b: no pipe\na: no disk\nb: no pipe\n";
        assert_eq!(skipped(list), "skipped:\n  a: no disk\n  b: no pipe");
    }

    #[test]
    fn an_example_is_run_with_its_features() {
        let example = Extra {
            package: "p".to_owned(),
            name: "shown".to_owned(),
            features: vec!["a".to_owned(), "b".to_owned()],
        };
        let command = extra("run", "--example", &example);
        let words: Vec<_> = command.get_args().map(|w| w.to_str().unwrap()).collect();
        let expected = "run --quiet --locked --package p --example shown --features a,b";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn the_heading_of_a_benchmark_says_that_its_figures_decide_nothing() {
        let bench = Extra {
            package: "vectored-pairs".to_owned(),
            name: "pairs".to_owned(),
            features: Vec::new(),
        };
        assert_eq!(
            bench_step(&bench),
            "bench vectored-pairs/pairs, run once (fails on errors; its figures are for information)"
        );
    }
}
