//! `cargo xtask fuzz`: each fuzz target for some time.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::{cargo_of, run as run_command, works};
use crate::root;

/// Runs every target of `fuzz/fuzz_targets`, or one of them, for that time; fails at the first finding. Installs cargo-fuzz
/// if it is missing.
pub fn run(seconds: u32, only: Option<&str>) -> Result<()> {
    provide()?;
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
        let mut command = cargo_of("nightly", &["fuzz", "run", "--fuzz-dir", "fuzz", &target]);
        // The fuzzer adds new inputs to the first folder, and leaves the seeds as they are.
        command.args([&corpus, &format!("fuzz/seeds/{target}"), "--"]);
        command.arg(format!("-max_total_time={seconds}"));
        let finding = || format!("a finding; the input is in fuzz/artifacts/{target}");
        run_command(&mut command).with_context(finding)?;
        println!("   {target}: no finding in {seconds} s\n");
    }
    Ok(())
}

fn provide() -> Result<()> {
    let nightly = |words: &[&str]| cargo_of("nightly", words);
    if !works(&mut nightly(&["--version"])) {
        bail!("the fuzzer needs a nightly toolchain: rustup toolchain install nightly");
    }
    if works(&mut nightly(&["fuzz", "--version"])) {
        return Ok(());
    }
    println!("   cargo install --locked cargo-fuzz (a minute or two)");
    run_command(&mut nightly(&[
        "install",
        "--quiet",
        "--locked",
        "cargo-fuzz@0.13.2",
    ]))
}

/// The names of the targets: the names of their files.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).context("cannot list the fuzz targets")? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into()));
    }
    names.sort();
    Ok(names)
}
