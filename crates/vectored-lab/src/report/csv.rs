//! CSV: a line for each cell and technique.

use ::csv::WriterBuilder;

use crate::model::{Cell, Results, TechniqueResult};
use crate::text::format::csv_word as word;

const HEAD: [&str; 64] = [
    "target",
    "path",
    "operation",
    "segment_count",
    "segment_bytes",
    "segment_sizes",
    "layout",
    "cache",
    "page_cache",
    "iovec_setup",
    "sync",
    "file_system",
    "span_bytes",
    "queue_depth",
    "drain",
    "rounds",
    "floor_ns",
    "verdict",
    "winner",
    "leader",
    "noise_floor",
    "aa_separated",
    "proof_calls",
    "technique",
    "rival",
    "contender",
    "calls_per_sample",
    "median_ns",
    "min_ns",
    "cpu_median_ns",
    "gather_tax",
    "ratio_to_leader",
    "ratio_low",
    "ratio_high",
    "floor_ratio",
    "floor_ratio_low",
    "floor_ratio_high",
    "refined",
    "open_because",
    "swept_mix",
    "latency_transfers",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_p999_ns",
    "writers",
    "writer_median_ns",
    "records_per_s",
    "bytes_per_s",
    "fairness",
    "fairness_min",
    "whole_records_promised",
    "records",
    "torn",
    "lost",
    "doubled",
    "out_of_order",
    "zerocopy_sends",
    "zerocopy_copied",
    "ranks",
    "rank_median_ns",
    "rank_last_share",
    "calls_per_s",
    "stragglers",
    "direct",
];

/// Everything except the samples, a line for each technique of each cell. Columns have the names of the
/// JSON fields.
pub fn csv(results: &Results) -> String {
    lines(&[results], false)
}

/// The same for several runs, with `host`, `kernel` and `started_at` as first columns.
pub fn csv_of_runs(runs: &[&Results]) -> String {
    lines(runs, true)
}

fn lines(runs: &[&Results], names_runs: bool) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory, with equally many fields in each line, cannot fail.
    const SOUND: &str = "a line as long as the head, into memory";
    let run_head: &[&str] = match names_runs {
        true => &["host", "kernel", "started_at"],
        false => &[],
    };
    let head = run_head.iter().chain(&HEAD);
    writer.write_record(head).expect(SOUND);
    for results in runs {
        let run: &[String] = match names_runs {
            true => &[
                word(&results.host.name),
                word(&results.host.kernel),
                word(&results.started_at),
            ],
            false => &[],
        };
        let cells = results.cells.iter().map(|cell| (cell, false));
        let refined = results.refined_cells.iter().map(|cell| (cell, true));
        for (cell, is_refined) in cells.chain(refined) {
            for technique in &cell.techniques {
                let rival = results.rivals.contains(&technique.name);
                let record = line(cell, technique, rival, is_refined);
                writer.write_record(run.iter().chain(&record)).expect(SOUND);
            }
        }
    }
    let bytes = writer.into_inner().expect(SOUND);
    String::from_utf8(bytes).expect("text in, text out")
}

fn line(cell: &Cell, technique: &TechniqueResult, rival: bool, refined: bool) -> [String; 64] {
    let figures = technique.writers.as_ref();
    let of_ranks = technique.ranks.as_ref();
    let records = figures.map(|figures| figures.records);
    [
        word(&cell.conditions.target),
        word(&cell.conditions.path),
        word(&cell.conditions.operation),
        word(&cell.segment_count),
        word(&cell.segment_bytes),
        word(&cell.segment_sizes),
        word(&cell.conditions.layout),
        word(&cell.conditions.cache),
        word(&cell.conditions.page_cache),
        word(&cell.conditions.iovec_setup),
        word(&cell.conditions.sync),
        word(&cell.file_system),
        word(&cell.span_bytes),
        word(&cell.conditions.queue_depth),
        word(&cell.drain),
        word(&cell.rounds),
        word(&cell.floor_ns),
        word(&cell.verdict),
        word(&cell.winner),
        word(&cell.leader),
        word(&cell.noise_floor),
        word(&cell.aa_separated),
        word(&cell.proof_calls),
        word(&technique.name),
        word(&rival),
        word(&technique.contender),
        word(&technique.calls_per_sample),
        word(&technique.median_ns),
        word(&technique.min_ns),
        word(&technique.cpu_median_ns),
        word(&technique.gather_tax),
        word(&technique.ratio_to_leader),
        word(&technique.ratio_low),
        word(&technique.ratio_high),
        word(&technique.floor_ratio),
        word(&technique.floor_ratio_low),
        word(&technique.floor_ratio_high),
        word(&refined),
        word(&cell.open_because),
        word(&cell.swept_mix),
        word(&technique.latency.latency_transfers),
        word(&technique.latency.latency_p50_ns),
        word(&technique.latency.latency_p99_ns),
        word(&technique.latency.latency_p999_ns),
        word(&cell.conditions.writers),
        word(&figures.map(|figures| &figures.writer_median_ns)),
        word(&figures.map(|figures| figures.records_per_s)),
        word(&figures.map(|figures| figures.bytes_per_s)),
        word(&figures.map(|figures| figures.fairness)),
        word(&figures.map(|figures| figures.fairness_min)),
        word(&figures.map(|figures| figures.whole_records_promised)),
        word(&records.map(|records| records.records)),
        word(&records.map(|records| records.torn)),
        word(&records.map(|records| records.lost)),
        word(&records.map(|records| records.doubled)),
        word(&records.map(|records| records.out_of_order)),
        word(&technique.zerocopy.map(|counts| counts.sends)),
        word(&technique.zerocopy.map(|counts| counts.copied)),
        word(&cell.conditions.ranks),
        word(&of_ranks.map(|figures| &figures.rank_median_ns)),
        word(&of_ranks.map(|figures| &figures.rank_last_share)),
        word(&of_ranks.map(|figures| figures.calls_per_s)),
        word(&of_ranks.map(|figures| &figures.stragglers)),
        word(&cell.conditions.direct),
    ]
}
