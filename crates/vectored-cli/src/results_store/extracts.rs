//! Reading extracts of `vectored share`: files, and folders of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use vectored_lab::model::Machine;
use vectored_lab::report::fleet::{Extract, is_extract, parse_machine_or_result};

use super::names::{ResultName, read};
use crate::failure::Failure;

/// The files that these names stand for. A folder stands for all files `*.json` in it, in the order of their names.
pub fn extract_paths(names: &[ResultName]) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for name in names {
        let path = name.path()?;
        match path.is_dir() {
            true => paths.extend(json_files(&path)?),
            false => paths.push(path),
        }
    }
    Ok(paths)
}

/// Whether one of these names is a folder, or an extract. A file that cannot be read is neither, and is refused later.
pub fn name_extracts(names: &[ResultName]) -> Result<bool, Failure> {
    for name in names {
        let path = name.path()?;
        if path.is_dir() || read(&path).is_ok_and(|text| is_extract(&text)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Machines to compare.
pub struct Machines {
    pub machines: Vec<Machine>,
    /// The cells that are missing from the extracts of results, in words.
    pub left_out: Vec<String>,
}

/// Reads extracts, and makes extracts of results of `vectored measure`.
pub fn load_machines(paths: &[PathBuf]) -> Result<Machines, Failure> {
    let (mut machines, mut left_out) = (Vec::new(), Vec::new());
    for path in paths {
        let extract = load_extract(path)?;
        let sentences = extract.left_out_in_words().into_iter();
        left_out.extend(sentences.map(|sentence| format!("'{}': {sentence}", path.display())));
        machines.push(extract.machine);
    }
    Ok(Machines { machines, left_out })
}

fn load_extract(path: &Path) -> Result<Extract, Failure> {
    let shown = path.display();
    let text = read(path).with_context(|| {
        format!("cannot read '{shown}', which should be an extract that `vectored share` wrote")
    })?;
    parse_machine_or_result(&text).map_err(|error| {
        Failure::from(anyhow::anyhow!(
            "cannot use '{shown}': {error}; write it again with `vectored share`, or remove it"
        ))
    })
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot = || format!("cannot list '{}'", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        // Reading a FIFO of that name would block.
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && path.is_file()
        {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Failure::usage(format!(
            "'{}' has no file *.json: write extracts into it with `vectored share --output`",
            folder.display()
        )));
    }
    files.sort();
    Ok(files)
}
