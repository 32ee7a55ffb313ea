//! Options of `vectored measure`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use vectored_lab::measure::Pinning;
use vectored_lab::model::{Cache, IovecSetup, Layout, Operation, PageCache, SyncMode};

use super::format::{A_CELL_EACH, Format, formats};
use super::parsers::{budget, one_of, pinning, whole_number};
use crate::size_lists::{Counts, Mix, Sizes};
use crate::synthetic::Synthetic;
use crate::target_path::TargetName;

pub const MEASURE_ABOUT: &str = "\
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
pub const MEASURE_USAGE: &str = "vectored measure [OPTIONS]";

pub const MEASURE_AFTER: &str = "\
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
    #[arg(long, value_name = "OPERATION", value_parser = one_of(Operation::ALL, Operation::name), default_value = "write")]
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
    #[arg(long, value_name = "MODE", value_parser = one_of(SyncMode::ALL, SyncMode::name), default_value = "none")]
    pub sync: SyncMode,

    /// The page cache of a file that is read [default: hot]
    ///
    /// hot: the file was read before; cold: it is evicted before each call, and
    /// each call is seen to fetch its bytes from the device.
    #[arg(long, value_name = "STATE", value_parser = one_of(PageCache::ALL, PageCache::name))]
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
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = one_of(Cache::ALL, Cache::name))]
    pub cache: Vec<Cache>,

    /// How the segments lie in memory; may be repeated [default: scattered]
    ///
    /// scattered: apart, in random order; adjacent: one directly after another,
    /// in one allocation.
    #[arg(long, value_name = "LAYOUT", value_delimiter = ',', value_parser = one_of(Layout::ALL, Layout::name))]
    pub layout: Vec<Layout>,

    /// When the array of writev or readv is filled; may be repeated [default: timed]
    ///
    /// timed: in every call; once: before the clock is started, for a program
    /// that has its array already. adaptive is handed the same array.
    #[arg(long, value_name = "WHEN", value_delimiter = ',', value_parser = one_of(IovecSetup::ALL, IovecSetup::name))]
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
    #[arg(long, value_name = "NUMBER", value_parser = whole_number::<u64>, allow_negative_numbers = true)]
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
