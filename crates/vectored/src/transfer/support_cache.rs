//! What a file refused: remembered for the life of the process.
//!
//! Of that very file, and of no other of its file system: files of /proc and the like are drivers of their own,
//! and so are those of one block device (a file with DAX takes other flags than its neighbour). Of anonymous
//! inodes (eventfd, timerfd, signalfd, inotify, perf events and others) nothing is remembered: most of them are
//! one inode of one device, and nothing that fstat(2) says tells an event counter from a timer.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

use rustix::fs::FileType;

/// Whether the kernel may say by this that it knows no such call, or not for such a file.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    // ENOTSUP and EOPNOTSUPP are one number on Linux and two elsewhere.
    let refusals = [libc::EOPNOTSUPP, libc::ENOTSUP, libc::ENOSYS, libc::EINVAL];
    error
        .raw_os_error()
        .is_some_and(|code| refusals.contains(&code))
}

/// Where something is taken or not: a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `st_dev`.
    device: u64,
    /// `st_ino`.
    inode: u64,
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
            inode: stat.st_ino as u64,
            special: stat.st_rdev as u64,
            kind: FileType::from_raw_mode(stat.st_mode),
            is_direct,
        })
    }

    /// A number of 64 bits that is this place's, with the last 8 free; `None` for an anonymous inode, which has
    /// no type of file and is not told from another.
    ///
    /// It is a hash of 56 bits: of 64 places two agree once in 10^13 processes.
    fn key(self) -> Option<u64> {
        if self.kind == FileType::Unknown {
            return None;
        }
        let kind = self.kind.as_raw_mode();
        let mut hasher = DefaultHasher::new();
        (self.device, self.inode, self.special, kind, self.is_direct).hash(&mut hasher);
        Some(hasher.finish() & !BITS)
    }
}

/// What was refused where, as a set of 8 bits.
///
/// Atomics and no lock: a child process that is forked while another thread learns finds no lock that nobody
/// opens again. Whoever misses a refusal of just now is refused as well, so no order is asked for.
pub(crate) struct Refusals {
    /// Refused anywhere: while nothing that a transfer wants is, no descriptor need be looked at.
    anywhere: AtomicU32,
    /// Of each place its [key](Place::key) and what is refused there, or 0.
    places: [AtomicU64; MAX_PLACES],
    /// The next of them to be overwritten, modulo their number: the oldest.
    next: AtomicUsize,
}

/// The most places of which refusals are remembered: files come and go.
const MAX_PLACES: usize = 64;

/// The bits of an entry that say what is refused.
const BITS: u64 = 0xff;

