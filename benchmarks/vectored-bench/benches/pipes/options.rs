//! The command line.

use vectored_bench::command_line::{number, numbers};

pub const HELP: &str = "\
Lists into a pipe that a thread reads meanwhile

Usage: cargo bench --manifest-path benchmarks/Cargo.toml --bench pipes -- [OPTIONS]

  --rounds N     rounds [31]
  --pauses LIST  pauses before each list, in microseconds, e.g. 0.5 [0,1,10]
  --counts LIST  segments in a list [17,27,45,90,180,360]
  --sizes LIST   bytes of a segment [777,1000,1500,2500,4000]
  --read BYTES   bytes of each read call [65536]
  --test         3 rounds of one list, to check that it works
";

pub struct Options {
    pub rounds: usize,
    pub pauses_us: Vec<f64>,
    pub counts: Vec<usize>,
    pub sizes: Vec<usize>,
    pub read_bytes: usize,
}

/// Reads the command line; `None` stands for `--help`.
pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        rounds: 31,
        pauses_us: vec![0.0, 1.0, 10.0],
        // Lists of over 28 KiB, which `adaptive` sends in pieces.
        counts: vec![17, 27, 45, 90, 180, 360],
        sizes: vec![777, 1000, 1500, 2500, 4000],
        read_bytes: 64 << 10,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            // Added by Cargo.
            "--bench" => {}
            "--test" => {
                options.rounds = 3;
                (options.counts, options.sizes) = (vec![17], vec![1000]);
            }
            "--rounds" => options.rounds = number(&word, &value()?)?,
            "--read" => options.read_bytes = number(&word, &value()?)?,
            "--pauses" => {
                let list = value()?;
                let pauses = list.split(',').map(|word| word.parse::<f64>().ok());
                let pauses = pauses.map(|pause| pause.filter(|us| (0.0..1e6).contains(us)));
                let pauses: Option<Vec<f64>> = pauses.collect();
                options.pauses_us = pauses.ok_or_else(|| {
                    format!(
                        "--pauses takes microseconds from 0 to 1000000, as in 0.5,10, not '{list}'"
                    )
                })?;
            }
            "--counts" => options.counts = numbers(&word, &value()?)?,
            "--sizes" => options.sizes = numbers(&word, &value()?)?,
            _ => return Err(format!("unknown option '{word}': see --help")),
        }
    }
    Ok(Some(options))
}
