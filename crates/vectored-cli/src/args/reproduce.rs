//! Options of `vectored reproduce`.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use vectored_machine::host::Pinning;
use vectored_measure::reproduce::CopyTarget;
use vectored_results::model::{ExperimentName, IovecSetup, PageCache, SyncMode};

use super::output::{OutputArgs, SavingArgs};
use super::parsers::{buffer_size, one_of, one_size, pinning};

const AFTER: &str = "\
Examples:
  vectored reproduce apue-14.28
          Does copying still beat writev at 300 bytes?
  vectored reproduce apue-3.5 --min 64
          Without the rows that take minutes
  vectored reproduce apue-3.5 --help
          The options of an experiment
  vectored reproduce all --quick
          All experiments at a reduced size

Exit status: 0 success, 1 failure, 2 wrong usage; 129, 130 or 143 if stopped by SIGHUP, \
SIGINT or SIGTERM.";

const COPIES_AFTER: &str = "\
Examples:
  vectored reproduce apue-3.5 --min 64
          Without the rows that take minutes
  vectored reproduce apue-3.5 --min 64 --page-cache cold --dir /var/tmp
          Reading from the device instead of memory
  vectored reproduce apue-3.5 --min 4096 --max 4096 --to file --sync dsync
          The cost of synchronous writes
  vectored reproduce apue-3.5 --program './mycat {buffer} < {input} > {output}'
          Your own copy program, beside ours and the book's";

const PASSES_AFTER: &str = "\
Examples:
  vectored reproduce mincer --size 4KiB --count 100 --repeats 10
          Buffers of another size";

/// Repeat published experiments and compare their figures with this machine
///
/// Each experiment runs at its published size, in seven repeats with alternating rows (three repeats for rows of
/// apue-3.5 with buffers below 64 bytes). Its result is a table and a one-sentence finding. Its files have no names, so
/// none is left behind. Without an experiment, the experiments are listed.
///
/// The result is printed, and saved as JSON in $XDG_STATE_HOME/vectored (by default ~/.local/state/vectored). The path
/// of the saved file is the last line on standard error. Ctrl-C stops the run and keeps what was measured.
#[derive(Args, Debug)]
#[command(
    after_long_help = AFTER,
    disable_help_subcommand = true,
    subcommand_value_name = "EXPERIMENT",
    subcommand_help_heading = "Experiments",
    mut_args(|arg| arg.global(true))
)]
pub struct ReproduceArgs {
    /// The experiment to run; without one, the experiments are listed.
    #[command(subcommand)]
    pub experiments: Option<Experiments>,

    /// Use smaller files and fewer calls; each table says so
    #[arg(long)]
    pub quick: bool,

    /// Directory for temporary files; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    /// Seed for the order of rows and for the data [default: random]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// CPU to run on, or none to let the scheduler choose [default: the current CPU]
    #[arg(long, value_name = "CPU|none", value_parser = pinning)]
    pub pin: Option<Pinning>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub saving: SavingArgs,
}

/// One experiment with its options, or all of them as they were published.
#[derive(Clone, Debug, Subcommand)]
pub enum Experiments {
    /// Copy 103,316,352 bytes with buffers of 1 to 524,288 bytes
    ///
    /// Advanced Programming in the UNIX Environment, Figure 3.5.
    #[command(name = ExperimentName::Apue35.name(), after_long_help = COPIES_AFTER)]
    Copies(CopiesArgs),
    /// Write a header of 100 bytes and data of 200 bytes 1,048,576 times
    ///
    /// By two writes, by copying, by writev and by adaptive (Advanced Programming in the UNIX Environment, Figure 14.28).
    #[command(name = ExperimentName::Apue1428.name())]
    Records,
    /// Gather or copy 1000 elements, of ten sizes
    ///
    /// A. L. Kalinin, 2001.
    #[command(name = ExperimentName::Kalinin.name())]
    Elements,
    /// Write and read back buffers one by one or as a list
    ///
    /// J. Mincer-Daszkiewicz.
    #[command(name = ExperimentName::Mincer.name(), after_long_help = PASSES_AFTER)]
    Passes(PassesArgs),
    /// All of these
    All,
}

