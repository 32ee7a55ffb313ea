//! What was typed. What it means is [`crate::measure_plan`]'s.

mod advise;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use vectored_lab::measure::Pinning;
use vectored_lab::model::{
    Cache, ExperimentName, IovecSetup, Layout, Operation, PageCache, SyncMode,
};

use crate::results_store::ResultName;
use crate::size_lists::{Counts, Mix, Sizes};
use crate::synthetic::Synthetic;
use crate::target_path::TargetName;
use crate::terminal::ColorWhen;
pub use advise::AdviseArgs;
use advise::{ADVISE_ABOUT, ADVISE_AFTER, ADVISE_USAGE};

/// Which technique moves several buffers fastest, on this machine?
///
/// A program that has its bytes in several buffers can send each with a call
/// of its own, copy them together first, or hand them all to writev(2). Which
/// is best depends on the sizes, the machine, the kernel and the target.
#[derive(Debug, Parser)]
#[command(name = "vectored", version, max_term_width = 100, after_long_help = ENVIRONMENT)]
pub struct Cli {
    /// When to print colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        display_order = 900
    )]
    pub color: ColorWhen,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const ENVIRONMENT: &str = "\
Standard output that is closed (>&-) counts as /dev/null: results are saved, and the exit status is
that of a run whose output was written.

Environment:
  XDG_STATE_HOME
          Results are saved in its directory vectored; by default ~/.local/state
  COLUMNS
          Width of tables, whether they go to a terminal, a pipe or a file; by default
          that of the terminal, or 100
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM
          With --color auto there are no colours if NO_COLOR is set, CLICOLOR is 0 or TERM is
          dumb; CLICOLOR_FORCE=1 prints them into pipes, too
  LC_ALL, LC_CTYPE, LANG
          If the first that is set names no UTF-8 (C, for example), tables and messages are
          ASCII: us for microseconds, +- for plus or minus, coarse lines in plots.
          JSON, CSV, Markdown, SVG and pages are always UTF-8";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the techniques for a grid of segment counts and sizes
    #[command(long_about = MEASURE_ABOUT, after_long_help = MEASURE_AFTER, override_usage = MEASURE_USAGE)]
    Measure(Box<MeasureArgs>),
    /// Show what this machine offers: limits, io_uring, flags of pwritev2, O_DIRECT
    #[command(long_about = HOST_ABOUT, after_long_help = HOST_AFTER)]
    Host(HostArgs),
    /// Run the published experiments, beside their figures
    #[command(long_about = REPRODUCE_ABOUT, after_long_help = REPRODUCE_AFTER)]
    Reproduce(Box<ReproduceArgs>),
    /// Copy standard input to standard output
    #[command(long_about = COPY_ABOUT, after_long_help = COPY_AFTER)]
    Copy(CopyArgs),
    /// Find where gathering would help a program, from its system calls
    #[command(long_about = ADVISE_ABOUT, after_long_help = ADVISE_AFTER, override_usage = ADVISE_USAGE)]
    Advise(Box<AdviseArgs>),
    /// Show saved results again: as a page, charts or tables
    #[command(long_about = REPORT_ABOUT, after_long_help = REPORT_AFTER)]
    Report(ReportArgs),
    /// Compare results: did anything become slower, do machines differ
    #[command(long_about = COMPARE_ABOUT, after_long_help = COMPARE_AFTER, override_usage = COMPARE_USAGE)]
    Compare(CompareArgs),
    /// List the results that were saved here
    #[command(long_about = HISTORY_ABOUT, after_long_help = HISTORY_AFTER)]
    History(HistoryArgs),
}

const MEASURE_ABOUT: &str = "\
Measure the techniques for a grid of segment counts and sizes

Every technique is timed in rounds against every other, in balanced random order, on files, pipes \
and sockets that vectored makes for itself and that are gone afterwards, or on what --target names. A technique is reported as \
faster only if the difference is significant; otherwise the cell is a tie, or open. What arrived is read back \
and compared: on pipes and sockets every byte, on a file every byte of each fifth sample; only on /dev/null, \
another device or another program's socket it cannot be.

