//! `cargo xtask msrv`: a build with the oldest compiler that the manifest names.

use std::process::Command;

use anyhow::{Context, Result};

use crate::commands::{cargo_of, run as run_command, works};
use crate::packages::{is_published, metadata};
use crate::skips::skip;
use crate::test::FEATURES;

/// Checks the published crates with that toolchain, which is installed if it is missing. If it cannot be had, that is
/// a skip.
pub fn run() -> Result<()> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().context("packages")?;
    let names: Vec<&str> = packages
        .iter()
        .filter(|package| is_published(package))
        .filter_map(|package| package["name"].as_str())
        .collect();
    let version = packages
        .iter()
        .find_map(|package| package["rust_version"].as_str())
        .context("no package names its rust-version")?;
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
    for name in &names {
        command.args(["--package", name]);
    }
    run_command(&mut command)?;
    println!("   built with Rust {version}: {}", names.join(", "));
    Ok(())
}
