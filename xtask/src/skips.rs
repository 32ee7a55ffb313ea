//! What could not run, and why: listed at the end of a run.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::root;

/// The variable that names the file to which a test that cannot run appends its reason.
pub const SKIPS: &str = "VECTORED_SKIPS";

static OWN: OnceLock<PathBuf> = OnceLock::new();

/// The list of the run that started this process, or that this process has begun.
pub fn list() -> Option<PathBuf> {
    let of_run = std::env::var_os(SKIPS).map(PathBuf::from);
    of_run.or_else(|| OWN.get().cloned())
}

pub fn begin() -> Result<()> {
    let folder = root().join("target/steps");
    fs::create_dir_all(&folder)?;
    let path = OWN.get_or_init(|| folder.join(format!("skips-{}", std::process::id())));
    fs::write(path, "").with_context(|| format!("cannot write '{}'", path.display()))
}

/// Prints that something could not run here, and adds it to the list, if there is one.
pub fn skip(name: &str, reason: &str) -> Result<()> {
    println!("skipped {name}: {reason}");
    if let Some(list) = list() {
        let file = File::options().append(true).create(true).open(&list);
        // One call, since several processes append to the list.
        let line = format!("{name}: {reason}\n");
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .with_context(|| format!("cannot write '{}'", list.display()))?;
    }
    Ok(())
}

/// Whether this is the continuous integration. There, anything that is missing although `cargo xtask setup` installs it is an
/// error.
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// Skips what could not run because something that can be installed is missing. In the continuous integration this is an error.
pub fn missing(name: &str, reason: &str) -> Result<()> {
    if in_ci() {
        bail!("{name}: {reason}");
    }
    skip(name, reason)
}

/// Ends the list of this process. Returns what was skipped, each once, in the form that the end of a run prints.
pub fn end() -> Result<String> {
    let path = OWN.get().context("no list was begun")?;
    let list = fs::read_to_string(path).context("cannot read the list of what was skipped")?;
    fs::remove_file(path)?;
    let lines: BTreeSet<&str> = list.lines().filter(|line| !line.is_empty()).collect();
    let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
    Ok(format!(
        "skipped:{}",
        if lines.is_empty() { " none" } else { &lines }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_fails_a_script_in_the_continuous_integration_alone() {
        let list = std::env::temp_dir().join(format!("vectored-missing-{}", std::process::id()));
        let succeeds = |ci: &str| {
            let mut script = std::process::Command::new("sh");
            script.args(["-c", ". xtask/skips.sh; missing tool 'no compiler'"]);
            script.current_dir(root()).env("CI", ci).env(SKIPS, &list);
            script.status().unwrap().success()
        };
        assert!(!succeeds("true"));
        assert!(succeeds(""));
        assert_eq!(fs::read_to_string(&list).unwrap(), "tool: no compiler\n");
        fs::remove_file(list).unwrap();
    }
}
