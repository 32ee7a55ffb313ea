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
        match self.has_any(bits) {
            true => self.known_at(bits, place()),
            false => 0,
        }
    }

    /// Whether any of `bits` was refused anywhere before.
    #[inline]
    pub(crate) fn has_any(&self, bits: u32) -> bool {
        // No other memory depends on it: whoever misses a refusal of just now is refused as well.
        self.anywhere.load(Ordering::Relaxed) & bits != 0
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
    fn what_is_refused_at_a_place_adds_up() {
        let refusals = Refusals::new();
        refusals.learn(1, || place(1));
        refusals.learn(2, || place(1));
        refusals.learn(4, || place(2));
        assert_eq!(refusals.known(7, || place(1)), 3);
        assert_eq!(refusals.known(2, || place(1)), 2);
        assert_eq!(refusals.known(7, || None), 0);
    }

    #[test]
    fn no_descriptor_is_looked_at_while_nothing_was_refused() {
        let refusals = Refusals::new();
        refusals.learn(1, || place(1));
        let never = || -> Option<Place> { panic!("looked at") };
        assert_eq!(refusals.known(2, never), 0);
    }

    /// Each of what makes a place, on its own.
    #[test]
    #[cfg(target_os = "linux")]
    fn real_places_are_told_apart_by_device_special_file_kind_and_o_direct() {
        use rustix::fs::{MemfdFlags, memfd_create};
        use rustix::pipe::{PipeFlags, pipe_with};
        use std::fs::File;
        use std::os::fd::AsFd;

        let of = |fd: &dyn AsFd| Place::of(fd.as_fd()).unwrap();
        let open = |path: &str| of(&File::open(path).unwrap());
        let memory = of(&memfd_create("vectored-test", MemfdFlags::empty()).unwrap());
        let program = of(&File::open(std::env::current_exe().unwrap()).unwrap());
        assert_ne!(memory.device, program.device);
        assert_eq!((memory.kind, memory.is_direct), (program.kind, false));
        assert_eq!(open("/dev/null"), open("/dev/null"));
        assert_ne!(open("/dev/null").special, open("/dev/zero").special);

        let (stream, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(of(&stream).kind, FileType::Socket);
        let (_reader, plain) = pipe_with(PipeFlags::empty()).unwrap();
        let (_reader, direct) = pipe_with(PipeFlags::DIRECT).unwrap();
        assert_eq!(of(&plain).kind, FileType::Fifo);
        assert!(!of(&plain).is_direct && of(&direct).is_direct);
        assert_ne!(of(&plain), of(&direct));
    }
}
