//! Measures one workload of your own, a header and its data, on the targets of
//! `vectored measure`, for a second each:
//!
//! `cargo run --release -p vectored-lab --example header_and_data -- 100 200`

use std::path::Path;
use std::sync::atomic::AtomicBool;

use vectored_lab::measure::{DescriptorSampler, MonotonicClock, Watch, run};
use vectored_lab::model::{CellSpec, Experiment, Target, Technique, Workload};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .map(|size| size.parse())
        .collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() {
        vec![100, 200]
    } else {
        sizes
    };
    let targets = Target::USUAL;
    let experiment = Experiment {
        cells: targets
            .map(|target| CellSpec::write(target, Workload::from_sizes(sizes.clone())))
            .into(),
        rivals: vec![
            Technique::WriteEach,
            Technique::CopyThenWrite,
            Technique::Writev,
        ],
        unranked: vec![Technique::Adaptive],
        refine: false,
        budget_ns: 1_000_000_000 * targets.len() as u64,
        seed: 1,
    };
    let clock = MonotonicClock;
    let mut sampler = DescriptorSampler::new(&clock, Path::new("."), experiment.seed);
    let watch = Watch {
        progress: &mut |_| (),
        stop: &AtomicBool::new(false),
    };
    for cell in run(&experiment, &mut sampler, &clock, watch)?.cells {
        println!(
            "{}: floor {:.0} ns, {:?} {}",
            cell.target,
            cell.floor_ns,
            cell.verdict,
            cell.winner.map_or("", Technique::name)
        );
        for technique in &cell.techniques {
            println!(
                "  {:<16} {:8.0} ns, {:+6.1} % over the floor, {:.3} × the leader [{:.3}, {:.3}], {} calls × {} rounds",
                technique.name,
                technique.median_ns,
                100.0 * technique.gather_tax,
                technique.ratio_to_leader,
                technique.ratio_low.unwrap_or(f64::NAN),
                technique.ratio_high.unwrap_or(f64::NAN),
                technique.calls_per_sample,
                technique.samples_ns.iter().flatten().count(),
            );
        }
    }
    Ok(())
}
