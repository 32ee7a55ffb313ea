//! The command line.

use std::path::PathBuf;

use vectored_bench::command_line::number;

use crate::instructions::Counted;

pub const HELP: &str = "\
Gathered writes by vectored::uring::Ring, against a C program that uses liburing

Usage: cargo bench --manifest-path benchmarks/Cargo.toml --bench uring -- [OPTIONS]

  --rounds N    rounds of each cell [301]
  --only NAME   one target: null, file, socket or pipe
  --dir PATH    a directory on a disk, for the file [.]
  --test        8 rounds, to check that it works
";

pub enum Task {
    Help,
    Measure(Options),
    Instructions(Counted),
}

pub struct Options {
    pub rounds: usize,
    pub only: Option<String>,
    pub directory: PathBuf,
}

impl Options {
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == name)
    }
}

/// Reads the command line.
pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Task, String> {
    let mut options = Options {
        rounds: 301,
        only: None,
        directory: PathBuf::from("."),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(Task::Help),
            // Added by Cargo.
            "--bench" => {}
            "--test" => options.rounds = 8,
            "--rounds" => options.rounds = number(&word, &value()?)?,
            "--only" => options.only = Some(value()?),
            "--dir" => options.directory = PathBuf::from(value()?),
            "--instructions" => {
                let of_technique = match value()?.as_str() {
                    "bench" => false,
                    "technique" => true,
                    other => return Err(format!("{word} is bench or technique, not '{other}'")),
                };
                return Ok(Task::Instructions(Counted {
                    of_technique,
                    segments: number(&word, &value()?)?,
                    depth: number(&word, &value()?)?,
                    lists: number(&word, &value()?)?,
                }));
            }
            _ => return Err(format!("unknown option '{word}'")),
        }
    }
    Ok(Task::Measure(options))
}
