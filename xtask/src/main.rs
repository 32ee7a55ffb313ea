//! The project's own commands, run as `cargo xtask COMMAND`.
//!
//! - `setup` installs the programs that the tests need, and prints those that are there already.
//! - `check` runs format, lints and the tests that the edit at hand can make fail: see [`check`].
//! - `test` is `setup` and all that the continuous integration runs: format, lints, docs, all tests, every
//!   example and bench, and [`tidy`]. A machine with a Rust toolchain needs nothing else first. All
//!   failed steps and all tests that could not run here are listed at the end. `--only STEP` runs one step.
//! - `tidy` checks the rules of this repository that no other tool knows.
//! - `reproducibility [--runs 10]` runs `vectored measure` that often, and fails
//!   if two runs name different winners for a cell, or if a run decides
//!   less than 70 % of its cells. Takes about 20 s a run, on an idle machine.
//! - `ruler [--rounds 30] [--directory .]` compares the engine's medians with those of
//!   plain C loops (`xtask/ruler/plain_loops.c`), run in turn. Takes about
//!   half a second a round and cell, on an idle machine. With `--experiments`
//!   it compares the ratios of `vectored reproduce` with those of plain C programs
//!   (`xtask/ruler/published_experiments.c`), with `--records 65536` a file.
//! - `soak [--seconds 60] [--seed 1] [--form all|lists|blocking|tokio]
//!   [--backend plain|uring|aio|posix-aio|io-uring-lab] [--asan]` moves random lists in every way, to and from every kind of
//!   descriptor, through faults, and compares all bytes.
//!   `blocking` and `tokio` do so through a `SegmentQueue`. The last line is the number of bytes that were
//!   lost. `--asan` builds it with AddressSanitizer, which needs a nightly toolchain. `--records N` instead has two
//!   processes append N records to one log, then to one pipe.
//! - `fuzz [--seconds 60] [--only TARGET]` runs each fuzz target of `fuzz/`, or one, for that time. Installs
//!   cargo-fuzz if it is missing; needs a nightly toolchain.
//! - `bench-peers [OPTIONS]` installs the peers that the bench of that name can measure on Debian, as root, and
//!   runs it with these options: see its `--help`. About a quarter of an hour, on an idle machine.
//! - `bench-programs [OPTIONS]` measures the CPU time per request of servers and writers of files, by how
//!   they send: the bench `programs` of `benchmarks/` with these options, see its `--help` and `docs/programs.md`.
//!   A quarter of an hour, on an idle machine.
//! - `pairs [OPTIONS]` compares the savings that `vectored advise` predicts for programs of ours with
//!   the measured ones: the bench `pairs` of `benchmarks/` with these options. Installs strace. Two
//!   minutes, on an idle machine.
//! - `deb [--output target/debian] [--try-out]` builds the Debian packages. `--try-out` installs, uses and removes them
//!   in a clean Debian, which needs root, debootstrap and a mirror: a minute.
//! - `install-c [--prefix /usr/local] [--libdir lib] [--destdir DIR]` builds and installs the C library:
//!   `docs/c.md`. With `--destdir` the files go to the prefix within that folder, for a package.
//! - `test-c` installs the C library to a temporary folder, and compiles and runs the programs of
//!   `crates/vectored-capi` with it: by pkg-config and CMake, with sanitizers, and under valgrind.
//! - `publish [--verify]` does all that publishing the crates does, but for the upload. `--verify` also builds each of
//!   them from its package.
//! - `msrv` builds the published crates with the oldest Rust that they promise. If it cannot be installed, that is printed.
//! - `deny` has cargo-deny check licences, sources, duplicates and advisories of the dependencies.
//! - `release-notes [--version 0.1.0]` prints a section of CHANGELOG.md, by default the unreleased changes.
//! - `python [--python PATH]…` builds the wheel of the Python package with maturin, which pip installs, and runs the tests
//!   of `crates/vectored-py` in a clean environment of each CPython from 3.11 on that is found, or of these.
//! - `miri` runs the library's tests that make no system call under Miri.
//!   If Miri cannot be installed, that is printed and is no failure.
//! - `systems [--only TARGET] [--all]` builds the project for other systems, and runs there what can be run
//!   here: see [`systems`]. `--all` runs every case of the property tests,
//!   and links the tests for macOS and FreeBSD too.
//! - `instructions` counts the instructions for copying a short segment, and for a call from C, under callgrind.
//! - `wine-tests` builds the tests for Windows with mingw and runs them under Wine. If one of them is missing, that is
//!   printed and is no failure.
//! - `cluster [--mpich] [--cost | --single-rank]` builds `vectored` with the feature `mpi`, and tests it with ranks of
//!   Open MPI and of a Slurm of one node; with `--mpich` also with those of MPICH. It prints figures instead with
//!   `--cost` (what the coordination of a sample costs by the number of ranks) and `--single-rank` (one rank beside a
//!   process without MPI). What is missing is printed and is no failure.
//!
//! The exit status of every command is 0 when all is well, 1 when something is
//! not, and 2 when the command line is wrong.

