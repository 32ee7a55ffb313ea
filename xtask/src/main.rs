//! The project's own commands, run as `cargo xtask COMMAND`: `cargo xtask help` lists them.
//!
//! The exit status of every command is 0 when all is well, 1 when something is not, and 2 when the command line is wrong.

mod api;
mod benchmarks;
mod c_library;
mod check;
mod cluster;
mod commands;
mod deb;
mod fuzz;
mod hazards;
mod instructions;
mod miri;
mod modules;
mod packages;
mod processes;
mod programs;
mod python;
mod release;
#[cfg(feature = "measure")]
mod reproducibility;
#[cfg(feature = "measure")]
mod ruler;
mod scratch;
mod setup;
mod skips;
mod soak;
mod steps;
mod systems;
mod test;
mod tidy;
mod wine;
mod workflow;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// The project's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Xtask {
    /// Installs the programs that the tests need, and prints those that are there already
    Setup,
    /// Format, lints, and the tests of the packages that the edit since the merge base with main reaches
    Check {
        /// Compares with this commit instead
        #[arg(long, value_name = "COMMIT")]
        base: Option<String>,
    },
    /// `setup`, and all that the continuous integration runs
    Test {
        /// Runs one step
        #[arg(long, value_name = "STEP")]
        only: Option<String>,
    },
    /// A step of `test`, in this process
    #[command(hide = true)]
    Step { name: String },
    /// The rules of this repository that no other tool checks
    Tidy,
    /// Compares the public API of the library with the list in `crates/vectored/api.txt`
    Api {
        /// Writes the list
        #[arg(long)]
        update: bool,
    },
    /// Do repeated runs of `vectored measure` name the same winners? 20 s a run, on an idle machine
    Reproducibility(ReproducibilityOptions),
    /// Does the engine agree with plain C programs? Half a second a round and cell, on an idle machine
    Ruler(RulerOptions),
    /// Random lists, and queues, through random faults; does every byte arrive?
    Soak(Words),
    /// Runs each fuzz target for some time; needs a nightly toolchain
    Fuzz {
        /// The time for each target
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        #[arg(long, value_name = "TARGET")]
        only: Option<String>,
    },
    /// `Gather` against other projects: a quarter of an hour, on an idle machine
    BenchPeers(Words),
    /// Servers and writers of files, by how they send: a quarter of an hour, on an idle machine
    BenchPrograms(Words),
    /// Do predicted and measured savings agree? Two minutes, on an idle machine
    Pairs(Words),
    /// Builds the Debian packages
    Deb(deb::Options),
    /// Builds and installs the C library
    InstallC(c_library::options::Place),
    /// Installs the C library to a folder, and compiles and runs C and C++ with it
    TestC,
    /// All of publishing the crates but the upload
    Publish {
        /// Builds each crate from its package
        #[arg(long)]
        verify: bool,
    },
    /// Builds the published crates with the oldest Rust that they promise
    Msrv,
    /// Licences, sources, duplicates and advisories of the dependencies, by cargo-deny
    Deny,
    /// Prints a section of CHANGELOG.md
    ReleaseNotes {
        #[arg(long, default_value = "Unreleased")]
        version: String,
    },
    /// Builds the wheel of the Python package, and tests it with each CPython from 3.11 on
    Python {
        /// This CPython instead; may be given several times
        #[arg(long, value_name = "PATH")]
        python: Vec<PathBuf>,
    },
    /// The library's tests that make no system call, under Miri
    Miri,
    /// Builds the project for other systems, and runs there what can be run here
    Systems(systems::Options),
    /// Instructions for copying a short segment and for a call from C, counted by callgrind
    Instructions,
    /// The tests and the tool for Windows, under Wine
    WineTests,
    /// Ranks of Open MPI, and of a Slurm of one node
    Cluster(cluster::Options),
}

/// Options of another program: `--help` prints them.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

#[cfg(not(feature = "measure"))]
use {Words as ReproducibilityOptions, Words as RulerOptions};
#[cfg(feature = "measure")]
use {reproducibility::Options as ReproducibilityOptions, ruler::Options as RulerOptions};

fn main() -> ExitCode {
    match run(Xtask::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}

/// Whether all is well. An error says what is not, or why that could not be determined.
fn run(command: Xtask) -> anyhow::Result<bool> {
    let well = |()| true;
    match command {
        Xtask::Setup => Ok(setup::run()),
        Xtask::Check { base } => check::run(base.as_deref()),
        Xtask::Test { only } => test::run(only.as_deref()),
        Xtask::Step { name } => test::run_step(&name).map(well),
        Xtask::Tidy => tidy::run(),
        Xtask::Api { update } => api::run(update).map(well),
        #[cfg(not(feature = "measure"))]
        Xtask::Reproducibility(_) | Xtask::Ruler(_) => Err(with_engine()),
        #[cfg(feature = "measure")]
        Xtask::Reproducibility(options) => reproducibility::run(&options),
        #[cfg(feature = "measure")]
        Xtask::Ruler(options) => ruler::run(&options),
        Xtask::Soak(words) => soak::run(words.options),
        Xtask::Fuzz { seconds, only } => fuzz::run(seconds, only.as_deref()),
        Xtask::BenchPeers(words) => benchmarks::peers(&words.options),
        Xtask::BenchPrograms(words) => benchmarks::programs(&words.options),
        Xtask::Pairs(words) => benchmarks::pairs(&words.options),
        Xtask::Deb(options) => deb::run(&options),
        Xtask::InstallC(place) => c_library::install(&place).map(well),
        Xtask::TestC => c_library::test().map(well),
        Xtask::Publish { verify } => release::publish::run(verify),
        Xtask::Msrv => release::msrv::run().map(well),
        Xtask::Deny => release::deny::run(),
        Xtask::ReleaseNotes { version } => release::notes::run(&version).map(well),
        Xtask::Python { python } => python::run(python).map(well),
        Xtask::Miri => miri::run(),
        Xtask::Systems(options) => systems::run(&options),
        Xtask::Instructions => instructions::run(),
        Xtask::WineTests => systems::run(&systems::Options::only(wine::TARGET)),
        Xtask::Cluster(options) => cluster::run(&options),
    }
}

/// Replaces this program by one that is built with the measuring engine and optimised, as users run it.
/// Returns only if that fails.
#[cfg(not(feature = "measure"))]
fn with_engine() -> anyhow::Error {
    use std::os::unix::process::CommandExt as _;
    let run = "run --release --quiet --locked --package xtask --features measure --manifest-path";
    let mut command = commands::cargo_words(run);
    command.arg(root().join("Cargo.toml")).arg("--");
    let error = command.args(std::env::args_os().skip(1)).exec();
    anyhow::Error::new(error).context("cannot start cargo")
}

/// The root of the workspace, wherever the command was called.
fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the workspace")
}
