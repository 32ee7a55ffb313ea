//! What a transfer costs, and what follows for the choice between copying and referencing.

/// What a call, a segment and a byte cost on a kind of target: plain numbers, to be read and set.
///
/// All times are in nanoseconds. A list of `n` segments and `b` bytes in all is taken to cost
///
/// - `call_ns + b · byte_ns + n · segment_ns`, and `iovec_step_ns` if `n > 8`, where every segment is
///   referenced (`writev(2)`);
/// - `call_ns + b · byte_ns + n · copy_segment_ns + b · copy_byte_ns` where every segment is copied
///   into one buffer first (`write(2)`), with `copy_byte_uncached_ns` in place of `copy_byte_ns` if
///   `b > staging_bytes`.
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
/// let dear = CostModel { segment_ns: 2.0 * usual.segment_ns, ..usual };
/// assert!(dear.copy_below_bytes(16) > usual.copy_below_bytes(16));
/// let gather = Gather::new(dear);
/// # let _ = gather;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// A system call that moves nothing, in ns a call: 150–400 on a file or pipe.
    pub call_ns: f64,
    /// What a segment costs in `writev(2)` beyond its bytes, in ns a segment: about 20.
    pub segment_ns: f64,
    /// What a `writev(2)` of more than 8 segments costs more, in ns a call: 30–110.
    ///
    /// Linux has room for 8 `iovec`s on its stack (`UIO_FASTIOV`) and allocates for more.
    pub iovec_step_ns: f64,
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
    /// It should fit the second-level cache together with what is copied into it. No call stages
    /// more than this. 0 turns copying off.
    pub staging_bytes: usize,
}

/// What a descriptor leads to, as far as costs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

impl CostModel {
    /// The model for a kind of target, from measurements of one machine (2-core x86-64 VM, Linux
    /// 6.18, lists of 1000 segments of 10 to 1000 bytes).
    ///
    /// | | `File` (ext4) | `Pipe` | `Socket` (Unix) | `Other` |
    /// |---|---|---|---|---|
    /// | `call_ns` | 400 | 300 | 400 | 300 |
    /// | `segment_ns` | 21 | 20 | 22 | 20 |
    /// | `iovec_step_ns` | 100 | 40 | 30 | 40 |
    /// | `byte_ns` | 0.2 | 0.1 | 0.25 | 0.1 |
    /// | `copy_segment_ns` | 3.5 | 2 | 4 | 2 |
    /// | `copy_byte_ns` | 0.04 | 0.03 | 0.045 | 0.03 |
    /// | `copy_byte_uncached_ns` | 0.09 | 0.08 | 0.09 | 0.08 |
    /// | `staging_bytes` | 262,144 | 262,144 | 262,144 | 262,144 |
    #[must_use]
    pub const fn default_for(target: TargetKind) -> CostModel {
        let other = CostModel {
            call_ns: 300.0,
            segment_ns: 20.0,
            iovec_step_ns: 40.0,
            byte_ns: 0.1,
            copy_segment_ns: 2.0,
            copy_byte_ns: 0.03,
            copy_byte_uncached_ns: 0.08,
            staging_bytes: 256 * 1024,
        };
        match target {
            TargetKind::Pipe | TargetKind::Other => other,
            TargetKind::File => CostModel {
                call_ns: 400.0,
                segment_ns: 21.0,
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
                iovec_step_ns: 30.0,
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
    /// that is copied saves its `segment_ns` and its share of what the call pays once:
    ///
    /// ```text
    /// saved    = segment_ns − copy_segment_ns + (iovec_step_ns if n > 8) / n
    /// cached   = saved / copy_byte_ns
    /// uncached = saved / (copy_byte_uncached_ns + call_ns / staging_bytes)
    ///
    /// copy_below_bytes = max(min(cached, staging_bytes / n), uncached)
    /// ```
    ///
    /// So segments are copied at the price of the cache as long as all of them fit the staging
    /// buffer. A list that does not fit it goes out in several calls, and pays for the larger memory
    /// and the further calls: there the border is the lower one, `uncached`, and segments between the
    /// two are referenced.
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
    /// assert_eq!(model.copy_below_bytes(2), 600); // (20 − 2) / 0.03
    /// assert_eq!(model.copy_below_bytes(16), 683); // (20 − 2 + 40 / 16) / 0.03
    /// assert_eq!(model.copy_below_bytes(1000), 262); // 262,144 / 1000: all that fits is copied
    /// assert_eq!(model.copy_below_bytes(3000), 221); // (20 − 2 + …) / (0.08 + 300 / 262,144)
    /// ```
    #[must_use]
    pub fn copy_below_bytes(&self, segment_count: usize) -> usize {
        if segment_count < 2 {
            return 0;
        }
        let n = segment_count as f64;
        let staging = self.staging_bytes as f64;
        let step = if segment_count > FAST_IOVECS {
            self.iovec_step_ns / n
        } else {
            0.0
        };
        let saved = self.segment_ns - self.copy_segment_ns + step;
        let cached = saved / self.copy_byte_ns;
        let uncached = saved / (self.copy_byte_uncached_ns + self.call_ns / staging);
        let border = cached.min(staging / n).max(uncached);
        // `as` rounds down, and turns what is negative or not a number into 0.
        (border as usize).min(self.staging_bytes)
    }
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
        let file = include_str!("cost.rs");
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
        check("segment_ns", |model| model.segment_ns);
        check("iovec_step_ns", |model| model.iovec_step_ns);
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
            let uncached = model.copy_below_bytes(usize::MAX);
            for count in 2..10_000 {
                let border = model.copy_below_bytes(count);
                // The share of the step of the 9th segment is what the few have beyond it.
                let is_cheap = border <= uncached + 150;
                assert!(
                    is_cheap || border * count <= model.staging_bytes,
                    "{count}: {border}"
                );
            }
        }
    }

    #[test]
    fn at_the_border_both_ways_cost_the_same() {
        let model = CostModel::default();
        for count in [2, 8, 9, 64, 256] {
            let n = count as f64;
            let bytes = n * model.copy_below_bytes(count) as f64;
            let step = if count > 8 { model.iovec_step_ns } else { 0.0 };
            let referenced = n * model.segment_ns + step;
            let copied = n * model.copy_segment_ns + bytes * model.copy_byte_ns;
            // Within the byte that the border is rounded down by.
            assert!(
                (0.0..=n * model.copy_byte_ns).contains(&(referenced - copied)),
                "{count}"
            );
        }
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
