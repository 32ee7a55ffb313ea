//! Workloads: the list of segments, and the state in which it is moved.

use serde::{Deserialize, Serialize};

use crate::model::swept_mix::SweptMix;
use crate::model::words::words;

/// The sizes of one list of segments, in order, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    sizes: Vec<usize>,
    /// The mix of the list, and the size of the swept run.
    swept: Option<(SweptMix, usize)>,
}

impl Workload {
    pub fn uniform(count: usize, bytes: usize) -> Self {
        Workload::from_sizes(vec![bytes; count])
    }

    pub fn from_sizes(sizes: Vec<usize>) -> Self {
        assert!(!sizes.is_empty(), "a workload has at least one segment");
        assert!(
            sizes.iter().all(|&bytes| bytes > 0),
            "no segment of a workload is empty"
        );
        Workload { sizes, swept: None }
    }

    pub fn swept(mix: &SweptMix, bytes: usize) -> Self {
        let runs = mix.at(bytes).into_iter();
        let sizes = runs.flat_map(|(count, bytes)| std::iter::repeat_n(bytes, count));
        Workload {
            swept: Some((mix.clone(), bytes)),
            ..Workload::from_sizes(sizes.collect())
        }
    }

    pub fn swept_mix(&self) -> Option<&SweptMix> {
        self.swept.as_ref().map(|(mix, _)| mix)
    }

    /// This list with another size: of all segments, or of the swept run of a mix. `None` for a fixed mix.
    pub fn with_bytes(&self, bytes: usize) -> Option<Workload> {
        match &self.swept {
            Some((mix, _)) => Some(Workload::swept(mix, bytes)),
            None => {
                let count = self.segment_count();
                let is_uniform = self.uniform_bytes().is_some();
                is_uniform.then(|| Workload::uniform(count, bytes))
            }
        }
    }

    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    pub fn segment_count(&self) -> usize {
        self.sizes.len()
    }

    pub fn total_bytes(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// The size that all segments share, or `None` if sizes are mixed. A list of a swept mix counts as mixed
    /// even if its sizes happen to be equal.
    pub fn uniform_bytes(&self) -> Option<usize> {
        if self.swept.is_some() {
            return None;
        }
        let first = self.sizes[0];
        self.sizes.iter().all(|&b| b == first).then_some(first)
    }

    /// The sizes as runs of `(count, bytes)`, the form of a mix in results. Neighbouring runs have different
    /// sizes, except in a list of a swept mix.
    pub fn runs(&self) -> Vec<(usize, usize)> {
        if let Some((mix, bytes)) = &self.swept {
            return mix.at(*bytes);
        }
        self.sizes
            .chunk_by(|a, b| a == b)
            .map(|run| (run.len(), run[0]))
            .collect()
    }
}

words! {
    /// Whether the pages of a file that is read are in the page cache.
    #[derive(Default)]
    pub enum PageCache {
        /// The file was read before.
        #[default]
        Hot = "hot",
        /// The pages are evicted before each sample, which is verified.
        Cold = "cold",
    }
}

words! {
    /// How the segments lie in memory.
    #[derive(Default)]
    pub enum Layout {
        /// Apart from each other, in random order, laid out again in each round.
        #[default]
        Scattered = "scattered",
        /// Directly one after another, in order, in one allocation.
        Adjacent = "adjacent",
    }
}

words! {
    /// The state of the CPU's caches when a call begins.
    #[derive(Default)]
    pub enum Cache {
        /// All calls send the same segments.
        #[default]
        Hot = "hot",
        /// Successive calls take their segments from a pool twice the size of the last-level cache, so that
        /// the bytes come from memory.
        Cold = "cold",
    }
}

words! {
    /// When the array of `iovec` is filled.
    #[derive(Default)]
    pub enum IovecSetup {
        /// Every call fills it, within the timed region.
        #[default]
        Timed = "timed",
        /// The array is filled before the timed region, as if the caller kept it: no difference for techniques
        /// without one.
        Once = "once",
    }
}
