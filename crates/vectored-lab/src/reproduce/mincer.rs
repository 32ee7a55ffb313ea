//! `mincer`: writes buffers and reads them back, one by one or vectored.

use std::fs::File;
use std::os::fd::AsFd;

use fastrand::Rng;
use rustix::fs::{OFlags, SeekFrom, fsync, ftruncate, seek};
use vectored::CostModel;

use crate::measure::{
    Contender, Lists, MeasureError, Mismatch, Mover, ReadMover, Timed, check_room, movers,
    read_movers, unnamed_file,
};
use crate::model::{
    ExperimentName, ExperimentRow, IovecSetup, Measure, Operation, Ratio, Reproduction, Setting,
    Technique,
};
use crate::reproduce::bench::Bench;
use crate::reproduce::eta::EtaTracker;
use crate::reproduce::ratios::ratio;
use crate::reproduce::repeats::{REPEATS, Sample, interleaved, note, unmeasured};
use crate::reproduce::verify_content::{check_repeated, wrong};

const NAME: ExperimentName = ExperimentName::Mincer;

/// A list of buffers of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferList {
    /// Bytes of each buffer.
    pub size_bytes: usize,
    /// Number of buffers.
    pub count: usize,
}

impl BufferList {
    /// Bytes of all buffers.
    pub fn total_bytes(self) -> u64 {
        self.size_bytes as u64 * self.count as u64
    }
}

/// The lists, the number of passes, and when the array of `iovec` is filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassPlan {
    /// The lists.
    pub lists: Vec<BufferList>,
    /// Passes per repeat; in each, a list is written and read back.
    pub passes: u32,
    /// Whether the array is filled in every call or before the clock is started.
    pub setups: Vec<IovecSetup>,
    /// Whether the plan is smaller than the published experiment.
    pub reduced: bool,
}

impl PassPlan {
    /// Both published lists, ten passes, and both setups.
    pub fn published() -> Self {
        let lists = [(1024, 1000), (102_400, 10)];
        PassPlan {
            lists: lists
                .map(|(size_bytes, count)| BufferList { size_bytes, count })
                .to_vec(),
            passes: 10,
            setups: IovecSetup::ALL.to_vec(),
            reduced: false,
        }
    }

    /// Length of the largest file. Only one exists at a time.
    pub fn file_bytes(&self) -> u64 {
        let bytes = self.lists.iter().map(|list| list.total_bytes());
        bytes.max().unwrap_or(0)
    }

    /// The runs. Each gives one row of writes and one of reads.
    fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for &list in &self.lists {
            for &setup in &self.setups {
                for vectored in [false, true] {
                    runs.push(Run {
                        list,
                        setup,
                        vectored,
                    });
                }
            }
        }
        runs
    }

    pub(super) fn enter(&self, eta: &mut EtaTracker<'_>) {
        for (index, run) in self.runs().iter().enumerate() {
            let bytes = run.list.total_bytes() as f64;
            // Includes the time of the device.
            let pass_s = 2e-3 + run.list.count as f64 * 3e-6 + bytes * 1e-8;
            let guess_s = f64::from(self.passes) * pass_s;
            let name = format!(
                "{} of {} × {} B",
                run.names()[0],
                run.list.count,
                run.list.size_bytes
            );
            eta.enter(NAME, index, name, (REPEATS, guess_s));
        }
    }

    /// The number of repeats of each row.
    pub(super) fn row_repeats(&self) -> Vec<usize> {
        vec![REPEATS; self.rows().len()]
    }

    fn rows(&self) -> Vec<ExperimentRow> {
        let rows = |run: &Run| {
            let operations = [Operation::Write, Operation::Read];
            let both: Vec<ExperimentRow> = std::iter::zip(operations, run.names())
                .map(|(operation, technique)| ExperimentRow {
                    technique: technique.to_string(),
                    operation: Some(operation),
                    iovec_setup: Some(run.setup),
                    segment_count: Some(run.list.count),
                    segment_bytes: Some(run.list.size_bytes),
                    calls: Some(u64::from(self.passes)),
                    ..ExperimentRow::default()
                })
                .collect();
            both
        };
        self.runs().iter().flat_map(rows).collect()
    }
}

#[derive(Clone, Copy)]
struct Run {
    list: BufferList,
    setup: IovecSetup,
    vectored: bool,
}

impl Run {
    fn names(self) -> [Technique; 2] {
        match self.vectored {
            false => [Technique::WriteEach, Technique::ReadEach],
            true => [Technique::Writev, Technique::Readv],
        }
    }
}

pub(super) fn run(plan: &PassPlan, bench: &mut Bench<'_>) -> (Reproduction, Option<MeasureError>) {
    let setting = Setting {
        repeats: REPEATS,
        ..Setting::default()
    };
    let mut reproduction = Reproduction {
        reduced: plan.reduced,
        missing: vec!["linux-aio".to_owned(), "io-uring".to_owned()],
        ..unmeasured(NAME, setting, plan.rows())
    };
    for row in &mut reproduction.rows {
        row.pass_s_samples.resize(REPEATS, Vec::new());
    }
    let failure = measure(plan, bench, &mut reproduction.rows).err();
    (reproduction, failure)
}

