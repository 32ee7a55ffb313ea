//! `mincer`: writes buffers and reads them back: one by one, or by one vectored call.

use std::fs::File;
use std::io;

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::{OFlags, SeekFrom, fsync, ftruncate, seek};
use vectored_results::model::{
    ExperimentName, ExperimentRow, IovecSetup, Operation, Reproduction, RowKey, Sample,
    TechniqueName, Times,
};

use crate::measure::{Contender, Lists, MeasureError, Mismatch, Timed, movers, read_movers};
use crate::reproduce::content::{check_repeated, wrong};
use crate::reproduce::{Bench, Plan, REPEATS, Sampler, Step};

const NAME: ExperimentName = ExperimentName::Mincer;

const TECHNIQUES: [[TechniqueName; 2]; 2] = [
    [TechniqueName::WRITE_EACH, TechniqueName::READ_EACH],
    [TechniqueName::WRITEV, TechniqueName::READV],
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassPlan {
    /// For each list: the bytes of a buffer, and the number of buffers.
    pub lists: Vec<(usize, usize)>,
    /// Passes per repeat; in each, a list is written and read back.
    pub passes: u32,
    /// Whether the array is filled in every call or before the clock is started.
    pub setups: Vec<IovecSetup>,
    pub reduced: bool,
}

impl PassPlan {
    pub fn published() -> Self {
        PassPlan {
            lists: vec![(1024, 1000), (102_400, 10)],
            passes: 10,
            setups: IovecSetup::ALL.to_vec(),
            reduced: false,
        }
    }

    fn runs(&self) -> Vec<Run> {
        let run = |list, setup| TECHNIQUES.map(|names| Run { list, setup, names });
        let lists = self.lists.iter();
        lists
            .flat_map(|&list| self.setups.iter().flat_map(move |&setup| run(list, setup)))
            .collect()
    }
}

impl Plan for PassPlan {
    fn name(&self) -> ExperimentName {
        NAME
    }

    fn is_reduced(&self) -> bool {
        self.reduced
    }

    fn file_bytes(&self) -> u64 {
        let bytes = self
            .lists
            .iter()
            .map(|(bytes, count)| (bytes * count) as u64);
        bytes.max().unwrap_or(0)
    }

    fn steps(&self) -> Vec<Step> {
        let step = |run: Run| {
            let (size_bytes, count) = run.list;
            let rows = std::iter::zip([Operation::Write, Operation::Read], run.names);
            let row = |(operation, technique): (Operation, TechniqueName)| ExperimentRow {
                calls: Some(u64::from(self.passes)),
                ..ExperimentRow::here(RowKey {
                    technique: technique.to_string(),
                    operation: Some(operation),
                    iovec_setup: Some(run.setup),
                    segment_count: Some(count),
                    segment_bytes: Some(size_bytes),
                    ..RowKey::default()
                })
            };
            Step {
                rows: rows.map(row).collect(),
                name: format!("{} of {count} × {size_bytes} B", run.names[0]),
                repeats: REPEATS,
            }
        };
        self.runs().into_iter().map(step).collect()
    }

    fn begin<'a>(
        &'a self,
        _: &mut Bench<'_>,
        _: &mut Reproduction,
    ) -> Result<Sampler<'a>, MeasureError> {
        let runs = self.runs();
        Ok(Box::new(move |step, bench, rng| {
            let passes = run_passes(self, bench, runs[step], rng)?;
            let sample = |passes: Vec<f64>| Sample {
                times: Times {
                    clock_s: Some(passes.iter().sum::<f64>() / passes.len() as f64),
                    ..Times::default()
                },
                pass_s: passes,
                ..Sample::default()
            };
            Ok(passes.into_iter().map(sample).collect())
        }))
    }
}

#[derive(Clone, Copy)]
struct Run {
    list: (usize, usize),
    setup: IovecSetup,
    names: [TechniqueName; 2],
}

fn run_passes(
    plan: &PassPlan,
    bench: &Bench<'_>,
    run: Run,
    rng: &mut Rng,
) -> Result<[Vec<f64>; 2], MeasureError> {
    let failed = |error| {
        let directory = bench.directory.display();
        MeasureError::io(format!("cannot use a file in '{directory}'"))(error)
    };
    let (size_bytes, count) = run.list;
    let (mut buffers, mut back) = (vec![vec![0; size_bytes]; count], Vec::new());
    let [write, read] = run.names.map(TechniqueName::as_str);
    // No technique uses the model.
    let model = CostModel::default();
    let mut writer = movers(Contender::Technique(run.names[0]), &model);
    let mut reader = read_movers(Contender::Technique(run.names[1]), &model);
    let file = File::from(unnamed_file(bench.directory, OFlags::empty()).map_err(failed)?);
    let timed = Timed {
        iovec_setup: run.setup,
        ..Timed::calls(1)
    };
    let rewind = || -> io::Result<_> { Ok(seek(file.as_fd(), SeekFrom::Start(0))?) };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..plan.passes {
        bench.go_on()?;
        // New random bytes in every pass, so that old bytes cannot pass for new bytes.
        buffers.iter_mut().for_each(|buffer| rng.fill(buffer));
        ftruncate(&file, 0).map_err(|error| failed(error.into()))?;
        rewind().map_err(failed)?;
        let failed_by = |name: &str| MeasureError::io(format!("{name} failed on a file"));
        let lists = Lists::one(buffers.iter().map(Vec::as_slice).collect());
        writer.prepare(lists.first(), 0);
        let written = writer.sample(file.as_fd(), &lists, timed, bench.clock);
        let written = written.map_err(failed_by(write))?;
        fsync(&file).map_err(|error| failed(error.into()))?;
        rewind().map_err(failed)?;
        back.clear();
        back.resize(count, vec![0xa5; size_bytes]);
        let list: Vec<&mut [u8]> = back.iter_mut().map(Vec::as_mut_slice).collect();
        reader.prepare(&list, 0);
        let taken = reader.sample(file.as_fd(), &mut [list], timed, bench.clock);
        let (taken, _) = taken.map_err(failed_by(read))?;
        for (times, timing) in std::iter::zip(&mut times, [written, taken]) {
            times.push(timing.elapsed_ns as f64 / 1e9);
        }
        check_repeated(&file, &buffers.concat(), 1, (write, NAME.name()))?;
        let differs = std::iter::zip(&back, &buffers).position(|(back, sent)| back != sent);
        if let Some(index) = differs {
            let difference = Mismatch::Bytes(format!("buffer {index} differs"));
            return Err(wrong(difference, read, NAME.name()));
        }
    }
    Ok(times)
}
