//! Options of `vectored reproduce`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use vectored_lab::measure::Pinning;
use vectored_lab::model::{ExperimentName, IovecSetup, PageCache, SyncMode};

use super::format::{Format, formats};
use super::parsers::{one_count, one_of, one_size, pinning, whole_number};

pub const REPRODUCE_ABOUT: &str = "\
Run the published experiments, beside their figures

apue-3.5: copying 103,316,352 bytes with buffers of 1 to 524,288 bytes (Advanced Programming in the \
UNIX Environment, Figure 3.5). apue-14.28: a header of 100 bytes and data of 200, 1,048,576 times, by \
two writes, by copying, by writev, and by adaptive (Figure 14.28). kalinin: 1000 elements of ten sizes, \
gathered or copied (A. L. Kalinin, 2001). mincer: buffers one by one or vectored, written and read \
back (J. Mincer-Daszkiewicz). all: all of them.

Each is run at its published size, in seven repeats whose rows alternate (three for the rows of \
apue-3.5 below 64 bytes), and ends in a table, a plot and a sentence. Files have no names, and are \
gone afterwards.

The result is printed, and saved as JSON under $XDG_STATE_HOME/vectored (by default \
~/.local/state/vectored); its path is the last line on standard error. ^C stops the run and keeps \
what was measured.";

pub const REPRODUCE_AFTER: &str = "\
Examples:
  vectored reproduce apue-14.28
          Does copying still beat writev at 300 bytes?
  vectored reproduce apue-3.5 --min 64
          Without the rows that take minutes
  vectored reproduce apue-3.5 --min 64 --page-cache cold --dir /var/tmp
          From the device instead of memory
  vectored reproduce apue-3.5 --min 4096 --max 4096 --to file --sync dsync
          What synchronous writes cost
  vectored reproduce mincer --size 4KiB --count 100 --repeats 10
          Other buffers
  vectored reproduce all --quick
          Everything, smaller

Exit status: 0 success, 1 failure, 2 wrong usage; 129, 130 and 143 stopped by SIGHUP, SIGINT and \
SIGTERM.";

/// Options of `vectored reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// Which experiment
    #[arg(value_name = "EXPERIMENT", value_parser = experiments())]
    pub experiment: Experiments,

    /// Smaller files and fewer calls, which every table then says
    #[arg(long)]
    pub quick: bool,

    /// apue-3.5: leave out buffers that are smaller [default: 1]
    ///
    /// With --sync dsync or sync the default is 4096, as in the book: every
    /// write then waits for the device.
    #[arg(long, value_name = "BYTES", value_parser = one_size, allow_negative_numbers = true)]
    pub min: Option<u64>,

    /// apue-3.5: leave out buffers that are larger, or go on past the book [default: 512KiB]
    ///
    /// Buffers double from 1 byte on, up to 1 GiB.
    #[arg(long, value_name = "BYTES", value_parser = one_size, allow_negative_numbers = true)]
    pub max: Option<u64>,

    /// apue-3.5: the page cache of the file [default: hot]
    ///
    /// hot: the file was read before; cold: every row has a file of its own,
    /// which is evicted before each copy, and seen to be.
    #[arg(long, value_name = "STATE", value_parser = one_of(PageCache::ALL, PageCache::name))]
    pub page_cache: Option<PageCache>,

    /// apue-3.5: where copies go: null, file, pipe, or a folder [default: null]
    ///
    /// null is /dev/null; file is one without a name in --dir, or in the folder
    /// that is named; pipe is read by a thread. Existing files are refused:
    /// nothing of yours is overwritten.
    #[arg(long, value_name = "null|file|pipe|FOLDER")]
    pub to: Option<CopyTo>,

    /// apue-3.5: what is on the device when a write is over, with --to file [default: none]
    ///
    /// none: what the kernel likes; dsync: the data, and sync: the metadata too,
    /// when each write returns (O_DSYNC, O_SYNC); fsync: all, by one fsync(2)
    /// at the end of the copy.
    #[arg(long, value_name = "MODE", value_parser = one_of(SyncMode::ALL, SyncMode::name))]
    pub sync: Option<SyncMode>,

    /// mincer: bytes of each buffer [default: 1024, and 102400]
    #[arg(long, value_name = "BYTES", value_parser = one_size, allow_negative_numbers = true)]
    pub size: Option<u64>,

    /// mincer: buffers [default: 1000, and 10]
    #[arg(long, value_name = "NUMBER", value_parser = one_count, allow_negative_numbers = true)]
    pub count: Option<u64>,

    /// mincer: how often they are written and read in each of the seven repeats [default: 10]
    #[arg(long, value_name = "NUMBER", value_parser = one_count, allow_negative_numbers = true)]
    pub repeats: Option<u64>,

    /// mincer: when the array of writev or readv is filled; may be repeated [default: both]
    #[arg(long, value_name = "WHEN", value_delimiter = ',', value_parser = one_of(IovecSetup::ALL, IovecSetup::name))]
    pub iovec_setup: Vec<IovecSetup>,

    /// Directory for the files; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    /// Seed of the order of rows and of the bytes [default: random]
    #[arg(long, value_name = "NUMBER", value_parser = whole_number::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// CPU to stay on, or none to let the scheduler choose [default: the current one]
    #[arg(long, value_name = "CPU|none", value_parser = pinning, allow_negative_numbers = true)]
    pub pin: Option<Pinning>,

    /// How the result is printed
    #[arg(long, value_name = "FORMAT", value_parser = formats("One line a row of an experiment, for spreadsheets"), default_value = "table")]
    pub format: Format,

    /// Write the result to this file instead of standard output
    ///
    /// A file that is there is replaced once the new one is complete, unless it
    /// is read-only. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Do not save the result; it is only printed
    #[arg(long)]
    pub no_save: bool,

    /// Print nothing on standard error but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// One experiment, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiments {
    /// This one.
    One(ExperimentName),
    /// Every one.
    All,
}

impl Experiments {
    /// Whether this one is meant.
    pub fn has(self, experiment: ExperimentName) -> bool {
        match self {
            Experiments::One(one) => one == experiment,
            Experiments::All => true,
        }
    }
}

/// Where the copies of `apue-3.5` go, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTo {
    /// `/dev/null`.
    Null,
    /// An unnamed file beside the one that is copied.
    File,
    /// A pipe.
    Pipe,
    /// An unnamed file in this folder.
    Folder(PathBuf),
}

impl FromStr for CopyTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "null" | "/dev/null" => return Ok(CopyTo::Null),
            "file" => return Ok(CopyTo::File),
            "pipe" => return Ok(CopyTo::Pipe),
            _ => {}
        }
        let path = PathBuf::from(text);
        if path.is_dir() {
            Ok(CopyTo::Folder(path))
        } else if path.exists() {
            Err(
                "it exists, and vectored overwrites nothing; name its folder, where a file \
                 without a name is made"
                    .to_owned(),
            )
        } else {
            Err(
                "choose null, file or pipe, or name an existing folder, where a file without a \
                 name is made"
                    .to_owned(),
            )
        }
    }
}

fn experiments() -> impl TypedValueParser<Value = Experiments> {
    let names = ExperimentName::ALL.map(ExperimentName::name);
    PossibleValuesParser::new(names.into_iter().chain(["all"])).map(|name| {
        let one = ExperimentName::ALL.into_iter();
        let mut one = one.filter(|experiment| experiment.name() == name);
        one.next().map_or(Experiments::All, Experiments::One)
    })
}
