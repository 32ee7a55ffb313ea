//! Pages of the kernel that a stream shall not get.

use std::io;
use std::os::fd::OwnedFd;

use fastrand::Rng;
use rustix::io::Errno;

use crate::measure::targets::sink::POISON;
use crate::measure::targets::stream_kind::Stream;

/// Pages that a round may hold back: as many as a pipe usually has.
const MAX_BALLAST: usize = 16;

/// Holds pages of the kernel for a round, so that a stream gets others.
///
/// The kernel hands out again what was freed last, so every sample of a cell
/// would find the same few pages in the same order, and a technique that
/// happens to get the better ones would seem faster.
#[derive(Debug, Default)]
pub(crate) struct Ballast(Option<(OwnedFd, OwnedFd)>);

impl Ballast {
    /// Holds another number of pages.
    pub fn change(&mut self, rng: &mut Rng) -> io::Result<()> {
        self.0 = None;
        let (writer, reader) = Stream::Pipe.open_non_blocking()?;
        for _ in 0..rng.usize(..MAX_BALLAST) {
            match rustix::io::write(&writer, &[POISON; 4096]) {
                Ok(_) => {}
                // A user with many pipes gets small ones: then that is all.
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.0 = Some((writer, reader));
        Ok(())
    }
}
