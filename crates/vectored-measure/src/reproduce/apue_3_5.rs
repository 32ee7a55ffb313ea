//! `apue-3.5`: the copy program with buffers of different sizes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use vectored_machine::host::{DirectoryError, check_room};
use vectored_machine::model::DirectoryInfo;
use vectored_machine::platform::fd::AsFd;
use vectored_machine::platform::files::{reopened, unnamed_file};
use vectored_machine::platform::plain_calls;

use crate::measure::{MeasureError, Pattern, PatternFile, check_eviction, sync_flags};
use crate::model::{
    ExperimentName, ExperimentRow, Measure, PageCache, Ratio, Reproduction, Setting, SyncMode,
};
use crate::reproduce::bench::Bench;
use crate::reproduce::copy_process::{ChildCopy, CopyOrder, CopyOutput, CopyTechnique, copy};
use crate::reproduce::eta::EtaTracker;
use crate::reproduce::ratios::ratio;
use crate::reproduce::repeats::{REPEATS, Sample, interleaved, note, unmeasured};
use crate::reproduce::verify_content::{PatternCheck, wrong};

const NAME: ExperimentName = ExperimentName::Apue35;

/// Length of the file that the book copies.
pub const PUBLISHED_FILE_BYTES: u64 = 103_316_352;

/// Rows of buffers smaller than this have [`FEW_REPEATS`]: these rows take as long
/// as all others together and vary little.
const FEW_REPEATS_BELOW_BYTES: u64 = 64;
const FEW_REPEATS: usize = 3;

/// Length of the copy that proves, for every row, that all bytes arrive: longer
/// than all published buffers, and no multiple of a page.
const PROOF_BYTES: u64 = (1 << 20) + 1234;

/// Share of the pages that may remain after an eviction: the kernel keeps pages
/// that are in use.
const MAX_LEFT_SHARE: f64 = 0.01;

/// The destination of copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CopyTarget {
    /// `/dev/null`, as in the book.
    #[default]
    Null,
    /// An unnamed file in this directory, or in that of the input files if `None`.
    File(Option<PathBuf>),
    /// A pipe that a thread reads.
    Pipe,
}

impl CopyTarget {
    /// The name in JSON and tables.
    pub fn name(&self) -> &'static str {
        match self {
            CopyTarget::Null => "null",
            CopyTarget::File(_) => "file",
            CopyTarget::Pipe => "pipe",
        }
    }
}

/// The file, the buffers and the destination of the copies.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyPlan {
    /// Length of the file.
    pub file_bytes: u64,
    /// The sizes of the buffer, one per row; none is 0.
    pub buffer_bytes: Vec<u64>,
    /// Whether the file is read beforehand (hot), or its pages are evicted before
    /// each copy (cold).
    pub page_cache: PageCache,
    /// The destination.
    pub to: CopyTarget,
    /// How durable each write, or the copy, must be before it ends.
    pub sync: SyncMode,
    /// Whether to add a row for the streams of the C library.
    pub stdio: bool,
    /// Whether the plan is smaller than the published experiment.
    pub reduced: bool,
}

impl CopyPlan {
    /// The twenty sizes of the book: 1 to 524,288.
    pub fn published_buffers() -> Vec<u64> {
        (0..20).map(|power| 1 << power).collect()
    }

    /// Checks that its files fit, and can be evicted if the plan needs that.
    ///
    /// # Errors
    ///
    /// The errors of [`check_room`] and [`check_eviction`].
    pub fn check(&self, directory: &Path) -> Result<DirectoryInfo, MeasureError> {
        let files = match self.page_cache {
            PageCache::Hot => 1,
            // Each row has its own file.
            PageCache::Cold => self.techniques().len() as u64,
        };
        let inputs = self.file_bytes.saturating_mul(files);
        let described = match &self.to {
            CopyTarget::File(None) => check_room(directory, inputs + self.file_bytes)?,
            CopyTarget::File(Some(other)) => {
                check_room(other, self.file_bytes).map_err(name_option_to)?;
                check_room(directory, inputs)?
            }
            CopyTarget::Null | CopyTarget::Pipe => check_room(directory, inputs)?,
        };
        if self.page_cache == PageCache::Cold {
            check_eviction(directory)?;
        }
        Ok(described)
    }

