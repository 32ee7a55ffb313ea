//! Records the system calls of a program by strace.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::catalogue::Pair;
use crate::invocation::Version;
use crate::sandbox::Sandbox;

/// Runs the version before the change under strace. Returns the path of the log, in the sandbox's directory.
///
/// # Errors
///
/// If strace or the program fails.
pub fn trace(sandbox: &Sandbox, pair: &Pair, program: &Path) -> Result<PathBuf> {
    let log = sandbox.directory().join("log");
    sandbox.prepare(pair, pair.traced_count)?;
    let plain = sandbox.command(program, Version::Before, pair.traced_count);
    let status = Command::new("strace")
        .args("-f -s1 -v -yy -ttt -T -o".split(' '))
        .arg(&log)
        .arg(plain.get_program())
        .args(plain.get_args())
        .status()
        .context("cannot run strace")?;
    if !status.success() {
        bail!("{plain:?} ended with {status} under strace");
    }
    sandbox.take_output()?;
    Ok(log)
}

/// Why strace cannot be used here; `None` if it can.
pub fn strace_unavailable() -> Option<&'static str> {
    let outcome = Command::new("strace")
        .args(["-o/dev/null", "true"])
        .output();
    match outcome {
        Err(_) => Some("strace is not installed: apt-get install strace"),
        Ok(output) if !output.status.success() => Some("strace is not permitted to trace"),
        Ok(_) => None,
    }
}