mod args;
mod benchmarks;
mod c_library;
mod check;
mod cluster;
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
#[cfg(feature = "lab")]
mod reproducibility;
#[cfg(feature = "lab")]
mod ruler;
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

use args::Args;

const HELP: &str = "\
The project's own commands

Usage: cargo xtask COMMAND

Commands:
  setup            installs the programs that the tests need
  check            [--base COMMIT]: format, lints, and the tests of the packages that the edit since
                   the merge base with main reaches
  test             [--only STEP]: setup, and all that the continuous integration runs
  tidy             the rules of this repository that no other tool checks
  reproducibility  [--runs 10]: do repeated runs of `vectored measure` agree?
  ruler            [--rounds 30] [--directory .]: does the engine agree with plain C loops?
                   --experiments [--records 65536]: do the published experiments?
  soak             [--seconds 60] [--seed 1] [--form all|lists|blocking|tokio]
                   [--backend plain|uring|aio|posix-aio|io-uring-lab] [--asan]:
                   random lists, and queues, through random faults; does every byte arrive?
                   --records N: are records whole that two processes append to one log or pipe?
  fuzz             [--seconds 60] [--only TARGET]: each fuzz target for that time
  bench-peers      [OPTIONS]: `Gather` against other projects; see its own --help
  bench-programs   [OPTIONS]: servers and writers of files, by how they send; see its own --help
  pairs            [--rounds 11] [--only NAME]: do predicted and measured savings agree?
  deb              [--output target/debian] [--try-out]: Debian packages; --try-out installs, uses and
                   removes them in a clean Debian
  install-c        [--prefix /usr/local] [--libdir lib] [--destdir DIR]: installs the C library
  test-c           installs the C library to a folder, and compiles and runs C and C++ with it
  publish          [--verify]: publishing the crates, but for the upload
  msrv             a build with the oldest Rust that the crates promise
  deny             licences, sources, duplicates and advisories of the dependencies
  release-notes    [--version 0.1.0]: a section of CHANGELOG.md
  python           [--python PATH]...: builds the wheel, and tests it with each CPython from 3.11 on
  miri             the library without its system calls, under Miri
  systems          [--only TARGET] [--all]: type checks, links and runs for other systems
  instructions     instructions for copying a short segment and for a call from C, counted by callgrind
  wine-tests       the tests for Windows, under Wine
  cluster          [--mpich] [--cost | --single-rank]: ranks of Open MPI, of Slurm and of MPICH; their figures
  help             this text
";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next();
    match Command::parse(command.as_deref(), Args::new(words)) {
        Ok(command) => match command.run() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::from(1)
            }
        },
        Err(usage) => {
            eprintln!("error: {usage}");
            ExitCode::from(2)
        }
    }
}

enum Command {
    Help,
    Setup,
    Check {
        base: Option<String>,
    },
    Test {
        only: Option<String>,
    },
    Tidy,
    /// A command of the feature `lab`.
    #[cfg(not(feature = "lab"))]
    Lab {
        words: Vec<String>,
    },
    #[cfg(feature = "lab")]
    Reproducibility {
        runs: usize,
    },
    #[cfg(feature = "lab")]
    Ruler(ruler::Options),
    Soak(soak::Options),
    Fuzz {
        seconds: usize,
        only: Option<String>,
    },
    BenchPeers {
        words: Vec<String>,
    },
    BenchPrograms {
        words: Vec<String>,
    },
    Pairs {
        words: Vec<String>,
    },
    Deb(deb::Options),
    InstallC(c_library::options::Place),
    TestC,
    Publish {
        verify: bool,
    },
    Msrv,
    Deny,
    ReleaseNotes {
        version: Option<String>,
    },
    Python {
        interpreters: Vec<PathBuf>,
    },
    Miri,
    Systems(systems::Options),
    Instructions,
    WineTests,
    Cluster(cluster::Options),
}

