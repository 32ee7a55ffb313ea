//! `kalinin`: a thousand elements of ten sizes, written with `writev` or copied
//! and written.

use std::fs::File;
use std::io;

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::Clock;
use vectored_machine::host::check_room;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::OFlags;
use vectored_results::model::{
    ExperimentName, ExperimentRow, Measure, Ratio, Reproduction, Setting, TechniqueName,
};

use crate::measure::{Contender, MeasureError, Mover, movers};
use crate::reproduce::bench::Bench;
use crate::reproduce::eta::EtaTracker;
use crate::reproduce::ratios::ratio;
use crate::reproduce::repeats::{REPEATS, Sample, interleaved, note, unmeasured};
use crate::reproduce::verify_content::check_repeated;

const NAME: ExperimentName = ExperimentName::Kalinin;

const ELEMENTS: usize = 1000;

/// The techniques in the order in which they alternate.
const TECHNIQUES: [TechniqueName; 2] = [TechniqueName::WRITEV, TechniqueName::COPY_THEN_WRITE];

/// The sizes of the elements, and the number of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementPlan {
    /// The sizes, in ascending order.
    pub element_bytes: Vec<usize>,
    /// Calls of each technique per file; the techniques alternate.
    pub calls: u32,
    /// Files of each size.
    pub repeats: usize,
    /// Whether the plan is smaller than the published experiment.
    pub reduced: bool,
}

impl ElementPlan {
    /// The ten published sizes, and 100 calls.
    pub fn published() -> Self {
        ElementPlan {
            element_bytes: vec![1, 3, 5, 10, 50, 100, 200, 300, 500, 1000],
            calls: 100,
            repeats: REPEATS,
            reduced: false,
        }
    }

    /// Length of the largest file. Only one exists at a time.
    pub fn file_bytes(&self) -> u64 {
        let largest = self.element_bytes.iter().max().copied().unwrap_or(0);
        (largest * ELEMENTS * TECHNIQUES.len()) as u64 * u64::from(self.calls)
    }

    pub(super) fn enter(&self, eta: &mut EtaTracker<'_>) {
        for (size, bytes) in self.element_bytes.iter().enumerate() {
            let call_s = 30e-6 + (bytes * ELEMENTS) as f64 * 1e-9;
            let guess_s = f64::from(self.calls) * 2.0 * call_s;
            let name = format!("elements of {bytes} B");
            eta.enter(NAME, size, name, (self.repeats, guess_s));
        }
    }

    pub(super) fn row_repeats(&self) -> Vec<usize> {
        vec![self.repeats; self.rows().len()]
    }

    /// Two rows per size.
    fn rows(&self) -> Vec<ExperimentRow> {
        let rows = |&bytes: &usize| {
            TECHNIQUES.map(|technique| ExperimentRow {
                technique: technique.to_string(),
                segment_count: Some(ELEMENTS),
                segment_bytes: Some(bytes),
                calls: Some(u64::from(self.calls)),
                ..ExperimentRow::default()
            })
        };
        self.element_bytes.iter().flat_map(rows).collect()
    }
}

pub(super) fn run(
    plan: &ElementPlan,
    bench: &mut Bench<'_>,
) -> (Reproduction, Option<MeasureError>) {
    let setting = Setting {
        repeats: plan.repeats,
        ..Setting::default()
    };
    let mut reproduction = Reproduction {
        reduced: plan.reduced,
        ..unmeasured(NAME, setting, plan.rows())
    };
    let failure = measure(plan, bench, &mut reproduction.rows).err();
    (reproduction, failure)
}

/// `writev` over copying, for every size. Rows come in these pairs.
pub(super) fn ratios(reproduction: &Reproduction) -> Vec<Ratio> {
    let Reproduction {
        rows, published, ..
    } = reproduction;
    let firsts = (0..rows.len()).step_by(TECHNIQUES.len());
    let pairs = [Measure::Cpu, Measure::Clock]
        .into_iter()
        .flat_map(|measure| firsts.clone().map(move |first| (first, measure)));
    pairs
        .filter_map(|(first, measure)| ratio(rows, (first, first + 1), measure, published))
        .collect()
}

