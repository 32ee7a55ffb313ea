//! The command line.

use std::path::PathBuf;

use vectored_bench::command_line::{number, numbers};

pub const HELP: &str = "\
When a queue should copy a segment, and when it should join messages

Usage: cargo bench --manifest-path benchmarks/Cargo.toml --bench queue -- [OPTIONS]

  --rounds N    rounds [41]
  --sizes LIST  bytes of a value, or of all messages that are joined
                [256,512,1024,2048,3000,4096,6000,8192,12288,16384,24576,32768,49152,65536]
  --work BYTES  other memory that is read before each write [1048576]
  --pool BYTES  the values that are written in turn, in all [8388608]
  --dir PATH    a directory on a disk, for the file [.]
  --test        2 rounds of two sizes, to check that it works
";

pub struct Options {
    pub rounds: usize,
    pub sizes: Vec<usize>,
    pub work_bytes: usize,
    pub pool_bytes: usize,
    pub directory: PathBuf,
}

/// Reads the command line; `None` stands for `--help`.
pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        rounds: 41,
        sizes: vec![
            256, 512, 1024, 2048, 3000, 4096, 6000, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
            65_536,
        ],
        work_bytes: 1 << 20,
        pool_bytes: 8 << 20,
        directory: PathBuf::from("."),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            // Added by Cargo.
            "--bench" => {}
            "--test" => (options.rounds, options.sizes) = (2, vec![512, 8192]),
            "--rounds" => options.rounds = number(&word, &value()?)?,
            "--sizes" => options.sizes = numbers(&word, &value()?)?,
            "--work" => options.work_bytes = number(&word, &value()?)?,
            "--pool" => options.pool_bytes = number(&word, &value()?)?,
            "--dir" => options.directory = PathBuf::from(value()?),
            _ => return Err(format!("unknown option '{word}': see --help")),
        }
    }
    Ok(Some(options))
}
