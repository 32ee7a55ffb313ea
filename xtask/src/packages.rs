//! The packages of the workspace and their targets, as `cargo metadata` prints them, and the programs that cargo builds.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::commands::{answer, cargo_words};

/// The answer of `cargo metadata` about the workspace itself.
pub fn metadata() -> Result<Value> {
    let words = "metadata --format-version 1 --no-deps --locked";
    let text = answer(&mut cargo_words(words))?;
    serde_json::from_str(&text).context("cannot read the answer of cargo metadata")
}

/// The packages that may be published, in an answer of [`metadata`]. `publish = false` is an empty list of registries, and null
/// allows all.
pub fn published(metadata: &Value) -> impl Iterator<Item = &Value> {
    list(&metadata["packages"])
        .iter()
        .filter(|package| package["publish"].is_null())
}

/// The names of the examples or benches of the workspace.
pub fn targets(kind: &str) -> Result<Vec<String>> {
    let metadata = metadata()?;
    let packages = list(&metadata["packages"]).iter();
    let targets = packages.flat_map(|package| list(&package["targets"]));
    let of_kind =
        targets.filter(|target| target["kind"][0] == kind && target["crate_types"][0] == "bin");
    let name = |target: &Value| target["name"].as_str().map(str::to_owned);
    Ok(of_kind.filter_map(name).collect())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Builds a program by `cargo {words}`, and returns its path.
pub fn build(words: &str) -> Result<PathBuf> {
    let mut command = cargo_words(words);
    command.args(["--message-format", "json-render-diagnostics"]);
    let messages = answer(command.stderr(Stdio::inherit()))?;
    let path = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    path.context("cargo built no program")
}
