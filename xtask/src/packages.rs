//! The packages of the workspace and their targets, as `cargo metadata` prints them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::commands::{answer, cargo_words};

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The packages of the workspace that its manifest names.
    pub dependencies: Vec<String>,
    /// Its library, programs, tests, examples and benches.
    pub targets: Vec<Target>,
}

/// A library, program, test, example or bench of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its kind, as cargo names it: `lib`, `bin`, `test`, `example` or `bench`.
    pub kind: String,
    /// Whether `cargo test` runs it.
    pub is_tested: bool,
    /// Whether it is a program: an example may be a library.
    pub is_program: bool,
}

/// The answer of `cargo metadata` about the workspace itself.
pub fn metadata() -> Result<Value> {
    let words = "metadata --format-version 1 --no-deps --locked";
    let text = answer(&mut cargo_words(words))?;
    serde_json::from_str(&text).context("cannot read the answer of cargo metadata")
}

/// Whether a package of the answer of [`metadata`] may be published. `publish = false` is an empty list of registries, and
/// null allows all.
pub fn is_published(package: &Value) -> bool {
    !package["publish"].is_array()
}

/// The packages in an answer of [`metadata`].
pub fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let package = |package: &Value| Package {
        name: text(&package["name"]),
        folder: Path::new(&text(&package["manifest_path"]))
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default(),
        dependencies: list(&package["dependencies"])
            .iter()
            .filter(|dependency| dependency["path"].is_string())
            .map(|dependency| text(&dependency["name"]))
            .collect(),
        targets: list(&package["targets"])
            .iter()
            .map(|target| Target {
                name: text(&target["name"]),
                kind: text(&target["kind"][0]),
                is_tested: target["test"] == true,
                is_program: list(&target["crate_types"])
                    .iter()
                    .any(|kind| kind == "bin"),
            })
            .collect(),
    };
    list(&metadata["packages"]).iter().map(package).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::root;

    #[test]
    fn published_packages_have_a_description_keywords_and_the_licences() {
        let metadata = metadata().unwrap();
        let mut published = 0;
        for package in metadata["packages"].as_array().unwrap() {
            if !is_published(package) {
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
            let words = format!("package --list --allow-dirty --offline --package {name}");
            let list = answer(&mut cargo_words(&words)).unwrap();
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
        assert_eq!(published, 8);
    }

    #[test]
    fn the_readme_builds_with_the_tested_versions() {
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
    fn packages_are_read_with_their_targets_and_their_dependencies_in_the_workspace() {
        let metadata = serde_json::json!({ "packages": [ {
            "name": "p",
            "manifest_path": "/w/crates/p/Cargo.toml",
            "dependencies": [
                { "name": "q", "path": "/w/crates/q" },
                { "name": "serde", "source": "registry" },
            ],
            "targets": [
                { "name": "p", "kind": ["lib"], "crate_types": ["lib"], "test": true },
                { "name": "shown", "kind": ["example"], "crate_types": ["bin"], "test": false },
                { "name": "linked", "kind": ["example"], "crate_types": ["cdylib"], "test": false },
            ],
        } ] });
        let found = packages(&metadata);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name, "p");
        assert_eq!(found[0].folder, Path::new("/w/crates/p"));
        assert_eq!(found[0].dependencies, ["q"]);
        let targets: Vec<_> = found[0]
            .targets
            .iter()
            .map(|target| {
                (
                    &*target.name,
                    &*target.kind,
                    target.is_tested,
                    target.is_program,
                )
            })
            .collect();
        assert_eq!(
            targets,
            [
                ("p", "lib", true, false),
                ("shown", "example", false, true),
                ("linked", "example", false, false),
            ]
        );
    }
}
