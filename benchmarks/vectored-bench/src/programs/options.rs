//! The command line.

use std::path::PathBuf;

use crate::command_line::{named, names, number, numbers};
use crate::programs::case::Program;
use crate::programs::catalogue::PROGRAMS;
use crate::programs::policies::PolicySource;

/// The text of `--help`.
pub const HELP: &str = "\
CPU time per request of programs that send many buffers, by how they send them

Usage: cargo xtask bench-programs [OPTIONS]

  --rounds N        rounds; in each, every technique of every case runs once [40]
  --sizes LIST      bytes of one value, body, frame or record [each program's own]
  --counts LIST     values, bodies, frames or records in a request [each program's own]
  --programs LIST   resp,framed,grpc,logs,tar,wal,http1,h2 [all]
  --policy SOURCE   the queues' thresholds: default, or calibrated before the measurement [default]
  --slice-ms N      approximate time of a slice, in ms; a technique has 5 slices in a round [4]
  --directory PATH  folder for the files of logs, tar and wal, which have no name [the temporary folder]
  --seed N          seed of the order of the techniques [1]
  --format FORMAT   table, markdown (one row a case) or json [table]
  --list            print the cases and exit
  --test            1 round of few requests of small cases, to check that all works

docs/measured/programs.md describes the programs and the techniques.
";

/// The task that the command line asks for.
#[derive(Debug)]
pub enum Task {
    /// Print [`HELP`].
    Help,
    /// Measure, or list the cases.
    Measure(Box<Options>),
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// One row a case, for a page.
    Markdown,
    /// For programs.
    Json,
}

impl Format {
    /// Every form.
    const ALL: [Format; 3] = [Format::Table, Format::Markdown, Format::Json];

    fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Markdown => "markdown",
            Format::Json => "json",
        }
    }
}

/// The options of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds.
    pub rounds: usize,
    /// The approximate time of a slice; a technique has five in a round.
    pub slice_ms: u64,
    /// Bytes of a value, if given.
    pub sizes: Option<Vec<usize>>,
    /// Values in a request, if given.
    pub counts: Option<Vec<usize>>,
    /// The programs.
    pub programs: Vec<Program>,
    /// The source of the policies of the queues.
    pub policy: PolicySource,
    /// The folder for files.
    pub directory: PathBuf,
    /// The seed of the order.
    pub seed: u64,
    /// The form of the output.
    pub format: Format,
    /// Whether only to print the cases.
    pub list: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rounds: 40,
            slice_ms: 4,
            sizes: None,
            counts: None,
            programs: PROGRAMS.to_vec(),
            policy: PolicySource::Default,
            directory: std::env::temp_dir(),
            seed: 1,
            format: Format::Table,
            list: false,
        }
    }
}

/// Reads the arguments after the program's name.
///
/// # Errors
///
/// A message that says what is wrong and what would be right.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Task, String> {
    let mut words = words.into_iter();
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(Task::Help),
            // Added by Cargo.
            "--bench" => {}
            "--rounds" => options.rounds = number(&word, &value()?)?,
            "--slice-ms" => options.slice_ms = number(&word, &value()?)?,
            "--sizes" => options.sizes = Some(numbers(&word, &value()?)?),
            "--counts" => options.counts = Some(numbers(&word, &value()?)?),
            "--programs" => {
                options.programs = names(&word, &value()?, PROGRAMS, |program| program.name)?;
            }
            "--policy" => {
                options.policy = named(&word, &value()?, &PolicySource::ALL, PolicySource::name)?;
            }
            "--directory" => options.directory = value()?.into(),
            "--seed" => options.seed = value()?.parse().map_err(|_| "--seed takes a number")?,
            "--format" => options.format = named(&word, &value()?, &Format::ALL, Format::name)?,
            "--list" => options.list = true,
            "--test" => {
                (options.rounds, options.slice_ms) = (1, 1);
                (options.sizes, options.counts) = (Some(vec![300]), Some(vec![20]));
            }
            word => return Err(format!("unknown option '{word}': see --help")),
        }
    }
    Ok(Task::Measure(Box::new(options)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let line = "--rounds 7 --sizes 100,4096 --counts 2 --programs resp --slice-ms 3 --directory /d \
                    --policy calibrated --seed 0 --format json --bench";
        let Ok(Task::Measure(options)) = task(line) else {
            panic!("{line}");
        };
        assert_eq!((options.rounds, options.slice_ms), (7, 3));
        assert_eq!(options.sizes, Some(vec![100, 4096]));
        assert_eq!(options.counts, Some(vec![2]));
        assert_eq!(options.programs[0].name, "resp");
        assert_eq!(options.directory, PathBuf::from("/d"));
        assert_eq!(options.policy, PolicySource::Calibrated);
        assert_eq!(options.format, Format::Json);
        assert!(matches!(task("--rounds 3 --help"), Ok(Task::Help)));
    }

    #[test]
    fn the_help_names_all_programs_and_the_default_values() {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        assert!(HELP.contains(&format!("LIST   {} [all]", names.join(","))));
        let options = Options::default();
        assert!(HELP.contains(&format!("runs once [{}]", options.rounds)));
        assert!(HELP.contains(&format!("in a round [{}]", options.slice_ms)));
    }

    #[test]
    fn wrong_values_are_refused() {
        for (line, needle) in [
            ("--rounds 0", "from 1"),
            ("--rounds", "takes a value"),
            ("--sizes 1,x", "as in 2,64"),
            ("--programs redis", "--programs takes resp"),
            ("--format xml", "table, markdown, json"),
            ("--policy best", "default, calibrated"),
            ("--rapid", "unknown option"),
        ] {
            let error = task(line).unwrap_err();
            assert!(error.contains(needle), "{line}: {error}");
        }
    }
}
