//! A cache of the calls and flags that a file refused, kept for the life of the process.
//!
//! An entry is about one file, not about its file system: each file of /proc has its own driver code, and on one block
//! device a file with DAX takes other flags than its neighbour. Nothing is cached for anonymous inodes (eventfd,
//! timerfd, signalfd, inotify, perf events and others): most of them share one inode of one device, and fstat(2)
//! does not tell an event counter from a timer.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

use crate::sys::codes;
use crate::sys::file_identity::{FileIdentity, FileKind};

/// Whether the error may mean that the kernel, or this kind of file, does not support the call.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    // ENOTSUP and EOPNOTSUPP are one number on Linux and two elsewhere.
    let refusals = [
        codes::EOPNOTSUPP,
        codes::ENOTSUP,
        codes::ENOSYS,
        codes::EINVAL,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| refusals.contains(&code))
}

impl FileIdentity {
    /// A 56-bit hash of the identity, with the low 8 bits clear; `None` for an anonymous inode, which has no file
    /// type and cannot be told from another.
    ///
    /// Two of 64 files have the same hash once in 10^13 processes.
    fn key(self) -> Option<u64> {
        if self.kind == FileKind::Unknown {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        let file = (self.device, self.inode, self.special);
        (file, self.kind, self.is_direct).hash(&mut hasher);
        Some(hasher.finish() & !BITS)
    }
}

/// A set of up to 8 refused features (bits) for each of the last `MAX_FILES` files.
///
/// It uses atomics and no lock: a child that is forked while another thread holds a lock would find it locked for ever.
/// `Relaxed` suffices: a thread that misses a new entry is refused by the kernel once more.
pub(crate) struct SupportCache {
    /// The union of all entries ever made. While it holds none of the bits that a transfer needs, no fstat(2) is made.
    anywhere: AtomicU32,
    /// The [key](FileIdentity::key) of a file and its refused bits, or 0 for an unused entry.
    entries: [AtomicU64; MAX_FILES],
    /// The index of the oldest entry, which is overwritten next, modulo `MAX_FILES`.
    next: AtomicUsize,
}

/// The number of entries. Old ones are overwritten, since files come and go.
const MAX_FILES: usize = 64;

/// The bits of an entry that name refused features. The others are the key.
const BITS: u64 = 0xff;

impl SupportCache {
    pub(crate) const fn new() -> SupportCache {
        SupportCache {
            anywhere: AtomicU32::new(0),
            entries: [const { AtomicU64::new(0) }; MAX_FILES],
            next: AtomicUsize::new(0),
        }
    }

    /// The subset of `bits` that this file is known to refuse.
    pub(crate) fn known(&self, bits: u32, identity: impl FnOnce() -> Option<FileIdentity>) -> u32 {
        if self.has_any(bits) { self.known_at(bits, identity()) } else { 0 }
    }

    /// Whether any file is known to refuse any of `bits`.
    #[inline]
    pub(crate) fn has_any(&self, bits: u32) -> bool {
        self.anywhere.load(Relaxed) & bits != 0
    }

    #[cold]
    fn known_at(&self, bits: u32, identity: Option<FileIdentity>) -> u32 {
        let Some(key) = identity.and_then(FileIdentity::key) else {
            return 0;
        };
        let entries = self.entries.iter().map(|entry| entry.load(Relaxed));
        let refused = entries.filter(|entry| entry & !BITS == key);
        refused.fold(0, |all, entry| all | (entry & BITS) as u32) & bits
    }