The result is printed, and saved as JSON under $XDG_STATE_HOME/vectored (by default \
~/.local/state/vectored); its path is the last line on standard error. ^C stops the run and keeps \
what was measured.";

/// What clap makes of it in an error names the options that were typed, and so looks as if they
/// were needed.
const MEASURE_USAGE: &str = "vectored measure [OPTIONS]";

const MEASURE_AFTER: &str = "\
Examples:
  vectored measure
          The usual grid on files, pipes and Unix sockets, in 18 seconds
  vectored measure --target pipe --segments 2 --sizes 100,200
          Two small segments into a pipe
  vectored measure --target file --dir /var/lib/mysql --budget 1m
          On the file system that matters, with more certainty
  vectored measure --target file-overwrite --dir /dev/shm
          Rewriting a file in memory
  vectored measure --target file --sync fsync --segments 16 --sizes 64..4KiB --budget 1m
          What a log pays that has to be on the disk
  vectored measure --operation read --target file --page-cache cold
          Reading a file that is not in memory
  vectored measure --mix 9x16,1x4KiB --cache hot,cold
          A list of ten segments, in the cache and not
  vectored measure --target file --technique writev --technique mmap
          writev against a mapping of the file
  vectored measure --segments 64 --sizes 16..64KiB --format csv --output sizes.csv
          One count, sizes by steps of four, for a spreadsheet

Exit status: 0 success, 1 failure, 2 wrong usage; 129, 130 and 143 stopped by SIGHUP, SIGINT and \
SIGTERM.";

/// Options of `vectored measure`.
#[derive(Args, Debug)]
pub struct MeasureArgs {
    /// Whether the segments are written, or read into
    #[arg(long, value_name = "OPERATION", value_parser = operations(), default_value = "write")]
    pub operation: Operation,

    /// Where the bytes go, or come from; may be repeated [default: file,pipe,unix]
    ///
    /// file: appended to up to 32 MiB, then truncated, or one of 32 MiB that is
    /// read; file-overwrite: one of 64 MiB that is rewritten in place; pipe;
    /// unix: a pair of Unix stream sockets; tcp: a TCP connection over the
    /// loopback device; null: /dev/null, which shows fixed costs.
    ///
    /// Or a path: a folder, for a file in it; a FIFO that nobody else has open;
    /// a Unix socket whose other end reads all that comes; a character device.
    /// Existing files and block devices are refused: nothing of yours is
    /// overwritten.
    #[arg(long, value_name = "TARGET|PATH", value_delimiter = ',')]
    pub target: Vec<TargetName>,

    /// Write to any character device that --target names
    ///
    /// What is written to a terminal, a printer or a disk's control device has
    /// effects.
    #[arg(long)]
    pub force: bool,

    /// What is on the device when a call is over, of files that are written
    ///
    /// none: what the kernel likes; dsync: the data, and sync: the metadata too,
    /// when each write returns (O_DSYNC, O_SYNC); fsync: both, by one fsync(2)
    /// after each call, which is timed with it. Such a call takes as long as the
    /// device does: measure few lists.
    #[arg(long, value_name = "MODE", value_parser = sync_modes(), default_value = "none")]
    pub sync: SyncMode,

    /// The page cache of a file that is read [default: hot]
    ///
    /// hot: the file was read before; cold: it is evicted before each call, and
    /// each call is seen to fetch its bytes from the device.
    #[arg(long, value_name = "STATE", value_parser = page_caches())]
    pub page_cache: Option<PageCache>,

    /// Segment counts, as 2,16 or 2..128 (steps of four) [default: 2,16,1000]
    ///
    /// A range goes up by steps of four and ends with its end: 2..100 is
    /// 2,8,32,100.
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    pub segments: Option<Counts>,

    /// Segment sizes, as 100,4KiB or 16..64KiB (steps of four) [default: 16..16KiB]
    ///
    /// Units are powers of 1024: 4k, 4K, 4KB and 4KiB are all 4096 bytes, and
    /// likewise M and G. Lists of more than 4 MiB are left out, unless both
    /// --segments and --sizes are given: then they are measured up to 64 MiB.
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    pub sizes: Option<Sizes>,

