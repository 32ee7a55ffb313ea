//! Options of `vectored copy`.

#[cfg(unix)]
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::parsers::buffer_size;

const AFTER: &str = "\
Examples:
  vectored copy from to
          Copy a file
  ssh host cat log | vectored copy --sync - log
          Save a stream, and wait until it is on the device
  vectored copy --buffer-size 4096 --report < from > /dev/null
          Copy with this buffer, as the program of Figure 3.4 in Advanced Programming in the UNIX \
Environment (2nd edition) does, and count the reads

Exit status: 0 success, also if the reader of the output goes away; 1 failure, 2 wrong \
usage. An error says how many bytes were written.";

/// Copy a file or stream
///
/// Copies FROM to TO up to the end of FROM, by the system calls that suit both: copy_file_range between files of more
/// than 16 KiB; where the file system has no copy of its own, splice through a pipe from 1 MiB on, and from 16 MiB on,
/// this and reads and writes with several buffers are timed on parts of the file, and the fastest goes on; splice to a
/// pipe from a pipe, a socket or a long file; sendfile or splice to /dev/null; read and write otherwise. From a file of
/// more than 64 KiB to a pipe, splice copies no bytes, but puts pages of FROM there: what is written to FROM, or cut
/// off, before the reader has received them may reach the reader. Otherwise, and with --technique read-write, TO has a
/// copy: it does not change if FROM is written afterwards.
///
/// TO gets the mode of FROM within the umask. It is removed if the copy fails or a signal ends it, other than KILL,
/// BUS, SEGV and the real-time signals. A file that exists is overwritten with --force only, and keeps its mode. It is
/// as before if the copy fails before the first byte, and else stays as far as it was written. A closed standard input
/// or output is an error.
#[derive(Args, Debug, Default)]
#[command(after_long_help = AFTER)]
pub struct CopyArgs {
    /// File to copy; - or none is standard input
    #[arg(value_name = "FROM")]
    pub from: Option<PathBuf>,

    /// File to make; - or none is standard output
    #[arg(value_name = "TO")]
    pub to: Option<PathBuf>,

    /// Overwrite TO if it exists
    #[arg(long)]
    pub force: bool,

    /// System calls that copy
    #[arg(long, value_name = "TECHNIQUE", value_enum, default_value_t = CopyWith::Auto)]
    pub technique: CopyWith,

    /// Size of the buffer of read-write, for example 4096, 4k or 128KiB; up to 1GiB [default: by the kinds of both and the size]
    #[arg(long, value_name = "BYTES", value_parser = buffer_size)]
    pub buffer_size: Option<u64>,

    /// Leave holes where FROM has them, both being files
    ///
    /// Holes are found by lseek(2) (SEEK_DATA, SEEK_HOLE). What another program writes into a hole of FROM after that is not
    /// copied. Where the file system does not tell the holes, or says that a file with blocks is one hole, all is copied.
    /// With --force, TO is emptied before.
    #[arg(long)]
    pub sparse: bool,

    /// Wait until the bytes are on the device, by fsync(2), and the name of a new file too; for files and block devices
    #[arg(long)]
    pub sync: bool,

    /// Print on standard error the number of bytes, and of the reads or other calls that took them
    #[arg(long)]
    pub report: bool,

    /// Do not show the progress, which a terminal on standard error shows after a second
    #[arg(long, short)]
    pub quiet: bool,
}

#[cfg(unix)]
impl CopyArgs {
    pub fn of(names: Vec<OsString>) -> Self {
        let mut names = names.into_iter().map(PathBuf::from);
        CopyArgs {
            from: names.next(),
            to: names.next(),
            ..CopyArgs::default()
        }
    }
}

/// Techniques of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CopyWith {
    /// What suits FROM and TO; read-write with --buffer-size
    #[default]
    Auto,
    /// One read and one write for each buffer
    ReadWrite,
    /// Between files: shares their blocks on file systems that can, such as btrfs and XFS
    CopyFileRange,
    /// From a file. A pipe or socket then has pages of the file: writes to the file meanwhile may reach its reader
    Sendfile,
    /// From or to a pipe. From a file: as sendfile
    Splice,
    /// One byte at a time through the C library's streams: a row of `reproduce`
    #[value(hide = true)]
    Stdio,
}