fn measure(
    plan: &ElementPlan,
    bench: &mut Bench<'_>,
    rows: &mut [ExperimentRow],
) -> Result<(), MeasureError> {
    check_room(bench.directory, plan.file_bytes())?;
    let mut rng = Rng::with_seed(bench.seed);
    let sizes = vec![plan.repeats; plan.element_bytes.len()];
    for (repeat, size) in interleaved(&sizes, &mut rng) {
        if bench.is_stopped() {
            return Ok(());
        }
        let began_ns = bench.clock.now_ns();
        bench.eta.begin(NAME, size);
        let samples = write_file(plan, bench, plan.element_bytes[size], &mut rng)?;
        for (technique, sample) in samples.into_iter().enumerate() {
            note(&mut rows[2 * size + technique], repeat, sample);
        }
        let took_ns = bench.clock.now_ns() - began_ns;
        bench.eta.end(took_ns as f64 / 1e9);
    }
    Ok(())
}

/// Writes one file, to which both techniques append alternately. Returns the mean
/// times of their calls.
fn write_file(
    plan: &ElementPlan,
    bench: &Bench<'_>,
    element_bytes: usize,
    rng: &mut Rng,
) -> Result<[Sample; 2], MeasureError> {
    let failed = |error| {
        let directory = bench.directory.display();
        MeasureError::io(format!("cannot write to a file in '{directory}'"))(error)
    };
    // Each element has its own allocation, as in the published program.
    let elements: Vec<Vec<u8>> = (0..ELEMENTS)
        .map(|_| {
            std::iter::repeat_with(|| rng.u8(..))
                .take(element_bytes)
                .collect()
        })
        .collect();
    let segments: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
    // Neither technique uses the model.
    let model = CostModel::default();
    let mut movers = TECHNIQUES.map(|technique| movers(Contender::Technique(technique), &model));
    for mover in &mut movers {
        mover.prepare(&segments, 0);
    }
    let file = File::from(unnamed_file(bench.directory, OFlags::APPEND).map_err(failed)?);
    let mut times = [Times::default(); 2];
    for _ in 0..plan.calls {
        for (index, mover) in movers.iter_mut().enumerate() {
            let added = times[index].add(bench.clock, &file, mover.as_mut(), &segments);
            let contender = Contender::Technique(TECHNIQUES[index]);
            added.map_err(|error| MeasureError::of_call(contender, "a file", error))?;
        }
    }
    let image = segments.concat();
    let calls = plan.calls * TECHNIQUES.len() as u32;
    let both = "writev alternating with copy-then-write";
    check_repeated(file.as_fd(), &image, calls, both, NAME.name())?;
    Ok(times.map(|times| times.mean(plan.calls)))
}

/// Total times of the calls of a technique.
#[derive(Clone, Copy, Default)]
struct Times {
    cpu_ns: u64,
    clock_ns: u64,
}

impl Times {
    /// Times one call. The CPU clock costs a system call, so it is read outside
    /// the interval of the wall clock.
    fn add(
        &mut self,
        clock: &dyn Clock,
        file: &File,
        mover: &mut dyn Mover,
        segments: &[&[u8]],
    ) -> io::Result<()> {
        let cpu_ns = clock.thread_cpu_ns();
        let began_ns = clock.now_ns();
        mover.call(file.as_fd(), segments)?;
        self.clock_ns += clock.now_ns() - began_ns;
        self.cpu_ns += clock.thread_cpu_ns() - cpu_ns;
        Ok(())
    }

    fn mean(self, calls: u32) -> Sample {
        let mean_s = |ns: u64| ns as f64 / f64::from(calls) / 1e9;
        Sample {
            cpu_s: Some(mean_s(self.cpu_ns)),
            clock_s: mean_s(self.clock_ns),
            ..Sample::default()
        }
    }
}
