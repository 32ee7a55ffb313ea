//! Options of `vectored measure`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use vectored_machine::host::Pinning;
use vectored_measure::measure::TECHNIQUES;
use vectored_results::model::{Conditions, Operation, Target};

use super::axes::AxisOptions;
use super::output::{OutputArgs, SavingArgs};
use super::parsers::{budget, pinning, rate};
use crate::size_lists::{Mix, Numbers, counts, sizes};
use crate::target_path::TargetPath;

/// In an error, the usage line that clap generates shows the typed options as required.
const USAGE: &str = "vectored measure [OPTIONS]";

const AFTER: &str = "\
Examples:
  vectored measure
          The default grid on files, pipes and Unix sockets, in 18 seconds
  vectored measure --mix 12,3000 --target tcp --rate 50000/s
          A header and a body, 50,000 times a second: what would a change be worth?
  vectored measure --target file --dir /var/lib/mysql --budget 1m
          Files on a given file system, for a minute
  vectored measure --target file --sync fsync --segments 16 --budget 1m
          Records of a log, each flushed to the disk
  vectored measure --operation read --target file --page-cache cold
          Reading a file that is not in the page cache
  vectored measure --operation copy
          Which call copies fastest between files, pipes and sockets
  vectored measure --mix 1x150,1x16..64KiB --target unix,tcp
          From which size of the body a header and a body are best gathered
  vectored measure --join 2..64 --target tcp --cache hot,cold
          Up to which size messages are best joined into one call
  vectored measure --direct --target file-overwrite --technique linux-aio --queue-depth 1,8,64
          From how many writes in flight Linux AIO takes less time, past the page cache
  vectored measure --target tcp://192.0.2.1:7007
          A TCP connection to a program on another machine that reads everything
  vectored measure --segments 64 --format csv --output sizes.csv
          One segment count, for a spreadsheet

Exit status: 0 success, 1 failure, 2 wrong usage; 129, 130 or 143 if stopped by SIGHUP, \
SIGINT or SIGTERM.";

/// Find the fastest technique for each segment count and size
///
/// Each cell of the grid is a list of segments, written to (or read from) one target; with --operation copy, a number
/// of bytes that is copied from one descriptor to another. All techniques are timed in rounds, in balanced random
/// order, beside the floor: one write or read of the same bytes in one buffer. A technique is reported as faster only
/// if the difference is significant; otherwise the cell is a tie, or open (undecided).
///
/// Files, pipes and sockets are temporary, unless --target names one. The bytes that arrive are counted, and the
/// bytes of every fifth sample are compared. On /dev/null and on sockets of other programs they cannot be compared.
///
/// The answer is printed: a map and a sentence for each target, and at the end what holds on all. Everything is saved
/// as JSON in $XDG_STATE_HOME/vectored (by default ~/.local/state/vectored). The path of the saved file is the last
/// line on standard error. Ctrl-C stops the run and keeps what was measured.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER, override_usage = USAGE)]
pub struct MeasureArgs {
    /// List of segments of mixed sizes, for example 9x16,1x4KiB; may be repeated
    ///
    /// COUNTxSIZE, in the order of the list; a size alone is one segment. Replaces --segments and
    /// --sizes. A list may have up to 64 MiB.
    ///
    /// One of the sizes may be a range, as in --sizes: 1x150,1x16..64KiB is a header of 150 bytes and
    /// a body of 16 bytes to 64 KiB. The result then says from which size of the body gathering is
    /// faster.
    #[arg(long, value_name = "LIST", conflicts_with_all = ["segments", "sizes"])]
    pub mix: Vec<Mix>,

