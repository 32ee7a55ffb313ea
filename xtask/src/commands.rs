//! Other programs, run in the root of the workspace unless they have a folder.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::root;
use crate::skips::{self, SKIPS};

/// Every feature of the workspace but `vectored-cli/mpi`, which needs the headers of MPI: `cargo xtask cluster` builds and
/// tests that feature. With `--all-features` every build would need the headers, also the builds for other systems.
pub const FEATURES: &str = "--features vectored/bytes,vectored/load,vectored/serde,vectored/tokio,vectored/uring,xtask/measure";

/// The cargo that runs this program.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `cargo` with these words, which have no spaces in them.
pub fn cargo_words(words: &str) -> Command {
    let mut command = cargo();
    command.args(words.split(' '));
    command
}

/// `cargo +TOOLCHAIN`. Only the cargo of rustup takes `+`; the cargo that runs this program may be another one.
pub fn cargo_of(toolchain: &str, words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.arg(format!("+{toolchain}")).args(words);
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// A script of `xtask/`, which finds cargo's build folder in `CARGO_TARGET_DIR`.
pub fn script(path: &str) -> Command {
    let mut command = Command::new(root().join("xtask").join(path));
    command.env("CARGO_TARGET_DIR", target_folder());
    command
}

pub fn target_folder() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(folder)
}

/// Runs a program, and shows its output. The error has a command line that repeats the run.
pub fn run(command: &mut Command) -> Result<()> {
    let status = prepare(command).status();
    match status.with_context(|| format!("cannot start: {command:?}"))? {
        status if status.success() => Ok(()),
        status => bail!("{status}: {command:?}"),
    }
}

/// The standard output of a program, if it succeeds. Its standard error is shown if it fails.
pub fn answer(command: &mut Command) -> Result<String> {
    let output = prepare(command).output();
    let output = output.with_context(|| format!("cannot start: {command:?}"))?;
    if !output.status.success() {
        let [printed, complaint] = [&output.stdout, &output.stderr].map(|text| {
            let text = String::from_utf8_lossy(text);
            text.trim_end().to_owned()
        });
        bail!("{}: {command:?}\n{printed}\n{complaint}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("no text was printed by: {command:?}"))
}

/// Whether a program is there and succeeds. Its output is discarded.
pub fn works(command: &mut Command) -> bool {
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    prepare(silent)
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a program is in a folder of `PATH`. Not every program can be asked for its version: `mkfs.xfs` and others know no
/// `--version`, and some programs begin their work without any argument.
pub fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn prepare(command: &mut Command) -> &mut Command {
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    if let Some(list) = skips::list() {
        command.env(SKIPS, list);
    }
    command
}