/// Options of `apue-3.5`.
#[derive(Args, Clone, Debug, Default)]
pub struct CopiesArgs {
    /// Smallest buffer, for example 64 or 4KiB [default: 1]
    ///
    /// With --sync dsync or --sync sync the default is 4096, as in the book, because every write waits
    /// for the device.
    #[arg(long, value_name = "BYTES", value_parser = one_size)]
    pub min: Option<u64>,

    /// Largest buffer, up to 1GiB [default: 512KiB]
    ///
    /// Buffer sizes are powers of two. The book ends at 512 KiB.
    #[arg(long, value_name = "BYTES", value_parser = buffer_size)]
    pub max: Option<u64>,

    /// Length of the file that is copied [default: 103316352, as in the book]
    ///
    /// A larger file, for example 1GiB, resolves copies that take less time than the start of the program.
    #[arg(long, value_name = "BYTES", value_parser = one_size)]
    pub file_size: Option<u64>,

    /// State of the page cache for the file that is copied [default: hot]
    ///
    /// hot: the file was read before. cold: every row has its own file, which is evicted before each
    /// copy and checked to be read from the device.
    #[arg(long, value_name = "STATE", value_parser = one_of(PageCache::ALL, PageCache::name))]
    pub page_cache: Option<PageCache>,

    /// Destination of the copies: null, file, pipe or a directory [default: null]
    ///
    /// null: /dev/null. file: an unnamed file in --dir. pipe: a pipe that a thread reads. DIRECTORY: an
    /// unnamed file in that directory. Existing files are refused, so that nothing of yours is
    /// overwritten.
    #[arg(long, value_name = "null|file|pipe|DIRECTORY", value_parser = copy_target)]
    pub to: Option<CopyTarget>,

    /// A program of yours, timed at each size beside ours and the book's (Linux)
    ///
    /// Its command in one argument: {buffer} stands for the size, '< {input}' and '> {output}' for its standard input and
    /// output, {input} and {output} alone for names. It runs without a shell. What it copies is compared. Takes under a
    /// minute: buffers below 64 bytes copy a part of the file, scaled in the table.
    #[arg(long, value_name = "COMMAND")]
    pub program: Option<String>,

    /// How durable each write must be, with --to file or a directory [default: none]
    ///
    /// none: left to the kernel. dsync: each write returns when its data are on the device (O_DSYNC).
    /// sync: as dsync, with the metadata (O_SYNC). fsync: one fsync(2) at the end of the copy.
    #[arg(long, value_name = "MODE", value_parser = one_of(SyncMode::ALL, SyncMode::name))]
    pub sync: Option<SyncMode>,
}

/// Options of `mincer`.
#[derive(Args, Clone, Debug, Default)]
pub struct PassesArgs {
    /// Size of each buffer, with --count [default: 1024, then 102400]
    #[arg(long, value_name = "BYTES", value_parser = one_size, requires = "count")]
    pub size: Option<u64>,

    /// Number of buffers, with --size [default: 1000, then 10]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u64).range(1..), requires = "size")]
    pub count: Option<u64>,

    /// Passes over the buffers in each of the seven repeats [default: 10]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,

    /// When the iovec array for writev or readv is filled; may be repeated [default: both]
    #[arg(long, value_name = "WHEN", value_delimiter = ',', value_parser = one_of(IovecSetup::ALL, IovecSetup::name))]
    pub iovec_setup: Vec<IovecSetup>,
}

/// The destination of the copies of `apue-3.5`.
fn copy_target(text: &str) -> Result<CopyTarget, String> {
    match text {
        "null" | "/dev/null" => return Ok(CopyTarget::Null),
        "file" => return Ok(CopyTarget::File(None)),
        "pipe" => return Ok(CopyTarget::Pipe),
        _ => {}
    }
    let path = PathBuf::from(text);
    if path.is_dir() {
        return Ok(CopyTarget::File(Some(path)));
    }
    Err(if path.exists() {
        "it exists and is not a directory, and vectored overwrites no file; name its directory, for an unnamed file in it"
    } else {
        "no such directory; choose null, file or pipe, or name an existing directory, for an unnamed file in it"
    }
    .to_owned())
}
