//! The project's own commands, run as `cargo xtask COMMAND`.
//!
//! - `test` runs what the continuous integration runs: format, lints, docs,
//!   all tests, every example and bench, and [`tidy`], the rules that no tool
//!   knows. A machine with a Rust toolchain needs nothing else first. Tests
//!   that could not run here are listed at the end, with their reason.
//! - `tidy` runs those rules alone.
//! - `reproducibility [--runs 10]` runs `vectored measure` as often, and fails
//!   when two runs name different winners for a cell, or when a run decides
//!   less than 70 % of its cells. Takes about 20 s a run, on an idle machine.
//! - `ruler [--rounds 30] [--directory .]` holds the engine's medians against
//!   plain C loops (`xtask/ruler/plain_loops.c`), run in turn. Takes about
//!   half a second a round and cell, on an idle machine. With `--experiments`
//!   it holds the ratios of `vectored reproduce` against plain C programs
//!   (`xtask/ruler/published_experiments.c`), with `--records 65536` a file.
//! - `soak [--seconds 60] [--seed 1] [--backend plain]` moves random lists in
//!   every way, to and from every kind of descriptor, through faults, and
//!   compares all bytes. The last line says how many were lost.
//! - `fuzz [--seconds 60]` runs each fuzz target of `fuzz/` so long. Installs
//!   cargo-fuzz if it is missing; needs a nightly toolchain.
//! - `bench-peers [OPTIONS]` installs what `cargo bench -p vectored-bench` can
//!   measure on Debian, as root, and runs it with these options: see its
//!   `--help`. About a quarter of an hour, on an idle machine.
//! - `pairs [OPTIONS]` holds what `vectored advise` predicts for programs of ours against what their
//!   change saves: `cargo bench -p vectored-pairs` with these options, and strace installed. Two
//!   minutes, on an idle machine.
//! - `miri` runs the library's tests that make no system call under Miri.
//!   Where Miri cannot be had it says so, and that is no failure.
//! - `instructions` counts under callgrind what it takes to copy a short segment.
//!
//! Every command ends with status 0 when all is well, 1 when something is
//! not, and 2 when it was called wrongly.

mod args;
mod bench_peers;
mod fuzz;
mod hazards;
mod instructions;
mod miri;
mod modules;
mod packages;
mod pairs;
mod reproducibility;
mod ruler;
mod soak;
mod steps;
mod test;
mod tidy;
mod tools;

use std::path::Path;
use std::process::ExitCode;

use args::Args;

const HELP: &str = "\
The project's own commands

Usage: cargo xtask COMMAND

Commands:
  test             all that the continuous integration runs
  tidy             the rules of this repository that no other tool checks
  reproducibility  [--runs 10]: do repeated runs of `vectored measure` agree?
  ruler            [--rounds 30] [--directory .]: does the engine agree with plain C loops?
                   --experiments [--records 65536]: do the published experiments?
  soak             [--seconds 60] [--seed 1] [--backend plain]: random lists through random
                   faults; does every byte arrive?
  fuzz             [--seconds 60]: each fuzz target, so long
  bench-peers      [OPTIONS]: `Gather` against other projects; its own --help tells more
  pairs            [--rounds 11] [--only NAME]: are the savings that are predicted the real ones?
  miri             the library without its system calls, under Miri
  instructions     what it takes to copy a short segment, counted by callgrind
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
    Test,
    Tidy,
    Reproducibility { runs: usize },
    Ruler(ruler::Options),
    Soak(soak::Options),
    Fuzz { seconds: usize },
    BenchPeers { words: Vec<String> },
    Pairs { words: Vec<String> },
    Miri,
    Instructions,
}

impl Command {
    fn parse(name: Option<&str>, mut args: Args) -> Result<Self, String> {
        let command = match name {
            Some("test") => Command::Test,
            Some("tidy") => Command::Tidy,
            Some("reproducibility") => Command::Reproducibility {
                runs: args.count("--runs", 10)?,
            },
            Some("ruler") => Command::Ruler(ruler::Options {
                rounds: args.count("--rounds", 30)?,
                directory: args.path("--directory", ".")?,
                experiments: args.flag("--experiments"),
                records: args.count("--records", 1 << 16)?,
                inner: args.flag("--inner"),
            }),
            Some("soak") => Command::Soak(soak::Options {
                seconds: args.count("--seconds", 60)?,
                seed: args.number("--seed", 1)?,
                backend: args.one_of("--backend", &["plain"])?,
            }),
            Some("fuzz") => Command::Fuzz {
                seconds: args.count("--seconds", 60)?,
            },
            Some("bench-peers") => Command::BenchPeers { words: args.rest() },
            Some("pairs") => Command::Pairs { words: args.rest() },
            Some("miri") => Command::Miri,
            Some("instructions") => Command::Instructions,
            None | Some("help" | "--help" | "-h") => Command::Help,
            Some(other) => return Err(format!("unknown command '{other}': see cargo xtask help")),
        };
        args.finish()?;
        Ok(command)
    }

    /// Whether all is well. An error says why that could not be found out.
    fn run(self) -> anyhow::Result<bool> {
        match self {
            Command::Help => {
                print!("{HELP}");
                Ok(true)
            }
            Command::Test => test::run(),
            Command::Tidy => tidy::run(),
            Command::Reproducibility { runs } => reproducibility::run(runs),
            Command::Ruler(options) => ruler::run(&options),
            Command::Soak(options) => soak::run(&options),
            Command::Fuzz { seconds } => fuzz::run(seconds),
            Command::BenchPeers { words } => bench_peers::run(&words),
            Command::Pairs { words } => pairs::run(&words),
            Command::Miri => miri::run(),
            Command::Instructions => instructions::run(),
        }
    }
}

/// The root of the workspace, wherever the command was called.
fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the workspace")
}
