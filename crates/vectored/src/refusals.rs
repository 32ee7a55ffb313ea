//! What the kernel or a file system refused, and where: remembered for the life of the process.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::FileType;

/// Whether the kernel may say by this that it knows no such call, or not for such a file.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    // ENOTSUP and EOPNOTSUPP are one number on Linux and two elsewhere.
    let refusals = [libc::EOPNOTSUPP, libc::ENOTSUP, libc::ENOSYS, libc::EINVAL];
    error
        .raw_os_error()
        .is_some_and(|code| refusals.contains(&code))
}

/// Where something is taken or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `st_dev`.
    device: u64,
    /// `st_rdev`, which is 0 but for devices.
    special: u64,
    pub(crate) kind: FileType,
    /// Open with `O_DIRECT`.
    pub(crate) is_direct: bool,
}

impl Place {
    // The integers' types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Option<Place> {
        let stat = rustix::fs::fstat(fd).ok()?;
        #[cfg(target_os = "linux")]
        let is_direct = {
            let flags = rustix::fs::fcntl_getfl(fd).ok()?;
            flags.contains(rustix::fs::OFlags::DIRECT)
        };
        // Elsewhere it is no flag of an open file.
        #[cfg(not(target_os = "linux"))]
        let is_direct = false;
        Some(Place {
            device: stat.st_dev as u64,
            special: stat.st_rdev as u64,
            kind: FileType::from_raw_mode(stat.st_mode),
            is_direct,
        })
    }
}

/// What was refused where, as a set of bits.
pub(crate) struct Refusals {
    /// Refused anywhere: while nothing that a transfer wants is, no descriptor need be looked at.
    anywhere: AtomicU32,
    places: Mutex<Vec<(Place, u32)>>,
}

/// Of so many places refusals are remembered: file systems come and go, with loop mounts for one.
const MOST_PLACES: usize = 64;

impl Refusals {
    pub(crate) const fn new() -> Refusals {
        Refusals {
            anywhere: AtomicU32::new(0),
            places: Mutex::new(Vec::new()),
        }
    }

    /// Those of `bits` that were refused at the place before.
    pub(crate) fn known(&self, bits: u32, place: impl FnOnce() -> Option<Place>) -> u32 {
        // No other memory depends on it: whoever misses a refusal of just now is refused as well.
        if self.anywhere.load(Ordering::Relaxed) & bits == 0 {
            return 0;
        }
        self.known_at(bits, place())
    }

    #[cold]
    fn known_at(&self, bits: u32, place: Option<Place>) -> u32 {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places
            .iter()
            .find(|(known, _)| Some(*known) == place)
            .map_or(0, |(_, refused)| refused & bits)
    }

    pub(crate) fn learn(&self, bits: u32, place: impl FnOnce() -> Option<Place>) {
        let Some(place) = place() else { return };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, refused)) => *refused |= bits,
            None => {
                if places.len() == MOST_PLACES {
                    places.remove(0);
                }
                places.push((place, bits));
            }
        }
        self.anywhere.fetch_or(bits, Ordering::Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A file of the file system with this number.
    pub(crate) fn place(device: u64) -> Option<Place> {
        Some(Place {
            device,
            special: 0,
            kind: FileType::RegularFile,
            is_direct: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::place;
    use super::*;

    #[test]
    fn few_places_are_remembered_and_the_oldest_is_forgotten() {
        let refusals = Refusals::new();
        for device in 0..MOST_PLACES as u64 + 1 {
            refusals.learn(2, || place(device));
        }
        assert_eq!(refusals.known(3, || place(0)), 0);
        assert_eq!(refusals.known(3, || place(1)), 2);
    }

    #[test]
    fn no_descriptor_is_looked_at_while_nothing_was_refused() {
        let refusals = Refusals::new();
        refusals.learn(1, || place(1));
        let never = || -> Option<Place> { panic!("looked at") };
        assert_eq!(refusals.known(2, never), 0);
    }
}
