//! Arbitrary bytes are read without a panic. The events do not depend on the sizes of the reads.

use std::io::{self, Read};

use proptest::prelude::*;
use vectored_strace::{Reader, Rewritten};

use crate::text::events_of;

proptest! {
    #[test]
    fn the_sizes_of_reads_do_not_change_the_events(log in log_like(), pieces in prop::collection::vec(0..40_usize, 1..8)) {
        let whole = events_of(&mut Reader::new(&log[..]));
        let pieces = || ChunkPolicy { rest: &log, sizes: pieces.iter().chain([&1]).cycle() };
        prop_assert_eq!(&whole, &events_of(&mut Reader::with_options(pieces(), 0, 1)));
        for first in FOREIGN {
            let log = [first.as_bytes(), &log].concat();
            let whole = events_of(&mut Reader::new(Rewritten::new(&log[..])));
            let pieces = ChunkPolicy { rest: &log, ..pieces() };
            prop_assert_eq!(whole, events_of(&mut Reader::with_options(Rewritten::new(pieces), 0, 1)));
        }
    }
}

/// Bytes made of parts of a log.
fn log_like() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        "[ -~]{0,3}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..3),
        prop::sample::select(WORDS.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

/// Lines of other formats, so that these formats are recognised.
const FOREIGN: [&str; 2] = [
    "1.791 ( 0.023 ms): ls/1 brk()      = 0x5\n",
    "ls 1 [000] 2.000001: raw_syscalls:sys_exit: NR 1 = 4\n",
];

const WORDS: [&str; 51] = [
    "\n",
    "\n",
    "\n",
    "write(",
    "read(",
    "writev(",
    "sendmsg(",
    "pwritev2(",
    "sendmmsg(",
    "clone(",
    "fcntl(",
    "lseek(",
    "openat(",
    "pipe2(",
    "1 ",
    "[pid 2] ",
    "12:00:00 ",
    "1795312736.000001 ",
    "3</tmp/x>",
    "\"a\"...",
    ", ",
    "[{iov_base=\"a\", iov_len=1}]",
    "{msg_iov=",
    "...]",
    "...",
    "]",
    "}",
    ", 10",
    "99999999999999999999",
    ") = 1",
    " = ",
    "? ERESTARTSYS (x)",
    " <0.000012>",
    " <unfinished ...>",
    "<... write resumed>",
    "<... read resumed>",
    "+++ exited with 0 +++",
    "--- SIGHUP {} ---",
    " > /lib/libc.so.6(write+0x1) [0x2]",
    "% time",
    "O_WRONLY|O_APPEND",
    "1.791 ( 0.023 ms): ",
    "ls/1 ",
    " ... [continued]: write())",
    " ...\n",
    "fd: 3</x>, buf: \"",
    ", count: 9",
    " 1 [000] 2.000001: ",
    "raw_syscalls:sys_enter: NR 1 (1, 7f, 9)",
    "raw_syscalls:sys_exit: NR 257 = 4 0 /x",
    "clone3(",
];

/// An input whose reads return the given numbers of bytes, over and over. If the number is 0, a signal interrupts the
/// read.
struct ChunkPolicy<'a, S> {
    rest: &'a [u8],
    sizes: S,
}

impl<'s, S: Iterator<Item = &'s usize>> Read for ChunkPolicy<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = match *self.sizes.next().unwrap() {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            bytes => bytes.min(buffer.len()).min(self.rest.len()),
        };
        let (piece, rest) = self.rest.split_at(bytes);
        buffer[..bytes].copy_from_slice(piece);
        self.rest = rest;
        Ok(bytes)
    }
}
