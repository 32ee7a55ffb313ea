//! What could not run, and why: listed at the end of a run.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The variable that names the file to which a test that cannot run appends its reason.
pub const SKIPS: &str = "VECTORED_SKIPS";

/// Appends a line to the list of what could not run.
pub fn append_skip(skips: &Path, line: &str) -> Result<(), String> {
    let file = File::options().append(true).create(true).open(skips);
    let written = file.and_then(|mut file| writeln!(file, "{line}"));
    written.map_err(|error| format!("cannot write '{}': {error}", skips.display()))
}

/// The file to which tests that cannot run append their reasons; removed at the end.
pub struct Skips {
    /// Where it is.
    pub path: PathBuf,
}

impl Skips {
    /// An empty list.
    pub fn new() -> Result<Self> {
        let name = format!("vectored-skips-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "").with_context(|| format!("cannot write '{}'", path.display()))?;
        Ok(Skips { path })
    }

    /// The tests that were skipped, as the end of a run prints them.
    pub fn listed(&self) -> Result<String> {
        let list = std::fs::read_to_string(&self.path)
            .with_context(|| format!("cannot read '{}'", self.path.display()))?;
        Ok(skipped(&list))
    }
}

impl Drop for Skips {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            eprintln!("cannot remove '{}': {error}", self.path.display());
        }
    }
}

/// Prints that something could not run here, and adds it to the list of the run, if there is one.
pub fn skip(name: &str, reason: &str) -> Result<()> {
    println!("skipped {name}: {reason}");
    if let Some(list) = std::env::var_os(SKIPS) {
        append_skip(Path::new(&list), &format!("{name}: {reason}")).map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

/// The skipped tests, each once.
fn skipped(list: &str) -> String {
    let mut lines: Vec<&str> = list
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() {
        "skipped: none".to_owned()
    } else {
        format!("skipped:\n  {}", lines.join("\n  "))
    }
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
