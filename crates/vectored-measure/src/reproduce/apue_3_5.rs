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
use vectored_report::words;
use vectored_results::model::{
    ExperimentName, ExperimentRow, Measure, PageCache, Ratio, Reproduction, Setting, SyncMode,
};

use crate::measure::{MeasureError, Pattern, PatternFile, check_eviction, sync_flags};
use crate::reproduce::bench::Bench;
use crate::reproduce::copy_by_program::{
    BUFFER, CopyProgram, OUTPUT, PROOF_LIMIT, ProgramOrder, limit,
};
use crate::reproduce::copy_process::{ChildCopy, CopyOrder, CopyOutput, CopyTechnique, copy};
use crate::reproduce::eta::EtaTracker;
use crate::reproduce::ratios::ratio;
use crate::reproduce::repeats::{REPEATS, Sample, interleaved, note, unmeasured};
use crate::reproduce::verify_content::{PatternCheck, wrong};

const NAME: ExperimentName = ExperimentName::Apue35;

/// Rows of buffers smaller than this have [`FEW_REPEATS`]: these rows take as long
/// as all others together and vary little.
const FEW_REPEATS_BELOW_BYTES: u64 = 64;
const FEW_REPEATS: usize = 3;

/// Beside a program of the user, which may be slow, rows of buffers smaller than this have few repeats.
const FEW_REPEATS_BESIDE_BELOW_BYTES: u64 = 1024;

/// Beside a program of the user, buffers smaller than this copy a prefix of the file, of so many buffers.
const PREFIX_BELOW_BYTES: u64 = 64;
const PREFIX_BUFFERS: u64 = 200_000;

/// Beside a program of the user, no row is repeated after this time.
const BESIDE_S: f64 = 40.0;

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
    /// A program that makes the same copies as ours. The files are then lines of text, buffers below 64 bytes copy a
    /// prefix, and there is no row of the C library.
    pub program: Option<CopyProgram>,
}

/// A row: who copies, and the length of the file.
#[derive(Clone, Copy, Debug)]
struct PlannedCopy<'a> {
    by: Copier<'a>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum Copier<'a> {
    Ours(CopyTechnique),
    /// With a buffer of this size, if it is told one.
    Program(&'a CopyProgram, Option<u64>),
}

impl Copier<'_> {
    fn buffer_bytes(self) -> Option<u64> {
        match self {
            Copier::Ours(CopyTechnique::ReadWrite { buffer_bytes }) => Some(buffer_bytes),
            Copier::Ours(CopyTechnique::Stdio) => None,
            Copier::Program(_, buffer_bytes) => buffer_bytes,
        }
    }
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
        let inputs = self.input_bytes().into_iter();
        let inputs = inputs.fold(0, u64::saturating_add);
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

    /// The rows, in their order.
    fn copies(&self) -> Vec<PlannedCopy<'_>> {
        let sizes = self.buffer_bytes.iter();
        let ours = sizes.map(|&buffer_bytes| PlannedCopy {
            by: Copier::Ours(CopyTechnique::ReadWrite { buffer_bytes }),
            bytes: self.bytes_with(buffer_bytes),
        });
        let mut copies: Vec<PlannedCopy<'_>> = ours.collect();
        if let Some(program) = &self.program {
            let sizes = self.buffer_bytes.iter();
            let theirs = sizes.map(|&buffer_bytes| PlannedCopy {
                by: Copier::Program(program, Some(buffer_bytes)),
                bytes: self.bytes_with(buffer_bytes),
            });
            if program.names(BUFFER) {
                copies.extend(theirs);
            } else {
                copies.push(PlannedCopy {
                    by: Copier::Program(program, None),
                    bytes: self.file_bytes,
                });
            }
            let any = self.buffer_bytes.last().copied();
            copies.extend(
                [Copier::Ours(START), Copier::Program(program, any)]
                    .map(|by| PlannedCopy { by, bytes: 0 }),
            );
        } else if self.stdio {
            copies.push(PlannedCopy {
                by: Copier::Ours(CopyTechnique::Stdio),
                bytes: self.file_bytes,
            });
        }
        copies
    }

    /// Length of the copy with a buffer of this size.
    fn bytes_with(&self, buffer_bytes: u64) -> u64 {
        if self.program.is_some() && buffer_bytes < PREFIX_BELOW_BYTES {
            self.file_bytes.min(PREFIX_BUFFERS * buffer_bytes)
        } else {
            self.file_bytes
        }
    }

    /// Lengths of the files that are copied: one for each row, or if they are hot, one for each length.
    fn input_bytes(&self) -> Vec<u64> {
        let mut lengths: Vec<u64> = self.copies().iter().map(|copy| copy.bytes).collect();
        if self.page_cache == PageCache::Hot {
            lengths.sort_unstable();
            lengths.dedup();
        }
        lengths
    }

    /// One row per copy.
    fn rows(&self) -> Vec<ExperimentRow> {
        let row = |copy: PlannedCopy<'_>| ExperimentRow {
            technique: match copy.by {
                Copier::Ours(CopyTechnique::ReadWrite { .. }) => "read-write",
                Copier::Ours(CopyTechnique::Stdio) => "stdio",
                Copier::Program(..) => "program",
            }
            .to_owned(),
            buffer_bytes: copy.by.buffer_bytes().filter(|_| copy.bytes > 0),
            copied_bytes: (copy.bytes < self.file_bytes).then_some(copy.bytes),
            ..ExperimentRow::default()
        };
        self.copies().into_iter().map(row).collect()
    }

    /// The number of repeats of each row, followed by that of the start of a
    /// process, which is a row if there is a program.
    pub(super) fn counts(&self) -> Vec<usize> {
        let few_below = match self.program {
            Some(_) => FEW_REPEATS_BESIDE_BELOW_BYTES,
            None => FEW_REPEATS_BELOW_BYTES,
        };
        let count = |copy: PlannedCopy<'_>| match copy.by.buffer_bytes() {
            Some(buffer_bytes) if buffer_bytes < few_below => FEW_REPEATS,
            _ => REPEATS,
        };
        let counts = self.copies().into_iter().map(count);
        let start = self.program.is_none().then_some(REPEATS);
        counts.chain(start).collect()
    }

    pub(super) fn enter(&self, eta: &mut EtaTracker<'_>) {
        let counts = self.counts();
        for (row, copy) in self.copies().into_iter().enumerate() {
            let bytes = copy.bytes as f64;
            let (name, guess_s) = match copy.by.buffer_bytes() {
                _ if copy.bytes == 0 => ("start".to_owned(), 2e-3),
                Some(buffer_bytes) => {
                    // 350 ns for a read and a write of 1 B each on a current machine.
                    let calls_s = bytes / buffer_bytes as f64 * 350e-9;
                    let name = format!("buffer of {buffer_bytes} B");
                    (name, calls_s + bytes / 5e9 + 2e-3)
                }
                None => ("buffer of its own".to_owned(), bytes * 5e-9),
            };
            let name = match copy.by {
                Copier::Program(..) => format!("the program, {name}"),
                Copier::Ours(_) => name,
            };
            eta.enter(NAME, row, name, (counts[row], guess_s));
        }
        if self.program.is_none() {
            let start = self.copies().len();
            eta.enter(NAME, start, "start".to_owned(), (REPEATS, 2e-3));
        }
    }
}

