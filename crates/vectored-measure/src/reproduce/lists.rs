//! `apue-14.28`, a header and its data, and `kalinin`, a thousand elements of ten sizes: a list that is written to one file
//! again and again.

use std::fs::File;
use std::io;

use fastrand::Rng;
use vectored::CostModel;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::unnamed_file;
use vectored_machine::platform::plain_calls::OFlags;
use vectored_machine::platform::processes::{Usage, thread_usage};
use vectored_results::model::{
    ExperimentName, ExperimentRow, Operation, Reproduction, RowKey, Sample, Target, TechniqueName,
    Times,
};

use crate::measure::{
    Contender, Lists, MeasureError, Timed, Timing, calibrate, movers, techniques,
};
use crate::reproduce::content::check_repeated;
use crate::reproduce::{Bench, Plan, REPEATS, Sampler, Step, times};

const HEADER_BYTES: usize = 100;
const DATA_BYTES: usize = 200;

/// Records between two checks of the stop flag.
const RECORDS_PER_TURN: u32 = 1 << 16;

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

    fn file_bytes(&self) -> u64 {
        let call_bytes = match &self.element_bytes {
            Some(sizes) => sizes.iter().max().unwrap_or(&0) * ELEMENTS * ALTERNATING.len(),
            None => HEADER_BYTES + DATA_BYTES,
        };
        call_bytes as u64 * u64::from(self.calls)
    }

    fn steps(&self) -> Vec<Step> {
        let step = |techniques: &[TechniqueName], name, (count, bytes)| Step {
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
        };
        match &self.element_bytes {
            Some(sizes) => {
                let of_size = |&bytes: &usize| {
                    let name = format!("elements of {bytes} B");
                    step(&ALTERNATING, name, (ELEMENTS, Some(bytes)))
                };
                sizes.iter().map(of_size).collect()
            }
            None => {
                let usual = techniques(Operation::Write, true).into_iter();
                usual
                    .map(|one| step(&[one], one.to_string(), (2, None)))
                    .collect()
            }
        }
    }

    fn begin<'a>(
        &'a self,
        bench: &mut Bench<'_>,
        result: &mut Reproduction,
    ) -> Result<Sampler<'a>, MeasureError> {
        if let Some(sizes) = &self.element_bytes {
            return Ok(Box::new(|step, bench, rng| {
                self.write_elements(bench, sizes[step], rng)
            }));
        }
        result.setting.file_bytes = Some(self.file_bytes());
        let model = calibrate(Target::File, None, bench.directory).unwrap_or_else(|error| {
            result.notes.push(format!(
                "adaptive used the default cost model: calibration failed ({error})"
            ));
            None
        });
        let model = model.map(|fitted| fitted.model).unwrap_or_default();
        Ok(Box::new(move |step, bench, rng| {
            let technique = techniques(Operation::Write, true)[step];
            // New random bytes in every file, so that old bytes cannot pass for new bytes.
            let (mut header, mut data) = ([0; HEADER_BYTES], [0; DATA_BYTES]);
            rng.fill(&mut header);
            rng.fill(&mut data);
            let lists = Lists::one(vec![&header, &data]);
            let turns = (RECORDS_PER_TURN, OFlags::empty());
            let (spent, used) = self.write(bench, &[technique], &lists, turns, &model)?;
            let used = used.map_err(cannot_write(bench, technique.as_str()))?;
            Ok(vec![Sample {
                times: times(used, spent[0].elapsed_ns as f64 / 1e9),
                ..Sample::default()
            }])
        }))
    }
}

impl ListPlan {
    fn write_elements(
        &self,
        bench: &Bench<'_>,
        element_bytes: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Sample>, MeasureError> {
        // Each element has its own allocation, as in the published program.
        let mut elements = vec![vec![0; element_bytes]; ELEMENTS];
        elements.iter_mut().for_each(|element| rng.fill(element));
        let lists = Lists::one(elements.iter().map(Vec::as_slice).collect());
        // Neither technique uses the model.
        let (turns, model) = ((1, OFlags::APPEND), CostModel::default());
        let (spent, _) = self.write(bench, &ALTERNATING, &lists, turns, &model)?;
        let mean_s = |ns: u64| Some(ns as f64 / f64::from(self.calls) / 1e9);
        let sample = |spent: Timing| Sample {
            times: Times {
                cpu_s: mean_s(spent.cpu_ns),
                clock_s: mean_s(spent.elapsed_ns),
                ..Times::default()
            },
            ..Sample::default()
        };
        Ok(spent.into_iter().map(sample).collect())
    }

    /// Has the techniques write the list to one file, in turns of some calls. Returns the time of all calls for each
    /// technique, and the usage of the thread.
    fn write(
        &self,
        bench: &Bench<'_>,
        techniques: &[TechniqueName],
        lists: &Lists<'_>,
        (turn, flags): (u32, OFlags),
        model: &CostModel,
    ) -> Result<(Vec<Timing>, io::Result<Usage>), MeasureError> {
        let name = techniques.iter().map(|one| one.as_str());
        let name = name.collect::<Vec<_>>().join(" alternating with ");
        let contender = |technique| Contender::Technique(technique);
        let each = techniques.iter().map(|one| movers(contender(*one), model));
        let mut movers: Vec<_> = each.collect();
        movers
            .iter_mut()
            .for_each(|mover| mover.prepare(lists.first(), 0));
        let file = unnamed_file(bench.directory, flags).map_err(cannot_write(bench, &name))?;
        let file = File::from(file);
        let mut spent = vec![Timing::default(); techniques.len()];
        let (mut left, before) = (self.calls, thread_usage());
        while left > 0 {
            let calls = left.min(turn);
            for (index, mover) in movers.iter_mut().enumerate() {
                let timing = mover
                    .sample(file.as_fd(), lists, Timed::calls(calls), bench.clock)
                    .map_err(|error| {
                        MeasureError::of_call(contender(techniques[index]), "a file", error)
                    })?;
                spent[index].cpu_ns += timing.cpu_ns;
                spent[index].elapsed_ns += timing.elapsed_ns;
            }
            left -= calls;
            bench.go_on()?;
        }
        let used = before.and_then(|before| Ok(thread_usage()?.since(before)));
        let calls = self.calls * techniques.len() as u32;
        let names = (&*name, self.name().name());
        check_repeated(&file, &lists.first().concat(), calls, names)?;
        Ok((spent, used))
    }
}

fn cannot_write(bench: &Bench<'_>, who: &str) -> impl FnOnce(io::Error) -> MeasureError + use<> {
    let what = format!(
        "{who} cannot write to a file in '{}'",
        bench.directory.display()
    );
    MeasureError::io(what)
}
