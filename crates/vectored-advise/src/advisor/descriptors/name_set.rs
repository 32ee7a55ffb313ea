//! A set of names in bounded memory.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The most names that are kept. A full set counts as a set of all names.
const NAMES_MAX: usize = 1 << 16;

/// A set of the hashes of names. The set may contain a name that was never added. The set is used only where a wrong
/// "yes" makes the analysis more careful.
#[derive(Debug, Default)]
pub(crate) struct NameSet(HashSet<u64>);

impl NameSet {
    pub(crate) fn insert(&mut self, name: &[u8]) {
        if self.0.len() < NAMES_MAX {
            self.0.insert(hash(name));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, name: &[u8]) -> bool {
        !self.0.is_empty() && (self.0.len() >= NAMES_MAX || self.0.contains(&hash(name)))
    }
}

pub(crate) fn hash(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_it_is_full_every_name_may_be_in_it() {
        let mut marks = NameSet::default();
        assert!(!marks.has(b"a"));
        marks.insert(b"a");
        assert!(marks.has(b"a") && !marks.has(b"b"));
        for number in 0..NAMES_MAX {
            marks.insert(&number.to_le_bytes());
        }
        assert!(marks.has(b"b"));
    }
}