    fn techniques(&self) -> Vec<CopyTechnique> {
        let sizes = self.buffer_bytes.iter();
        let mut techniques: Vec<CopyTechnique> = sizes
            .map(|&buffer_bytes| CopyTechnique::ReadWrite { buffer_bytes })
            .collect();
        if self.stdio {
            techniques.push(CopyTechnique::Stdio);
        }
        techniques
    }

    /// One row per technique.
    fn rows(&self) -> Vec<ExperimentRow> {
        let row = |technique: CopyTechnique| match technique {
            CopyTechnique::ReadWrite { buffer_bytes } => ExperimentRow {
                technique: "read-write".to_owned(),
                buffer_bytes: Some(buffer_bytes),
                ..ExperimentRow::default()
            },
            CopyTechnique::Stdio => ExperimentRow {
                technique: "stdio".to_owned(),
                ..ExperimentRow::default()
            },
        };
        self.techniques().into_iter().map(row).collect()
    }

    /// The number of repeats of each row, followed by that of the start of a
    /// process.
    pub(super) fn counts(&self) -> Vec<usize> {
        let count = |technique: CopyTechnique| match technique {
            CopyTechnique::ReadWrite { buffer_bytes } if buffer_bytes < FEW_REPEATS_BELOW_BYTES => {
                FEW_REPEATS
            }
            _ => REPEATS,
        };
        let counts = self.techniques().into_iter().map(count);
        counts.chain([REPEATS]).collect()
    }

    pub(super) fn enter(&self, eta: &mut EtaTracker<'_>) {
        let counts = self.counts();
        for (row, technique) in self.techniques().into_iter().enumerate() {
            let (name, guess_s) = match technique {
                CopyTechnique::ReadWrite { buffer_bytes } => {
                    let loops = self.file_bytes as f64 / buffer_bytes as f64;
                    // 350 ns for a read and a write of 1 B each on a current machine.
                    let calls_s = loops * 350e-9;
                    let bytes_s = self.file_bytes as f64 / 5e9;
                    let name = format!("buffer of {buffer_bytes} B");
                    (name, calls_s + bytes_s + 2e-3)
                }
                CopyTechnique::Stdio => ("stdio".to_owned(), self.file_bytes as f64 * 5e-9),
            };
            eta.enter(NAME, row, name, (counts[row], guess_s));
        }
        let start = self.techniques().len();
        eta.enter(NAME, start, "start".to_owned(), (REPEATS, 2e-3));
    }
}

pub(super) fn run(plan: &CopyPlan, bench: &mut Bench<'_>) -> (Reproduction, Option<MeasureError>) {
    let setting = Setting {
        repeats: REPEATS,
        file_bytes: Some(plan.file_bytes),
        to: Some(plan.to.name().to_owned()),
        sync: Some(plan.sync),
        start_s_samples: vec![None; REPEATS],
        ..Setting::default()
    };
    let mut reproduction = Reproduction {
        reduced: plan.reduced,
        cache: plan.page_cache,
        ..unmeasured(NAME, setting, plan.rows())
    };
    for row in &mut reproduction.rows {
        row.resident_bytes_samples.resize(REPEATS, None);
        row.fetched_bytes_samples.resize(REPEATS, None);
    }
    let failure = measure(plan, bench, &mut reproduction).err();
    (reproduction, failure)
}

/// The files that are copied, and their contents.
struct Inputs {
    files: Vec<PatternFile>,
    pattern: Pattern,
}

impl Inputs {
    fn of_row(&self, row: usize) -> &PatternFile {
        &self.files[row.min(self.files.len() - 1)]
    }
}

