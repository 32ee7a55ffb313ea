//! What a transfer costs, and what follows for the choice between copying and referencing.

pub(crate) mod chunking;
mod decision;
mod defaults;
pub(crate) mod fit;
mod least_squares;
pub(crate) mod page_alignment;
mod prediction;
pub(crate) mod thresholds;

use crate::Limits;
use crate::cost::chunking::ChunkPolicy;
use crate::cost::thresholds::CopyThresholds;

/// What a call, a segment and a byte cost on a kind of target: plain numbers, to be read and set.
///
/// All times are in nanoseconds. A list of `n` segments and `b` bytes in all is taken to cost
///
/// - `call_ns + b · byte_ns` where it lies in one piece (`write(2)`);
/// - that, and `gather_call_ns + n · segment_ns`, where every segment is referenced (`writev(2)`),
///   with `large_segment_ns` in place of `segment_ns` if segments have 256 bytes or more, and
///   `iovec_step_ns` on top if `n > 8`, less `page_end_ns` for each segment but the last that ends
///   where a page of 4096 bytes does, counted from the start of the list;
/// - that, and `n · copy_segment_ns + b · copy_byte_ns`, where every segment is copied into one
///   buffer first, with `copy_byte_uncached_ns` in place of `copy_byte_ns` if `b > staging_bytes`.
///
/// [`CostModel::calibrate`] measures these numbers on the machine at hand in some 40 ms, and the
/// [`borders`](CostModel::copy_thresholds) between copying and referencing besides; [`CostModel::fit`] finds
/// the numbers in measurements that exist.
///
/// Take a model for the kind of target that is written to, also when it is calibrated: one calibration for each kind.
/// A model of a pipe has [`pieces`](CostModel::chunk_policy) of 8 KiB; on a Unix socket lists of 32 to 256 KiB took 2 to 4
/// times as long by it ([`ChunkPolicy`]).
///
/// # Saving and loading
///
/// With the feature `serde` a model can be saved and loaded: its fields by their names, a file
/// without `borders` as one in which none were measured, and one without `pieces` as one that has none. Unknown fields
/// are ignored. Nothing is checked, since whatever a model says all bytes go, in order: one that makes no sense chooses
/// badly, and `staging_bytes` is the memory that is taken.
///
/// In JSON, numbers that are not finite cannot be saved. By default `serde_json` may load a number with another last
/// bit than was saved, so the loaded model may be unequal to the saved one (no choice depends on that bit). With the
/// feature `float_roundtrip` of `serde_json` they are equal.
///
/// A result of `vectored measure` has up to two models of each target in `cost_models`. Load the one whose `source` is
/// `"calibration"`: its [`borders`](CostModel::copy_thresholds) were measured by trying both ways.
///
/// ```
/// # #[cfg(feature = "serde")]
/// # {
/// # let file = r#"{ "cost_models": [
/// #     { "target": "pipe", "source": "cells", "call_ns": 1 },
/// #     { "target": "pipe", "source": "calibration", "call_ns": 166.0, "gather_call_ns": 28.7, "segment_ns": 22.4,
/// #       "large_segment_ns": 26.2, "iovec_step_ns": 53.3, "byte_ns": 0.068, "copy_segment_ns": 2.01,
/// #       "copy_byte_ns": 0.024, "copy_byte_uncached_ns": 0.08, "staging_bytes": 262144 }
/// # ] }"#;
/// let results: serde_json::Value = serde_json::from_str(file).unwrap();
/// let mut models = results["cost_models"].as_array().unwrap().iter();
/// let saved = models.find(|model| model["target"] == "pipe" && model["source"] == "calibration");
/// let model: vectored::CostModel = serde_json::from_value(saved.unwrap().clone()).unwrap();
/// # assert_eq!(model.call_ns, 166.0);
/// # }
/// ```
///
/// The [defaults](CostModel::default_for) were measured on one machine, a virtual one with 2 cores
/// (x86-64) and Linux 6.18, and rounded. They are a start: another processor, kernel or file system
/// has other numbers, and the same one has other numbers on a busy day. To be wrong by a factor of
/// two costs little, since around the border both ways cost about the same.
///
/// # Examples
///
/// ```
/// use vectored::{CostModel, Gather};
///
/// // A kernel in which segments are twice as dear: more is copied.
/// let usual = CostModel::default();
/// let dear = CostModel { large_segment_ns: 2.0 * usual.large_segment_ns, ..usual };
/// assert!(dear.copy_below_bytes(16) > usual.copy_below_bytes(16));
/// let gather = Gather::new(dear);
/// # let _ = gather;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CostModel {
    /// A system call that moves nothing, in ns a call: 150–400 on a file or pipe.
    pub call_ns: f64,
    /// What `writev(2)` costs more than `write(2)` whatever its list holds, in ns a call: 30–120.
    pub gather_call_ns: f64,
    /// What a segment of less than 256 bytes costs in `writev(2)` beyond its bytes, in ns a segment:
    /// 20–35.
    pub segment_ns: f64,
    /// What a segment of 256 bytes or more costs in `writev(2)` beyond its bytes, in ns a segment:
    /// as much as a smaller one, but on ext4 60–200.
    ///
    /// A processor copies a long piece by an instruction that takes a while to start (`rep movsb`),
    /// and the kernel sets out anew for each segment.
    pub large_segment_ns: f64,
    /// What a `writev(2)` of more than 8 segments costs on top, in ns a call: 30–110.
    ///
    /// Linux has room for 8 `iovec`s on its stack (`UIO_FASTIOV`) and allocates for more.
    pub iovec_step_ns: f64,
    /// What a segment costs less that ends where a page of the target does, in ns a segment: 30–45 on
    /// pipes and sockets, 80–160 in tmpfs where a list begins with a page.
    ///
    /// The kernel copies page by page and segment by segment, a piece each; where both end together it
    /// is one piece less. So lists of 1024 or 2048 bytes a segment gather better than lists of a few
    /// bytes more or less.
    #[cfg_attr(feature = "serde", serde(default))]
    pub page_end_ns: f64,
    /// What the kernel needs to move a byte, in ns a byte. The same for both ways, so it decides
    /// nothing between them.
    pub byte_ns: f64,
    /// What it costs to copy a segment beyond its bytes, in ns a segment: 1.5–4.
    pub copy_segment_ns: f64,
    /// Copying within the CPU's caches, in ns a byte: about 0.03.
    pub copy_byte_ns: f64,
    /// Copying beyond the CPU's caches, in ns a byte: about 0.08.
    pub copy_byte_uncached_ns: f64,
    /// The size of the staging buffer, in bytes: 256 KiB.
    ///
    /// It should fit the second-level cache together with what is copied into it. No call stages more than
    /// this. 0 turns copying off. On a file [`calibrate`](CostModel::calibrate) makes it up to 1 MiB, if it sees
    /// that lists of so many bytes are worth copying there. Whoever works by the model
    /// ([`Gather`](crate::Gather), [`Scatter`](crate::Scatter)) allocates all of it when first used.
    pub staging_bytes: usize,
    /// Thresholds between copying and referencing that were measured, in bytes by number of segments.
    ///
    /// None by default: the border then follows from the numbers above.
    #[cfg_attr(feature = "serde", serde(default, rename = "borders"))]
    pub copy_thresholds: CopyThresholds,
    /// When a list goes in several calls although one would take it: on pipes, beyond 32 KiB, and
    /// without a pause between lists beyond 12 KiB.
    ///
    /// No part of the costs above, and neither fitted nor calibrated.
    #[cfg_attr(
        feature = "serde",
        serde(default, rename = "pieces", skip_serializing_if = "Option::is_none")
    )]
    pub chunk_policy: Option<ChunkPolicy>,
}

/// What a descriptor leads to, as far as costs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum TargetKind {
    /// A regular file on a disk's file system, through the page cache.
    File,
    /// A pipe or FIFO.
    Pipe,
    /// A stream socket, local or TCP.
    Socket,
    /// Anything else, or not known.
    #[default]
    Other,
}

impl CostModel {
    /// The size of a staging buffer for calls within these limits: a loaded model may say anything.
    pub(crate) const fn staging_within(&self, limits: Limits) -> usize {
        match self.staging_bytes < limits.bytes {
            true => self.staging_bytes,
            false => limits.bytes,
        }
    }
}
