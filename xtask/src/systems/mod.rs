//! `cargo xtask systems`: builds the project for other systems, and runs there what can be run here.
//!
//! Each system is a step. What could not be done for it is a skip with its reason. An error of the compiler or the
//! linker, or a test that fails, is a failure.

mod build;
mod table;
mod toolchain;
mod zig;

use anyhow::{Result, bail};

use crate::skips::Skips;
use crate::steps::Report;
pub use build::{FOLDER, PROFILE, Scope, build, in_folder};
pub use table::SYSTEMS;

/// Options of the command.
#[derive(clap::Args)]
pub struct Options {
    /// The only system, by its name for rustc
    #[arg(long, value_name = "TARGET")]
    only: Option<String>,
    /// Runs every case of the property tests, and links the tests for macOS and FreeBSD too
    #[arg(long)]
    all: bool,
}

impl Options {
    /// One system.
    pub fn only(name: &str) -> Self {
        let only = Some(name.to_owned());
        Options { only, all: false }
    }
}

/// Runs the systems of `cargo xtask test`, all of them, or one; false if one failed.
pub fn run(options: &Options) -> Result<bool> {
    let scope = if options.all { Scope::All } else { Scope::Minutes };
    let is_wanted = |system: &&table::System| match &options.only {
        Some(only) => system.name == only,
        None => options.all || system.is_tested,
    };
    let systems: Vec<_> = SYSTEMS.iter().filter(is_wanted).collect();
    if systems.is_empty() {
        let names = SYSTEMS.map(|system| system.name).join("\n  ");
        bail!("there is no such system; the systems are:\n  {names}");
    }
    let skips = Skips::begin()?;
    let mut report = Report::start("cargo xtask systems");
    for system in systems {
        report.run(system.name, || build(system, scope));
    }
    println!("{}\n\n{}", skips.listed()?, report.summary());
    Ok(report.is_well())
}