impl Refusals {
    pub(crate) const fn new() -> Refusals {
        Refusals {
            anywhere: AtomicU32::new(0),
            places: [const { AtomicU64::new(0) }; MAX_PLACES],
            next: AtomicUsize::new(0),
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
        self.anywhere.load(Relaxed) & bits != 0
    }

    #[cold]
    fn known_at(&self, bits: u32, place: Option<Place>) -> u32 {
        let Some(key) = place.and_then(Place::key) else {
            return 0;
        };
        let entries = self.places.iter().map(|place| place.load(Relaxed));
        let refused = entries.filter(|entry| entry & !BITS == key);
        refused.fold(0, |all, entry| all | (entry & BITS) as u32) & bits
    }

    /// Remembers that `bits`, none above the eighth, were refused; nothing of an anonymous inode.
    pub(crate) fn learn(&self, bits: u32, place: impl FnOnce() -> Option<Place>) {
        let Some(key) = place().and_then(Place::key) else {
            return;
        };
        let bits_here = u64::from(bits) & BITS;
        let add = |entry: u64| (entry & !BITS == key).then_some(entry | bits_here);
        let is_known = |place: &AtomicU64| place.fetch_update(Relaxed, Relaxed, add).is_ok();
        if !self.places.iter().any(is_known) {
            let oldest = self.next.fetch_add(1, Relaxed) % MAX_PLACES;
            self.places[oldest].store(key | bits_here, Relaxed);
        }
        self.anywhere.fetch_or(bits, Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// The file of this number.
    pub(crate) fn place(inode: u64) -> Option<Place> {
        Some(Place {
            device: 1,
            inode,
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
    use proptest::prelude::*;

    #[test]
    fn few_places_are_remembered_and_the_oldest_is_forgotten() {
        let refusals = Refusals::new();
        for inode in 0..MAX_PLACES as u64 + 1 {
            refusals.learn(2, || place(inode));
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

    #[test]
    fn each_of_what_makes_a_place_makes_another() {
        let one = place(1).unwrap();
        let others = [
            Place { device: 2, ..one },
            Place { inode: 2, ..one },
            Place { special: 1, ..one },
            Place {
                is_direct: true,
                ..one
            },
            Place {
                kind: FileType::CharacterDevice,
                ..one
            },
        ];
        for other in others {
            let refusals = Refusals::new();
            refusals.learn(1, || Some(one));
            assert_eq!(refusals.known(1, || Some(other)), 0, "{other:?}");
            assert_eq!(refusals.known(1, || Some(one)), 1);
        }
    }

    #[test]
    fn of_anonymous_inodes_nothing_is_remembered() {
        let refusals = Refusals::new();
        let anonymous = Place {
            kind: FileType::Unknown,
            ..place(1).unwrap()
        };
        refusals.learn(1, || Some(anonymous));
        assert!(!refusals.has_any(1));
        refusals.learn(1, || place(2));
        assert_eq!(refusals.known(1, || Some(anonymous)), 0);
    }

    proptest! {
        #[test]
        fn it_is_a_map_of_the_last_places(
            steps in prop::collection::vec((0..2 * MAX_PLACES as u64, 0..8_u32), 1..400)
        ) {
            let refusals = Refusals::new();
            let mut model: Vec<(u64, u32)> = Vec::new();
            for (inode, bit) in steps {
                refusals.learn(1 << bit, || place(inode));
                match model.iter_mut().find(|(known, _)| *known == inode) {
                    Some((_, bits)) => *bits |= 1 << bit,
                    None => model.push((inode, 1 << bit)),
                }
                let oldest = model.len().saturating_sub(MAX_PLACES);
                model.drain(..oldest);
            }
            for inode in 0..2 * MAX_PLACES as u64 {
                let expected = model.iter().find(|(known, _)| *known == inode);
                let expected = expected.map_or(0, |(_, bits)| *bits);
                prop_assert_eq!(refusals.known(0xff, || place(inode)), expected);
            }
        }
    }

    /// A child has only the thread that forked it: what another one was about to do is never done.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_that_is_forked_while_another_thread_learns_goes_on() {
        use std::sync::atomic::AtomicBool;

        let (refusals, is_over) = (Refusals::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for inode in 0.. {
                    if is_over.load(Relaxed) {
                        break;
                    }
                    refusals.learn(1, || place(inode % 1000));
                }
            });
            let status = (0..100).map(|_| {
                crate::sys::fork::in_child(|| {
                    refusals.learn(2, || place(5000));
                    refusals.known(2, || place(5000)) == 2
                })
            });
            let ended: Vec<_> = status.take_while(|is_well| *is_well).collect();
            is_over.store(true, Relaxed);
            assert_eq!(ended.len(), 100, "a child ended badly or waited for ever");
        });
    }

    /// Each of what makes a place, on its own.
    #[test]
    #[cfg(target_os = "linux")]
    fn real_places_are_told_apart_by_file_special_file_kind_and_o_direct() {
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
        let other = of(&memfd_create("vectored-test", MemfdFlags::empty()).unwrap());
        assert_eq!(memory.device, other.device);
        assert_ne!(memory.key(), other.key());
        let counter = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
        assert_eq!(of(&counter).key(), None);
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
