//! What could not run, and why: listed at the end of a run.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// The variable that names the file to which a test that cannot run appends its reason.
pub const SKIPS: &str = "VECTORED_SKIPS";

/// The list that this process has begun.
static OWN: OnceLock<PathBuf> = OnceLock::new();

/// The list of the run that started this process, or that this process has begun.
pub fn list() -> Option<PathBuf> {
    let of_run = std::env::var_os(SKIPS).map(PathBuf::from);
    of_run.or_else(|| OWN.get().cloned())
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

/// The list of a run, whose file is removed at its end.
pub struct Skips(PathBuf);

impl Skips {
    /// Begins the list of this process.
    pub fn begin() -> Result<Self> {
        let name = format!("vectored-skips-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "").with_context(|| format!("cannot write '{}'", path.display()))?;
        Ok(Skips(OWN.get_or_init(|| path).clone()))
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What was skipped, as the end of a run prints it.
    pub fn listed(&self) -> Result<String> {
        let list = std::fs::read_to_string(&self.0)
            .with_context(|| format!("cannot read '{}'", self.0.display()))?;
        Ok(skipped(&list))
    }
}

impl Drop for Skips {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            eprintln!("cannot remove '{}': {error}", self.0.display());
        }
    }
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