    /// Counts of messages to join, for example 16 or 2..64
    ///
    /// Answers up to which message size copying that many messages into one buffer, for one call, is
    /// faster than a call for each. The same as --segments LIST --technique write-each,copy-then-write,
    /// with writev shown beside the verdict, and sizes of 64..64KiB unless --sizes is given.
    #[arg(
        long,
        value_name = "LIST",
        value_parser = counts,
        conflicts_with_all = ["segments", "mix", "technique", "operation", "queue_depth", "iovec_setup"]
    )]
    pub join: Option<Numbers>,

    /// Lists that a program sends in a second, for example 50000/s
    ///
    /// The answer then says what the choice is worth: saving 200 ns in each of 50,000 lists a second is 1 % of a CPU. Give
    /// it with --mix or --join, which measure the lists of a program.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<f64>,

    #[cfg_attr(
        unix,
        doc = "Target to write to, to read from or to copy to; may be repeated [default: file,pipe,unix]"
    )]
    #[cfg_attr(
        windows,
        doc = "Target to write to, to read from or to copy to; may be repeated [default: file,pipe,tcp]"
    )]
    ///
    /// file: a file that is appended to up to 32 MiB and then truncated; for reads, a file of 32 MiB.
    /// file-overwrite: a file of 64 MiB that is rewritten in place. pipe: a pipe. unix: a pair of Unix
    /// stream sockets. tcp: a TCP connection over the loopback device. null: /dev/null, which shows the
    /// fixed cost of each call.
    ///
    /// Or a path: a directory, for a temporary file in it, or a Unix socket whose other end reads
    /// everything that arrives. Nothing else that exists is opened, so that nothing of yours is overwritten.
    ///
    /// Or tcp://HOST:PORT, where a program reads everything that arrives, for example
    /// `socat -b 1048576 -u TCP-LISTEN:7007,fork OPEN:/dev/null`. With the default buffer of socat, 8 KiB, the
    /// speed of socat would be measured.
    #[arg(
        long,
        value_name = "TARGET|PATH|tcp://HOST:PORT",
        value_delimiter = ','
    )]
    pub target: Vec<TargetPath>,

    /// Segment counts, for example 2,16 or 2..128 [default: 2,16,1000]
    ///
    /// A range grows by factors of four and ends with its end: 2..100 is 2,8,32,100.
    #[arg(long, value_name = "LIST", value_parser = counts)]
    pub segments: Option<Numbers>,

    /// Segment sizes, for example 100,4KiB or 16..64KiB [default: 16..16KiB]
    ///
    /// Of copies: the bytes of one copy, by default 4KiB..1MiB.
    ///
    /// A range grows by factors of four, as in --segments. Units are powers of 1024: 4k, 4K, 4KB and
    /// 4KiB are all 4096 bytes, and likewise M and G.
    ///
    /// Lists of up to 64 MiB are measured; without --segments and --sizes, lists of up to 4 MiB.
    #[arg(long, value_name = "LIST", value_parser = sizes)]
    pub sizes: Option<Numbers>,

    /// Technique to compare; may be repeated [default: all except adaptive]
    #[arg(long, value_name = "TECHNIQUE", value_delimiter = ',', long_help = technique_help())]
    pub technique: Vec<String>,

    #[command(flatten)]
    pub axes: AxisOptions,

    /// Time for the whole run, for example 500ms, 18s or 2m
    ///
    /// A round that has begun is finished, and so is the check that every technique moves the right
    /// bytes. With very long lists, the run takes longer.
    #[arg(long, value_name = "TIME", default_value = "18s", value_parser = budget)]
    pub budget: Duration,

    /// Directory for temporary files; nothing is left there
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub dir: PathBuf,

    /// Seed for the order of samples and the placement of buffers [default: random]
    ///
    /// The same seed repeats the order and the placement, not the timings.
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// CPU to run on, or none to let the scheduler choose [default: the current CPU]
    #[arg(long, value_name = "CPU|none", value_parser = pinning)]
    pub pin: Option<Pinning>,

    /// Print all figures before the answer: tables, cost models, notes
    ///
    /// `vectored report latest` prints them afterwards.
    #[arg(long)]
    pub details: bool,

    /// Measure a simulated machine with a simulated clock, for tests: a call takes CALL_NS
    #[arg(long, value_name = "CALL_NS", hide = true)]
    pub synthetic: Option<f64>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub saving: SavingArgs,
}

impl MeasureArgs {
    pub fn operation(&self) -> Operation {
        let all = self.axes.product(Conditions::write(Target::File));
        all[0].operation
    }
}

/// The system decides which techniques exist.
fn technique_help() -> String {
    let listed = |operation, usual| {
        let of_it = TECHNIQUES
            .iter()
            .filter(|one| one.moves(operation) && one.usual == usual);
        let described = of_it.map(|one| format!("{} ({})", one.name, one.about));
        described.collect::<Vec<_>>().join(", ")
    };
    format!(
        "Technique to compare; may be repeated [default: all except adaptive]\n\nOnly the named techniques compete. adaptive \
         is always measured: if it does not compete, it is shown beside the verdict.\n\nFor writes: {}. For reads: \
         {}. For copies: {}.\n\nMeasured only if named, for writes: {}. For reads: {}. If an asynchronous one is named, writev (or readv) \
         competes too.",
        listed(Operation::Write, true),
        listed(Operation::Read, true),
        listed(Operation::Copy, true),
        listed(Operation::Write, false),
        listed(Operation::Read, false)
    )
}
