//! `cargo xtask systems`: builds the project for other systems, and runs there what can be run here.
//!
//! Each system is a step. What could not be done for it is a skip with its reason. An error of the compiler or the
//! linker, or a test that fails, is a failure.

mod build;
mod elf;
mod table;
mod toolchain;
mod zig;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

use crate::skips::{Skips, append_skip};
use crate::steps::{Output, Report, Step};
use crate::systems::build::build;
pub use crate::systems::build::{PROFILE, Scope};
use crate::systems::table::{SYSTEMS, System};

/// Options of `cargo xtask systems`.
pub struct Options {
    /// The only system.
    pub only: Option<String>,
    /// Whether everything is run, in place of what takes minutes.
    pub all: bool,
}

/// What was done for a system, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Such as "linked: vectored".
    Done(String),
    /// What was not done, and why.
    Skipped(String),
}

/// The facts of all systems, in the order in which they came.
#[derive(Default)]
pub struct Facts(Mutex<Vec<(&'static str, Fact)>>);

impl Facts {
    fn add(&self, system: &System, fact: Fact) {
        let mut facts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        facts.push((system.name, fact));
    }

    /// A paragraph a system: what was done and what was not.
    pub fn listed(&self) -> String {
        let facts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for system in &SYSTEMS {
            let mut of_system = facts
                .iter()
                .filter(|(name, _)| *name == system.name)
                .peekable();
            if of_system.peek().is_none() {
                continue;
            }
            let _ = writeln!(text, "{}", system.name);
            for (_, fact) in of_system {
                let _ = match fact {
                    Fact::Done(what) => writeln!(text, "  {what}"),
                    Fact::Skipped(what) => writeln!(text, "  skipped: {what}"),
                };
            }
        }
        text
    }
}

/// Runs every system or one of them; false if one failed.
pub fn run(options: &Options) -> Result<bool> {
    let scope = match options.all {
        true => Scope::All,
        false => Scope::Minutes,
    };
    let skips = Skips::new()?;
    let facts = Facts::default();
    let mut steps = steps(&facts, &skips.path, scope);
    if let Some(only) = &options.only {
        steps.retain(|step| step.name == *only);
        if steps.is_empty() {
            let names: Vec<&str> = SYSTEMS.iter().map(|system| system.name).collect();
            bail!(
                "there is no system '{only}'; the systems are:\n  {}",
                names.join("\n  ")
            );
        }
    }
    let mut report = Report::start("cargo xtask systems");
    report.run(&steps, 1);
    println!("{}\n\n{}", skips.listed()?, facts.listed());
    println!("{}", report.summary());
    Ok(report.is_well())
}

/// A step for each system, which adds to these facts and appends its skips to a file.
pub fn steps<'a>(facts: &'a Facts, skips: &'a Path, scope: Scope) -> Vec<Step<'a>> {
    let step = |system: &'static System| {
        let work = move |output: &Output| {
            let facts_of_system = build(system, scope, output, skips)?;
            for fact in facts_of_system {
                match &fact {
                    Fact::Done(what) => output.line(&format!("   {}: {what}", system.name))?,
                    Fact::Skipped(what) => append_skip(skips, &format!("{}: {what}", system.name))?,
                }
                facts.add(system, fact);
            }
            Ok(())
        };
        Step::new(system.name, work).builds_in(system.folder())
    };
    SYSTEMS.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_listed_by_system_in_their_order_and_skips_have_their_reason() {
        let facts = Facts::default();
        facts.add(&SYSTEMS[1], Fact::Done("linked: the tool".to_owned()));
        facts.add(&SYSTEMS[0], Fact::Skipped("no compiler".to_owned()));
        facts.add(&SYSTEMS[1], Fact::Skipped("nothing runs it".to_owned()));
        let expected = format!(
            "{}\n  skipped: no compiler\n{}\n  linked: the tool\n  skipped: nothing runs it\n",
            SYSTEMS[0].name, SYSTEMS[1].name
        );
        assert_eq!(facts.listed(), expected);
    }

    #[test]
    fn every_system_is_a_step_that_locks_its_folder() {
        let facts = Facts::default();
        let steps = steps(&facts, Path::new("skips"), Scope::Minutes);
        assert_eq!(steps.len(), SYSTEMS.len());
        for (step, system) in std::iter::zip(&steps, &SYSTEMS) {
            assert_eq!(step.build_folder, Some(system.folder()));
        }
    }
}
