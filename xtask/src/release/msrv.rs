//! `cargo xtask msrv`: a build of each published crate with the oldest compiler that its manifest names.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result};

use crate::commands::{cargo_of, run as run_command, works};
use crate::packages::{is_published, metadata};
use crate::skips::skip;
use crate::test::FEATURES;

/// Checks the published crates with their toolchains, which are installed if they are missing. A toolchain that cannot be
/// had is a skip.
pub fn run() -> Result<()> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().context("packages")?;
    let mut names_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages.iter().filter(|package| is_published(package)) {
        let name = package["name"].as_str().context("name")?;
        let version = package["rust_version"].as_str();
        let version = version.with_context(|| format!("{name} names no rust-version"))?;
        names_of.entry(version).or_default().push(name);
    }
    names_of
        .into_iter()
        .try_for_each(|(version, names)| build(version, &names))
}

fn build(version: &str, names: &[&str]) -> Result<()> {
    let is_there = || works(&mut cargo_of(version, &["--version"]));
    if !is_there() {
        let mut install = Command::new("rustup");
        install.args(["toolchain", "install", version, "--profile", "minimal"]);
        if run_command(&mut install).is_err() || !is_there() {
            return skip("msrv", &format!("rustup cannot install Rust {version}"));
        }
    }
    // Apart, since each compiler builds all anew.
    let words = ["check", "--locked", "--quiet", "--target-dir=target/msrv"];
    let mut command = cargo_of(version, &words);
    // Packages that are not named here cannot have features.
    let is_named = |feature: &&str| {
        names
            .iter()
            .any(|name| feature.starts_with(&format!("{name}/")))
    };
    let features = FEATURES.trim_start_matches("--features ").split(',');
    let features: Vec<&str> = features.filter(is_named).collect();
    command.args(["--features", &features.join(",")]);
    for name in names {
        command.args(["--package", name]);
    }
    run_command(&mut command)?;
    println!("   built with Rust {version}: {}", names.join(", "));
    Ok(())
}
