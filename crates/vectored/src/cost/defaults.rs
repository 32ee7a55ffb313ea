//! The models of each kind of target, chosen over several machines.

use crate::cost::chunking::ChunkPolicy;
use crate::cost::queue_thresholds::QueueThresholds;
use crate::cost::thresholds::CopyThresholds;
use crate::cost::{CostModel, TargetKind};

impl CostModel {
    /// The default model for a kind of target. Its numbers are between the costs of three machines (AMD Zen 4 and Zen 5, Intel Skylake,
    /// Linux 6.18). They are those with which lists of equal segments take at most 7.3 % longer than by the fastest technique
    /// on each of the three.
    ///
    /// | | `File` (ext4) | `Pipe` | `Socket` (Unix) | `Other` |
    /// |---|---|---|---|---|
    /// | `call_ns` | 400 | 300 | 400 | 300 |
    /// | `gather_call_ns` | 100 | 70 | 80 | 60 |
    /// | `segment_ns` | 30 | 26 | 31 | 26 |
    /// | `large_segment_ns` | 55 | 26 | 31 | 26 |
    /// | `iovec_step_ns` | 150 | 20 | 20 | 30 |
    /// | `page_end_ns` | 0 | 20 | 20 | 0 |
    /// | `byte_ns` | 0.2 | 0.1 | 0.25 | 0.1 |
    /// | `copy_segment_ns` | 4 | 2 | 2.5 | 2 |
    /// | `copy_byte_ns` | 0.024 | 0.015 | 0.02 | 0.02 |
    /// | `copy_byte_uncached_ns` | 0.042 | 0.036 | 0.045 | 0.04 |
    /// | `staging_bytes` | 262,144 | 262,144 | 262,144 | 262,144 |
    /// | `chunk_policy` | – | chunks of 8 KiB, threshold 28 KiB | – | – |
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::{CostModel, Gather};
    /// use vectored::cost::TargetKind;
    ///
    /// let model = CostModel::for_target(TargetKind::File);
    /// assert_eq!(model.large_segment_ns, 55.0);
    /// let gather = Gather::with_model(model);
    /// # let _ = gather;
    /// ```
    #[must_use]
    pub const fn for_target(target: TargetKind) -> CostModel {
        let other = CostModel {
            call_ns: 300.0,
            gather_call_ns: 60.0,
            segment_ns: 26.0,
            large_segment_ns: 26.0,
            iovec_step_ns: 30.0,
            page_end_ns: 0.0,
            byte_ns: 0.1,
            copy_segment_ns: 2.0,
            copy_byte_ns: 0.02,
            copy_byte_uncached_ns: 0.04,
            staging_bytes: 256 * 1024,
            copy_thresholds: CopyThresholds::NONE,
            chunk_policy: None,
            queue_thresholds: QueueThresholds::NONE,
        };
        match target {
            TargetKind::Other => other,
            TargetKind::Pipe => CostModel {
                gather_call_ns: 70.0,
                iovec_step_ns: 20.0,
                page_end_ns: 20.0,
                copy_byte_ns: 0.015,
                copy_byte_uncached_ns: 0.036,
                chunk_policy: Some(ChunkPolicy::OF_PIPES),
                ..other
            },
            TargetKind::File | TargetKind::FileOverwrite => CostModel {
                call_ns: 400.0,
                gather_call_ns: 100.0,
                segment_ns: 30.0,
                large_segment_ns: 55.0,
                iovec_step_ns: 150.0,
                byte_ns: 0.2,
                copy_segment_ns: 4.0,
                copy_byte_ns: 0.024,
                copy_byte_uncached_ns: 0.042,
                ..other
            },
            TargetKind::Unix | TargetKind::Tcp => CostModel {
                call_ns: 400.0,
                gather_call_ns: 80.0,
                segment_ns: 31.0,
                large_segment_ns: 31.0,
                iovec_step_ns: 20.0,
                page_end_ns: 20.0,
                byte_ns: 0.25,
                copy_segment_ns: 2.5,
                copy_byte_uncached_ns: 0.045,
                ..other
            },
        }
    }
}

impl Default for CostModel {
    /// The model for [`TargetKind::Other`].
    fn default() -> CostModel {
        CostModel::for_target(TargetKind::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [TargetKind; 4] = [
        TargetKind::File,
        TargetKind::Pipe,
        TargetKind::Unix,
        TargetKind::Other,
    ];

    #[test]
    fn the_table_of_defaults_matches_the_code() {
        let file = include_str!("defaults.rs");
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
            let coded = KINDS.map(|kind| of(CostModel::for_target(kind)));
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
}
