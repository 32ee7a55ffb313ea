//! The project's own commands, run as `cargo xtask COMMAND`: `cargo xtask help` lists them.
//!
//! The exit status of every command is 0 when all is well, 1 when something is not, and 2 when the command line is wrong.

mod api;
mod commands;
mod docs;
mod fields;
mod imports;
mod instructions;
mod nightly;
mod packages;
mod release;
#[cfg(feature = "measure")]
mod ruler;
mod setup;
mod skips;
mod sources;
mod steps;
mod systems;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::commands::script;

/// The project's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Xtask {
    /// Installs the programs that the tests need
    Setup,
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
    /// Builds the documentation as a site, and checks its links; mkdocs-material comes from PyPI
    Site {
        /// Where the site goes
        #[arg(long, value_name = "DIR", default_value = "target/site/out")]
        out: PathBuf,
    },
    /// Writes the page of all fields of saved results, which `tidy` compares with the types
    Fields,
    /// Compares the public API of the library with the list in `crates/vectored/api.txt`
    Api {
        /// Writes the list
        #[arg(long)]
        update: bool,
    },
    /// Do repeated runs of `vectored measure` name the same winners? 20 s a run, on an idle machine
    Reproducibility(Words),
    /// Does the engine agree with plain C programs? Half a second a round and cell, on an idle machine
    Ruler(Words),
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
    /// CPU time of servers and writers of files, by how they send: a quarter of an hour, on an idle machine
    BenchPrograms(Words),
    /// Do predicted and measured savings agree? Two minutes, on an idle machine
    Pairs(Words),
    /// Builds the Debian packages
    Deb {
        /// Where the packages go
        #[arg(long, default_value = "target/debian")]
        output: PathBuf,
    },
    /// Makes one folder with all that is handed out: the tool as one file, packages, libraries, sources, checksums
    Dist {
        /// The folder, which is replaced
        #[arg(long, value_name = "DIR", default_value = "target/box")]
        out: PathBuf,
        /// Also installs and uses the result in clean systems, and compares a second build: needs root, debootstrap and a mirror
        #[arg(long)]
        try_out: bool,
    },
    /// Builds and installs the C library
    InstallC {
        /// The prefix in which programs find the library
        #[arg(long, default_value = "/usr/local")]
        prefix: PathBuf,
        /// The folder of libraries within the prefix: `lib/x86_64-linux-gnu` in a Debian package
        #[arg(long, default_value = "lib")]
        libdir: PathBuf,
        /// The root of a package that is being built: files go to the prefix within it
        #[arg(long, value_name = "DIR")]
        destdir: Option<PathBuf>,
    },
    /// Tries the code of every remedy that `vectored advise` prints: the same bytes by fewer calls?
    Remedies {
        /// Programs of `xtask/tests/remedies/`, in place of all
        #[arg(value_name = "SOURCE")]
        sources: Vec<String>,
    },
    /// Installs the C library to a folder, and compiles and runs C and C++ with it
    TestC,
    /// Does all of publishing the crates, except the upload
    Publish {
        /// Builds each crate from its package, and refuses a repository without an address
        #[arg(long)]
        verify: bool,
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
    Systems {
        /// The only system, by its name for rustc
        #[arg(long, value_name = "TARGET")]
        only: Option<String>,
        /// Runs every case of the property tests, and also links the tests for macOS and FreeBSD
        #[arg(long)]
        all: bool,
    },
    /// Instructions for copying a short segment and for a call from C, counted by callgrind
    Instructions,
    /// The tests and the tool for Windows, under Wine
    WineTests,
    /// Ranks of Open MPI, and of a Slurm of one node
    Cluster {
        /// Also tests with MPICH, for which the command is built a second time
        #[arg(long)]
        mpich: bool,
    },
}

/// Options of another program: `--help` prints them.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

fn main() -> ExitCode {
    match run(Xtask::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Xtask) -> anyhow::Result<()> {
    match command {
        Xtask::Setup => setup::run(),
        Xtask::Test { only } => test::run(only.as_deref()),
        Xtask::Step { name } => test::run_step(&name),
        Xtask::Tidy => tidy::run(),
        Xtask::Site { out } => {
            commands::run(script("site/build.py").arg(std::path::absolute(out)?))
        }
        Xtask::Fields => Ok(std::fs::write(root().join(fields::PAGE), fields::page()?)?),
        Xtask::Api { update } => api::run(update),
        Xtask::Reproducibility(words) => {
            commands::run(script("reproducibility.py").args(words.options))
        }
        #[cfg(not(feature = "measure"))]
        Xtask::Ruler(_) => Err(with_engine()),
        #[cfg(feature = "measure")]
        Xtask::Ruler(words) => ruler::run(words.options),
        Xtask::Soak(words) => nightly::soak(words.options),
        Xtask::Fuzz { seconds, only } => nightly::fuzz(seconds, only.as_deref()),
        Xtask::BenchPeers(words) => {
            // The bench names the peers that are missing, and measures the others.
            let go = if commands::is_on_path("go") { "" } else { " golang-go" };
            provide(&format!("libuv1-dev libevent-dev liburing-dev{go}"));
            bench("peers", words)
        }
        Xtask::BenchPrograms(words) => bench("programs", words),
        Xtask::Pairs(words) => {
            if !commands::is_on_path("strace") {
                provide("strace");
            }
            bench("pairs", words)
        }
        Xtask::Deb { output } => commands::run(script("deb/build.sh").arg(root().join(output))),
        Xtask::Dist { out, try_out } => {
            let mut build = script("dist/build.sh");
            build.arg(root().join(out));
            commands::run(build.args(try_out.then_some("try-out")))
        }
        Xtask::InstallC {
            prefix,
            libdir,
            destdir,
        } => {
            let mut install = script("c_library/install.sh");
            install.arg(std::path::absolute(prefix)?).arg(libdir);
            let destdir = destdir.map(std::path::absolute).transpose()?;
            commands::run(install.args(destdir))
        }
        Xtask::TestC => commands::run(&mut script("c_library/test.sh")),
        Xtask::Remedies { sources } => commands::run(script("tests/remedies/try.py").args(sources)),
        Xtask::Publish { verify } => release::publish(verify),
        Xtask::Python { python } => commands::run(script("python.sh").args(python)),
        Xtask::Miri => nightly::miri(),
        Xtask::Systems { only, all } => systems::run(only.as_deref(), all),
        Xtask::Instructions => instructions::run(),
        Xtask::WineTests => systems::run(Some(systems::WINDOWS), false),
        Xtask::Cluster { mpich } => {
            commands::run(script("cluster.py").args(mpich.then_some("--mpich")))
        }
    }
}

/// Installs Debian packages. If they cannot be installed, the error is only printed.
fn provide(packages: &str) {
    if let Err(error) = setup::install_packages(packages, Instant::now() + setup::PATIENCE) {
        println!("   {error:#}");
    }
}

/// Runs a bench of `benchmarks/`. cargo is quiet, since standard output may be JSON.
fn bench(name: &str, words: Words) -> anyhow::Result<()> {
    let cargo = format!(
        "bench --quiet {} --locked --bench {name} --",
        test::BENCHMARKS
    );
    commands::run(commands::cargo_words(&cargo).args(words.options))
}

/// Replaces this program by an optimised build with the measuring engine, as users run it. Returns only if that fails.
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
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    workspace.expect("xtask is a folder of the workspace")
}
