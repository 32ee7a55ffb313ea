//! `cargo xtask deny`: licences, sources, duplicates and advisories of the dependencies, by cargo-deny.

use std::process::Command;

use anyhow::{Context, Result};

use crate::fuzz::works;
use crate::packages::cargo;
use crate::root;
use crate::skips::skip;

/// Runs the checks of `deny.toml`. Without cargo-deny they are skipped, and so is that of advisories if their database
/// cannot be fetched.
pub fn run() -> Result<bool> {
    if !works(deny(&["--version"])) {
        skip(
            "deny",
            "cargo-deny is missing: cargo install --locked cargo-deny",
        )?;
        return Ok(true);
    }
    let check = |names: &[&str]| {
        let mut command = deny(&["--all-features", "--locked", "check"]);
        command.arg("--hide-inclusion-graph").args(names);
        let status = command.status().context("cannot start cargo deny")?;
        anyhow::Ok(status.success())
    };
    let is_well = check(&["bans", "licenses", "sources"])?;
    if !works(deny(&["fetch", "db"])) {
        skip("deny: advisories", "their database cannot be fetched")?;
        return Ok(is_well);
    }
    Ok(is_well & check(&["advisories"])?)
}

fn deny(words: &[&str]) -> Command {
    let mut command = cargo();
    command.arg("deny").args(words).current_dir(root());
    command
}
