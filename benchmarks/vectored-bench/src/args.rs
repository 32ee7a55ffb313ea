//! The command line.

use std::path::PathBuf;

use vectored_results::model::{Cache, IovecSetup, TechniqueName};

use crate::bench_target::BenchTarget;
use crate::command_line::{named, names, number, numbers};
use crate::grid::Wanted;
use crate::mix::Mix;
use crate::techniques::peers_and_c_callers;

/// The text of `--help`.
pub const HELP: &str = "\
The adaptive gather against its peers

Usage: cargo xtask bench-peers [OPTIONS] [FILTER]...
       cargo xtask bench-peers --bars FILE...
       cargo xtask bench-peers --page FILE...

FILTER is a part of a cell's name, such as 'pipe 64x100 hot'.

Options:
  --rounds N          rounds for each cell [161]
  --targets LIST      file,file-overwrite,tmpfs,pipe,unix,tcp,null [all]
  --counts LIST       segments in a list [2,5,8,24,64,130,800,1000]
  --sizes LIST        bytes of a segment [3 to 16384]
  --mixes LIST        http-2k,http-64k,log-lines,replies,wal-100,wal-1k,wal-4k,wal-32k,pages
  --caches LIST       hot,cold [both]
  --iovec-setup WHEN  fill the array of iovec in each call (timed) or once before them [once]
  --peers LIST        buf-writer,buf-writer-large,std-vectored,tokio-util,stdio-large,libuv,
                      libevent-copy,libevent-reference,go-net-buffers,c-gather,c-writev,c-fwrite,
                      or none [all]
  --calibrations N    calibrations, 1 to 3; adaptive is measured with each [3]
  --seed N            seed of the random numbers [1]
  --quick             21 rounds of few cells, to check that all works
  --list              print the cells and their estimated time, and exit
  --output FILE       save the results there [none]
  --bars FILE...      compare saved results with the library's promises
  --page FILE...      print saved results as the page docs/measured/peers.md, or docs/measured/c-callers.md
                      if the peers are programs in C alone
";

/// The task that the command line asks for.
#[derive(Debug)]
pub enum Task {
    /// Print [`HELP`].
    Help,
    /// Measure.
    Measure(Box<Options>),
    /// Compare saved results with the promises.
    Promises(Vec<PathBuf>),
    /// Render saved results as a page.
    Page(Vec<PathBuf>),
}

/// The options of a measurement.
#[derive(Debug)]
pub struct Options {
    /// The cells that are asked for.
    pub wanted: Wanted,
    /// Rounds for each cell.
    pub rounds: u32,
    /// The peers that are asked for.
    pub peers: Vec<TechniqueName>,
    /// Calibrations in a row, one to three.
    pub calibrations: usize,
    /// The seed of the random numbers.
    pub seed: u64,
    /// Whether only to print the cells.
    pub list: bool,
    /// The file that results are saved to.
    pub output: Option<PathBuf>,
}

/// Rounds of a full run. With these, half of the cells are known to within 0.7 %.
const ROUNDS: u32 = 161;

/// Rounds of `--quick`, unless `--rounds` is given.
const QUICK_ROUNDS: u32 = 21;

/// Rounds of `--test`, the only argument that `cargo xtask test` passes.
const TEST_ROUNDS: u32 = 2;