fn measure(
    plan: &CopyPlan,
    bench: &mut Bench<'_>,
    reproduction: &mut Reproduction,
) -> Result<(), MeasureError> {
    // Checked again, since other experiments may have used the space.
    let described = plan.check(bench.directory)?;
    reproduction.setting.st_blksize = Some(described.st_blksize);
    reproduction.setting.read_ahead_kb = described.read_ahead_kb;
    let techniques = plan.techniques();
    let pattern = Pattern::new(bench.seed);
    if !prove(plan, bench, pattern)? {
        return Ok(());
    }
    let mut inputs = Inputs {
        files: Vec::new(),
        pattern,
    };
    let files = match plan.page_cache {
        PageCache::Hot => 1,
        PageCache::Cold => techniques.len(),
    };
    for _ in 0..files {
        if bench.is_stopped() {
            return Ok(());
        }
        let file = PatternFile::with_span(bench.directory, pattern, plan.file_bytes);
        inputs
            .files
            .push(file.map_err(cannot_create(bench.directory))?);
    }
    let mut rng = Rng::with_seed(bench.seed);
    for (repeat, row) in interleaved(&plan.counts(), &mut rng) {
        if bench.is_stopped() {
            return Ok(());
        }
        let began_ns = bench.clock.now_ns();
        bench.eta.begin(NAME, row);
        if row == techniques.len() {
            reproduction.setting.start_s_samples[repeat] = start(bench)?;
        } else {
            let measured = measure_row(plan, bench, &inputs, (row, techniques[row]))?;
            let Some(measured) = measured else {
                return Ok(());
            };
            note_row(&mut reproduction.rows[row], repeat, &measured);
        }
        let took_ns = bench.clock.now_ns() - began_ns;
        bench.eta.end(took_ns as f64 / 1e9);
    }
    Ok(())
}

struct MeasuredCopy {
    copy: ChildCopy,
    resident_bytes: u64,
}

fn note_row(row: &mut ExperimentRow, repeat: usize, measured: &MeasuredCopy) {
    let ChildCopy {
        clock_s,
        usage,
        reads,
    } = measured.copy;
    let sample = Sample {
        user_s: Some(usage.user_s),
        system_s: Some(usage.system_s),
        cpu_s: Some(usage.user_s + usage.system_s),
        clock_s,
    };
    note(row, repeat, sample);
    row.loops = reads;
    row.resident_bytes_samples[repeat] = Some(measured.resident_bytes);
    row.fetched_bytes_samples[repeat] = Some(usage.fetched_bytes);
}

/// Makes one copy of the whole file; `None` if the run was stopped.
fn measure_row(
    plan: &CopyPlan,
    bench: &mut Bench<'_>,
    inputs: &Inputs,
    (row, technique): (usize, CopyTechnique),
) -> Result<Option<MeasuredCopy>, MeasureError> {
    let file = inputs.of_row(row);
    let cannot = |error| {
        let directory = bench.directory.display();
        MeasureError::io(format!("cannot use a file in '{directory}'"))(error)
    };
    let resident_bytes = match plan.page_cache {
        PageCache::Hot => file.warm(),
        PageCache::Cold => file.evict(),
    }
    .and_then(|()| file.resident_bytes())
    .map_err(cannot)?;
    let is_cold = resident_bytes as f64 <= MAX_LEFT_SHARE * plan.file_bytes as f64;
    if plan.page_cache == PageCache::Cold && !is_cold {
        let described = check_room(bench.directory, 0)?;
        return Err(MeasureError::NotCold {
            directory: described.path,
            file_system: described.file_system,
        });
    }
    let (output, kept) = match &plan.to {
        CopyTarget::Null => (CopyOutput::Null, None),
        CopyTarget::Pipe => (CopyOutput::Pipe(None), None),
        CopyTarget::File(other) => {
            let directory = other.as_deref().unwrap_or(bench.directory);
            let file = unnamed_file(directory, sync_flags(plan.sync)).map(File::from);
            let file = file.map_err(cannot_create(directory))?;
            // The copy has an open file description of its own: a duplicate would cost the child a lock in every
            // write.
            let kept = reopened(&file).map_err(cannot_create(directory))?;
            (CopyOutput::File(file), Some(kept))
        }
    };
    let order = CopyOrder {
        technique,
        input: reopened(&file.fd()).map_err(cannot)?,
        input_bytes: plan.file_bytes,
        output,
        fsync: plan.sync == SyncMode::Fsync,
    };
    let Some(copy) = copy(bench, order)? else {
        return Ok(None);
    };
    if let Some(written) = kept {
        check_written(&written, inputs.pattern, plan.file_bytes)?;
    }
    Ok(Some(MeasuredCopy {
        copy,
        resident_bytes,
    }))
}

/// Times the start of a process: a copy of 0 bytes.
fn start(bench: &mut Bench<'_>) -> Result<Option<f64>, MeasureError> {
    let input = File::open("/dev/null").map_err(MeasureError::io("cannot open /dev/null"))?;
    let order = CopyOrder {
        technique: CopyTechnique::ReadWrite { buffer_bytes: 4096 },
        input,
        input_bytes: 0,
        output: CopyOutput::Null,
        fsync: false,
    };
    Ok(copy(bench, order)?.map(|copy| copy.clock_s))
}

