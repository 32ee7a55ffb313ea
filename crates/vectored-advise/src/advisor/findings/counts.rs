//! The counts of a pattern while a log is read.

use crate::advisor::findings::tally::join;
use crate::advisor::runs::run::add_counts;
use crate::model::{FileCalls, Tally};
use rustc_hash::FxHashMap;

/// Findings that are counted only if no other thread or process uses the same file or stream, by the place of the pattern in
/// `PatternCounts`.
pub(crate) type HeldFindings = FxHashMap<u32, Counts>;

/// The tally of a pattern, with call sites by number and files by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) tally: Tally,
    pub(crate) sites: Vec<(u32, u64, u64)>,
    pub(crate) files: Vec<(Vec<u8>, FileCalls)>,
    /// Ascending: the buffer that would change calls, the use of the calls, and their number.
    pub(crate) buffers: Vec<(u32, u32, u64)>,
}

/// Files of a finding that are counted separately while a log is read.
const FILES_READ: usize = 64;

impl Counts {
    pub(crate) fn join(&mut self, other: Counts) {
        join(&mut self.tally, &other.tally);
        add_counts(&mut self.sites, &other.sites);
        for (path, file) in other.files {
            self.join_file(&path, file);
        }
        for (buffer, used, calls) in other.buffers {
            let place = |known: &(u32, u32, u64)| (known.0, known.1).cmp(&(buffer, used));
            match self.buffers.binary_search_by(place) {
                Ok(place) => self.buffers[place].2 += calls,
                Err(place) => self.buffers.insert(place, (buffer, used, calls)),
            }
        }
    }

    fn join_file(&mut self, path: &[u8], new: FileCalls) {
        let is_it = |file: &&mut (Vec<u8>, FileCalls)| {
            file.1.descriptor == new.descriptor && file.0 == path
        };
        if let Some((_, file)) = self.files.iter_mut().find(is_it) {
            file.calls += new.calls;
            file.bytes += new.bytes;
        } else if self.files.len() < FILES_READ {
            self.files.push((path.to_vec(), new));
        } else {
            self.tally.more_files += 1;
        }
    }
}
