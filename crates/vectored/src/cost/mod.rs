//! The costs of a transfer, and the choice between copying and referencing.

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

/// The costs of a call, a segment and a byte on a kind of target. The costs decide which segments are copied and
/// which segments are referenced.
///
/// All fields may be read and set. All times are in nanoseconds. For a list of `n` segments and `b` bytes, the
/// model predicts these times:
///
/// - `write(2)` of the same number of contiguous bytes: `call_ns + b · byte_ns`.
/// - `writev(2)` that references every segment: the time of the `write(2)`, plus `gather_call_ns + n ·
///   segment_ns`. If segments have 256 bytes or more, `large_segment_ns` replaces `segment_ns`. If `n > 8`,
///   `iovec_step_ns` is added. For each segment that ends at the end of a page, `page_end_ns` is subtracted. The
///   pages have 4096 bytes, and the first page begins at the start of the list. The end of the last segment does
///   not count.
/// - Copying every segment into one buffer, then `write(2)`: the time of the `write(2)`, plus `n ·
///   copy_segment_ns + b · copy_byte_ns`. If `b > staging_bytes`, `copy_byte_uncached_ns` replaces
///   `copy_byte_ns`.
///
/// [`CostModel::calibrate`] measures these costs and the [thresholds](CostModel::copy_thresholds) between copying
/// and referencing on the current machine, in about 50 ms. [`CostModel::fit`] computes the costs and the
/// thresholds from existing measurements.
///
/// Calibrate a model for each kind of target that the program writes to. For example, chunks save time on a pipe,
/// but take 2 to 4 times as long as one call on a Unix socket ([`ChunkPolicy`]).
///
/// # Saving and loading
///
/// With the feature `serde`, a model can be saved and loaded by the names of its fields. Only fields of type
/// `Option` may be missing. The values are not checked: wrong costs only make transfers slower. JSON cannot
/// represent infinite numbers and NaN. `serde_json` preserves the last bit of a number only with its feature
/// `float_roundtrip`.
///
/// With the feature `load`, `CostModel::load` reads the model of a target from a saved result of `vectored measure`.
///
/// The [defaults](CostModel::for_target) are a first guess: each processor, kernel and file system has its own
/// costs. A cost that is wrong by a factor of two does little harm, because both techniques take about the same
/// time near the threshold.
///
/// A minor version may add a cost, so derive your model from a default model by [`with`](CostModel::with).
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
    /// The cost of a segment of 256 bytes or more in `writev(2)`, without its bytes, in ns a segment. Typical:
    /// 60–200 on ext4. On other targets, the cost is typically equal to `segment_ns`.
    ///
    /// The kernel copies each long segment by `rep movsb`, an instruction with a high startup cost.
    pub large_segment_ns: f64,
    /// The extra cost of a `writev(2)` of more than 8 segments, in ns a call. Typical: 30–110.
    ///
    /// Linux keeps up to 8 `iovec`s on its stack (`UIO_FASTIOV`) and allocates memory for more.
    pub iovec_step_ns: f64,
    /// The saving if a segment ends at the end of a page of the target, in ns a segment. Typical: 30–45 on pipes
    /// and sockets, 80–160 in tmpfs if the list begins at the start of a page.
    ///
    /// The kernel starts a new copy at each page and at each segment. If a page and a segment end together, the
    /// kernel starts one copy fewer. So segments of 1024 or 2048 bytes cost less to gather than segments that are
    /// a few bytes longer or shorter.
    pub page_end_ns: f64,
    /// The kernel's cost of moving a byte, in ns a byte. Copying and referencing both have this cost, so no
    /// decision depends on it.
    pub byte_ns: f64,
    /// The cost of copying a segment into the staging buffer, without its bytes, in ns a segment. Typical: 1.5–4.
    pub copy_segment_ns: f64,
    /// The cost of copying a byte within the CPU's caches, in ns a byte. Typical: 0.03.
    pub copy_byte_ns: f64,
    /// The cost of copying a byte beyond the CPU's caches, in ns a byte. Typical: 0.08.
    pub copy_byte_uncached_ns: f64,
    /// The size of the staging buffer, in bytes. Default: 256 KiB.
    ///
    /// The buffer and the segments that are copied into it should fit the second-level cache together. With 0,
    /// nothing is copied. [`calibrate`](CostModel::calibrate) and [`fit`](CostModel::fit) increase the size to up
    /// to 1 MiB if copying longer lists was faster. The whole buffer is allocated at the first copy.
    pub staging_bytes: usize,
    /// Measured thresholds between copying and referencing, in bytes, by number of segments.
    ///
    /// Empty by default. If a count has no measured threshold, the costs above give the threshold.
    pub copy_thresholds: CopyThresholds,
    /// The policy for lists that are sent in several calls, although one call could take them. The default models
    /// split only lists of more than 28 KiB, on pipes.
    ///
    /// The policy does not depend on the costs. [`calibrate`](CostModel::calibrate) and [`fit`](CostModel::fit)
    /// do not change it.
    pub chunk_policy: Option<ChunkPolicy>,
    /// Measured thresholds of a [`SegmentQueue`](crate::SegmentQueue).
    ///
    /// Empty by default. If a threshold is not measured, the costs above give the threshold.
    /// [`calibrate`](CostModel::calibrate) measures the thresholds of a queue, and [`fit`](CostModel::fit) does
    /// not change them.
    pub queue_thresholds: QueueThresholds,
}

/// The kind of file that a descriptor refers to. Kinds are distinguished only if their costs differ.
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
    /// Returns a copy of this model, modified by `change`.
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

    /// A loaded model may contain any number, so the size is limited to the bytes of a call.
    pub(crate) const fn staging_within(&self, limits: Limits) -> usize {
        if self.staging_bytes < limits.bytes {
            self.staging_bytes
        } else {
            limits.bytes
        }
    }
}
