//! What a transfer costs, and what follows for the choice between copying and referencing.

pub(crate) mod chunking;
pub(crate) mod fit;
pub(crate) mod page_alignment;
pub(crate) mod thresholds;

use crate::Limits;
use crate::cost::chunking::ChunkPolicy;
use crate::cost::page_alignment::{PAGE_BYTES, fits_pages, page_ends};
use crate::cost::thresholds::{CopyThresholds, Measured, between};

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

/// Linux keeps this many `iovec`s on its stack: `UIO_FASTIOV` in `include/uapi/linux/uio.h`.
const FAST_IOVECS: usize = 8;

/// From this size on a segment is large.
pub(crate) const LARGE_SEGMENT_BYTES: usize = 256;

impl CostModel {
    /// The size of a staging buffer for calls within these limits: a loaded model may say anything.
    pub(crate) const fn staging_within(&self, limits: Limits) -> usize {
        match self.staging_bytes < limits.bytes {
            true => self.staging_bytes,
            false => limits.bytes,
        }
    }

    /// The model for a kind of target, from measurements of one machine (2-core x86-64 VM, Linux
    /// 6.18, lists of 1000 segments of 10 to 1000 bytes).
    ///
    /// | | `File` (ext4) | `Pipe` | `Socket` (Unix) | `Other` |
    /// |---|---|---|---|---|
    /// | `call_ns` | 400 | 300 | 400 | 300 |
    /// | `gather_call_ns` | 60 | 60 | 60 | 60 |
    /// | `segment_ns` | 21 | 20 | 22 | 20 |
    /// | `large_segment_ns` | 60 | 20 | 22 | 20 |
    /// | `iovec_step_ns` | 100 | 40 | 30 | 40 |
    /// | `page_end_ns` | 0 | 40 | 35 | 0 |
    /// | `byte_ns` | 0.2 | 0.1 | 0.25 | 0.1 |
    /// | `copy_segment_ns` | 3.5 | 2 | 4 | 2 |
    /// | `copy_byte_ns` | 0.04 | 0.03 | 0.045 | 0.03 |
    /// | `copy_byte_uncached_ns` | 0.09 | 0.08 | 0.09 | 0.08 |
    /// | `staging_bytes` | 262,144 | 262,144 | 262,144 | 262,144 |
    /// | `pieces` | – | 8 KiB beyond 32 KiB | – | – |
    #[must_use]
    pub const fn default_for(target: TargetKind) -> CostModel {
        let other = CostModel {
            call_ns: 300.0,
            gather_call_ns: 60.0,
            segment_ns: 20.0,
            large_segment_ns: 20.0,
            iovec_step_ns: 40.0,
            page_end_ns: 0.0,
            byte_ns: 0.1,
            copy_segment_ns: 2.0,
            copy_byte_ns: 0.03,
            copy_byte_uncached_ns: 0.08,
            staging_bytes: 256 * 1024,
            copy_thresholds: CopyThresholds::NONE,
            chunk_policy: None,
        };
        match target {
            TargetKind::Other => other,
            TargetKind::Pipe => CostModel {
                page_end_ns: 40.0,
                chunk_policy: Some(ChunkPolicy::OF_PIPES),
                ..other
            },
            TargetKind::File => CostModel {
                call_ns: 400.0,
                segment_ns: 21.0,
                large_segment_ns: 60.0,
                iovec_step_ns: 100.0,
                byte_ns: 0.2,
                copy_segment_ns: 3.5,
                copy_byte_ns: 0.04,
                copy_byte_uncached_ns: 0.09,
                ..other
            },
            TargetKind::Socket => CostModel {
                call_ns: 400.0,
                segment_ns: 22.0,
                large_segment_ns: 22.0,
                iovec_step_ns: 30.0,
                page_end_ns: 35.0,
                byte_ns: 0.25,
                copy_segment_ns: 4.0,
                copy_byte_ns: 0.045,
                copy_byte_uncached_ns: 0.09,
                ..other
            },
        }
    }

