//! The step `workflow`: checks the syntax of the workflow for GitHub Actions with actionlint.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::commands::{is_on_path, run};
use crate::root;
use crate::skips::skip;

/// The program, in a version that was tried.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/// Checks the workflow. A skip if actionlint cannot be had, with the reason.
pub fn check() -> Result<()> {
    match provide() {
        Err(why) => skip("workflow", &format!("{why:#}")),
        Ok(program) => {
            let mut command = Command::new(program);
            // Not with other linters, which may be installed or not.
            run(command.args(["-shellcheck=", "-pyflakes=", ".github/workflows/ci.yml"]))
        }
    }
}

/// The program, which Go builds from its source if it is missing.
fn provide() -> Result<PathBuf> {
    if is_on_path("actionlint") {
        return Ok("actionlint".into());
    }
    let folder = root().join("target/go");
    let program = folder.join("bin/actionlint");
    if program.exists() {
        return Ok(program);
    }
    if !is_on_path("go") {
        bail!("there is neither actionlint nor Go to build it");
    }
    let mut install = Command::new("go");
    install.args(["install", ACTIONLINT]);
    install.env("GOBIN", folder.join("bin"));
    // Otherwise Go would look for a module around this repository, and its files could not be removed.
    install.env("GOFLAGS", "-mod=mod -modcacherw");
    run(install.current_dir(std::env::temp_dir())).context("actionlint cannot be built")?;
    Ok(program)
}
