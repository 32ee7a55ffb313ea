//! `apue-14.28`, a header and its data, and `kalinin`, a thousand elements of ten sizes: a list that is written to one file
//! again and again.

use std::fs::File;

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::OFlags;
use vectored_machine::platform::processes::thread_usage;
use vectored_results::model::{
    ExperimentName, ExperimentRow, Operation, Reproduction, RowKey, Sample, Target, TechniqueName,
    Times,
};

use crate::measure::{Contender, Lists, MeasureError, Timed, calibrate, movers, techniques};
use crate::reproduce::content::check_repeated;
use crate::reproduce::{Bench, Plan, REPEATS, Sampler, Step, times};

const HEADER_BYTES: usize = 100;
const DATA_BYTES: usize = 200;

/// Records between two checks of the stop flag.
const RECORDS_PER_CHECK: u32 = 1 << 16;

const ELEMENTS: usize = 1000;

/// The techniques that write the elements, in the order in which they alternate.
const ALTERNATING: [TechniqueName; 2] = [TechniqueName::WRITEV, TechniqueName::COPY_THEN_WRITE];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPlan {
    /// The sizes of the elements of `kalinin`, in ascending order; `None` for `apue-14.28`.
    pub element_bytes: Option<Vec<usize>>,
    /// Calls of each technique in a file. The techniques of `kalinin` alternate in one file.
    pub calls: u32,
    pub repeats: usize,
    pub reduced: bool,
}

impl ListPlan {
    /// 1,048,576 records: 314,572,800 bytes.
    pub fn records() -> Self {
        ListPlan {
            element_bytes: None,
            calls: 1 << 20,
            repeats: REPEATS,
            reduced: false,
        }
    }

    pub fn elements() -> Self {
        ListPlan {
            element_bytes: Some(vec![1, 3, 5, 10, 50, 100, 200, 300, 500, 1000]),
            calls: 100,
            ..ListPlan::records()
        }
    }
}

impl Plan for ListPlan {
    fn name(&self) -> ExperimentName {
        match self.element_bytes {
            Some(_) => ExperimentName::Kalinin,
            None => ExperimentName::Apue1428,
        }
    }

    fn is_reduced(&self) -> bool {
        self.reduced
    }

    /// Only one file exists at a time.
    fn file_bytes(&self) -> u64 {
        let call_bytes = match &self.element_bytes {
            Some(sizes) => sizes.iter().max().unwrap_or(&0) * ELEMENTS * ALTERNATING.len(),
            None => HEADER_BYTES + DATA_BYTES,
        };
        call_bytes as u64 * u64::from(self.calls)
    }

    fn steps(&self) -> Vec<Step> {
        let step = |techniques: &[TechniqueName], name, (count, bytes), call_s| Step {
            rows: techniques
                .iter()
                .map(|technique| ExperimentRow {
                    calls: Some(u64::from(self.calls)),
                    ..ExperimentRow::here(RowKey {
                        technique: technique.to_string(),
                        segment_count: Some(count),
                        segment_bytes: bytes,
                        ..RowKey::default()
                    })
                })
                .collect(),
            name,
            repeats: self.repeats,
            guess_s: f64::from(self.calls) * call_s,
        };
        match &self.element_bytes {
            Some(sizes) => {
                let of_size = |&bytes: &usize| {
                    let call_s = 2.0 * (30e-6 + (bytes * ELEMENTS) as f64 * 1e-9);
                    let name = format!("elements of {bytes} B");
                    step(&ALTERNATING, name, (ELEMENTS, Some(bytes)), call_s)
                };
                sizes.iter().map(of_size).collect()
            }
            None => {
                let usual = techniques(Operation::Write, true).into_iter();
                usual
                    .map(|one| step(&[one], one.to_string(), (2, None), 2.5e-6))
                    .collect()
            }
        }
    }

    fn begin<'a>(
        &'a self,
        bench: &mut Bench<'_>,
        result: &mut Reproduction,
    ) -> Result<Option<Sampler<'a>>, MeasureError> {
        if let Some(sizes) = &self.element_bytes {
            return Ok(Some(Box::new(|step, bench, rng| {
                self.write_elements(bench, sizes[step], rng).map(Some)
            })));
        }
        result.setting.file_bytes = Some(self.file_bytes());
        let model = calibrate(Target::File, None, bench.directory).unwrap_or_else(|error| {
            result.notes.push(format!(
                "adaptive used the default cost model: calibration failed ({error})"
            ));
            None
        });
        let model = model.map(|fitted| fitted.model).unwrap_or_default();
        Ok(Some(Box::new(move |step, bench, rng| {
            let technique = techniques(Operation::Write, true)[step];
            let sample = self.write_records(bench, technique, &model, rng)?;
            Ok(sample.map(|sample| vec![sample]))
        })))
    }
}

