//! An open cell with several writers.

use std::path::Path;
use std::sync::Arc;

use vectored::CostModel;
use vectored_report::words;
use vectored_results::model::{CellSpec, Drain, RecordCounts, SyncMode, Target, TechniqueName};
use vectored_results::stats::WriterSamples;

use crate::measure::cell::writers::crew::Crew;
use crate::measure::cell::writers::promise::whole_records_promised;
use crate::measure::cell::writers::records::{self, WriterRecord, body};
use crate::measure::cell::writers::target::{self, RecordTarget};
use crate::measure::cell::writers::writer::{Order, Span, WriterMovers, WriterSetup};
use crate::measure::sampler::cell_extras::entry;
use crate::measure::sampler::interface::{CellSetup, Contender, MAX_CALLS, MeasureError, Timing};
use crate::measure::targets::{FILE_SPAN_BYTES, check_directory};

/// Maximum bytes of a sample of all writers to a stream. They are kept until they are checked.
const STREAM_BYTES: u64 = 8 << 20;

/// Duration of a sample. It is longer than a sample of one writer, so that the threads' waits for a CPU are a small part
/// of it.
const SAMPLE_NS: u64 = 300_000;

/// The settings with which a cell of several writers is opened.
pub(crate) struct WritersOpening<'s> {
    pub spec: &'s CellSpec,
    pub directory: &'s Path,
    pub reader_cpu: Option<usize>,
    /// CPUs of the writers, in turn. If empty, the writers run on any CPU.
    pub cpus: &'s [usize],
    pub model: CostModel,
    pub make_mover: WriterMovers,
    pub seed: u64,
}

pub(crate) struct WritersCell {
    name: String,
    spec: CellSpec,
    /// Dropped before the targets: its writers keep descriptors of them.
    crew: Crew,
    targets: Vec<(Box<dyn RecordTarget>, Vec<WriterRecord>)>,
    record_bytes: u64,
    file_system: Option<String>,
    arrived: Vec<u8>,
    batches: u32,
    pub round: u32,
    pub proof_calls: u64,
    pub samples: Vec<(TechniqueName, WriterSamples)>,
}

impl WritersCell {
    /// Opens the targets and starts the writers.
    pub fn open(opening: WritersOpening<'_>) -> Result<(Self, CellSetup), MeasureError> {
        let spec = opening.spec;
        let writers = spec.conditions.writers.unwrap_or(1);
        let record_bytes = spec.workload.total_bytes() as u64;
        let what =
            |doing: &str| MeasureError::io(format!("cannot {doing} {}", spec.conditions.place()));
        let place = spec.conditions.directory_or(opening.directory);
        let file_system = match spec.conditions.target {
            Target::File => {
                let bytes = record_bytes * u64::from(writers);
                Some(check_directory(place, spec.conditions.target, bytes)?.file_system)
            }
            _ => None,
        };
        let writers_each = if spec.conditions.target.is_shared_by_writers() { writers } else { 1 };
        let mut targets = Vec::new();
        for first in (0..writers).step_by(writers_each as usize) {
            let target = target::open(spec, place, opening.reader_cpu).map_err(what("open"))?;
            let names = first..first + writers_each;
            let bodies = names.map(|name| (name, body(opening.seed, name, record_bytes as usize)));
            targets.push((target, bodies.collect::<Vec<_>>()));
        }
        let setup = WriterSetup {
            sizes: spec.workload.sizes().to_vec(),
            layout: spec.conditions.layout,
            iovec_setup: spec.conditions.iovec_setup,
            fsync: spec.conditions.sync == SyncMode::Fsync,
            model: opening.model,
            seed: opening.seed,
        };
        let fds = targets
            .iter()
            .flat_map(|(target, bodies)| bodies.iter().map(|_| Arc::clone(target.fd())));
        let crew = Crew::start(&setup, fds.collect(), opening.cpus, opening.make_mover)
            .map_err(what("start writers for"))?;
        let limit = match spec.conditions.target {
            Target::File => FILE_SPAN_BYTES,
            _ => STREAM_BYTES,
        };
        let fitting = limit / (record_bytes * u64::from(writers));
        let cell = WritersCell {
            name: format!(
                "{} with {}",
                spec.conditions.place(),
                words::count(writers as usize, "writer")
            ),
            spec: spec.clone(),
            crew,
            targets,
            record_bytes,
            file_system: file_system.clone(),
            arrived: Vec::new(),
            batches: 0,
            round: 0,
            proof_calls: 0,
            samples: Vec::new(),
        };
        let setup = CellSetup {
            max_calls: fitting.clamp(1, MAX_CALLS.into()) as u32,
            sample_ns: Some(SAMPLE_NS),
            drain: match spec.conditions.target {
                Target::File => None,
                target if target.has_peer() => Some(Drain::Peer),
                _ => Some(Drain::ReaderThread),
            },
            span_bytes: (spec.conditions.target == Target::File).then_some(FILE_SPAN_BYTES),
            file_system,
            ..CellSetup::default()
        };
        Ok((cell, setup))
    }

