//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read '{}'", path.display()))
}

/// Every `.rs` file below `folder`, but for hidden folders and build output.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    files(folder, &|name| name.ends_with(".rs"))
}

/// Every file below `folder` whose name is of this kind, but for hidden folders and build output.
pub fn files(folder: &Path, of_kind: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list '{}'", folder.display()));
    for entry in entries? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            let is_output = path.join("CACHEDIR.TAG").exists() || name == "target";
            if !name.starts_with('.') && !is_output {
                found.extend(files(&path, of_kind)?);
            }
        } else if of_kind(&name) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