    /// A list of mixed sizes, as 9x16,1x4KiB; may be repeated
    ///
    /// COUNTxSIZE, in the order of the list; a size alone is one segment. It
    /// takes the place of --segments and --sizes. Lists of up to 64 MiB are
    /// measured.
    #[arg(long, value_name = "LIST", conflicts_with_all = ["segments", "sizes"])]
    pub mix: Vec<Mix>,

    /// The CPU's caches when a call begins; may be repeated [default: hot]
    ///
    /// hot: the same segments are sent again and again; cold: each call's come
    /// from memory, out of a pool of twice the last-level cache (at most 128
    /// MiB, and as much for the floor). Writes only; lists of up to 16 MiB.
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = caches())]
    pub cache: Vec<Cache>,

    /// How the segments lie in memory; may be repeated [default: scattered]
    ///
    /// scattered: apart, in random order; adjacent: one directly after another,
    /// in one allocation.
    #[arg(long, value_name = "LAYOUT", value_delimiter = ',', value_parser = layouts())]
    pub layout: Vec<Layout>,

    /// When the array of writev or readv is filled; may be repeated [default: timed]
    ///
    /// timed: in every call; once: before the clock is started, for a program
    /// that has its array already. adaptive is handed the same array.
    #[arg(long, value_name = "WHEN", value_delimiter = ',', value_parser = iovec_setups())]
    pub iovec_setup: Vec<IovecSetup>,

    /// A technique that competes; may be repeated [default: all but adaptive]
    ///
    /// Only these compete then. adaptive is always measured, and shown beside
    /// the verdict where it does not compete. For writes: write-each,
    /// copy-then-write, writev, adaptive; for reads: read-each,
    /// read-then-split, readv, adaptive.
    ///
    /// Measured only when they are named, for writes: pwritev2 (without flags),
    /// send-more (send with MSG_MORE; sockets), stdio (fwrite and fflush), mmap
    /// (a shared mapping made for each call; files); for reads: mmap.
    #[arg(long, value_name = "TECHNIQUE", value_delimiter = ',')]
    pub technique: Vec<String>,

    /// Time for the whole run, as 500ms, 18s or 2m
    ///
    /// A round that has begun is finished, and so is the proof that every
    /// technique moves the right bytes: with very long lists, that takes longer.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "18s",
        value_parser = budget,
        allow_hyphen_values = true
    )]
    pub budget: Duration,

    /// Directory for the files that are measured; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    /// Seed of the order of samples and the places of buffers [default: random]
    ///
    /// It repeats those, not the timings.
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// CPU to stay on, or none to let the scheduler choose [default: the current one]
    #[arg(long, value_name = "CPU|none", value_parser = pinning, allow_negative_numbers = true)]
    pub pin: Option<Pinning>,

    /// How the result is printed
    #[arg(long, value_name = "FORMAT", value_parser = formats(A_CELL_EACH), default_value = "table")]
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

    /// Measure an invented machine with an invented clock, for tests
    #[arg(long, value_name = "SPEC", hide = true)]
    pub synthetic: Option<Synthetic>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, at a terminal
    Table,
    /// Everything, for programs
    Json,
    /// Lines of values, for spreadsheets; [`formats`] says of what
    Csv,
    /// Tables for a document
    Markdown,
}

const HOST_ABOUT: &str = "\
Show what this machine offers: limits, io_uring, flags of pwritev2, O_DIRECT

Each flag of pwritev2(2) and preadv2(2) is tried on unnamed files in the directory, buffered and with \
O_DIRECT: 'ok', or the name of the error. io_uring is asked for its operations. What cannot be found \
out is said, with the reason. Nothing is saved, and nothing is left in the directory.";

const HOST_AFTER: &str = "\
Examples:
  vectored host
          This machine, and the file system of the current directory
  vectored host --dir /dev/shm
          Another file system
  vectored host --format json --output host.json
          For a program, or to compare machines

