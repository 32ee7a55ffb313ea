//! The packages of the workspace and their targets, as `cargo metadata` prints them, and the programs that cargo builds of them.

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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::root;

    #[test]
    fn published_packages_have_a_description_keywords_and_the_licences() {
        let metadata = metadata().unwrap();
        for package in published(&metadata) {
            let name = package["name"].as_str().unwrap();
            for field in ["description", "license", "readme", "rust_version"] {
                assert!(package[field].is_string(), "{name} has no {field}");
            }
            for field in ["keywords", "categories"] {
                assert!(!list(&package[field]).is_empty(), "{name}: {field}");
            }
            let words = format!("package --list --allow-dirty --offline --package {name}");
            let files = answer(&mut cargo_words(&words)).unwrap();
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                assert!(
                    files.lines().any(|line| line == licence),
                    "{name}: {licence}"
                );
                let text = |path| fs::read_to_string(path).unwrap();
                let copy =
                    Path::new(package["manifest_path"].as_str().unwrap()).with_file_name(licence);
                assert_eq!(text(copy), text(root().join(licence)), "{name}");
            }
        }
        assert_eq!(published(&metadata).count(), 11);
    }

    #[test]
    fn the_readme_builds_with_the_tested_versions() {
        let readme = fs::read_to_string(root().join("README.md")).unwrap();
        let lines = readme.lines().map(str::trim_start);
        let builds =
            |line: &&str| line.starts_with("cargo install") || line.starts_with("cargo run --");
        let builds: Vec<&str> = lines.filter(builds).collect();
        assert!(
            !builds.is_empty() && builds.iter().all(|line| line.contains("--locked")),
            "{builds:?}"
        );
    }
}