/// Copies a small file with every technique into a pipe and compares each byte,
/// since bytes written to `/dev/null` cannot be read back. Returns false if the
/// run was stopped.
fn prove(plan: &CopyPlan, bench: &mut Bench<'_>, pattern: Pattern) -> Result<bool, MeasureError> {
    let bytes = PROOF_BYTES.min(plan.file_bytes);
    let file = PatternFile::with_span(bench.directory, pattern, bytes);
    let file = file.map_err(cannot_create(bench.directory))?;
    for technique in plan.techniques() {
        let order = CopyOrder {
            technique,
            input: reopened(&file.fd()).map_err(cannot_create(bench.directory))?,
            input_bytes: bytes,
            output: CopyOutput::Pipe(Some(pattern)),
            fsync: false,
        };
        if bench.is_stopped() || copy(bench, order)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check_written(file: &File, pattern: Pattern, bytes: u64) -> Result<(), MeasureError> {
    let mut check = PatternCheck::new(pattern);
    let mut piece = vec![0; 1 << 16];
    let mut at = 0;
    let cannot = MeasureError::io("cannot read back the copied bytes");
    let read = || -> io::Result<()> {
        loop {
            let count = plain_calls::pread(file.as_fd(), &mut piece, at)?;
            if count == 0 {
                return Ok(());
            }
            check.take(&piece[..count]);
            at += count as u64;
        }
    };
    let mut read = read;
    read().map_err(cannot)?;
    check
        .end(bytes)
        .map_err(|mismatch| wrong(mismatch, "the copy", "apue-3.5"))
}

/// Names `--to` instead of `--dir` in the error of a directory.
fn name_option_to(error: DirectoryError) -> MeasureError {
    match error {
        DirectoryError::Unusable {
            directory,
            why,
            source,
            remedy,
        } => MeasureError::Directory(DirectoryError::Unusable {
            directory,
            why,
            source,
            remedy: remedy.replace("--dir", "--to"),
        }),
        full @ DirectoryError::NoSpace { .. } => {
            let what = full.to_string().replace("--dir", "--to");
            MeasureError::io(what)(io::ErrorKind::StorageFull.into())
        }
    }
}

fn cannot_create(directory: &Path) -> impl FnOnce(io::Error) -> MeasureError + use<> {
    MeasureError::io(format!(
        "cannot create a file in '{}': name another directory with --dir",
        directory.display()
    ))
}

/// The ratios behind the claims of the book:
///
/// - the CPU time with a buffer of `st_blksize` over that with every larger one;
/// - for a cold file, the wall time with buffers above 128 KiB over that with
///   128 KiB;
/// - the CPU time of the C library over that with a buffer of one block.
pub(super) fn ratios(reproduction: &Reproduction) -> Vec<Ratio> {
    let Reproduction {
        rows,
        published,
        setting,
        cache,
        ..
    } = reproduction;
    let index_of = |bytes: u64| rows.iter().position(|row| row.buffer_bytes == Some(bytes));
    let larger_than = |bytes: u64| {
        let sized = rows.iter().enumerate();
        sized
            .filter(move |(_, row)| row.buffer_bytes.is_some_and(|other| other > bytes))
            .map(|(index, _)| index)
    };
    let mut pairs = Vec::new();
    if let Some(block) = setting.st_blksize
        && let Some(at_block) = index_of(block)
    {
        pairs.extend(larger_than(block).map(|row| ((at_block, row), Measure::Cpu)));
        let stdio = rows.iter().position(|row| row.technique == "stdio");
        pairs.extend(stdio.map(|row| ((row, at_block), Measure::Cpu)));
    }
    if *cache == PageCache::Cold
        && let Some(at) = index_of(READ_AHEAD_BYTES)
    {
        pairs.extend(larger_than(READ_AHEAD_BYTES).map(|row| ((row, at), Measure::Clock)));
    }
    pairs
        .into_iter()
        .filter_map(|(pair, measure)| ratio(rows, pair, measure, published))
        .collect()
}

/// Buffer size above which the book sees no effect of read-ahead.
const READ_AHEAD_BYTES: u64 = 128 << 10;