Exit status: 0 success, 1 failure, 2 wrong usage; 129, 130 and 143 stopped by SIGHUP, SIGINT and \
SIGTERM.";

/// Options of `vectored host`.
#[derive(Args, Debug)]
pub struct HostArgs {
    /// Directory whose file system is tried; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    /// How the answers are printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = HostFormat::Table)]
    pub format: HostFormat,

    /// Write the answers to this file instead of standard output
    ///
    /// A file that is there is replaced once the new one is complete, unless it
    /// is read-only. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How the answers of a machine are printed. They are no table of figures, so
/// there is no form for spreadsheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostFormat {
    /// For people, at a terminal
    Table,
    /// Everything, for programs
    Json,
    /// A table for a document
    Markdown,
}

const REPRODUCE_ABOUT: &str = "\
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

const REPRODUCE_AFTER: &str = "\
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
    #[arg(long, value_name = "STATE", value_parser = page_caches())]
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
    #[arg(long, value_name = "MODE", value_parser = sync_modes())]
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
    #[arg(long, value_name = "WHEN", value_delimiter = ',', value_parser = iovec_setups())]
    pub iovec_setup: Vec<IovecSetup>,

    /// Directory for the files; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    /// Seed of the order of rows and of the bytes [default: random]
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_negative_numbers = true)]
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

const COPY_ABOUT: &str = "\
Copy standard input to standard output

With read(2) and write(2) and one buffer, until the end of the input: the program of Figure 3.4 in \
Advanced Programming in the UNIX Environment, whose times with other sizes of the buffer `vectored \
reproduce apue-3.5` measures. No file is opened or closed. Standard input or output that was closed \
before counts as /dev/null.";

const COPY_AFTER: &str = "\
Examples:
  vectored copy < from > to
          With a buffer of 128 KiB
  vectored copy --technique read-write --buffer-size 4096 --report < from > /dev/null
          As the book does, and how many reads there were

Exit status: 0 success, also when nobody reads the output any more; 1 failure, 2 wrong usage.";

/// Options of `vectored copy`.
#[derive(Args, Debug)]
pub struct CopyArgs {
    /// How bytes are moved
    #[arg(long, value_name = "TECHNIQUE", value_enum, default_value_t = CopyWith::ReadWrite)]
    pub technique: CopyWith,

    /// Bytes of the buffer, as 4096, 4k or 128KiB; up to 1 GiB
    #[arg(
        long,
        value_name = "BYTES",
        value_parser = one_size,
        default_value = "128KiB",
        allow_negative_numbers = true
    )]
    pub buffer_size: u64,

    /// Wait at the end until what was written is on the device, by fsync(2)
    #[arg(long)]
    pub fsync: bool,

    /// Say on standard error how many bytes and successful reads there were
    #[arg(long)]
    pub report: bool,
}

/// The techniques of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CopyWith {
    /// One read and one write a buffer
    ReadWrite,
    /// By the C library's streams, a byte at a time: a row of `reproduce`
    #[value(hide = true)]
    Stdio,
}

const REPORT_ABOUT: &str = "\
Show saved results again: as a page, charts or tables

A result is a file that `vectored measure`, `vectored reproduce` or `vectored advise` saved, or a name of \
one: latest is the newest run of measure that was saved here, latest~1 the one before; experiments and \
experiments~1 are those of reproduce, advice and advice~1 those of advise. `vectored history` lists them.

Without an option the table is printed. The page is one file that needs no network: the answer, a map \
of what wins by segment count and size, curves, every figure, the environment, the samples of each \
cell on demand, and experiments beside.";

const REPORT_AFTER: &str = "\
Examples:
  vectored report
          The newest result, as a table
  vectored report latest experiments --html report.html
          The newest run with the published experiments, for colleagues
  vectored report host-a.json host-b.json --html both.html
          Two machines in one page
  vectored report --svg charts.svg --markdown tables.md
          For a README or a paper

Exit status: 0 success, 1 failure, 2 wrong usage.";

