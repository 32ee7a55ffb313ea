//! What the workspace consists of, as `cargo metadata` tells it.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::root;

/// A program of the workspace that is neither a test nor a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its package.
    pub package: String,
    /// Its name.
    pub name: String,
    /// Features without which it is not built.
    pub features: Vec<String>,
}

/// A cargo, the one that runs this.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The answer of `cargo metadata` about the workspace itself.
pub fn metadata() -> Result<Value> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
    let text = answer(cargo().args(arguments))?;
    serde_json::from_str(&text).context("cannot read the answer of cargo metadata")
}

/// What a program prints, if it succeeds.
pub fn answer(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command
        .current_dir(root())
        .output()
        .with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} failed: {}", complaint.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} printed no text"))
}

/// Every runnable target of `kind`: `example` or `bench`.
pub fn extras(metadata: &Value, kind: &str) -> Vec<Extra> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut extras = Vec::new();
    for package in array(&metadata["packages"]) {
        for target in array(&package["targets"]) {
            let has = |field: &str, word: &str| array(&target[field]).iter().any(|w| w == word);
            // An example may also be a library, which cannot be run.
            if has("kind", kind) && has("crate_types", "bin") {
                extras.push(Extra {
                    package: text(&package["name"]),
                    name: text(&target["name"]),
                    features: array(&target["required-features"])
                        .iter()
                        .map(text)
                        .collect(),
                });
            }
        }
    }
    extras
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_published_has_its_licences_and_says_what_it_is() {
        let metadata = metadata().unwrap();
        let mut published = 0;
        for package in metadata["packages"].as_array().unwrap() {
            // An empty list means that it goes nowhere, null that it may go anywhere.
            if package["publish"].is_array() || package["name"] == "xtask" {
                continue;
            }
            published += 1;
            let name = package["name"].as_str().unwrap();
            for field in ["description", "license", "readme", "rust_version"] {
                assert!(package[field].is_string(), "{name} has no {field}");
            }
            for field in ["keywords", "categories"] {
                assert_ne!(
                    package[field].as_array().unwrap().len(),
                    0,
                    "{name}: {field}"
                );
            }
            let words = [
                "package",
                "--list",
                "--allow-dirty",
                "--offline",
                "--package",
                name,
            ];
            let list = answer(cargo().args(words)).unwrap();
            let manifest = package["manifest_path"].as_str().unwrap();
            let folder = std::path::Path::new(manifest).parent().unwrap();
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                assert!(
                    list.lines().any(|line| line == licence),
                    "{name}: {licence}"
                );
                let text = |path| fs::read_to_string(path).unwrap();
                assert_eq!(
                    text(folder.join(licence)),
                    text(root().join(licence)),
                    "{name}"
                );
            }
        }
        assert_eq!(published, 4);
    }

    #[test]
    fn the_readme_builds_what_was_tested() {
        let readme = fs::read_to_string(root().join("README.md")).unwrap();
        let builds = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("cargo install") || line.starts_with("cargo run --")
        };
        let mut lines = readme.lines().filter(builds).peekable();
        assert!(lines.peek().is_some());
        for line in lines {
            assert!(line.contains("--locked"), "{line}");
        }
    }

    #[test]
    fn examples_and_benches_are_found_and_libraries_left_out() {
        let metadata = serde_json::json!({ "packages": [ { "name": "p", "targets": [
            { "name": "p", "kind": ["lib"], "crate_types": ["lib"] },
            { "name": "shown", "kind": ["example"], "crate_types": ["bin"],
              "required-features": ["tokio"] },
            { "name": "linked", "kind": ["example"], "crate_types": ["cdylib"] },
            { "name": "timed", "kind": ["bench"], "crate_types": ["bin"] },
        ] } ] });
        let names = |kind| -> Vec<String> {
            let found = extras(&metadata, kind);
            found.into_iter().map(|extra| extra.name).collect()
        };
        assert_eq!(names("example"), ["shown"]);
        assert_eq!(names("bench"), ["timed"]);
        assert_eq!(extras(&metadata, "example")[0].features, ["tokio"]);
    }
}
