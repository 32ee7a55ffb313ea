//! The packages of the workspace and their targets, as `cargo metadata` prints them, and the programs that cargo builds of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::commands::{answer, cargo_words};

/// A package of the workspace.
pub struct Package {
    pub name: String,
    pub folder: PathBuf,
    pub targets: Vec<Target>,
}

/// A library, program, test, example or bench of a package.
pub struct Target {
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

/// The packages that may be published, in an answer of [`metadata`]. `publish = false` is an empty list of registries, and null
/// allows all.
pub fn published(metadata: &Value) -> impl Iterator<Item = &Value> {
    list(&metadata["packages"])
        .iter()
        .filter(|package| package["publish"].is_null())
}

/// The packages of the workspace.
pub fn packages() -> Result<Vec<Package>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let target = |target: &Value| Target {
        name: text(&target["name"]),
        kind: text(&target["kind"][0]),
        is_tested: target["test"] == true,
        is_program: list(&target["crate_types"])
            .iter()
            .any(|kind| kind == "bin"),
    };
    let package = |package: &Value| Package {
        name: text(&package["name"]),
        folder: Path::new(&text(&package["manifest_path"])).with_file_name(""),
        targets: list(&package["targets"]).iter().map(target).collect(),
    };
    Ok(list(&metadata()?["packages"]).iter().map(package).collect())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The programs of a build: cargo's messages about them.
pub struct Programs(Vec<Value>);

impl Programs {
    /// Builds by `cargo {words}`.
    pub fn build(words: &str) -> Result<Self> {
        let mut command = cargo_words(words);
        command.args(["--message-format", "json-render-diagnostics"]);
        command.stderr(Stdio::inherit());
        let messages = answer(&mut command)?;
        let messages = messages
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let is_program = |message: &Value| message["executable"].is_string();
        Ok(Programs(messages.filter(is_program).collect()))
    }

    /// The test program of a library or binary, or the test, example or bench itself, in the folder of its package.
    pub fn command(&self, package: &Package, target: &Target) -> Result<Command> {
        let manifest = package.folder.join("Cargo.toml");
        let is_it = |program: &&Value| {
            program["manifest_path"].as_str().map(Path::new) == Some(&manifest)
                && program["target"]["kind"][0] == *target.kind
                && program["target"]["name"] == *target.name
                && program["profile"]["test"] == (target.kind != "example")
        };
        let found = self
            .0
            .iter()
            .find(is_it)
            .and_then(|program| program["executable"].as_str());
        let missing = || format!("cargo built no {} {}", target.kind, target.name);
        // cargo also starts a test in this folder and with this variable.
        let mut command = Command::new(found.with_context(missing)?);
        command
            .current_dir(&package.folder)
            .env("CARGO_MANIFEST_DIR", &package.folder);
        Ok(command)
    }

    /// The path of the program of a build that makes one.
    pub fn path(&self) -> Result<PathBuf> {
        let path = self
            .0
            .first()
            .and_then(|program| program["executable"].as_str());
        path.map(PathBuf::from).context("cargo built no program")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