/// Options of `vectored report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A saved result: a file, latest, latest~1, experiments, advice, ...
    #[arg(value_name = "RESULT", default_value = "latest")]
    pub result: Vec<ResultName>,

    /// Write a page that stands alone; - is standard output
    ///
    /// A file that is there is replaced once the new one is complete, unless it
    /// is read-only, as with the other options.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the maps and charts as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write the tables for a document
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write lines of values for spreadsheets: one a cell and technique, a finding or a row
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

const COMPARE_ABOUT: &str = "\
Compare results: did anything become slower, do machines differ

Runs of a base are compared with new runs of the same cells. What is compared is a technique's time / \
the floor's of the same round, so that a machine which is busier altogether makes no difference. A \
change is reported if it is significant, given what runs of one side differ by. With fewer than three \
runs a side that is hardly known, and no change under 5 % is reported: measure both several times, in \
turn. What differs in the environment comes first.

With --machines results are set beside each other instead: crossovers and cost models, a row a run. \
Results are named as in `vectored report`.";

/// What clap makes of it does not show that one of the two is needed.
const COMPARE_USAGE: &str = "\
vectored compare [OPTIONS] <RESULT>... --against <RESULT>...
       vectored compare [OPTIONS] --machines <RESULT>...";

const COMPARE_AFTER: &str = "\
Examples:
  vectored compare latest~1 --against latest
          The last run with the one before
  vectored compare old-*.json --against new-*.json --fail-if-slower 5%
          For continuous integration: three runs of each or more
  vectored compare --machines host-*.json --html machines.html
          How machine types, kernels or file systems differ

Exit status: 0 success, 1 failure, 2 wrong usage; 3 with --fail-if-slower, when something became \
slower by as much.";

/// Options of `vectored compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Results of the base, or of the machines: files, latest, latest~1, ...
    #[arg(value_name = "RESULT", required = true)]
    pub result: Vec<ResultName>,

    /// The new results
    #[arg(long, value_name = "RESULT", num_args = 1.., conflicts_with = "machines")]
    pub against: Vec<ResultName>,

    /// Set crossovers and cost models of these results beside each other
    #[arg(long)]
    pub machines: bool,

    /// Exit with 3 if something became significantly slower, by as much, as 5% or 0.05
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = share,
        conflicts_with = "machines",
        allow_hyphen_values = true
    )]
    pub fail_if_slower: Option<f64>,

    /// With --machines: write a page of all of them
    #[arg(long, value_name = "FILE", requires = "machines")]
    pub html: Option<PathBuf>,

    /// How the result is printed
    #[arg(long, value_name = "FORMAT", value_parser = formats(A_CELL_EACH), default_value = "table")]
    pub format: Format,

    /// Write the result to this file instead of standard output
    ///
    /// A file that is there is replaced once the new one is complete, unless it
    /// is read-only. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

const HISTORY_ABOUT: &str = "\
List the results that were saved here

What `vectored measure`, `vectored reproduce` and `vectored advise` saved under $XDG_STATE_HOME/vectored (by default \
~/.local/state/vectored), newest first, with the names that `vectored report` and `vectored compare` \
take: latest, latest~1 and so on, experiments, experiments~1 for those of reproduce, and advice, \
advice~1 for those of advise. Only --prune removes any.";

const HISTORY_AFTER: &str = "\
Examples:
  vectored history
          What can be reported and compared
  vectored history --prune 30d --keep 10
          Remove what is older than 30 days, but keep the ten newest of each kind
  vectored history --prune 0s --dry-run
          List what would be removed if everything were

Exit status: 0 success, 1 failure, 2 wrong usage. A file that cannot be read is listed with the reason.";

/// Options of `vectored history`.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// How the list is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = HistoryFormat::Table)]
    pub format: HistoryFormat,

    /// Remove results that are older than this, as 30d or 12h
    ///
    /// They are listed first, and only those are listed. Only complete files of
    /// results that vectored saved here are removed, never another file.
    #[arg(long, value_name = "AGE", value_parser = age, allow_hyphen_values = true)]
    pub prune: Option<Duration>,

    /// With --prune: keep the newest of measure, of reproduce and of advise, so many each
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "prune",
        default_value = "0",
        value_parser = whole_number,
        allow_negative_numbers = true
    )]
    pub keep: usize,

    /// With --prune: list what would be removed, and remove nothing
    #[arg(long, requires = "prune")]
    pub dry_run: bool,
}