    /// The longest segment that is worth copying in a list of `segment_count` segments, in bytes.
    ///
    /// It is the size at which a list of so many equal segments costs the same both ways. A segment
    /// that is copied saves what it would cost as an `iovec`, and its share of what the call pays
    /// once:
    ///
    /// ```text
    /// saved    = large_segment_ns − copy_segment_ns
    ///            + (gather_call_ns + (iovec_step_ns if n > 8)) / n
    /// cached   = saved / copy_byte_ns
    /// uncached = saved / (copy_byte_uncached_ns + call_ns / staging_bytes)
    ///
    /// copy_below_bytes = max(min(cached, staging_bytes / n), uncached)
    /// ```
    ///
    /// Where that is less than 256 bytes, `segment_ns` takes the place of `large_segment_ns`, and the
    /// border is 256 bytes at most.
    ///
    /// So segments are copied at the price of the cache as long as all of them fit the staging
    /// buffer. A list that does not fit it goes out in several calls, and pays for the larger memory
    /// and the further calls: there the border is the lower one, `uncached`, and segments between the
    /// two are referenced.
    ///
    /// [Thresholds](CostModel::copy_thresholds) that were measured take the place of this:
    ///
    /// - at a count at which one was, it is that one;
    /// - between two such counts it is interpolated, `log(bytes)` by `log(count)`;
    /// - beyond the last of them, a border of `b` bytes at `m` segments, it is `b` if `n` segments of `b` bytes fit the
    ///   staging buffer. It is also `b` if `m · b ≥ staging_bytes / 2`: `b` then holds for calls that stage much, and a
    ///   longer list takes several of these. Otherwise it is `staging_bytes / n`, at least `uncached` and at most `b`.
    ///
    /// It is 0 for fewer than two segments, where there is nothing to merge, and never above
    /// `staging_bytes`. With numbers that make no sense (negative, not a number) it is some value in
    /// that range.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::CostModel;
    ///
    /// let model = CostModel::default();
    /// assert_eq!(model.copy_below_bytes(1), 0);
    /// assert_eq!(model.copy_below_bytes(2), 1600); // (20 − 2 + 60 / 2) / 0.03
    /// assert_eq!(model.copy_below_bytes(16), 808); // (20 − 2 + (60 + 40) / 16) / 0.03
    /// assert_eq!(model.copy_below_bytes(1000), 262); // 262,144 / 1000: all that fits is copied
    /// assert_eq!(model.copy_below_bytes(3000), 222); // (20 − 2 + …) / (0.08 + 300 / 262,144)
    /// ```
    #[must_use]
    pub fn copy_below_bytes(&self, segment_count: usize) -> usize {
        if segment_count < 2 {
            return 0;
        }
        let border = match self.copy_thresholds.around(segment_count) {
            (Some(below), Some(above)) => between(below, above, segment_count),
            (Some(last), None) => self.border_beyond(last, segment_count),
            (None, _) => self.border_by_numbers(segment_count),
        };
        border.min(self.staging_bytes)
    }

    /// Whether a list of `segment_count` segments of `segment_bytes` each is worth copying.
    ///
    /// As [`copy_below_bytes`](CostModel::copy_below_bytes) has it, but for segments that divide a
    /// page, or that pages divide: each of them that ends where a page does spares referencing
    /// `page_end_ns`, and so the border of such lists is lower:
    ///
    /// ```text
    /// copied if segment_bytes · copy_byte_ns + min(segment_bytes ÷ 4096, 1) · page_end_ns
    ///           ≤ copy_below_bytes · copy_byte_ns
    /// ```
    ///
    /// [`Gather`](crate::Gather) takes a list for one of these if its first two segments are equally
    /// long, and of 512 bytes or more: for shorter ones it goes by `copy_below_bytes` alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::{CostModel, TargetKind};
    ///
    /// let model = CostModel { page_end_ns: 40.0, ..CostModel::default() };
    /// assert_eq!(model.copy_below_bytes(4), 1100);
    /// assert!(model.copies(4, 1000));
    /// assert!(!model.copies(4, 1024)); // four of them fill a page
    /// assert!(model.copies(4, 1048));
    /// ```
    #[must_use]
    pub fn copies(&self, segment_count: usize, segment_bytes: usize) -> bool {
        segment_count > 1 && self.copies_up_to(self.copy_below_bytes(segment_count), segment_bytes)
    }

    /// The same, where the border for that count is known.
    pub(crate) fn copies_up_to(&self, copy_below_bytes: usize, segment_bytes: usize) -> bool {
        if segment_bytes > copy_below_bytes || !fits_pages(segment_bytes) {
            return segment_bytes <= copy_below_bytes;
        }
        let page_ends = (segment_bytes as f64 / PAGE_BYTES as f64).min(1.0);
        let left = (copy_below_bytes - segment_bytes) as f64;
        // Numbers that make no sense decide nothing.
        let spares_more = page_ends * self.page_end_ns > left * self.copy_byte_ns;
        !spares_more
    }

    /// The border at a count that is not below the last one at which it was measured.
    fn border_beyond(&self, last: Measured, segment_count: usize) -> usize {
        let staged = |count: usize| last.bytes.saturating_mul(count);
        if segment_count == last.count
            || staged(segment_count) <= self.staging_bytes
            || staged(last.count) >= self.staging_bytes / 2
        {
            return last.bytes;
        }
        let fitting = self.staging_bytes / segment_count;
        // The numbers know what copying is worth that does not fit, and say so of endless lists.
        last.bytes
            .min(fitting.max(self.border_by_numbers(usize::MAX)))
    }

