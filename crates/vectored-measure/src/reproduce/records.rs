//! `apue-14.28`: a header and its data, written a million times.

use std::fs::File;

use fastrand::Rng;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::OFlags;
use vectored_machine::platform::processes::thread_usage;
use vectored_results::model::{
    ExperimentName, ExperimentRow, Operation, Reproduction, RowKey, Sample, Target, TechniqueName,
};

use crate::measure::{
    Contender, Lists, MeasureError, Meter, Mover, Timed, calibrate, movers, techniques,
};
use crate::reproduce::content::check_repeated;
use crate::reproduce::{Bench, Plan, REPEATS, Sampler, Step, times};

const NAME: ExperimentName = ExperimentName::Apue1428;

const HEADER_BYTES: usize = 100;
const DATA_BYTES: usize = 200;

/// Records between two checks of the stop flag.
const RECORDS_PER_CHECK: u32 = 1 << 16;

/// The number of records and of repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlan {
    /// Records in a file.
    pub records: u32,
    /// Files that each technique writes.
    pub repeats: usize,
    /// Whether the plan is smaller than the published experiment.
    pub reduced: bool,
}

impl RecordPlan {
    /// 1,048,576 records: 314,572,800 bytes.
    pub fn published() -> Self {
        RecordPlan {
            records: 1 << 20,
            repeats: REPEATS,
            reduced: false,
        }
    }
}

impl Plan for RecordPlan {
    fn name(&self) -> ExperimentName {
        NAME
    }

    fn is_reduced(&self) -> bool {
        self.reduced
    }

    /// Only one file exists at a time.
    fn file_bytes(&self) -> u64 {
        u64::from(self.records) * (HEADER_BYTES + DATA_BYTES) as u64
    }

    fn steps(&self) -> Vec<Step> {
        let step = |technique: TechniqueName| Step {
            rows: vec![ExperimentRow {
                calls: Some(u64::from(self.records)),
                ..ExperimentRow::here(RowKey {
                    technique: technique.to_string(),
                    segment_count: Some(2),
                    ..RowKey::default()
                })
            }],
            name: technique.to_string(),
            repeats: self.repeats,
            guess_s: f64::from(self.records) * 2.5e-6,
        };
        let techniques = techniques(Operation::Write, true).into_iter();
        techniques.map(step).collect()
    }

    fn begin<'a>(
        &'a self,
        bench: &mut Bench<'_>,
        result: &mut Reproduction,
    ) -> Result<Option<Sampler<'a>>, MeasureError> {
        result.setting.file_bytes = Some(self.file_bytes());
        let model = match calibrate(Target::File, None, bench.directory) {
            Ok(fitted) => fitted.map(|fitted| fitted.model),
            Err(error) => {
                result.notes.push(format!(
                    "adaptive used the default cost model: calibration failed ({error})"
                ));
                None
            }
        };
        let model = model.unwrap_or_default();
        Ok(Some(Box::new(move |step, bench, rng| {
            let technique = techniques(Operation::Write, true)[step];
            let mut mover = movers(Contender::Technique(technique), &model);
            let sample = self.write_file(bench, mover.as_mut(), (technique, rng))?;
            Ok(sample.map(|sample| vec![sample]))
        })))
    }
}

impl RecordPlan {
    /// Writes one file with one technique and compares it; `None` if the run was stopped.
    fn write_file(
        &self,
        bench: &Bench<'_>,
        mover: &mut dyn Mover,
        (technique, rng): (TechniqueName, &mut Rng),
    ) -> Result<Option<Sample>, MeasureError> {
        let failed = |error| {
            let directory = bench.directory.display();
            let what = format!("{technique} cannot write to a file in '{directory}'");
            MeasureError::io(what)(error)
        };
        // New random bytes in every file, so that old ones cannot pass for them.
        let mut header = vec![0; HEADER_BYTES];
        let mut data = vec![0; DATA_BYTES];
        rng.fill(&mut header);
        rng.fill(&mut data);
        let lists = Lists::one(vec![&header, &data]);
        mover.prepare(lists.first(), 0);
        let file = File::from(unnamed_file(bench.directory, OFlags::empty()).map_err(failed)?);
        let mut left = self.records;
        let before = thread_usage().map_err(failed)?;
        let began_ns = bench.clock.now_ns();
        while left > 0 {
            let calls = left.min(RECORDS_PER_CHECK);
            let meter = Meter::whole(bench.clock);
            mover
                .sample(file.as_fd(), &lists, Timed::calls(calls), meter)
                .map_err(|error| {
                    MeasureError::of_call(Contender::Technique(technique), "a file", error)
                })?;
            left -= calls;
            if bench.is_stopped() {
                return Ok(None);
            }
        }
        let ended_ns = bench.clock.now_ns();
        let used = thread_usage().map_err(failed)?.since(before);
        let record = [header.as_slice(), &data].concat();
        let names = (technique.as_str(), NAME.name());
        check_repeated(file.as_fd(), &record, self.records, names)?;
        Ok(Some(Sample {
            times: times(used, (ended_ns - began_ns) as f64 / 1e9),
            ..Sample::default()
        }))
    }
}