/// How a list of results is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

fn experiments() -> impl TypedValueParser<Value = Experiments> {
    let names = ExperimentName::ALL.map(ExperimentName::name);
    PossibleValuesParser::new(names.into_iter().chain(["all"])).map(|name| {
        let one = ExperimentName::ALL.into_iter();
        let mut one = one.filter(|experiment| experiment.name() == name);
        one.next().map_or(Experiments::All, Experiments::One)
    })
}

/// One size; a list is none.
fn one_size(text: &str) -> Result<u64, String> {
    match text.parse::<Sizes>()?.0.as_slice() {
        [bytes] => Ok(*bytes as u64),
        _ => Err("several sizes: give one, as 4096 or 64KiB".to_owned()),
    }
}

fn one_count(text: &str) -> Result<u64, String> {
    match text.parse::<Counts>()?.0.as_slice() {
        [count] => Ok(*count as u64),
        _ => Err("several numbers: give one whole number".to_owned()),
    }
}

/// A line of CSV where runs of `vectored measure` are shown.
const A_CELL_EACH: &str = "One line a cell and technique, for spreadsheets";

/// The formats, and what a line of CSV is of: that differs between subcommands.
fn formats(csv: &'static str) -> impl TypedValueParser<Value = Format> {
    let formats = Format::value_variants().iter().map(move |format| {
        let value = format.to_possible_value().expect("none is left out");
        match format {
            Format::Csv => value.help(csv),
            _ => value,
        }
    });
    PossibleValuesParser::new(formats)
        .map(|name| Format::from_str(&name, false).expect("one of the possible values"))
}

fn operations() -> impl TypedValueParser<Value = Operation> {
    PossibleValuesParser::new(Operation::ALL.map(Operation::name)).map(|name| {
        let mut all = Operation::ALL.into_iter();
        all.find(|operation| operation.name() == name)
            .expect("one of the possible values")
    })
}

fn caches() -> impl TypedValueParser<Value = Cache> {
    PossibleValuesParser::new(Cache::ALL.map(Cache::name)).map(|name| {
        let mut all = Cache::ALL.into_iter();
        all.find(|state| state.name() == name)
            .expect("one of the possible values")
    })
}

fn layouts() -> impl TypedValueParser<Value = Layout> {
    PossibleValuesParser::new(Layout::ALL.map(Layout::name)).map(|name| {
        let mut all = Layout::ALL.into_iter();
        all.find(|layout| layout.name() == name)
            .expect("one of the possible values")
    })
}

fn iovec_setups() -> impl TypedValueParser<Value = IovecSetup> {
    PossibleValuesParser::new(IovecSetup::ALL.map(IovecSetup::name)).map(|name| {
        let mut all = IovecSetup::ALL.into_iter();
        all.find(|setup| setup.name() == name)
            .expect("one of the possible values")
    })
}

fn sync_modes() -> impl TypedValueParser<Value = SyncMode> {
    PossibleValuesParser::new(SyncMode::ALL.map(SyncMode::name)).map(|name| {
        let mut all = SyncMode::ALL.into_iter();
        all.find(|mode| mode.name() == name)
            .expect("one of the possible values")
    })
}

fn page_caches() -> impl TypedValueParser<Value = PageCache> {
    PossibleValuesParser::new(PageCache::ALL.map(PageCache::name)).map(|name| {
        let mut all = PageCache::ALL.into_iter();
        all.find(|state| state.name() == name)
            .expect("one of the possible values")
    })
}

/// A longer budget is a slip of the pen: a run of minutes has intervals of a percent.
const MAX_BUDGET: Duration = Duration::from_secs(24 * 60 * 60);

fn budget(text: &str) -> Result<Duration, String> {
    match time(text, "500ms, 18s or 2m")? {
        Duration::ZERO => Err("budget must be greater than zero, for example 18s".to_owned()),
        budget if budget > MAX_BUDGET => Err("budget must be at most 24h".to_owned()),
        budget => Ok(budget),
    }
}

