//! `Gather` against the techniques written by hand, on lists that it should be
//! good at: `cargo bench -p vectored-lab`. With `--test`, a few rounds of each.
//!
//! All techniques take turns within one run; what counts is the ratio of
//! `adaptive` to the better of copying and gathering.

use std::sync::atomic::AtomicBool;

use vectored_lab::measure::{
    DescriptorSampler, MonotonicClock, Pinning, Watch, pin_measuring_thread, run,
};
use vectored_lab::model::{Cell, CellSpec, Experiment, Target, Technique, Workload};

const SECOND_NS: u64 = 1_000_000_000;

fn main() {
    let small_form = std::env::args().any(|argument| argument == "--test");
    let cells: Vec<CellSpec> = [Target::File, Target::Pipe, Target::Unix, Target::Null]
        .into_iter()
        .flat_map(|target| {
            workloads()
                .into_iter()
                .map(move |workload| CellSpec::write(target, workload))
        })
        .collect();
    let budget_ns = if small_form {
        SECOND_NS / 2
    } else {
        SECOND_NS * cells.len() as u64 / 2
    };
    let experiment = Experiment {
        cells,
        rivals: vec![Technique::CopyThenWrite, Technique::Writev],
        unranked: vec![Technique::Adaptive],
        refine: false,
        budget_ns,
        seed: 20_010_101,
    };
    let clock = MonotonicClock;
    let (_, reader_cpu) =
        pin_measuring_thread(Pinning::Current).expect("the current CPU is allowed");
    let mut sampler = DescriptorSampler::new(&clock, &std::env::temp_dir(), experiment.seed)
        .reader_cpu(reader_cpu);
    let watch = Watch {
        progress: &mut |_| (),
        stop: &AtomicBool::new(false),
    };
    let outcome = run(&experiment, &mut sampler, &clock, watch).expect("measuring failed");
    println!(
        "{:<7} {:<28} {:>11}  adaptive ÷ best",
        "target", "list", "best"
    );
    for cell in &outcome.cells {
        println!("{}", line(cell));
    }
    println!(
        "{} of {} cells measured",
        outcome.cells.len(),
        experiment.cells.len()
    );
}

fn workloads() -> Vec<Workload> {
    let log_line = [20, 6, 12, 40, 3, 1];
    let reply = |index: usize| if index.is_multiple_of(10) { 4096 } else { 16 };
    vec![
        Workload::uniform(2, 16),
        Workload::from_sizes(vec![100, 200]),
        Workload::uniform(1000, 10),
        Workload::uniform(1000, 100),
        Workload::uniform(16, 4096),
        Workload::from_sizes(log_line.repeat(64)),
        Workload::from_sizes((0..1000).map(reply).collect()),
    ]
}

fn line(cell: &Cell) -> String {
    let best = cell.leader.and_then(|leader| cell.technique(leader));
    let adaptive = cell.technique(Technique::Adaptive);
    let (Some(best), Some(adaptive)) = (best, adaptive) else {
        return format!("{:<7} not measured", cell.target);
    };
    let list = match (&cell.segment_sizes, cell.segment_bytes) {
        (Some(runs), _) => format!("{} segments in {} runs", cell.segment_count, runs.len()),
        (None, bytes) => format!("{} × {} B", cell.segment_count, bytes.unwrap_or(0)),
    };
    let interval = match (adaptive.ratio_low, adaptive.ratio_high) {
        (Some(low), Some(high)) => format!("[{low:.3}, {high:.3}]"),
        _ => "too few rounds for an interval".to_owned(),
    };
    format!(
        "{:<7} {list:<28} {:>8.0} ns  {:.3} {interval} of {}",
        cell.target, best.median_ns, adaptive.ratio_to_leader, best.name
    )
}