    /// Has each writer write `calls` records, and checks all of them. The elapsed time is that from the common start
    /// to the end of the last writer, the CPU time the mean of the writers.
    pub fn sample(&mut self, contender: Contender, calls: u32) -> Result<Timing, MeasureError> {
        self.batches = self.batches.wrapping_add(1);
        let technique = match contender {
            Contender::Technique(technique) => Some(technique),
            Contender::Floor | Contender::FloorAgain => None,
        };
        let order = Order {
            technique,
            again: contender == Contender::FloorAgain,
            records: calls,
            // Each batch of a target has a mark of its own, which is neither 0 nor a small number.
            mark: self.batches.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995,
            round: self.round,
        };
        let name = format!("{contender} failed on {}", self.name);
        for (target, bodies) in &mut self.targets {
            let bytes = batch_bytes(self.record_bytes, bodies.len(), calls);
            target
                .begin(bytes)
                .map_err(MeasureError::io(name.as_str()))?;
        }
        let spans = self
            .crew
            .sample(order)
            .map_err(|error| self.targets[0].0.explain(error))
            .map_err(|error| MeasureError::of_call(contender, &self.name, error))?;
        let mut counts = RecordCounts::default();
        for (target, bodies) in &mut self.targets {
            self.arrived.clear();
            let bytes = batch_bytes(self.record_bytes, bodies.len(), calls);
            let read_back = format!(
                "cannot read back the records of {contender} from {}",
                self.name
            );
            target
                .take(bytes, &mut self.arrived)
                .map_err(MeasureError::io(read_back))?;
            if self.spec.conditions.target.has_peer() {
                continue;
            }
            let batch = records::Batch {
                mark: order.mark,
                writers: bodies,
                records_each: calls,
            };
            counts.add(records::check(batch, &self.arrived));
        }
        let promised = whole_records_promised(technique, &self.spec, self.file_system.as_deref());
        if promised && !counts.is_sound() {
            return Err(MeasureError::WrongBytes {
                contender: contender.to_string(),
                cell: self.name.clone(),
                difference: in_words(counts),
            });
        }
        self.proof_calls += counts.records;
        if let Some(technique) = technique {
            self.note(technique, counts, promised, record_ns(&spans, calls));
        }
        Ok(timing(&spans))
    }

    fn note(
        &mut self,
        technique: TechniqueName,
        counts: RecordCounts,
        promised: bool,
        record_ns: Vec<f64>,
    ) {
        let samples = entry(&mut self.samples, technique);
        samples.records.add(counts);
        samples.whole_records_promised = promised;
        // Round 0 is for trials.
        if self.round > 0 {
            samples.record_ns.push(record_ns);
        }
    }
}

fn batch_bytes(record_bytes: u64, writers: usize, calls: u32) -> u64 {
    record_bytes * writers as u64 * u64::from(calls)
}

/// The moment at which the first writer began: all were released by then.
fn start_ns(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.began_ns).min().unwrap_or(0)
}

fn timing(spans: &[Span]) -> Timing {
    let ended_ns = spans.iter().map(|span| span.ended_ns).max().unwrap_or(0);
    let cpu_ns: u64 = spans.iter().map(|span| span.cpu_ns).sum();
    Timing {
        elapsed_ns: ended_ns - start_ns(spans),
        cpu_ns: cpu_ns / (spans.len() as u64).max(1),
    }
}

/// The time of a record for each writer.
fn record_ns(spans: &[Span], calls: u32) -> Vec<f64> {
    let start_ns = start_ns(spans);
    let of = |span: &Span| {
        let ns = (span.ended_ns - start_ns) as f64 / f64::from(calls);
        // A coarse clock may measure 0; rates need a positive value.
        ((ns * 100.0).round() / 100.0).max(0.01)
    };
    spans.iter().map(of).collect()
}

/// `of 200 records 3 torn, 1 lost`.
fn in_words(counts: RecordCounts) -> String {
    let parts = [
        (counts.torn, "torn"),
        (counts.lost, "lost"),
        (counts.doubled, "doubled"),
        (counts.out_of_order, "out of order"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!("of {} records {}", counts.records, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(began_ns: u64, ended_ns: u64, cpu_ns: u64) -> Span {
        Span {
            began_ns,
            ended_ns,
            cpu_ns,
        }
    }

    #[test]
    fn a_sample_lasts_from_the_first_start_to_the_last_end() {
        let spans = [span(100, 300, 50), span(110, 500, 70)];
        let expected = Timing {
            elapsed_ns: 400,
            cpu_ns: 60,
        };
        assert_eq!(timing(&spans), expected);
        // The second writer waited 10 ns for its CPU, which counts.
        assert_eq!(record_ns(&spans, 4), [50.0, 100.0]);
    }
}
