//! A temporary folder.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// A folder that is removed with this value.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// An empty folder, whose name has `name` in it.
    pub fn new(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("vectored-{name}-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make '{}'", path.display()))?;
        Ok(Scratch(path))
    }

    /// A new folder in it.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make '{}'", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove '{}': {error}", self.0.display());
        }
    }
}
