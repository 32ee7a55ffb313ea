//! The package of the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::package::{Control, Staging};
use crate::commands::{answer, cargo_words};
use crate::root;

const CONTROL: Control = Control {
    name: "vectored",
    section: "utils",
    // For `vectored advise`.
    recommends: Some("strace"),
    summary: "measures which way of writing several buffers is fastest",
    description: "\
A program that has its bytes in several buffers can write each buffer with a
call of its own, copy them into one buffer, or pass the list to writev(2).
This program measures which of them is fastest on this machine, for which
sizes and counts, and with what certainty.

It also finds system calls of any program that one larger call could replace,
and repeats published experiments on buffers and system calls.",
};

/// Where each shell looks for the completions of packages.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/vectored"),
    ("zsh", "usr/share/zsh/vendor-completions/_vectored"),
    ("fish", "usr/share/fish/vendor_completions.d/vectored.fish"),
];

/// Builds the program and its package.
pub fn build(output: &Path) -> Result<PathBuf> {
    let words = "build --release --locked --quiet --package vectored-cli";
    answer(&mut cargo_words(words))?;
    let built = root().join("target/release/vectored");
    let program = fs::read(&built).with_context(|| format!("cannot read '{}'", built.display()))?;

    let staging = Staging::new(CONTROL.name)?;
    staging.add("usr/bin/vectored", 0o755, &program)?;
    for (shell, path) in COMPLETIONS {
        let script = answer(Command::new(&built).args(["completions", shell]))?;
        staging.add(path, 0o644, script.as_bytes())?;
    }
    let pages = root().join("target/deb/man");
    if pages.exists() {
        fs::remove_dir_all(&pages)?;
    }
    answer(Command::new(&built).args(["man", "--dir"]).arg(&pages))?;
    for page in fs::read_dir(&pages)? {
        let page = page?.path();
        let name = page
            .file_name()
            .context("a page has a name")?
            .to_string_lossy();
        let path = format!("usr/share/man/man1/{name}.gz");
        staging.add_compressed(&path, &fs::read(&page)?)?;
    }
    staging.add_documents(&CONTROL)?;
    staging.build(&CONTROL, &["usr/bin/vectored"], output)
}