impl Command {
    fn parse(name: Option<&str>, mut args: Args) -> Result<Self, String> {
        let command = match name {
            Some("setup") => Command::Setup,
            Some("check") => Command::Check {
                base: args.word("--base")?,
            },
            Some("test") => Command::Test {
                only: args.word("--only")?,
            },
            Some("tidy") => Command::Tidy,
            #[cfg(not(feature = "lab"))]
            Some(name @ ("reproducibility" | "ruler")) => {
                let mut words = vec![name.to_owned()];
                words.extend(args.rest());
                Command::Lab { words }
            }
            #[cfg(feature = "lab")]
            Some("reproducibility") => Command::Reproducibility {
                runs: args.count("--runs", 10)?,
            },
            #[cfg(feature = "lab")]
            Some("ruler") => Command::Ruler(ruler::Options {
                rounds: args.count("--rounds", 30)?,
                directory: args.path("--directory", ".")?,
                experiments: args.flag("--experiments"),
                records: args.count("--records", 1 << 16)?,
            }),
            Some("soak") => Command::Soak(soak::Options {
                seconds: args.count("--seconds", 60)?,
                seed: args.number("--seed", 1)?,
                form: args.one_of("--form", &["all", "lists", "blocking", "tokio"])?,
                records: args.number("--records", 0)?,
                backend: args.one_of(
                    "--backend",
                    &["plain", "uring", "aio", "posix-aio", "io-uring-lab"],
                )?,
                asan: args.flag("--asan"),
            }),
            Some("fuzz") => Command::Fuzz {
                seconds: args.count("--seconds", 60)?,
                only: args.word("--only")?,
            },
            Some("bench-peers") => Command::BenchPeers { words: args.rest() },
            Some("bench-programs") => Command::BenchPrograms { words: args.rest() },
            Some("pairs") => Command::Pairs { words: args.rest() },
            Some("deb") => Command::Deb(deb::Options {
                output: args.path("--output", "target/debian")?,
                try_out: args.flag("--try-out"),
            }),
            Some("install-c") => Command::InstallC(c_library::options::Place {
                prefix: args.path("--prefix", "/usr/local")?,
                libdir: args.path("--libdir", "lib")?,
                destdir: args.word("--destdir")?.map(PathBuf::from),
            }),
            Some("test-c") => Command::TestC,
            Some("publish") => Command::Publish {
                verify: args.flag("--verify"),
            },
            Some("msrv") => Command::Msrv,
            Some("deny") => Command::Deny,
            Some("release-notes") => Command::ReleaseNotes {
                version: args.word("--version")?,
            },
            Some("python") => Command::Python {
                interpreters: args
                    .words("--python")?
                    .into_iter()
                    .map(PathBuf::from)
                    .collect(),
            },
            Some("miri") => Command::Miri,
            Some("systems") => Command::Systems(systems::Options {
                only: args.word("--only")?,
                all: args.flag("--all"),
            }),
            Some("instructions") => Command::Instructions,
            Some("wine-tests") => Command::WineTests,
            Some("cluster") => Command::Cluster(cluster::Options {
                mpich: args.flag("--mpich"),
                cost: args.flag("--cost"),
                single_rank: args.flag("--single-rank"),
            }),
            None | Some("help" | "--help" | "-h") => Command::Help,
            Some(other) => return Err(format!("unknown command '{other}': see cargo xtask help")),
        };
        args.finish()?;
        Ok(command)
    }

    /// Whether all is well. An error gives the reason why that could not be determined.
    fn run(self) -> anyhow::Result<bool> {
        match self {
            Command::Help => {
                print!("{HELP}");
                Ok(true)
            }
            Command::Setup => Ok(setup::run()),
            Command::Check { base } => check::run(base.as_deref()),
            Command::Test { only } => test::run(only.as_deref()),
            Command::Tidy => tidy::run(),
            #[cfg(not(feature = "lab"))]
            Command::Lab { words } => Err(with_lab(&words)),
            #[cfg(feature = "lab")]
            Command::Reproducibility { runs } => reproducibility::run(runs),
            #[cfg(feature = "lab")]
            Command::Ruler(options) => ruler::run(&options),
            Command::Soak(options) => soak::run(&options),
            Command::Fuzz { seconds, only } => fuzz::run(seconds, only.as_deref()),
            Command::BenchPeers { words } => benchmarks::peers(&words),
            Command::BenchPrograms { words } => benchmarks::programs(&words),
            Command::Pairs { words } => benchmarks::pairs(&words),
            Command::Deb(options) => deb::run(&options),
            Command::InstallC(place) => c_library::install(&place).map(|()| true),
            Command::TestC => c_library::test().map(|()| true),
            Command::Publish { verify } => release::publish::run(verify),
            Command::Msrv => release::msrv::run(),
            Command::Deny => release::deny::run(),
            Command::ReleaseNotes { version } => release::notes::run(version.as_deref()),
            Command::Python { interpreters } => python::run(interpreters).map(|()| true),
            Command::Miri => miri::run(),
            Command::Systems(options) => systems::run(&options),
            Command::Instructions => instructions::run(),
            Command::WineTests => wine::run(),
            Command::Cluster(options) => cluster::run(&options),
        }
    }
}

/// Replaces this program by one that is built with the lab and optimised, as users run the lab.
/// Returns only if that fails.
#[cfg(not(feature = "lab"))]
fn with_lab(words: &[String]) -> anyhow::Error {
    use std::os::unix::process::CommandExt as _;
    let mut command = packages::cargo();
    let run = "run --release --quiet --locked --package xtask --features lab --manifest-path";
    command.args(run.split(' ')).arg(root().join("Cargo.toml"));
    let error = command.arg("--").args(words).exec();
    anyhow::Error::new(error).context("cannot start cargo")
}

/// The root of the workspace, wherever the command was called.
fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the workspace")
}
