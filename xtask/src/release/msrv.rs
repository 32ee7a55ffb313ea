//! `cargo xtask msrv`: a build with the oldest compiler that the manifest names.

use std::process::Command;

use anyhow::{Context, Result};

use crate::fuzz::works;
use crate::packages::{is_published, metadata};
use crate::root;
use crate::skips::skip;
use crate::test::FEATURES;

/// Checks the published crates with that toolchain, which is installed if it is missing. If it cannot be had, that is
/// a skip.
pub fn run() -> Result<bool> {
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
    if !works(of_toolchain(version, &["--version"])) {
        let mut install = Command::new("rustup");
        install.args(["toolchain", "install", version, "--profile", "minimal"]);
        let is_installed = install.status().is_ok_and(|status| status.success());
        if !is_installed || !works(of_toolchain(version, &["--version"])) {
            skip("msrv", &format!("rustup cannot install Rust {version}"))?;
            return Ok(true);
        }
    }
    let mut command = of_toolchain(version, &["check", "--locked", "--quiet"]);
    // Packages that are not named here cannot have features.
    let is_named = |feature: &&str| {
        names
            .iter()
            .any(|name| feature.starts_with(&format!("{name}/")))
    };
    let features = FEATURES.trim_start_matches("--features ").split(',');
    let features: Vec<&str> = features.filter(is_named).collect();
    command.args(["--features", &features.join(",")]);
    // Apart, since each compiler builds all anew.
    command.args(["--target-dir", "target/msrv"]);
    for name in &names {
        command.args(["--package", name]);
    }
    let status = command.status().context("cannot start cargo check")?;
    if status.success() {
        println!("   built with Rust {version}: {}", names.join(", "));
    }
    Ok(status.success())
}

fn of_toolchain(version: &str, words: &[&str]) -> Command {
    // Only rustup's own cargo takes `+`, so not the cargo of this process.
    let mut command = Command::new("cargo");
    command
        .arg(format!("+{version}"))
        .args(words)
        .current_dir(root());
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    command
}
