//! The bytes of an owner of any type, in one allocation.

#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::slice;

/// The bytes of an owner. The owner is dropped with this value.
pub(crate) struct OwnedBytes {
    /// The result of the only call of `as_ref`.
    bytes: NonNull<[u8]>,
    /// The pointer comes from `Box::into_raw`. A moved `Box` would assert that no pointer into the box is used again.
    owner: NonNull<dyn Send>,
}

// SAFETY: `owner` is `Send`. `bytes` is a shared slice, which any thread may read.
unsafe impl Send for OwnedBytes {}

// SAFETY: a shared reference gives access only to `bytes`, which no code writes. `owner` is used only in `drop`.
unsafe impl Sync for OwnedBytes {}

impl OwnedBytes {
    /// Moves `owner` to the heap and calls `as_ref` once.
    pub(crate) fn new<T: AsRef<[u8]> + Send + 'static>(owner: T) -> OwnedBytes {
        let owner = Box::into_raw(Box::new(owner));
        let guard = DropOwner(owner);
        // SAFETY: `owner` comes from `Box::into_raw`. No other reference to the owner exists until the owner is
        // dropped.
        let bytes = NonNull::from(unsafe { &*owner }.as_ref());
        std::mem::forget(guard);
        let owner: *mut dyn Send = owner;
        OwnedBytes {
            bytes,
            // SAFETY: the pointer of a `Box` is not null.
            owner: unsafe { NonNull::new_unchecked(owner) },
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: `as_ref` returned these bytes for a borrow of the owner. The owner is not dropped before `drop`, does
        // not move, and is not borrowed again. So the bytes stay valid and unchanged.
        unsafe { slice::from_raw_parts(self.bytes.as_ptr().cast::<u8>(), self.bytes.len()) }
    }
}

impl AsRef<[u8]> for OwnedBytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Drop for OwnedBytes {
    fn drop(&mut self) {
        // SAFETY: `owner` comes from `Box::into_raw` and is dropped only here. `bytes` is not used again.
        drop(unsafe { Box::from_raw(self.owner.as_ptr()) });
    }
}

/// Drops an owner whose `as_ref` panicked.
struct DropOwner<T>(*mut T);

impl<T> Drop for DropOwner<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from `Box::into_raw`. The guard is forgotten if the owner is kept.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// This owner returns other bytes at each call, and counts its drops. `Cell` makes the type `!Sync`.
    struct Fickle {
        inline: [u8; 8],
        asked: Cell<usize>,
        drops: Arc<AtomicUsize>,
    }

    impl AsRef<[u8]> for Fickle {
        fn as_ref(&self) -> &[u8] {
            self.asked.set(self.asked.get() + 1);
            &self.inline[..8 / self.asked.get()]
        }
    }

    impl Drop for Fickle {
        fn drop(&mut self) {
            self.drops.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn an_owner_is_asked_once_and_dropped_once_though_moved() {
        let drops = Arc::new(AtomicUsize::new(0));
        let owned = OwnedBytes::new(Fickle {
            inline: *b"inline b",
            asked: Cell::new(0),
            drops: Arc::clone(&drops),
        });
        let moved = std::thread::spawn(move || {
            assert_eq!(owned.as_slice(), b"inline b");
            Box::new(owned)
        });
        let moved = moved.join().unwrap();
        assert_eq!(moved.as_slice(), b"inline b");
        assert_eq!(moved.as_slice().len(), 8, "asked again");
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        drop(moved);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn an_owner_that_panics_is_dropped() {
        struct Panics(Arc<AtomicUsize>);
        impl AsRef<[u8]> for Panics {
            fn as_ref(&self) -> &[u8] {
                panic!("no bytes");
            }
        }
        impl Drop for Panics {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let drops = Arc::new(AtomicUsize::new(0));
        let owner = Panics(Arc::clone(&drops));
        let made = catch_unwind(AssertUnwindSafe(|| OwnedBytes::new(owner)));
        assert!(made.is_err());
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    }
}
