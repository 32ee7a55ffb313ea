//! The step `workflow`: checks the syntax of the workflow for GitHub Actions with actionlint.

use std::path::PathBuf;
use std::process::Command;

use crate::root;
use crate::setup::is_on_path;
use crate::steps::Output;

/// The program, in a version that was tried.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/// Checks the workflow. A skip if actionlint cannot be had, with the reason.
pub fn check(output: &Output) -> Result<Option<String>, String> {
    let program = match provide(output) {
        Ok(program) => program,
        Err(why) => return Ok(Some(why)),
    };
    let mut command = Command::new(program);
    // Not with other linters, which may be installed or not.
    command.args(["-shellcheck=", "-pyflakes=", ".github/workflows/ci.yml"]);
    output.run(&mut command)?;
    Ok(None)
}

/// The program, which Go builds from its source if it is missing.
fn provide(output: &Output) -> Result<PathBuf, String> {
    if is_on_path("actionlint") {
        return Ok("actionlint".into());
    }
    let folder = root().join("target/go");
    let program = folder.join("bin/actionlint");
    if program.exists() {
        return Ok(program);
    }
    if !is_on_path("go") {
        return Err("there is neither actionlint nor Go to build it".to_owned());
    }
    let mut install = Command::new("go");
    install.args(["install", ACTIONLINT]);
    install.env("GOBIN", folder.join("bin"));
    // Otherwise Go would look for a module around this repository, and its files could not be removed.
    install.env("GOFLAGS", "-mod=mod -modcacherw");
    install.current_dir(std::env::temp_dir());
    let installed = output.run(&mut install);
    installed.map_err(|error| format!("go install {ACTIONLINT}: {error}"))?;
    Ok(program)
}
