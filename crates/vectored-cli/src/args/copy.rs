//! Options of `vectored copy`.

use clap::{Args, ValueEnum};

use super::parsers::one_size;

/// The largest buffer: larger ones only touch more memory.
pub const MAX_BUFFER_BYTES: u64 = 1 << 30;

pub const COPY_ABOUT: &str = "\
Copy standard input to standard output

With read(2) and write(2) and one buffer, until the end of the input: the program of Figure 3.4 in \
Advanced Programming in the UNIX Environment, whose times with other sizes of the buffer `vectored \
reproduce apue-3.5` measures. No file is opened or closed. Standard input or output that was closed \
before counts as /dev/null.";

pub const COPY_AFTER: &str = "\
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