    /// Records that the file refuses `bits`, of which none is above the eighth. Does nothing for an anonymous inode.
    pub(crate) fn learn(&self, bits: u32, identity: impl FnOnce() -> Option<FileIdentity>) {
        let Some(key) = identity().and_then(FileIdentity::key) else {
            return;
        };
        let bits_here = u64::from(bits) & BITS;
        let add = |entry: u64| (entry & !BITS == key).then_some(entry | bits_here);
        let is_known = |entry: &AtomicU64| entry.fetch_update(Relaxed, Relaxed, add).is_ok();
        if !self.entries.iter().any(is_known) {
            let oldest = self.next.fetch_add(1, Relaxed) % MAX_FILES;
            self.entries[oldest].store(key | bits_here, Relaxed);
        }
        self.anywhere.fetch_or(bits, Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// The file of this number.
    pub(crate) fn identity(inode: u64) -> Option<FileIdentity> {
        Some(FileIdentity {
            device: 1,
            inode,
            special: 0,
            kind: FileKind::Regular,
            is_direct: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::identity;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_files_are_remembered_and_the_oldest_is_forgotten() {
        let support = SupportCache::new();
        for inode in 0..MAX_FILES as u64 + 1 {
            support.learn(2, || identity(inode));
        }
        assert_eq!(support.known(3, || identity(0)), 0);
        assert_eq!(support.known(3, || identity(1)), 2);
    }

    #[test]
    fn what_a_file_refuses_adds_up() {
        let support = SupportCache::new();
        support.learn(1, || identity(1));
        support.learn(2, || identity(1));
        support.learn(4, || identity(2));
        assert_eq!(support.known(7, || identity(1)), 3);
        assert_eq!(support.known(2, || identity(1)), 2);
        assert_eq!(support.known(7, || None), 0);
    }

    #[test]
    fn no_descriptor_is_looked_at_while_nothing_was_refused() {
        let support = SupportCache::new();
        support.learn(1, || identity(1));
        let never = || -> Option<FileIdentity> { panic!("looked at") };
        assert_eq!(support.known(2, never), 0);
    }

    #[test]
    fn each_field_of_an_identity_makes_another_file() {
        let one = identity(1).unwrap();
        let others = [
            FileIdentity { device: 2, ..one },
            FileIdentity { inode: 2, ..one },
            FileIdentity { special: 1, ..one },
            FileIdentity {
                is_direct: true,
                ..one
            },
            FileIdentity {
                kind: FileKind::Character,
                ..one
            },
        ];
        for other in others {
            let support = SupportCache::new();
            support.learn(1, || Some(one));
            assert_eq!(support.known(1, || Some(other)), 0, "{other:?}");
            assert_eq!(support.known(1, || Some(one)), 1);
        }
    }

    #[test]
    fn of_anonymous_inodes_nothing_is_remembered() {
        let support = SupportCache::new();
        let anonymous = FileIdentity {
            kind: FileKind::Unknown,
            ..identity(1).unwrap()
        };
        support.learn(1, || Some(anonymous));
        assert!(!support.has_any(1));
        support.learn(1, || identity(2));
        assert_eq!(support.known(1, || Some(anonymous)), 0);
    }

    proptest! {
        #[test]
        fn it_is_a_map_of_the_last_files(
            steps in prop::collection::vec((0..2 * MAX_FILES as u64, 0..8_u32), 1..400)
        ) {
            let support = SupportCache::new();
            let mut model: Vec<(u64, u32)> = Vec::new();
            for (inode, bit) in steps {
                support.learn(1 << bit, || identity(inode));
                match model.iter_mut().find(|(known, _)| *known == inode) {
                    Some((_, bits)) => *bits |= 1 << bit,
                    None => model.push((inode, 1 << bit)),
                }
                let oldest = model.len().saturating_sub(MAX_FILES);
                model.drain(..oldest);
            }
            for inode in 0..2 * MAX_FILES as u64 {
                let expected = model.iter().find(|(known, _)| *known == inode);
                let expected = expected.map_or(0, |(_, bits)| *bits);
                prop_assert_eq!(support.known(0xff, || identity(inode)), expected);
            }
        }
    }

    /// A child has only the thread that forked it: what another one was about to do is never done.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_that_is_forked_while_another_thread_learns_goes_on() {
        use std::sync::atomic::AtomicBool;

        let (support, is_over) = (SupportCache::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for inode in 0.. {
                    if is_over.load(Relaxed) {
                        break;
                    }
                    support.learn(1, || identity(inode % 1000));
                }
            });
            let status = (0..100).map(|_| {
                crate::sys::fork::in_child(|| {
                    support.learn(2, || identity(5000));
                    support.known(2, || identity(5000)) == 2
                })
            });
            let ended: Vec<_> = status.take_while(|is_well| *is_well).collect();
            is_over.store(true, Relaxed);
            assert_eq!(ended.len(), 100, "a child ended badly or waited for ever");
        });
    }

    /// Each field of the identity tells two real files apart.
    #[test]
    #[cfg(target_os = "linux")]
    fn real_files_are_told_apart_by_file_special_file_kind_and_o_direct() {
        use rustix::fs::{MemfdFlags, memfd_create};
        use rustix::pipe::{PipeFlags, pipe_with};
        use std::fs::File;
        use std::os::fd::AsFd;

        let of = |fd: &dyn AsFd| FileIdentity::of(fd.as_fd()).unwrap();
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
        assert_eq!(of(&stream).kind, FileKind::Socket);
        let (_reader, plain) = pipe_with(PipeFlags::empty()).unwrap();
        let (_reader, direct) = pipe_with(PipeFlags::DIRECT).unwrap();
        assert_eq!(of(&plain).kind, FileKind::Fifo);
        assert!(!of(&plain).is_direct && of(&direct).is_direct);
        assert_ne!(of(&plain), of(&direct));
    }
}
