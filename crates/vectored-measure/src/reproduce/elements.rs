//! `kalinin`: a thousand elements of ten sizes, written with `writev` or copied and written.

use std::fs::File;
use std::io;

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::Clock;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::OFlags;
use vectored_results::model::{
    ExperimentName, ExperimentRow, Reproduction, RowKey, Sample, TechniqueName, Times,
};

use crate::measure::{Contender, MeasureError, Mover, movers};
use crate::reproduce::content::check_repeated;
use crate::reproduce::{Bench, Plan, REPEATS, Sampler, Step};

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
}

impl Plan for ElementPlan {
    fn name(&self) -> ExperimentName {
        NAME
    }

    fn is_reduced(&self) -> bool {
        self.reduced
    }

    /// Only one file exists at a time.
    fn file_bytes(&self) -> u64 {
        let largest = self.element_bytes.iter().max().copied().unwrap_or(0);
        (largest * ELEMENTS * TECHNIQUES.len()) as u64 * u64::from(self.calls)
    }

    /// One step a size, with a row for each technique.
    fn steps(&self) -> Vec<Step> {
        let step = |&bytes: &usize| Step {
            rows: TECHNIQUES
                .map(|technique| ExperimentRow {
                    calls: Some(u64::from(self.calls)),
                    ..ExperimentRow::here(RowKey {
                        technique: technique.to_string(),
                        segment_count: Some(ELEMENTS),
                        segment_bytes: Some(bytes),
                        ..RowKey::default()
                    })
                })
                .to_vec(),
            name: format!("elements of {bytes} B"),
            repeats: self.repeats,
            guess_s: f64::from(self.calls) * 2.0 * (30e-6 + (bytes * ELEMENTS) as f64 * 1e-9),
        };
        self.element_bytes.iter().map(step).collect()
    }

    fn begin<'a>(
        &'a self,
        _: &mut Bench<'_>,
        _: &mut Reproduction,
    ) -> Result<Option<Sampler<'a>>, MeasureError> {
        Ok(Some(Box::new(|step, bench, rng| {
            self.write_file(bench, self.element_bytes[step], rng)
                .map(Some)
        })))
    }
}

impl ElementPlan {
    /// Writes one file, to which both techniques append alternately. Returns the mean times of their calls.
    fn write_file(
        &self,
        bench: &Bench<'_>,
        element_bytes: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Sample>, MeasureError> {
        let failed = |error| {
            let directory = bench.directory.display();
            MeasureError::io(format!("cannot write to a file in '{directory}'"))(error)
        };
        // Each element has its own allocation, as in the published program.
        let elements: Vec<Vec<u8>> = (0..ELEMENTS)
            .map(|_| {
                let bytes = std::iter::repeat_with(|| rng.u8(..));
                bytes.take(element_bytes).collect()
            })
            .collect();
        let segments: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
        // Neither technique uses the model.
        let model = CostModel::default();
        let mut movers =
            TECHNIQUES.map(|technique| movers(Contender::Technique(technique), &model));
        for mover in &mut movers {
            mover.prepare(&segments, 0);
        }
        let file = File::from(unnamed_file(bench.directory, OFlags::APPEND).map_err(failed)?);
        let mut spent = [Spent::default(); 2];
        for _ in 0..self.calls {
            for (index, mover) in movers.iter_mut().enumerate() {
                let added = spent[index].add(bench.clock, &file, mover.as_mut(), &segments);
                let contender = Contender::Technique(TECHNIQUES[index]);
                added.map_err(|error| MeasureError::of_call(contender, "a file", error))?;
            }
        }
        let calls = self.calls * TECHNIQUES.len() as u32;
        let names = ("writev alternating with copy-then-write", NAME.name());
        check_repeated(file.as_fd(), &segments.concat(), calls, names)?;
        let mean_s = |ns: u64| Some(ns as f64 / f64::from(self.calls) / 1e9);
        let samples = spent.map(|spent| Sample {
            times: Times {
                cpu_s: mean_s(spent.cpu_ns),
                clock_s: mean_s(spent.clock_ns),
                ..Times::default()
            },
            ..Sample::default()
        });
        Ok(samples.to_vec())
    }
}

/// Total times of the calls of a technique.
#[derive(Clone, Copy, Default)]
struct Spent {
    cpu_ns: u64,
    clock_ns: u64,
}

impl Spent {
    /// Times one call. The CPU clock costs a system call, so it is read outside the interval of the wall clock.
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
}
