//! Kernel pages that are held back from a stream.

use std::io;

use fastrand::Rng;
use vectored_machine::platform::fd::OwnedFd;
use vectored_machine::platform::plain_calls;
use vectored_machine::platform::plain_calls::Errno;

use crate::measure::targets::sink::POISON;
use crate::measure::targets::stream_kind::StreamKind;

/// Fewer pages than this are held back in a round: the usual capacity of a pipe.
const MAX_BALLAST: usize = 16;

/// Holds kernel pages for a round, so that a stream gets other ones.
///
/// The kernel allocates the most recently freed pages first. Without ballast,
/// every sample of a cell would get the same few pages in the same order, and a
/// technique that happens to get faster pages would seem faster.
#[derive(Debug, Default)]
pub(crate) struct Ballast(Option<(OwnedFd, OwnedFd)>);

impl Ballast {
    /// Releases the pages and holds a new random number of them.
    pub fn change(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.0 = None;
        let (writer, reader) = StreamKind::Pipe(None).open_non_blocking()?;
        for _ in 0..rng.usize(..MAX_BALLAST) {
            match plain_calls::write(&writer, &[POISON; 4096]) {
                Ok(_) => {}
                // A user with many pipes gets small ones (pipe(7)), which hold
                // fewer pages.
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.0 = Some((writer, reader));
        Ok(())
    }
}