/// One by one over vectored. Rows come in fours: one by one written and read,
/// then vectored written and read.
pub(super) fn ratios(reproduction: &Reproduction) -> Vec<Ratio> {
    let Reproduction {
        rows, published, ..
    } = reproduction;
    (0..rows.len())
        .step_by(4)
        .flat_map(|first| [(first, first + 2), (first + 1, first + 3)])
        .filter_map(|pair| ratio(rows, pair, Measure::Clock, published))
        .collect()
}

fn measure(
    plan: &PassPlan,
    bench: &mut Bench<'_>,
    rows: &mut [ExperimentRow],
) -> Result<(), MeasureError> {
    check_room(bench.directory, plan.file_bytes())?;
    let runs = plan.runs();
    let mut rng = Rng::with_seed(bench.seed);
    for (repeat, index) in interleaved(&vec![REPEATS; runs.len()], &mut rng) {
        if bench.is_stopped() {
            return Ok(());
        }
        let began_ns = bench.clock.now_ns();
        bench.eta.begin(NAME, index);
        let Some(passes) = run_passes(plan, bench, runs[index], &mut rng)? else {
            return Ok(());
        };
        for (operation, passes) in passes.into_iter().enumerate() {
            let row = &mut rows[2 * index + operation];
            let clock_s = passes.iter().sum::<f64>() / passes.len() as f64;
            let sample = Sample {
                clock_s,
                ..Sample::default()
            };
            note(row, repeat, sample);
            row.pass_s_samples[repeat] = passes;
        }
        let took_ns = bench.clock.now_ns() - began_ns;
        bench.eta.end(took_ns as f64 / 1e9);
    }
    Ok(())
}

/// Writes, syncs and reads back once per pass. Returns the times of writing and
/// of reading; `None` if the run was stopped.
fn run_passes(
    plan: &PassPlan,
    bench: &Bench<'_>,
    run: Run,
    rng: &mut Rng,
) -> Result<Option<[Vec<f64>; 2]>, MeasureError> {
    let failed = |error| {
        let directory = bench.directory.display();
        MeasureError::io(format!("cannot use a file in '{directory}'"))(error)
    };
    let BufferList { size_bytes, count } = run.list;
    let mut buffers: Vec<Vec<u8>> = vec![vec![0; size_bytes]; count];
    let mut back: Vec<Vec<u8>> = buffers.clone();
    let [write, read] = run.names();
    // Neither technique uses the model.
    let model = CostModel::default();
    let mut writer: Box<dyn Mover> = movers(Contender::Technique(write), &model);
    let mut reader: Box<dyn ReadMover> = read_movers(Contender::Technique(read), &model);
    let file = File::from(unnamed_file(bench.directory, OFlags::empty()).map_err(failed)?);
    let once = Timed {
        calls: 1,
        untimed_first: false,
        iovec_setup: run.setup,
        fsync: false,
    };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..plan.passes {
        if bench.is_stopped() {
            return Ok(None);
        }
        // New random bytes in every pass, so that old ones cannot pass for them.
        buffers.iter_mut().for_each(|buffer| rng.fill(buffer));
        ftruncate(&file, 0).map_err(|error| failed(error.into()))?;
        let lists = Lists::one(buffers.iter().map(Vec::as_slice).collect());
        writer.prepare(lists.first(), 0);
        seek(&file, SeekFrom::Start(0)).map_err(|error| failed(error.into()))?;
        let written = writer.sample(file.as_fd(), &lists, once, bench.clock);
        times[0].push(written.map_err(failed)?.elapsed_ns as f64 / 1e9);
        fsync(&file).map_err(|error| failed(error.into()))?;
        seek(&file, SeekFrom::Start(0)).map_err(|error| failed(error.into()))?;
        back.iter_mut().for_each(|buffer| buffer.fill(0xa5));
        let mut segments: Vec<&mut [u8]> = back.iter_mut().map(Vec::as_mut_slice).collect();
        reader.prepare(&segments, 0);
        let taken = reader.sample(file.as_fd(), &mut segments, once, bench.clock);
        times[1].push(taken.map_err(failed)?.elapsed_ns as f64 / 1e9);
        let image = buffers.concat();
        check_repeated(file.as_fd(), &image, 1, write.name(), NAME.name())?;
        if back != buffers {
            let differs = std::iter::zip(&back, &buffers).position(|(back, sent)| back != sent);
            let difference = format!("buffer {} differs", differs.unwrap_or(0));
            return Err(wrong(Mismatch::Bytes(difference), read.name(), NAME.name()));
        }
    }
    Ok(Some(times))
}