    /// The border that follows from the numbers.
    fn border_by_numbers(&self, segment_count: usize) -> usize {
        let large = self.border(segment_count, self.large_segment_ns);
        let border = if large >= LARGE_SEGMENT_BYTES as f64 {
            large
        } else {
            let small = self.border(segment_count, self.segment_ns);
            small.min(LARGE_SEGMENT_BYTES as f64)
        };
        // `as` rounds down, and turns what is negative or not a number into 0.
        border as usize
    }

    /// The border if each segment costs this much in `writev(2)`.
    fn border(&self, segment_count: usize, segment_ns: f64) -> f64 {
        let n = segment_count as f64;
        let staging = self.staging_bytes as f64;
        let once = self.gather_call_ns + self.step_ns(segment_count);
        let saved = segment_ns - self.copy_segment_ns + once / n;
        let cached = saved / self.copy_byte_ns;
        let uncached = saved / (self.copy_byte_uncached_ns + self.call_ns / staging);
        cached.min(staging / n).max(uncached)
    }

    /// What a list that lies in one piece of so many bytes is taken to cost, in ns.
    #[must_use]
    pub fn write_ns(&self, bytes: u64) -> f64 {
        self.call_ns + bytes as f64 * self.byte_ns
    }

    /// What a list of so many equal segments and bytes in all is taken to cost by `writev(2)`, in ns.
    ///
    /// ```
    /// use vectored::CostModel;
    ///
    /// let model = CostModel::default();
    /// let (gathered, copied) = (model.writev_ns(16, 64 << 10), model.copy_then_write_ns(16, 64 << 10));
    /// assert!(gathered < copied); // 16 segments of 4 KiB
    /// ```
    #[must_use]
    pub fn writev_ns(&self, segment_count: usize, bytes: u64) -> f64 {
        let is_large = bytes >= (segment_count as u64).saturating_mul(LARGE_SEGMENT_BYTES as u64);
        let segment_ns = match is_large {
            true => self.large_segment_ns,
            false => self.segment_ns,
        };
        let once = self.gather_call_ns + self.step_ns(segment_count);
        let spared = page_ends(segment_count, bytes) as f64 * self.page_end_ns;
        let listed = once + segment_count as f64 * segment_ns - spared;
        self.write_ns(bytes) + listed.max(0.0)
    }

    /// What a list of so many segments and bytes in all is taken to cost where all are copied into one
    /// buffer, in ns.
    #[must_use]
    pub fn copy_then_write_ns(&self, segment_count: usize, bytes: u64) -> f64 {
        let byte_ns = match bytes > self.staging_bytes as u64 {
            true => self.copy_byte_uncached_ns,
            false => self.copy_byte_ns,
        };
        let copied = segment_count as f64 * self.copy_segment_ns + bytes as f64 * byte_ns;
        self.write_ns(bytes) + copied
    }

    fn step_ns(&self, segment_count: usize) -> f64 {
        if has_iovec_step(segment_count) {
            self.iovec_step_ns
        } else {
            0.0
        }
    }
}

/// Whether a list of so many segments pays `iovec_step_ns`.
pub(crate) fn has_iovec_step(segment_count: usize) -> bool {
    segment_count > FAST_IOVECS
}

