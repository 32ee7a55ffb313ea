//! `apue-14.28`: a header and its data, written a million times.

use std::fs::File;

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::host::check_room;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::OFlags;
use vectored_machine::platform::processes::thread_usage;
use vectored_results::model::{
    ExperimentName, ExperimentRow, Measure, Operation, Ratio, Reproduction, Setting, Target,
    TechniqueName,
};

use crate::measure::{
    Contender, Lists, MeasureError, Meter, Mover, Timed, calibrate, movers, techniques,
};
use crate::reproduce::bench::Bench;
use crate::reproduce::eta::EtaTracker;
use crate::reproduce::ratios::ratio;
use crate::reproduce::repeats::{REPEATS, Sample, interleaved, note, unmeasured};
use crate::reproduce::verify_content::check_repeated;

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

    /// Length of a file. Only one exists at a time.
    pub fn file_bytes(&self) -> u64 {
        u64::from(self.records) * (HEADER_BYTES + DATA_BYTES) as u64
    }

    pub(super) fn enter(&self, eta: &mut EtaTracker<'_>) {
        for (row, technique) in techniques(Operation::Write, true).into_iter().enumerate() {
            let guess_s = f64::from(self.records) * 2.5e-6;
            eta.enter(NAME, row, technique.to_string(), (self.repeats, guess_s));
        }
    }

    pub(super) fn row_repeats(&self) -> Vec<usize> {
        vec![self.repeats; self.rows().len()]
    }

    fn rows(&self) -> Vec<ExperimentRow> {
        let row = |technique: TechniqueName| ExperimentRow {
            technique: technique.to_string(),
            segment_count: Some(2),
            segment_sizes: Some(vec![(1, HEADER_BYTES), (1, DATA_BYTES)]),
            calls: Some(u64::from(self.records)),
            ..ExperimentRow::default()
        };
        techniques(Operation::Write, true)
            .into_iter()
            .map(row)
            .collect()
    }
}

pub(super) fn run(
    plan: &RecordPlan,
    bench: &mut Bench<'_>,
) -> (Reproduction, Option<MeasureError>) {
    let setting = Setting {
        repeats: plan.repeats,
        file_bytes: Some(plan.file_bytes()),
        ..Setting::default()
    };
    let mut reproduction = Reproduction {
        reduced: plan.reduced,
        ..unmeasured(NAME, setting, plan.rows())
    };
    let Reproduction { rows, notes, .. } = &mut reproduction;
    let failure = measure(plan, bench, rows, notes).err();
    (reproduction, failure)
}

/// Every technique over copying, the comparison that the book makes.
pub(super) fn ratios(reproduction: &Reproduction) -> Vec<Ratio> {
    let Reproduction {
        rows, published, ..
    } = reproduction;
    let is_copying = |row: &ExperimentRow| row.technique == TechniqueName::COPY_THEN_WRITE.as_str();
    let Some(copying) = rows.iter().position(is_copying) else {
        return Vec::new();
    };
    let others = (0..rows.len()).filter(|&row| row != copying);
    let pairs = [Measure::Cpu, Measure::Clock]
        .into_iter()
        .flat_map(|measure| others.clone().map(move |row| (row, measure)));
    pairs
        .filter_map(|(row, measure)| ratio(rows, (row, copying), measure, published))
        .collect()
}

fn measure(
    plan: &RecordPlan,
    bench: &mut Bench<'_>,
    rows: &mut [ExperimentRow],
    notes: &mut Vec<String>,
) -> Result<(), MeasureError> {
    check_room(bench.directory, plan.file_bytes())?;
    let model = match calibrate(Target::File, None, bench.directory) {
        Ok(Some(fitted)) => fitted.model,
        Ok(None) => CostModel::default(),
        Err(error) => {
            notes.push(format!(
                "adaptive used the default cost model: calibration failed ({error})"
            ));
            CostModel::default()
        }
    };
    let mut rng = Rng::with_seed(bench.seed);
    let steps = interleaved(&[plan.repeats; 4], &mut rng);
    for (repeat, row) in steps {
        if bench.is_stopped() {
            return Ok(());
        }
        let began_ns = bench.clock.now_ns();
        bench.eta.begin(NAME, row);
        let technique = techniques(Operation::Write, true)[row];
        let mut mover = movers(Contender::Technique(technique), &model);
        match write_file(plan, bench, mover.as_mut(), (technique, &mut rng))? {
            Some(sample) => note(&mut rows[row], repeat, sample),
            None => return Ok(()),
        }
        let took_ns = bench.clock.now_ns() - began_ns;
        bench.eta.end(took_ns as f64 / 1e9);
    }
    Ok(())
}

/// Writes one file with one technique and compares it; `None` if the run was
/// stopped.
fn write_file(
    plan: &RecordPlan,
    bench: &mut Bench<'_>,
    mover: &mut dyn Mover,
    (technique, rng): (TechniqueName, &mut Rng),
) -> Result<Option<Sample>, MeasureError> {
    let failed = |error| {
        let directory = bench.directory.display();
        MeasureError::io(format!(
            "{technique} cannot write to a file in '{directory}'"
        ))(error)
    };
    // New random bytes in every file, so that old ones cannot pass for them.
    let mut header = vec![0; HEADER_BYTES];
    let mut data = vec![0; DATA_BYTES];
    rng.fill(&mut header);
    rng.fill(&mut data);
    let lists = Lists::one(vec![&header, &data]);
    mover.prepare(lists.first(), 0);
    let file = File::from(unnamed_file(bench.directory, OFlags::empty()).map_err(failed)?);
    let mut left = plan.records;
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
    let name = technique.as_str();
    check_repeated(file.as_fd(), &record, plan.records, name, NAME.name())?;
    Ok(Some(Sample {
        user_s: Some(used.user_s),
        system_s: Some(used.system_s),
        cpu_s: Some(used.user_s + used.system_s),
        clock_s: (ended_ns - began_ns) as f64 / 1e9,
    }))
}
