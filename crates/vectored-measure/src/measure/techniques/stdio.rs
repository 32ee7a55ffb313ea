//! The C library's buffered streams.

use std::io;
use std::os::fd::BorrowedFd;

use vectored_machine::Clock;

use crate::measure::sampler::{Lists, Timed, Timing};
use crate::measure::techniques::{Mover, Technique};
use crate::sys::stdio::Stream;

pub const STDIO: Technique = Technique {
    about: "fwrite and fflush",
    refuses: |conditions| {
        conditions
            .direct
            .then_some("has a buffer that is not aligned: omit --direct")
    },
    cost_ns: |costs| costs.copied_ns + 0.2 * costs.call_ns,
    write: Some(|_| Box::new(Stdio(None))),
    ..Technique::named("stdio")
};

/// `stdio` with a buffer of 1 MiB (`setvbuf`): for the project's own measurements, so it is not listed.
pub const STDIO_LARGE: Technique = Technique {
    write: Some(|_| Box::new(Stdio(Some(1 << 20)))),
    ..Technique::named("stdio-large")
};

/// `fwrite` for every segment, then `fflush`, with a buffer of this size or of the size that the C library chooses.
///
/// A program opens a stream once and uses the stream many times, so the opening is not timed. Each sample opens its own
/// stream, since targets are reopened between rounds.
struct Stdio(Option<usize>);

impl Mover for Stdio {
    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        let mut stream = Stream::open(fd, self.0)?;
        let mut turns = lists.in_turn();
        batch.time(clock, fd, move || send(&mut stream, turns.next()))
    }
}

fn send(stream: &mut Stream, segments: &[&[u8]]) -> io::Result<()> {
    for segment in segments {
        stream.write(segment)?;
    }
    stream.flush()
}