impl Default for CostModel {
    /// The model for [`TargetKind::Other`].
    fn default() -> CostModel {
        CostModel::default_for(TargetKind::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [TargetKind; 4] = [
        TargetKind::File,
        TargetKind::Pipe,
        TargetKind::Socket,
        TargetKind::Other,
    ];

    #[test]
    fn the_table_of_defaults_is_what_the_code_says() {
        let file = include_str!("mod.rs");
        let row = |name: &str| -> Vec<f64> {
            let start = format!("/// | `{name}` |");
            let line = file
                .lines()
                .find_map(|line| line.trim().strip_prefix(&start));
            let cells = line.unwrap().trim_end_matches('|').replace(',', "");
            cells
                .split('|')
                .map(|cell| cell.trim().parse().unwrap())
                .collect()
        };
        let check = |name: &str, of: fn(CostModel) -> f64| {
            let coded = KINDS.map(|kind| of(CostModel::default_for(kind)));
            assert_eq!(row(name), coded, "{name}");
        };
        check("call_ns", |model| model.call_ns);
        check("gather_call_ns", |model| model.gather_call_ns);
        check("segment_ns", |model| model.segment_ns);
        check("large_segment_ns", |model| model.large_segment_ns);
        check("iovec_step_ns", |model| model.iovec_step_ns);
        check("page_end_ns", |model| model.page_end_ns);
        check("byte_ns", |model| model.byte_ns);
        check("copy_segment_ns", |model| model.copy_segment_ns);
        check("copy_byte_ns", |model| model.copy_byte_ns);
        check("copy_byte_uncached_ns", |model| model.copy_byte_uncached_ns);
        check("staging_bytes", |model| model.staging_bytes as f64);
    }

    #[test]
    fn a_lone_segment_is_never_copied() {
        for kind in KINDS {
            assert_eq!(CostModel::default_for(kind).copy_below_bytes(0), 0);
            assert_eq!(CostModel::default_for(kind).copy_below_bytes(1), 0);
        }
    }

    #[test]
    fn ten_bytes_are_copied_and_4000_referenced_at_every_count() {
        for kind in KINDS {
            for count in [2, 3, 8, 9, 100, 1000, 1_000_000, usize::MAX] {
                let border = CostModel::default_for(kind).copy_below_bytes(count);
                assert!((10..4000).contains(&border), "{kind:?}, {count}: {border}");
            }
        }
    }

    #[test]
    fn what_is_copied_at_the_price_of_the_cache_fits_the_staging_buffer() {
        for kind in KINDS {
            let model = CostModel::default_for(kind);
            for count in 2..10_000 {
                let border = model.copy_below_bytes(count);
                let fits = border * count <= model.staging_bytes;
                let uncached = model.border(count, model.large_segment_ns);
                assert!(fits || border as f64 <= uncached, "{count}: {border}");
            }
            assert!(model.copy_below_bytes(100_000) * 100_000 > model.staging_bytes);
        }
    }

    #[test]
    fn at_the_border_both_ways_cost_the_same() {
        let model = CostModel::default();
        for count in [2, 8, 9, 64, 256] {
            let bytes = (count * model.copy_below_bytes(count)) as u64;
            let saved = model.writev_ns(count, bytes) - model.copy_then_write_ns(count, bytes);
            // Within the byte that the border is rounded down by.
            let byte = count as f64 * model.copy_byte_ns;
            assert!((-0.001..=byte).contains(&saved), "{count}: {saved}");
        }
    }

    #[test]
    fn lists_that_fit_pages_are_copied_where_that_is_the_cheaper_way() {
        let model = CostModel {
            page_end_ns: 45.0,
            ..CostModel::default()
        };
        let (mut copied, mut referenced) = (0, 0);
        for count in [2, 3, 8, 9, 64, 100] {
            for bytes in [16, 256, 512, 1024, 2048, 4096] {
                // The end of the last segment spares nothing, which the border leaves aside.
                let all = (count * bytes) as u64;
                let saved = model.writev_ns(count, all) - model.copy_then_write_ns(count, all);
                let is_clear = saved.abs() > model.page_end_ns;
                if is_clear && count * bytes <= model.staging_bytes {
                    assert_eq!(model.copies(count, bytes), saved > 0.0, "{count} × {bytes}");
                    copied += usize::from(saved > 0.0);
                    referenced += usize::from(saved < 0.0);
                }
            }
        }
        assert!(copied > 5 && referenced > 5);
    }

    #[test]
    fn a_border_among_the_small_segments_is_theirs() {
        let model = CostModel {
            copy_byte_ns: 0.1,
            copy_byte_uncached_ns: 0.2,
            gather_call_ns: 0.0,
            large_segment_ns: 20.0,
            segment_ns: 12.0,
            iovec_step_ns: 0.0,
            ..CostModel::default()
        };
        // 180 bytes by the price of a large segment, which that is not.
        assert_eq!(model.copy_below_bytes(4), 100);
        let step = CostModel {
            segment_ns: 100.0,
            ..model
        };
        assert_eq!(step.copy_below_bytes(4), 256);
    }

    #[test]
    fn numbers_without_sense_give_a_border_within_the_staging_buffer() {
        let usual = CostModel::default();
        let numbers = [
            0.0,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
        ];
        for number in numbers {
            for model in [
                CostModel {
                    call_ns: number,
                    ..usual
                },
                CostModel {
                    segment_ns: number,
                    ..usual
                },
                CostModel {
                    gather_call_ns: number,
                    large_segment_ns: number,
                    ..usual
                },
                CostModel {
                    iovec_step_ns: number,
                    ..usual
                },
                CostModel {
                    copy_segment_ns: number,
                    ..usual
                },
                CostModel {
                    copy_byte_ns: number,
                    ..usual
                },
                CostModel {
                    copy_byte_uncached_ns: number,
                    ..usual
                },
            ] {
                for count in [0, 1, 2, 9, 1000] {
                    assert!(
                        model.copy_below_bytes(count) <= model.staging_bytes,
                        "{model:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_staging_buffer_means_no_copying() {
        let model = CostModel {
            staging_bytes: 0,
            ..CostModel::default()
        };
        for count in [1, 2, 100, 10_000] {
            assert_eq!(model.copy_below_bytes(count), 0);
        }
    }
}