/// Reads the arguments after the program's name.
///
/// # Errors
///
/// A message that says what is wrong and what would be right.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Task, String> {
    let mut words = words.into_iter();
    let mut options = Options {
        wanted: Wanted::default(),
        rounds: ROUNDS,
        peers: peers_and_c_callers(),
        calibrations: 3,
        seed: 1,
        list: false,
        output: None,
    };
    let (mut quick, mut rounds) = (None, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        let wanted = &mut options.wanted;
        match word.as_str() {
            "--help" | "-h" => return Ok(Task::Help),
            // Added by Cargo.
            "--bench" => {}
            "--bars" => return files(&word, words).map(Task::Promises),
            "--page" => return files(&word, words).map(Task::Page),
            "--rounds" => rounds = Some(number(&word, &value()?)?),
            "--targets" => {
                wanted.targets = Some(names(&word, &value()?, &BenchTarget::ALL, |one| one)?);
            }
            "--counts" => wanted.counts = Some(numbers(&word, &value()?)?),
            "--sizes" => wanted.sizes = Some(numbers(&word, &value()?)?),
            "--mixes" => wanted.mixes = Some(names(&word, &value()?, &Mix::ALL, |one| one)?),
            "--caches" => wanted.caches = Some(names(&word, &value()?, &Cache::ALL, Cache::name)?),
            "--iovec-setup" => {
                wanted.iovec_setup =
                    Some(named(&word, &value()?, &IovecSetup::ALL, IovecSetup::name)?);
            }
            "--peers" => {
                let list = value()?;
                options.peers = match list.as_str() {
                    "none" => Vec::new(),
                    list => names(&word, list, &peers_and_c_callers(), |one| one)?,
                };
            }
            "--calibrations" => match number(&word, &value()?)? {
                count @ 1..=3 => options.calibrations = count,
                count => return Err(format!("--calibrations takes 1 to 3, not {count}")),
            },
            "--seed" => options.seed = value()?.parse().map_err(|_| "--seed takes a number")?,
            "--quick" => quick = Some(QUICK_ROUNDS),
            "--test" => {
                quick = Some(TEST_ROUNDS);
                wanted.caches = Some(vec![Cache::Hot]);
                wanted.counts = Some(vec![64]);
                wanted.sizes = Some(vec![10]);
                wanted.mixes = Some(vec![Mix::Http(2 << 10)]);
            }
            "--list" => options.list = true,
            "--output" => options.output = Some(value()?.into()),
            word if word.starts_with('-') => {
                return Err(format!("unknown option '{word}': see --help"));
            }
            _ => wanted.filters.push(word),
        }
    }
    if let Some(few) = quick {
        options.rounds = few;
        make_quick(&mut options.wanted);
    }
    options.rounds = rounds.unwrap_or(options.rounds);
    Ok(Task::Measure(Box::new(options)))
}

/// Chooses a few cells of every kind if none are asked for.
fn make_quick(wanted: &mut Wanted) {
    if wanted.counts.is_none() && wanted.sizes.is_none() && wanted.mixes.is_none() {
        wanted.counts = Some(vec![2, 24, 64]);
        wanted.sizes = Some(vec![10, 550, 1000]);
        wanted.mixes = Some(vec![Mix::Http(64 << 10), Mix::LogLines]);
    }
}

fn files(word: &str, words: impl Iterator<Item = String>) -> Result<Vec<PathBuf>, String> {
    let files: Vec<PathBuf> = words
        .filter(|word| word != "--bench")
        .map(PathBuf::from)
        .collect();
    if files.is_empty() {
        Err(format!("{word} takes files that --output has saved"))
    } else {
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let line = "--rounds 5 --targets pipe,tmpfs --mixes wal-1k --iovec-setup timed \
                    --peers libuv --bench 64x";
        let Ok(Task::Measure(options)) = task(line) else {
            panic!("{line}");
        };
        assert_eq!(options.rounds, 5);
        assert_eq!(
            options.wanted.targets,
            Some(vec![BenchTarget::Pipe, BenchTarget::Tmpfs])
        );
        assert_eq!(options.wanted.mixes, Some(vec![Mix::Wal(1024)]));
        assert_eq!(options.wanted.iovec_setup, Some(IovecSetup::Timed));
        assert_eq!(options.peers, [crate::techniques::LIBUV]);
        assert_eq!(options.wanted.filters, ["64x"]);
        assert!(
            matches!(task("--bars a b --bench"), Ok(Task::Promises(files)) if files.len() == 2)
        );
    }

    #[test]
    fn an_error_names_what_would_be_right() {
        for (line, told) in [
            ("--rounds 0", "from 1"),
            ("--iovec-setup never", "once"),
            ("--rounds", "takes a value"),
            ("--targets disk", "file-overwrite"),
            ("--counts 2,x", "2,x"),
            ("--mixes http", "http-2k"),
            ("--peers curl", "go-net-buffers"),
            ("--caches warm", "hot, cold"),
            ("--calibrations 4", "1 to 3"),
            ("--bars", "--output"),
            ("--wings", "--help"),
        ] {
            let error = task(line).unwrap_err();
            assert!(error.contains(told), "{line}: {error}");
        }
    }
}
