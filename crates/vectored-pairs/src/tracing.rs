//! The system calls of a program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{Pair, Version, Workshop};

/// The log of the first version, in the workshop's directory.
///
/// # Errors
///
/// When strace or the program fails.
pub fn trace(workshop: &Workshop, pair: &Pair, program: &Path) -> Result<PathBuf> {
    let log = workshop.directory().join("log");
    workshop.prepare(pair, pair.traced_count)?;
    let plain = workshop.command(program, Version::Before, pair.traced_count);
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
    workshop.take_output()?;
    Ok(log)
}

/// Why nothing can be traced here, if so.
pub fn strace_is_missing() -> Option<&'static str> {
    let outcome = Command::new("strace")
        .args(["-o/dev/null", "true"])
        .output();
    match outcome {
        Err(_) => Some("there is no strace: apt-get install strace"),
        Ok(output) if !output.status.success() => Some("strace may not trace here"),
        Ok(_) => None,
    }
}