/// The copy of an empty file, which shows how long a process takes to start.
const START: CopyTechnique = CopyTechnique::ReadWrite { buffer_bytes: 4096 };

pub(super) fn run(plan: &CopyPlan, bench: &mut Bench<'_>) -> (Reproduction, Option<MeasureError>) {
    let setting = Setting {
        repeats: REPEATS,
        file_bytes: Some(plan.file_bytes),
        to: Some(plan.to.name().to_owned()),
        sync: Some(plan.sync),
        program: plan.program.as_ref().map(|program| program.typed.clone()),
        start_s_samples: match plan.program {
            Some(_) => Vec::new(),
            None => vec![None; REPEATS],
        },
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
    fn of_row(&self, row: usize, bytes: u64, page_cache: PageCache) -> &PatternFile {
        let of_length = || self.files.iter().find(|file| file.span_bytes == bytes);
        match page_cache {
            PageCache::Cold => &self.files[row],
            PageCache::Hot => of_length().expect("there is a file of each length"),
        }
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
    let copies = plan.copies();
    let pattern = match plan.program {
        Some(_) => Pattern::text(bench.seed),
        None => Pattern::new(bench.seed),
    };
    if !prove(plan, bench, pattern)? {
        return Ok(());
    }
    let reads_of_start = match &plan.program {
        None => 0,
        Some(program) => {
            let Some(proof) = prove_program(plan, program, bench, pattern)? else {
                return Ok(());
            };
            reproduction.notes.extend(proof.notes);
            proof.reads_of_start
        }
    };
    let mut inputs = Inputs {
        files: Vec::new(),
        pattern,
    };
    for bytes in plan.input_bytes() {
        if bench.is_stopped() {
            return Ok(());
        }
        let file = PatternFile::with_span(bench.directory, pattern, bytes);
        inputs
            .files
            .push(file.map_err(cannot_create(bench.directory))?);
    }
    let mut rng = Rng::with_seed(bench.seed);
    let first_ns = bench.clock.now_ns();
    for (repeat, row) in interleaved(&plan.counts(), &mut rng) {
        if bench.is_stopped() {
            return Ok(());
        }
        let began_ns = bench.clock.now_ns();
        let is_late = (began_ns - first_ns) as f64 / 1e9 > BESIDE_S;
        if plan.program.is_some() && repeat > 0 && is_late {
            let note = format!("No row was repeated after {BESIDE_S} s.");
            reproduction.notes.push(note);
            return Ok(());
        }
        bench.eta.begin(NAME, row);
        if row == copies.len() {
            reproduction.setting.start_s_samples[repeat] = start(bench)?;
        } else {
            let measured = measure_row(plan, bench, &inputs, (row, copies[row]))?;
            let Some(mut measured) = measured else {
                return Ok(());
            };
            if let Copier::Program(..) = copies[row].by {
                let reads = &mut measured.copy.reads;
                *reads = reads.map(|reads| reads.saturating_sub(reads_of_start));
            }
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
        left_behind: _,
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

/// Makes the copy of a row; `None` if the run was stopped.
fn measure_row(
    plan: &CopyPlan,
    bench: &mut Bench<'_>,
    inputs: &Inputs,
    (row, planned): (usize, PlannedCopy<'_>),
) -> Result<Option<MeasuredCopy>, MeasureError> {
    let file = inputs.of_row(row, planned.bytes, plan.page_cache);
    let cannot = |error| {
        let directory = bench.directory.display();
        MeasureError::io(format!("cannot use a file in '{directory}'"))(error)
    };
    let resident_bytes = if planned.bytes == 0 {
        0
    } else {
        match plan.page_cache {
            PageCache::Hot => file.warm(),
            PageCache::Cold => file.evict(),
        }
        .and_then(|()| file.resident_bytes())
        .map_err(cannot)?
    };
    let is_cold = resident_bytes as f64 <= MAX_LEFT_SHARE * planned.bytes as f64;
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
            let (file, kept) = output_file(directory, plan.sync)?;
            (CopyOutput::File(file), Some(kept))
        }
    };
    let input = reopened(&file.fd()).map_err(cannot)?;
    let copy = match planned.by {
        Copier::Program(program, buffer_bytes) => {
            let order = ProgramOrder {
                buffer_bytes,
                input,
                input_bytes: planned.bytes,
                output,
                limit: limit(plan.sync),
            };
            program.copy(bench, order)?.map(|(copy, _)| copy)
        }
        Copier::Ours(technique) => {
            let order = CopyOrder {
                technique,
                input,
                input_bytes: planned.bytes,
                output,
                fsync: plan.sync == SyncMode::Fsync,
            };
            copy(bench, order)?
        }
    };
    let Some(copy) = copy else {
        return Ok(None);
    };
    if let Some(written) = kept {
        let arrived = read_back(&written, inputs.pattern)?;
        match planned.by {
            Copier::Program(program, buffer_bytes) => {
                program.check(buffer_bytes, &arrived, planned.bytes)?;
            }
            Copier::Ours(_) => arrived
                .end(planned.bytes)
                .map_err(|mismatch| wrong(mismatch, "the copy", "apue-3.5"))?,
        }
    }
    Ok(Some(MeasuredCopy {
        copy,
        resident_bytes,
    }))
}

/// A file for a copy, and the same file to be read back. The copy has an open file description of its own: a duplicate
/// would cost the child a lock in every write.
fn output_file(directory: &Path, sync: SyncMode) -> Result<(File, File), MeasureError> {
    let file = unnamed_file(directory, sync_flags(sync)).map(File::from);
    let file = file.map_err(cannot_create(directory))?;
    let kept = reopened(&file).map_err(cannot_create(directory))?;
    Ok((file, kept))
}

/// Times the start of a process: a copy of 0 bytes.
fn start(bench: &mut Bench<'_>) -> Result<Option<f64>, MeasureError> {
    let input = File::open("/dev/null").map_err(MeasureError::io("cannot open /dev/null"))?;
    let order = CopyOrder {
        technique: START,
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
    for copied in plan.copies() {
        let Copier::Ours(technique) = copied.by else {
            continue;
        };
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

/// What the proof of a program found.
struct ProgramProof {
    /// Its reads in a copy of an empty file.
    reads_of_start: u64,
    notes: Vec<String>,
}

/// Has the program copy a small file with each buffer, and compares each byte. `None` if the run was stopped.
fn prove_program(
    plan: &CopyPlan,
    program: &CopyProgram,
    bench: &mut Bench<'_>,
    text: Pattern,
) -> Result<Option<ProgramProof>, MeasureError> {
    let mut proof = ProgramProof {
        reads_of_start: 0,
        notes: Vec::new(),
    };
    let mut largest = None;
    let mut left_behind = 0;
    for planned in plan.copies() {
        let Copier::Program(_, buffer_bytes) = planned.by else {
            continue;
        };
        largest = buffer_bytes;
        let bytes = planned.bytes.min(PROOF_BYTES);
        let Some((copy, said)) = prove_copy(program, bench, text, (buffer_bytes, bytes))? else {
            return Ok(None);
        };
        if bytes == 0 {
            proof.reads_of_start = copy.reads.unwrap_or(0);
        }
        left_behind = left_behind.max(copy.left_behind);
        if !said.is_empty() && proof.notes.is_empty() {
            let note = format!("The program writes to standard error: {said}");
            proof.notes.push(note);
        }
    }
    if left_behind > 0 {
        let processes = words::count(left_behind as usize, "process");
        proof.notes.push(format!(
            "The program ends before all that it has started ({processes}): what these do afterwards is in no column."
        ));
    }
    let any = Pattern::new(bench.seed);
    let bytes = plan.file_bytes.min(PROOF_BYTES);
    match prove_copy(program, bench, any, (largest, bytes)) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(None),
        Err(error @ MeasureError::Program { .. }) => proof.notes.push(format!(
            "The program copies text alone, which it was timed with. Bytes of any value: {error}."
        )),
        Err(error) => return Err(error),
    }
    if plan.sync != SyncMode::None && (plan.sync == SyncMode::Fsync || program.names(OUTPUT)) {
        proof.notes.push(format!(
            "--sync {} holds for vectored copy alone: the program must do that itself.",
            plan.sync.name()
        ));
    }
    Ok(Some(proof))
}

/// Has the program copy a file to another; returns also what it wrote to its standard error.
fn prove_copy(
    program: &CopyProgram,
    bench: &mut Bench<'_>,
    pattern: Pattern,
    (buffer_bytes, bytes): (Option<u64>, u64),
) -> Result<Option<(ChildCopy, String)>, MeasureError> {
    let file = PatternFile::with_span(bench.directory, pattern, bytes);
    let file = file.map_err(cannot_create(bench.directory))?;
    let (output, kept) = output_file(bench.directory, SyncMode::None)?;
    let order = ProgramOrder {
        buffer_bytes,
        input: reopened(&file.fd()).map_err(cannot_create(bench.directory))?,
        input_bytes: bytes,
        output: CopyOutput::File(output),
        limit: PROOF_LIMIT,
    };
    let Some((copy, said)) = program.copy(bench, order)? else {
        return Ok(None);
    };
    program.check(buffer_bytes, &read_back(&kept, pattern)?, bytes)?;
    Ok(Some((copy, said)))
}

/// Compares a file with a pattern.
fn read_back(file: &File, pattern: Pattern) -> Result<PatternCheck, MeasureError> {
    let mut check = PatternCheck::new(pattern);
    let mut piece = vec![0; 1 << 16];
    let mut at = 0;
    loop {
        let count = plain_calls::pread(file.as_fd(), &mut piece, at);
        let count = count
            .map_err(|error| MeasureError::io("cannot read back the copied bytes")(error.into()))?;
        if count == 0 {
            return Ok(check);
        }
        check.take(&piece[..count]);
        at += count as u64;
    }
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
///
/// If a program was timed: its time over that of ours with each buffer that copied the whole file, both without the start
/// of the process.
pub(super) fn ratios(reproduction: &Reproduction) -> Vec<Ratio> {
    let Reproduction {
        rows,
        published,
        setting,
        cache,
        ..
    } = reproduction;
    let index_of = |bytes: u64| rows.iter().position(|row| row.buffer_bytes == Some(bytes));
    if setting.program.is_some() {
        let compared = reproduction.compared();
        let copying: Vec<ExperimentRow> = rows
            .iter()
            .map(|row| without_start(reproduction, row))
            .collect();
        let is_resolved = |row: &ExperimentRow| reproduction.copying_s(row, compared).is_some();
        let theirs = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.technique == "program" && row.copied_bytes.is_none());
        let pairs = theirs.filter_map(|(index, row)| Some((index, index_of(row.buffer_bytes?)?)));
        let resolved =
            pairs.filter(|(of, over)| is_resolved(&rows[*of]) && is_resolved(&rows[*over]));
        return resolved
            .filter_map(|pair| ratio(&copying, pair, compared, published))
            .collect();
    }
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

/// A row whose samples lack the start of the process in the same repeat.
fn without_start(reproduction: &Reproduction, row: &ExperimentRow) -> ExperimentRow {
    let without = |measure: Measure| {
        let start = reproduction.start_of(&row.technique);
        let starts = start.map_or(&[][..], |start| start.samples(measure));
        let pairs = std::iter::zip(row.samples(measure), starts);
        pairs
            .map(|(whole, start)| Some((*whole)? - (*start)?))
            .collect()
    };
    ExperimentRow {
        cpu_s_samples: without(Measure::Cpu),
        clock_s_samples: without(Measure::Clock),
        ..row.clone()
    }
}

/// Buffer size above which the book sees no effect of read-ahead.
const READ_AHEAD_BYTES: u64 = 128 << 10;
