//! `cargo xtask wine-tests`: the tests for Windows, built with mingw and run under Wine.
//!
//! Wine shows that the calls and their results are right. It shows nothing about speed: its `WriteFileGather` makes one
//! `pwrite` a page.

mod tool;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::packages::{answer, cargo};
use crate::root;
use crate::setup::is_on_path;
use crate::skips::SKIPS;
use crate::systems::PROFILE;

/// What is built and run.
pub const TARGET: &str = "x86_64-pc-windows-gnu";

const LINKER: &str = "x86_64-w64-mingw32-gcc";

/// The programs that are needed, and the Debian packages that bring them.
const PROGRAMS: [(&str, &str); 2] = [("wine", "wine"), (LINKER, "gcc-mingw-w64-x86-64-win32")];

/// The tests that are not of Unix by nature. One command, as cargo would build what both packages need twice.
const TESTS: &str = "test --locked --no-fail-fast --package vectored --package vectored-conformance --all-features \
     --lib --test it";

/// Builds and runs the tests; false if one fails. If Wine, mingw or the target cannot be had, that is printed and is no
/// failure.
pub fn run() -> Result<bool> {
    if let Some(reason) = missing() {
        println!("skipped wine-tests: {reason}");
        if let Some(list) = std::env::var_os(SKIPS) {
            let list = OpenOptions::new().append(true).open(list);
            writeln!(list?, "wine-tests: {reason}")?;
        }
        return Ok(true);
    }
    let folder = folder()?;
    println!("   under Wine: cargo {TESTS} --target {TARGET}");
    let status = cargo_for_wine(&folder)
        .args(TESTS.split(' '))
        .args(PROFILE)
        .args(["--target", TARGET])
        .status()
        .context("cannot start cargo")?;
    let mut is_well = status.success();
    if let Err(error) = tool::run(&folder) {
        println!("   FAILED {error:#}");
        is_well = false;
    }
    Ok(is_well)
}

/// A cargo that links programs of Windows with mingw and runs them under Wine.
pub fn cargo_for_wine(folder: &Path) -> Command {
    let mut command = cargo();
    let name = TARGET.to_uppercase().replace('-', "_");
    command
        .current_dir(root())
        .env(format!("CARGO_TARGET_{name}_LINKER"), LINKER)
        .env(
            format!("CARGO_TARGET_{name}_RUNNER"),
            root().join("xtask/src/wine/run.sh"),
        )
        .env("VECTORED_WINE", folder);
    command
}

/// Why the tests cannot run here, if they cannot.
fn missing() -> Option<String> {
    for (program, package) in PROGRAMS {
        if !is_on_path(program) {
            return Some(format!(
                "{program} is not installed: apt-get install {package}"
            ));
        }
    }
    let mut add = Command::new("rustup");
    add.args(["target", "add", TARGET]).stderr(Stdio::null());
    let is_installed = |text: String| text.lines().any(|line| line == TARGET);
    let installed = answer(Command::new("rustup").args(["target", "list", "--installed"]));
    if installed.is_ok_and(is_installed) || add.status().is_ok_and(|status| status.success()) {
        return None;
    }
    Some(format!(
        "the target cannot be installed: rustup target add {TARGET}"
    ))
}

/// The folder with the DLL and a prefix, which are made if they are missing.
pub fn folder() -> Result<PathBuf> {
    let folder = target_folder().join("wine");
    fs::create_dir_all(&folder)?;
    let (source, dll) = (
        root().join("xtask/src/wine/bcryptprimitives.c"),
        folder.join("bcryptprimitives.dll"),
    );
    let status = Command::new(LINKER)
        .args(["-shared", "-O1", "-o"])
        .args([&dll, &source])
        .arg("-ladvapi32")
        .status()
        .with_context(|| format!("cannot start {LINKER}"))?;
    ensure!(status.success(), "cannot build '{}'", dll.display());
    if !folder.join("prefix/system.reg").exists() {
        make_prefix(&folder)?;
    }
    Ok(folder)
}

/// Makes a prefix in a folder.
fn make_prefix(folder: &Path) -> Result<()> {
    println!("   wineboot --init");
    let status = Command::new("wineboot")
        .arg("--init")
        .env("WINEPREFIX", folder.join("prefix"))
        .env("WINEDEBUG", "-all")
        .env("WINEDLLOVERRIDES", "mscoree,mshtml=")
        .env_remove("DISPLAY")
        .stderr(Stdio::null())
        .status()
        .context("cannot start wineboot")?;
    ensure!(status.success(), "wineboot failed: {status}");
    Ok(())
}

fn target_folder() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}