impl ListPlan {
    fn write_records(
        &self,
        bench: &Bench<'_>,
        technique: TechniqueName,
        model: &CostModel,
        rng: &mut Rng,
    ) -> Result<Option<Sample>, MeasureError> {
        let failed = cannot_write(bench, technique.as_str());
        // New random bytes in every file, so that old bytes cannot pass for them.
        let (mut header, mut data) = ([0; HEADER_BYTES], [0; DATA_BYTES]);
        rng.fill(&mut header);
        rng.fill(&mut data);
        let lists = Lists::one(vec![&header, &data]);
        let contender = Contender::Technique(technique);
        let mut mover = movers(contender, model);
        mover.prepare(lists.first(), 0);
        let file = File::from(unnamed_file(bench.directory, OFlags::empty()).map_err(&failed)?);
        let mut left = self.calls;
        let before = thread_usage().map_err(&failed)?;
        let began_ns = bench.clock.now_ns();
        while left > 0 {
            let calls = left.min(RECORDS_PER_CHECK);
            mover
                .sample(file.as_fd(), &lists, Timed::calls(calls), bench.clock)
                .map_err(|error| MeasureError::of_call(contender, "a file", error))?;
            left -= calls;
            if bench.is_stopped() {
                return Ok(None);
            }
        }
        let ended_ns = bench.clock.now_ns();
        let used = thread_usage().map_err(&failed)?.since(before);
        let record = [&header[..], &data].concat();
        let names = (technique.as_str(), self.name().name());
        check_repeated(&file, &record, self.calls, names)?;
        Ok(Some(Sample {
            times: times(used, (ended_ns - began_ns) as f64 / 1e9),
            ..Sample::default()
        }))
    }

    fn write_elements(
        &self,
        bench: &Bench<'_>,
        element_bytes: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Sample>, MeasureError> {
        // Each element has its own allocation, as in the published program.
        let mut elements = vec![vec![0; element_bytes]; ELEMENTS];
        elements.iter_mut().for_each(|element| rng.fill(element));
        let segments: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
        let contenders = ALTERNATING.map(Contender::Technique);
        // Neither technique uses the model.
        let mut movers = contenders.map(|contender| movers(contender, &CostModel::default()));
        movers
            .iter_mut()
            .for_each(|mover| mover.prepare(&segments, 0));
        let file = unnamed_file(bench.directory, OFlags::APPEND);
        let file = File::from(file.map_err(cannot_write(bench, "vectored"))?);
        let mut spent_ns = [(0, 0); 2];
        for _ in 0..self.calls {
            for (index, mover) in movers.iter_mut().enumerate() {
                // The CPU clock costs a system call, so it is read outside the interval of the wall clock.
                let cpu_ns = bench.clock.thread_cpu_ns();
                let began_ns = bench.clock.now_ns();
                mover
                    .call(file.as_fd(), &segments)
                    .map_err(|error| MeasureError::of_call(contenders[index], "a file", error))?;
                spent_ns[index].1 += bench.clock.now_ns() - began_ns;
                spent_ns[index].0 += bench.clock.thread_cpu_ns() - cpu_ns;
            }
        }
        let calls = self.calls * ALTERNATING.len() as u32;
        let names = (
            "writev alternating with copy-then-write",
            self.name().name(),
        );
        check_repeated(&file, &segments.concat(), calls, names)?;
        let mean_s = |ns: u64| Some(ns as f64 / f64::from(self.calls) / 1e9);
        let sample = |(cpu_ns, clock_ns)| Sample {
            times: Times {
                cpu_s: mean_s(cpu_ns),
                clock_s: mean_s(clock_ns),
                ..Times::default()
            },
            ..Sample::default()
        };
        Ok(spent_ns.map(sample).to_vec())
    }
}

fn cannot_write(bench: &Bench<'_>, who: &str) -> impl Fn(std::io::Error) -> MeasureError + use<> {
    let what = format!(
        "{who} cannot write to a file in '{}'",
        bench.directory.display()
    );
    move |error| MeasureError::io(what.clone())(error)
}
