//! Zig's linker for macOS and FreeBSD, from the Python package index, in a virtual environment below `target/`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::commands::run;
use crate::root;

/// The packages, in versions that were tried together.
const PACKAGES: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// The virtual environment.
fn folder() -> PathBuf {
    root().join("target/zig")
}

/// The program `cargo-zigbuild`, which is installed if it is missing. The error says why it cannot be had.
pub fn provide() -> Result<PathBuf> {
    let folder = folder();
    let program = folder.join("bin/cargo-zigbuild");
    // Written last: a folder without it is of an installation that was ended.
    let complete = folder.join(PACKAGES.join("+"));
    if complete.exists() {
        return Ok(program);
    }
    let mut make = Command::new("python3");
    run(make.args(["-m", "venv", "--clear"]).arg(&folder)).context("no Zig")?;
    let mut install = Command::new(folder.join("bin/pip"));
    install.args(["install", "--quiet", "--disable-pip-version-check"]);
    run(install.args(PACKAGES)).context("no Zig")?;
    let cannot = || format!("cannot write '{}'", complete.display());
    std::fs::write(&complete, "").with_context(cannot)?;
    Ok(program)
}

/// Has Zig and cargo-zigbuild keep what they compile beside them, not in the home folder.
pub fn keep_cache(command: &mut Command) {
    let folder = folder();
    command.env("ZIG_GLOBAL_CACHE_DIR", folder.join("cache"));
    command.env("CARGO_ZIGBUILD_CACHE_DIR", folder.join("wrappers"));
    // The program finds `zig` through the Python of its environment.
    command.env("CARGO_ZIGBUILD_PYTHON_PATH", folder.join("bin/python3"));
}
