//! The models of each kind of target, measured on one machine.

use crate::cost::chunking::ChunkPolicy;
use crate::cost::queue_thresholds::QueueThresholds;
use crate::cost::thresholds::CopyThresholds;
use crate::cost::{CostModel, TargetKind};

impl CostModel {
    /// The default model for a kind of target, from measurements of one machine (2-core x86-64 VM, Linux
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
    /// | `chunk_policy` | – | chunks of 8 KiB, threshold 12 KiB | – | – |
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::{CostModel, Gather};
    /// use vectored::cost::TargetKind;
    ///
    /// let model = CostModel::for_target(TargetKind::File);
    /// assert_eq!(model.large_segment_ns, 60.0);
    /// let gather = Gather::with_model(model);
    /// # let _ = gather;
    /// ```
    #[must_use]
    pub const fn for_target(target: TargetKind) -> CostModel {
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
            queue_thresholds: QueueThresholds::NONE,
        };
        match target {
            TargetKind::Other => other,
            TargetKind::Pipe => CostModel {
                page_end_ns: 40.0,
                chunk_policy: Some(ChunkPolicy::OF_PIPES),
                ..other
            },
            TargetKind::File | TargetKind::FileOverwrite => CostModel {
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
            TargetKind::Unix | TargetKind::Tcp => CostModel {
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
