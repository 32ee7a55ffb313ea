//! What could not run, and why: listed at the end of a run.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use crate::root;

/// The variable that names the file to which a test that cannot run appends its reason.
pub const SKIPS: &str = "VECTORED_SKIPS";

/// The list that this process has begun.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// The list of the run that started this process, or that this process has begun.
pub fn list() -> Option<PathBuf> {
    let of_run = std::env::var_os(SKIPS).map(PathBuf::from);
    of_run.or_else(|| OWN.get().cloned())
}

/// Begins the list of this process.
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

/// Skips what could not run since something that can be installed is missing.
pub fn missing(name: &str, reason: &str) -> Result<()> {
    skip(name, reason)
}

/// Ends the list of this process: what was skipped, each once, as the end of a run prints it.
pub fn end() -> Result<String> {
    let path = OWN.get().context("no list was begun")?;
    let list = fs::read_to_string(path).context("cannot read the list of what was skipped")?;
    fs::remove_file(path)?;
    Ok(skipped(&list))
}

fn skipped(list: &str) -> String {
    let mut lines: Vec<&str> = list
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.insert(
        0,
        if lines.is_empty() { "skipped: none" } else { "skipped:" },
    );
    lines.join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_listed_once_each_with_their_reason() {
        assert_eq!(skipped("\n"), "skipped: none");
        let list = "b: no pipe\na: no disk\nb: no pipe\n";
        assert_eq!(skipped(list), "skipped:\n  a: no disk\n  b: no pipe");
    }
}
