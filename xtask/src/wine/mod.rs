//! `cargo xtask wine-tests`: the tests for Windows, built with mingw and run under Wine.
//!
//! Wine shows that the calls and their results are right. It shows nothing about speed: its `WriteFileGather` makes one
//! `pwrite` a page.

mod tool;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::commands::{cargo, run as run_command};
use crate::root;
use crate::systems::{FOLDER, PROFILE, in_folder};

/// What is built and run.
pub const TARGET: &str = "x86_64-pc-windows-gnu";

const LINKER: &str = "x86_64-w64-mingw32-gcc";

/// The tests that are not of Unix by nature. One command, as cargo would build what both packages need twice.
const TESTS: &str = "test --locked --no-fail-fast --package vectored --package vectored-conformance --all-features \
     --lib --test it";

/// Builds and runs the tests, then the tool, also if a test fails.
pub fn run() -> Result<()> {
    let folder = folder()?;
    let mut tests = cargo_for_wine(&folder);
    tests.args(TESTS.split(' ')).args(PROFILE);
    let tests = run_command(tests.args(["--target", TARGET]));
    tool::run(&folder)?;
    tests
}

/// A cargo that links programs of Windows with mingw and runs them under Wine.
pub fn cargo_for_wine(folder: &Path) -> Command {
    let mut command = cargo();
    let name = TARGET.to_uppercase().replace('-', "_");
    in_folder(&mut command)
        .env(format!("CARGO_TARGET_{name}_LINKER"), LINKER)
        .env(
            format!("CARGO_TARGET_{name}_RUNNER"),
            root().join("xtask/src/wine/run.sh"),
        )
        .env("VECTORED_WINE", folder);
    command
}

/// The folder with the DLL and a prefix, which are made if they are missing.
fn folder() -> Result<PathBuf> {
    let folder = root().join(FOLDER).join("wine");
    fs::create_dir_all(&folder)?;
    let mut compile = Command::new(LINKER);
    compile.args(["-shared", "-O1", "-o"]);
    compile.arg(folder.join("bcryptprimitives.dll"));
    compile.args(["xtask/src/wine/bcryptprimitives.c", "-ladvapi32"]);
    run_command(&mut compile)?;
    if !folder.join("prefix/system.reg").exists() {
        make_prefix(&folder)?;
    }
    Ok(folder)
}

/// Makes a prefix in a folder.
fn make_prefix(folder: &Path) -> Result<()> {
    let mut wineboot = Command::new("wineboot");
    wineboot
        .arg("--init")
        .env("WINEPREFIX", folder.join("prefix"))
        .env("WINEDEBUG", "-all")
        .env("WINEDLLOVERRIDES", "mscoree,mshtml=")
        .env_remove("DISPLAY")
        .stderr(Stdio::null());
    run_command(&mut wineboot).context("cannot make a prefix of Wine")
}