/// A time with its unit, written as the examples are.
fn time(text: &str, examples: &str) -> Result<Duration, String> {
    // It may have a unit, so that the message about units would be wrong.
    if text.starts_with('-') {
        return Err(format!("a time cannot be negative: write it as {examples}"));
    }
    humantime::parse_duration(text).map_err(|error| match error {
        humantime::DurationError::NumberOverflow => {
            format!("the time is too long, or finer than a nanosecond: write it as {examples}")
        }
        _ => format!("not a time: write a number with its unit, as {examples}"),
    })
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("not a whole number from 0 to {}", u64::MAX))
}

fn whole_number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "not a whole number from 0 on, as 10".to_owned())
}

fn age(text: &str) -> Result<Duration, String> {
    // humantime takes a bare 0, which looks like a number of results.
    match text.contains(|c: char| c.is_ascii_alphabetic()) {
        true => time(text, "30d or 12h"),
        false => Err("not a time: write a number with its unit, as 30d or 12h".to_owned()),
    }
}

/// No share is as large: a slip of the pen, too.
const MAX_SHARE: f64 = 10.0;

/// `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let share = number.parse().ok().map(|value: f64| value / scale);
    let bare = share.filter(|share| scale == 1.0 && (1.0..1000.0).contains(share));
    if let Some(value) = bare {
        // Whoever only forgot the sign would never be told of anything.
        let rounded = |value: f64| (value * 1e6).round() / 1e6;
        let (percent, fraction) = (rounded(value * 100.0), rounded(value / 100.0));
        // No way is named that would be refused again.
        let or_fraction = match fraction < 1.0 {
            true => format!(" or {fraction}"),
            false => String::new(),
        };
        let or_as_typed = match value < MAX_SHARE {
            true => format!(", or {percent}% if that is meant"),
            false => String::new(),
        };
        return Err(format!(
            "{text} alone would be {percent} %: write {text}%{or_fraction}{or_as_typed}"
        ));
    }
    share
        .filter(|share| (0.0..MAX_SHARE).contains(share))
        .ok_or_else(|| "not a share from 0 to below 1000 %: write it as 5% or 0.05".to_owned())
}

fn pinning(text: &str) -> Result<Pinning, String> {
    match text {
        "none" => Ok(Pinning::None),
        _ => match text.parse() {
            Ok(cpu) => Ok(Pinning::Cpu(cpu)),
            Err(_) => Err("neither the number of a CPU, as 0, nor 'none'".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn a_share_of_one_or_more_needs_its_sign() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.05"), Ok(0.05));
        assert_eq!(share("500%"), Ok(5.0));
        for (text, words) in [
            ("5", "500 %: write 5% or 0.05, or 500% if that is meant"),
            ("1", "100 %: write 1% or 0.01, or 100%"),
            ("1.1", "110 %: write 1.1% or 0.011, or 110%"),
            ("-1", "write it as 5% or 0.05"),
            ("inf", "write it as 5% or 0.05"),
            ("2000", "write it as 5% or 0.05"),
            ("-1%", "write it as 5% or 0.05"),
            ("1000%", "write it as 5% or 0.05"),
            ("much", "write it as 5% or 0.05"),
        ] {
            let refused = share(text).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        // What would be refused again is not named.
        assert!(share("20").unwrap_err().ends_with("write 20% or 0.2"));
        assert!(share("150").unwrap_err().ends_with("write 150%"));
    }

    #[test]
    fn budgets_are_times_of_up_to_a_day() {
        assert_eq!(budget("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(budget("24h"), Ok(MAX_BUDGET));
        for (text, words) in [
            ("18", "with its unit"),
            ("-1s", "cannot be negative: write it as 500ms, 18s or 2m"),
            ("", "with its unit"),
            ("99999999999999999999h", "too long"),
            ("0s", "must be greater than zero, for example 18s"),
            ("25h", "at most 24h"),
            ("99999999999h", "at most 24h"),
        ] {
            let refused = budget(text).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
