//! The test programs, examples and benches that cargo builds.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::commands::{answer, cargo_words};
use crate::packages::{Package, Target};

/// The programs of a build.
pub struct Programs(Vec<Program>);

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    manifest: PathBuf,
    kind: String,
    name: String,
    is_test: bool,
    path: PathBuf,
}

impl Programs {
    /// Builds by `cargo {words}`.
    pub fn build(words: &str) -> Result<Self> {
        let mut command = cargo_words(words);
        command.args(["--message-format", "json-render-diagnostics"]);
        command.stderr(Stdio::inherit());
        Ok(Programs(programs_in(&answer(&mut command)?)))
    }

    /// The test program of a library or binary, or the test, example or bench itself, in the folder of its package.
    pub fn command(&self, package: &Package, target: &Target) -> Result<Command> {
        let manifest = package.folder.join("Cargo.toml");
        let mut programs = self.0.iter();
        let found = programs.find(|program| {
            program.manifest == manifest
                && program.kind == target.kind
                && program.name == target.name
                && program.is_test == (target.kind != "example")
        });
        let missing = || format!("cargo built no {} {}", target.kind, target.name);
        // As cargo starts it.
        let mut command = Command::new(&found.with_context(missing)?.path);
        command
            .current_dir(&package.folder)
            .env("CARGO_MANIFEST_DIR", &package.folder);
        Ok(command)
    }
}

/// The files of the target of this name that `cargo {words}` builds.
pub fn files_of(target: &str, words: &str) -> Result<Vec<PathBuf>> {
    let mut command = cargo_words(words);
    let messages = answer(command.args(["--quiet", "--message-format", "json"]))?;
    Ok(files_in(&messages, target))
}

fn files_in(messages: &str, target: &str) -> Vec<PathBuf> {
    let messages = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == target).then(|| message["filenames"].as_array().cloned())?
    });
    let names = messages.flatten();
    names
        .filter_map(|name| name.as_str().map(PathBuf::from))
        .collect()
}

/// The programs that cargo's messages name.
fn programs_in(messages: &str) -> Vec<Program> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let program = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(Program {
            path: text(&message["executable"])?.into(),
            manifest: text(&message["manifest_path"])?.into(),
            kind: text(&message["target"]["kind"][0])?,
            name: text(&message["target"]["name"])?,
            is_test: message["profile"]["test"] == true,
        })
    };
    messages.lines().filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_target_are_found_in_the_messages_of_cargo() {
        let messages = "{\"target\":{\"name\":\"vectored\"},\"filenames\":[\"/t/libvectored.rlib\"]}\nnot JSON\n\
             {\"target\":{\"name\":\"copy\"},\"filenames\":[\"/t/copy-1\", \"/t/copy-1.d\"]}";
        let files = ["/t/copy-1", "/t/copy-1.d"].map(PathBuf::from);
        assert_eq!(files_in(messages, "copy"), files);
    }

    #[test]
    fn programs_are_found_in_the_messages_of_cargo() {
        let messages = "not JSON\n\
            {\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/p/Cargo.toml\",\"executable\":null,\
             \"target\":{\"kind\":[\"lib\"],\"name\":\"p\"},\"profile\":{\"test\":false}}\n\
            {\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/p/Cargo.toml\",\"executable\":\"/t/it-1\",\
             \"target\":{\"kind\":[\"test\"],\"name\":\"it\"},\"profile\":{\"test\":true}}\n\
            {\"reason\":\"build-finished\",\"success\":true}";
        let it = Program {
            manifest: "/w/p/Cargo.toml".into(),
            kind: "test".to_owned(),
            name: "it".to_owned(),
            is_test: true,
            path: "/t/it-1".into(),
        };
        assert_eq!(programs_in(messages), [it]);
    }
}
