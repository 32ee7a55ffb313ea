//! The packages of the C library: what programs load, and what they are built with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::package::{Control, Staging, files, version};
use crate::c_library;
use crate::c_library::options::Place;
use crate::commands::answer;

const RUNTIME: Control = Control {
    name: "libvectored1",
    section: "libs",
    recommends: None,
    summary: "writes all of many buffers through one file descriptor",
    description: "\
Gather writes and scatter reads that are complete: short writes, interrupted
calls and lists of any length are handled, and short buffers are copied
together where that is faster than to reference them.

This package has the shared library.",
};

const DEVELOPMENT: Control = Control {
    name: "libvectored-dev",
    section: "libdevel",
    recommends: None,
    summary: "writes all of many buffers through one file descriptor (development)",
    description: "\
Gather writes and scatter reads that are complete: short writes, interrupted
calls and lists of any length are handled, and short buffers are copied
together where that is faster than to reference them.

This package has the header, the static library, and files for pkg-config
and CMake.",
};

/// Builds the library and both packages.
pub fn build(output: &Path) -> Result<[PathBuf; 2]> {
    let multiarch = answer(Command::new("dpkg-architecture").arg("-qDEB_HOST_MULTIARCH"))?;
    let libdir = format!("lib/{}", multiarch.trim());
    let development = Staging::new(DEVELOPMENT.name)?;
    c_library::install(&Place {
        prefix: "/usr".into(),
        libdir: libdir.clone().into(),
        destdir: Some(development.folder.clone()),
    })?;

    let runtime = Staging::new(RUNTIME.name)?;
    let mut shared = String::new();
    for path in files(&development.folder)? {
        let name = path.file_name().context("a file has a name")?;
        let name = name.to_string_lossy().into_owned();
        // The name without a number is for the linker alone.
        if !name.starts_with("libvectored.so.") {
            continue;
        }
        let to = format!("usr/{libdir}/{name}");
        match fs::read_link(&path) {
            Ok(target) => runtime.add_link(&to, &target)?,
            Err(_) => {
                runtime.add(&to, 0o644, &fs::read(&path)?)?;
                shared = to;
            }
        }
        fs::remove_file(&path)?;
    }
    // `shlibs` names the package that programs linked with the library depend on. The trigger updates the cache of the
    // dynamic linker.
    let shlibs = format!("libvectored 1 {} (>= {})\n", RUNTIME.name, version());
    runtime.add("DEBIAN/shlibs", 0o644, shlibs.as_bytes())?;
    runtime.add("DEBIAN/triggers", 0o644, b"activate-noawait ldconfig\n")?;
    runtime.add_documents(&RUNTIME)?;
    let runtime = runtime.build(&RUNTIME, &[&shared], output)?;

    development.add_documents(&DEVELOPMENT)?;
    let depends = format!("{} (= {})", RUNTIME.name, version());
    let development = development.build_with(&DEVELOPMENT, &depends, output)?;
    Ok([runtime, development])
}
