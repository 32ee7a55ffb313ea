//! Options of `vectored copy`.

use clap::{Args, ValueEnum};

use super::parsers::one_size;

/// Largest buffer: a larger one would only use more memory.
#[cfg(unix)]
pub const MAX_BUFFER_BYTES: u64 = 1 << 30;

pub const COPY_ABOUT: &str = "\
Copy standard input to standard output

Copies with read(2), write(2) and one buffer until the end of the input, as the program of \
Figure 3.4 in Advanced Programming in the UNIX Environment does. `vectored reproduce \
apue-3.5` times it with buffers of different sizes. No file is opened or closed. If standard \
input or output is closed, it is treated as /dev/null.";

pub const COPY_AFTER: &str = "\
Examples:
  vectored copy < from > to
          Copy with a buffer of 128 KiB
  vectored copy --buffer-size 4096 --report < from > /dev/null
          Copy with a smaller buffer, and count the reads

Exit status: 0 success, also if the reader of the output goes away; 1 failure, 2 wrong \
usage.";

/// Options of `vectored copy`.
#[derive(Args, Debug)]
pub struct CopyArgs {
    /// System calls or C library functions that copy
    #[arg(long, value_name = "TECHNIQUE", value_enum, default_value_t = CopyWith::ReadWrite)]
    pub technique: CopyWith,

    /// Size of the buffer, for example 4096, 4k or 128KiB; up to 1GiB
    #[arg(
        long,
        value_name = "BYTES",
        value_parser = one_size,
        default_value = "128KiB",
        allow_negative_numbers = true
    )]
    pub buffer_size: u64,

    /// Call fsync(2) on standard output at the end, to wait for the device
    #[arg(long)]
    pub fsync: bool,

    /// Print the number of bytes and of successful reads on standard error
    #[arg(long)]
    pub report: bool,
}

/// Techniques of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CopyWith {
    /// One read and one write for each buffer
    ReadWrite,
    /// One byte at a time through the C library's streams: a row of `reproduce`
    #[value(hide = true)]
    Stdio,
}
