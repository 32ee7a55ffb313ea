//! The cost of a transfer, and the choice between copying and referencing that follows from it.

pub(crate) mod chunking;
pub(crate) mod crossing;
mod decision;
mod defaults;
pub(crate) mod fit;
mod least_squares;
pub(crate) mod page_alignment;
mod prediction;
pub(crate) mod queue_thresholds;
pub(crate) mod queueing;
#[cfg(feature = "load")]
mod saved;
pub(crate) mod thresholds;

pub use self::chunking::ChunkPolicy;
pub use self::fit::Observation;
pub use self::queue_thresholds::QueueThresholds;
pub use self::thresholds::{CopyThresholds, UnknownSegmentCount};
use crate::sys::limits::Limits;

/// The costs of a call, a segment and a byte on a kind of target. They decide which segments are copied and which are
/// referenced.
///
/// All fields may be read and set. All times are in nanoseconds. For a list of `n` segments and `b` bytes in all, the
/// model predicts:
///
/// - `write(2)` of the same bytes in one piece: `call_ns + b · byte_ns`;
/// - `writev(2)` that references every segment: the time of that `write(2)`, plus `gather_call_ns + n · segment_ns`. If
///   segments have 256 bytes or more, `large_segment_ns` replaces `segment_ns`. If `n > 8`, `iovec_step_ns` is added.
///   `page_end_ns` is subtracted for each segment, except the last segment, that ends at the end of a 4096-byte page,
///   counted from the start of the list;
/// - copying every segment into one buffer, then `write(2)`: the time of that `write(2)`, plus
///   `n · copy_segment_ns + b · copy_byte_ns`. If `b > staging_bytes`, `copy_byte_uncached_ns` replaces
///   `copy_byte_ns`.
///
/// [`CostModel::calibrate`] measures these numbers on the current machine in about 50 ms, and also the
/// [thresholds](CostModel::copy_thresholds) between copying and referencing. [`CostModel::fit`] computes
/// both from existing measurements.
///
/// Use a model for the kind of target that is written to, and calibrate once for each kind: chunks pay on a pipe, but
/// take 2 to 4 times as long as one call on a Unix socket ([`ChunkPolicy`]).
///
/// # Saving and loading
///
/// With the feature `serde` a model can be saved and loaded, with the names of its fields. Only fields that may be `None`
/// may be missing. The values are not checked: wrong costs only make transfers slower. JSON cannot hold numbers that are
/// not finite, and `serde_json` keeps the last bit of a number only with its feature `float_roundtrip`.
///
/// With the feature `load`, `CostModel::load` reads the model of a target from a saved result of `vectored measure`.
///
/// The [defaults](CostModel::for_target) are a first guess: each processor, kernel and file system has its own costs. A
/// cost that is wrong by a factor of two does little harm, since near the threshold both techniques take about the same time.
///
/// A minor version may add a cost: make your model from a default model by [`with`](CostModel::with).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CostModel {
    /// The cost of a system call that moves no byte, in ns a call. Typical: 150–400 on a file or pipe.
    pub call_ns: f64,
    /// The extra cost of `writev(2)` over `write(2)`, for any list, in ns a call. Typical: 30–120.
    pub gather_call_ns: f64,
    /// The cost of a segment of less than 256 bytes in `writev(2)`, without its bytes, in ns a segment.
    /// Typical: 20–35.
    pub segment_ns: f64,
    /// The cost of a segment of 256 bytes or more in `writev(2)`, without its bytes, in ns a segment. Typical: as for a
    /// smaller segment, but 60–200 on ext4.
    ///
    /// The kernel copies each long segment by `rep movsb`, an instruction with a high startup cost.
    pub large_segment_ns: f64,
    /// The extra cost of a `writev(2)` of more than 8 segments, in ns a call. Typical: 30–110.
    ///
    /// Linux keeps up to 8 `iovec`s on its stack (`UIO_FASTIOV`) and allocates memory for more.
    pub iovec_step_ns: f64,
    /// The saving for a segment that ends at the end of a page of the target, in ns a segment. Typical: 30–45 on
    /// pipes and sockets, 80–160 in tmpfs if the list begins at the start of a page.
    ///
    /// The kernel starts a new copy at each page and at each segment. Where both end together, the kernel starts one
    /// copy less. Segments of 1024 or 2048 bytes therefore cost less to gather than segments a few bytes longer or
    /// shorter.
    pub page_end_ns: f64,
    /// The kernel's cost of moving a byte, in ns a byte. The cost is the same for copying and referencing, so no decision
    /// depends on it.
    pub byte_ns: f64,
    /// The cost of copying a segment into the staging buffer, without its bytes, in ns a segment. Typical: 1.5–4.
    pub copy_segment_ns: f64,
    /// The cost of copying a byte within the CPU's caches, in ns a byte. Typical: 0.03.
    pub copy_byte_ns: f64,
    /// The cost of copying a byte beyond the CPU's caches, in ns a byte. Typical: 0.08.
    pub copy_byte_uncached_ns: f64,
    /// The size of the staging buffer, in bytes. Default: 256 KiB.
    ///
    /// The buffer and the segments that are copied into it should fit the second-level cache together. 0 turns copying
    /// off. [`calibrate`](CostModel::calibrate) and [`fit`](CostModel::fit) raise the size to up to 1 MiB if copying
    /// lists of that many bytes was faster. The whole buffer is allocated when something is first copied.
    pub staging_bytes: usize,
    /// Measured thresholds between copying and referencing, in bytes, by number of segments.
    ///
    /// Empty by default: the threshold then follows from the costs above.
    pub copy_thresholds: CopyThresholds,
    /// When a list is sent in several calls although one call could take it. The default models split only
    /// lists of more than 28 KiB, on pipes.
    ///
    /// The policy is independent of the costs above, and neither fitted nor calibrated.
    pub chunk_policy: Option<ChunkPolicy>,
    /// Measured thresholds of a [`SegmentQueue`](crate::SegmentQueue).
    ///
    /// Empty by default: the thresholds then follow from the costs above. The thresholds of a queue are calibrated, and
    /// not fitted.
    pub queue_thresholds: QueueThresholds,
}

/// The kind of file that a descriptor refers to, as far as costs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum TargetKind {
    /// A regular file on a disk. The file is appended to, through the page cache.
    File,
    /// A regular file that is overwritten.
    FileOverwrite,
    /// A pipe or FIFO.
    Pipe,
    /// A Unix stream socket.
    Unix,
    /// A TCP socket.
    Tcp,
    /// Any other kind, or an unknown kind.
    #[default]
    Other,
}

impl CostModel {
    /// A copy of this model in which `change` has set some costs.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::{CostModel, Gather};
    /// use vectored::cost::TargetKind;
    ///
    /// // References every segment.
    /// let model = CostModel::for_target(TargetKind::Pipe).with(|costs| costs.staging_bytes = 0);
    /// let gather = Gather::with_model(model);
    /// # let _ = gather;
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut CostModel)) -> CostModel {
        change(&mut self);
        self
    }

    /// The size of the staging buffer, in bytes, capped at the bytes of a call, since a loaded model may hold any
    /// number.
    pub(crate) const fn staging_within(&self, limits: Limits) -> usize {
        if self.staging_bytes < limits.bytes {
            self.staging_bytes
        } else {
            limits.bytes
        }
    }
}
