//! The test programs, examples and benches that cargo builds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::packages::{NOT_INCREMENTAL, Package, Target, cargo};
use crate::steps::Output;

/// One build, by one command or several. Every program of it is built with the same features and profile, so that no package
/// is built twice.
pub struct Build {
    commands: Vec<String>,
    is_incremental: bool,
    programs: Mutex<Option<Vec<Program>>>,
}

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    manifest: PathBuf,
    kind: String,
    name: String,
    is_test: bool,
    path: PathBuf,
}

impl Build {
    /// The build of `cargo {words}`, which is not begun.
    pub fn new(words: impl Into<String>) -> Self {
        Build {
            commands: vec![words.into()],
            is_incremental: true,
            programs: Mutex::new(None),
        }
    }

    /// The same build, followed by that of `cargo {words}`.
    pub fn and(mut self, words: impl Into<String>) -> Self {
        self.commands.push(words.into());
        self
    }

    /// The same build without the files that make the next one of an edited package faster.
    pub fn not_incremental(mut self) -> Self {
        self.is_incremental = false;
        self
    }

    /// Builds everything, if that was not done yet.
    pub fn build(&self, output: &Output) -> Result<(), String> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.is_none() {
            let mut built = Vec::new();
            for words in &self.commands {
                let mut command = cargo();
                command.args(words.split(' '));
                command.args(["--message-format", "json-render-diagnostics"]);
                if !self.is_incremental {
                    command.envs(NOT_INCREMENTAL);
                }
                built.extend(programs_in(&output.answer(&mut command)?));
            }
            *programs = Some(built);
        }
        Ok(())
    }

    /// The test program of a library or binary, or the test, example or bench itself, in the folder of
    /// its package. Builds it if that was not done yet.
    pub fn command(
        &self,
        output: &Output,
        package: &Package,
        target: &Target,
    ) -> Result<Command, String> {
        self.build(output)?;
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let manifest = package.folder.join("Cargo.toml");
        let found = programs.iter().flatten().find(|program| {
            program.manifest == manifest
                && program.kind == target.kind
                && program.name == target.name
                && program.is_test == (target.kind != "example")
        });
        let Some(program) = found else {
            let (kind, name) = (&target.kind, &target.name);
            let commands = self.commands.join(", cargo ");
            return Err(format!("cargo {commands} built no {kind} {name}"));
        };
        Ok(command_in(&program.path, &package.folder))
    }
}

/// As cargo starts it.
fn command_in(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("CARGO_MANIFEST_DIR", folder);
    command
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
