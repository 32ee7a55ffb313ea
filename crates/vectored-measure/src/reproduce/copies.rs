//! `apue-3.5`: the copy program with buffers of different sizes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use vectored_machine::host::check_room;
use vectored_machine::model::DirectoryInfo;
use vectored_machine::platform::files::{reopened, unnamed_file};
use vectored_report::words;
use vectored_results::model::{
    ExperimentName, ExperimentRow, PageCache, Reproduction, RowKey, Sample, SyncMode,
};

use crate::measure::{MeasureError, Pattern, PatternFile, check_eviction, sync_flags};
use crate::reproduce::content::{arrived, wrong};
use crate::reproduce::copy_program::{BUFFER, Copied, CopyProgram, OUTPUT};
use crate::reproduce::{Bench, CopyTarget, Plan, REPEATS, Sampler, Step, times};

/// Rows of buffers smaller than this have [`FEW_REPEATS`]: these rows take as long as all other rows together, and vary
/// little.
const FEW_REPEATS_BELOW_BYTES: u64 = 64;
const FEW_REPEATS: usize = 3;

/// Beside a program of the user, which may be slow, rows of buffers smaller than this have few repeats.
const FEW_REPEATS_BESIDE_BELOW_BYTES: u64 = 1024;

/// Beside a program of the user, a row of buffers smaller than this copies `PREFIX_BUFFERS` buffers of the file.
const PREFIX_BELOW_BYTES: u64 = 64;
const PREFIX_BUFFERS: u64 = 200_000;

/// Beside a program of the user, no row is repeated after this time.
const BESIDE_S: f64 = 40.0;

/// How long a program of the user may take for the copy of a small file, of the whole file, and of a file whose writes wait
/// for the device.
const PROOF_LIMIT: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(20);
const SYNCED_LIMIT: Duration = Duration::from_secs(600);

/// Length of the copy that proves, for every row, that all bytes arrive: longer than all published buffers, and no multiple
/// of a page.
const PROOF_BYTES: u64 = (1 << 20) + 1234;

/// Share of the pages that may remain after an eviction: the kernel keeps pages that are in use.
const MAX_LEFT_SHARE: f64 = 0.01;

#[derive(Clone, Debug, PartialEq)]
pub struct CopyPlan {
    pub file_bytes: u64,
    /// The sizes of the buffer, one per row; none is 0.
    pub buffer_bytes: Vec<u64>,
    /// Whether the file is read beforehand (hot), or its pages are evicted before each copy (cold).
    pub page_cache: PageCache,
    pub to: CopyTarget,
    /// How durable each write, or the whole copy, must be.
    pub sync: SyncMode,
    pub reduced: bool,
    /// A program of the user that makes the same copies as `vectored copy`. With such a program, the files hold lines of
    /// text, buffers below 64 bytes copy a prefix, and there is no row of the C library.
    pub program: Option<CopyProgram>,
}

struct PlannedCopy {
    by: CopyProgram,
    technique: &'static str,
    buffer_bytes: Option<u64>,
    bytes: u64,
}

impl CopyPlan {
    /// The twenty sizes of the book: 1 to 524,288.
    pub fn published_buffers() -> Vec<u64> {
        (0..20).map(|power| 1 << power).collect()
    }

    fn copies(&self) -> Vec<PlannedCopy> {
        let ours = |arguments: &[&str]| {
            let fsync: &[&str] = if self.sync == SyncMode::Fsync { &["--sync"] } else { &[] };
            CopyProgram::ours(&[arguments, fsync].concat())
        };
        let read_write = ours(&["--technique", "read-write", "--buffer-size", BUFFER]);
        let copy = |by: &CopyProgram, buffer_bytes: Option<u64>, bytes| PlannedCopy {
            by: by.clone(),
            technique: if by.is_ours { "read-write" } else { "program" },
            buffer_bytes,
            bytes,
        };
        let sizes = self.buffer_bytes.iter();
        let with_buffers = |by: &CopyProgram| -> Vec<PlannedCopy> {
            let sizes = sizes.clone();
            sizes
                .map(|&size| copy(by, Some(size), self.bytes_with(size)))
                .collect()
        };
        let mut copies = with_buffers(&read_write);
        match &self.program {
            Some(program) if program.names(BUFFER) => copies.extend(with_buffers(program)),
            Some(program) => copies.push(copy(program, None, self.file_bytes)),
            None => copies.push(PlannedCopy {
                technique: "stdio",
                ..copy(&ours(&["--technique", "stdio"]), None, self.file_bytes)
            }),
        }
        copies.push(copy(&read_write, Some(4096), 0));
        let any = self.buffer_bytes.last().copied();
        copies.extend(self.program.as_ref().map(|program| copy(program, any, 0)));
        copies
    }

    fn bytes_with(&self, buffer_bytes: u64) -> u64 {
        if self.program.is_some() && buffer_bytes < PREFIX_BELOW_BYTES {
            self.file_bytes.min(PREFIX_BUFFERS * buffer_bytes)
        } else {
            self.file_bytes
        }
    }

    fn input_bytes(&self) -> Vec<u64> {
        let mut lengths: Vec<u64> = self.copies().iter().map(|copy| copy.bytes).collect();
        if self.page_cache == PageCache::Hot {
            lengths.sort_unstable();
            lengths.dedup();
        }
        lengths
    }
}

impl Plan for CopyPlan {
    fn name(&self) -> ExperimentName {
        ExperimentName::Apue35
    }

    fn is_reduced(&self) -> bool {
        self.reduced
    }

    fn file_bytes(&self) -> u64 {
        let inputs = self.input_bytes().into_iter();
        inputs.fold(0, u64::saturating_add)
    }

    fn check(&self, directory: &Path) -> Result<DirectoryInfo, MeasureError> {
        let inputs = self.file_bytes();
        let described = match &self.to {
            CopyTarget::File(None) => check_room(directory, inputs + self.file_bytes),
            CopyTarget::File(Some(other)) => {
                check_room(other, self.file_bytes).map_err(name_option_to)?;
                check_room(directory, inputs)
            }
            CopyTarget::Null | CopyTarget::Pipe => check_room(directory, inputs),
        };
        let described = described.map_err(MeasureError::Directory)?;
        if self.page_cache == PageCache::Cold {
            check_eviction(directory)?;
        }
        Ok(described)
    }

    fn limit_s(&self) -> f64 {
        if self.program.is_some() { BESIDE_S } else { f64::INFINITY }
    }

    fn steps(&self) -> Vec<Step> {
        let few_below = match self.program {
            Some(_) => FEW_REPEATS_BESIDE_BELOW_BYTES,
            None => FEW_REPEATS_BELOW_BYTES,
        };
        let step = |copy: PlannedCopy| {
            let name = match copy.buffer_bytes {
                _ if copy.bytes == 0 => "start".to_owned(),
                Some(buffer_bytes) => format!("buffer of {buffer_bytes} B"),
                None => "buffer of its own".to_owned(),
            };
            let is_slow = copy.buffer_bytes.is_some_and(|bytes| bytes < few_below);
            Step {
                rows: vec![ExperimentRow {
                    copied_bytes: (copy.bytes < self.file_bytes).then_some(copy.bytes),
                    ..ExperimentRow::here(RowKey {
                        technique: copy.technique.to_owned(),
                        buffer_bytes: copy.buffer_bytes.filter(|_| copy.bytes > 0),
                        ..RowKey::default()
                    })
                }],
                name: if copy.by.is_ours { name } else { format!("the program, {name}") },
                repeats: if is_slow { FEW_REPEATS } else { REPEATS },
            }
        };
        self.copies().into_iter().map(step).collect()
    }

    fn begin<'a>(
        &'a self,
        bench: &mut Bench<'_>,
        result: &mut Reproduction,
    ) -> Result<Sampler<'a>, MeasureError> {
        let described = self.check(bench.directory)?;
        result.cache = self.page_cache;
        let setting = &mut result.setting;
        setting.file_bytes = Some(self.file_bytes);
        let to = match self.to {
            CopyTarget::Null => "null",
            CopyTarget::File(_) => "file",
            CopyTarget::Pipe => "pipe",
        };
        setting.to = Some(to.to_owned());
        setting.sync = Some(self.sync);
        setting.program = self.program.as_ref().map(|program| program.typed.clone());
        setting.st_blksize = Some(described.st_blksize);
        setting.read_ahead_kb = described.read_ahead_kb;
        let pattern = match self.program {
            Some(_) => Pattern::text(bench.seed),
            None => Pattern::new(bench.seed),
        };
        let copies = self.copies();
        let reads_of_start = self.prove(&copies, bench, pattern, &mut result.notes)?;
        let mut inputs = Vec::new();
        for bytes in self.input_bytes() {
            bench.go_on()?;
            inputs.push(input(bench.directory, pattern, bytes)?);
        }
        Ok(Box::new(move |step, bench, _| {
            let copy = &copies[step];
            let of_length = || inputs.iter().position(|file| file.span_bytes == copy.bytes);
            let input = match self.page_cache {
                PageCache::Cold => Some(step),
                PageCache::Hot => of_length(),
            };
            let input = &inputs[input.expect("there is a file of each length")];
            let mut sample = self.sample(copy, bench, (input, pattern))?;
            if !copy.by.is_ours {
                let reads = &mut sample.loops;
                *reads = reads.map(|reads| reads.saturating_sub(reads_of_start));
            }
            Ok(vec![sample])
        }))
    }
}

impl CopyPlan {
    fn sample(
        &self,
        planned: &PlannedCopy,
        bench: &Bench<'_>,
        (file, pattern): (&PatternFile, Pattern),
    ) -> Result<Sample, MeasureError> {
        let cannot = |error| {
            let directory = bench.directory.display();
            MeasureError::io(format!("cannot use a file in '{directory}'"))(error)
        };
        let mut resident_bytes = 0;
        if planned.bytes > 0 {
            let is_cold = self.page_cache == PageCache::Cold;
            let brought = if is_cold { file.evict() } else { file.warm() };
            let resident = brought.and_then(|()| file.resident_bytes());
            resident_bytes = resident.map_err(cannot)?;
            if is_cold && resident_bytes as f64 > MAX_LEFT_SHARE * planned.bytes as f64 {
                let described = check_room(bench.directory, 0).map_err(MeasureError::Directory)?;
                let file_system = &described.file_system;
                return Err(MeasureError::not_cold(&described.path, file_system));
            }
        }
        let limit = match self.sync {
            SyncMode::Dsync | SyncMode::Sync => SYNCED_LIMIT,
            SyncMode::None | SyncMode::Fsync => LIMIT,
        };
        let to = (&self.to, self.sync, limit);
        let Copied { ended, .. } = make_copy(planned, bench, (file, pattern), to)?;
        Ok(Sample {
            times: times(ended.usage, ended.took.as_secs_f64()),
            loops: ended.reads,
            resident_bytes: Some(resident_bytes),
            fetched_bytes: Some(ended.usage.fetched_bytes),
            pass_s: Vec::new(),
        })
    }

    fn prove(
        &self,
        copies: &[PlannedCopy],
        bench: &Bench<'_>,
        pattern: Pattern,
        notes: &mut Vec<String>,
    ) -> Result<u64, MeasureError> {
        let (mut reads_of_start, mut left_behind, mut said) = (0, 0, String::new());
        for planned in copies {
            let bytes = planned.bytes.min(PROOF_BYTES);
            let copied = prove_copy(planned, bench, pattern, bytes)?;
            if planned.by.is_ours {
                continue;
            }
            if bytes == 0 {
                reads_of_start = copied.ended.reads.unwrap_or(0);
            }
            left_behind = left_behind.max(copied.ended.left_behind);
            if said.is_empty() {
                said = copied.said;
            }
        }
        let (Some(program), Some(last)) = (&self.program, copies.last()) else {
            return Ok(0);
        };
        if !said.is_empty() {
            notes.push(format!("The program writes to standard error: {said}"));
        }
        if left_behind > 0 {
            let processes = words::count(left_behind as usize, "process");
            notes.push(format!(
                "The program ends before all that it has started ({processes}): what these do afterwards is in no column."
            ));
        }
        let bytes = self.file_bytes.min(PROOF_BYTES);
        match prove_copy(last, bench, Pattern::new(bench.seed), bytes) {
            Ok(_) => {}
            Err(error @ MeasureError::Program { .. }) => notes.push(format!(
                "The program copies text alone, which it was timed with. Bytes of any value: {error}."
            )),
            Err(error) => return Err(error),
        }
        if self.sync != SyncMode::None && (self.sync == SyncMode::Fsync || program.names(OUTPUT)) {
            notes.push(format!(
                "--sync {} holds for vectored copy alone: the program must do that itself.",
                self.sync.name()
            ));
        }
        Ok(reads_of_start)
    }
}

fn prove_copy(
    planned: &PlannedCopy,
    bench: &Bench<'_>,
    pattern: Pattern,
    bytes: u64,
) -> Result<Copied, MeasureError> {
    let file = input(bench.directory, pattern, bytes)?;
    let to = (&CopyTarget::File(None), SyncMode::None, PROOF_LIMIT);
    make_copy(planned, bench, (&file, pattern), to)
}

fn make_copy(
    planned: &PlannedCopy,
    bench: &Bench<'_>,
    (file, pattern): (&PatternFile, Pattern),
    (to, sync, limit): (&CopyTarget, SyncMode, Duration),
) -> Result<Copied, MeasureError> {
    let (mut output, mut kept) = (None, None);
    if let CopyTarget::File(other) = to {
        let directory = other.as_deref().unwrap_or(bench.directory);
        let made = unnamed_file(directory, sync_flags(sync)).map(File::from);
        let made = made.map_err(cannot_create(directory))?;
        // A duplicate would cost the child a lock in every write.
        kept = Some(reopened(&made).map_err(cannot_create(directory))?);
        output = Some(made);
    }
    let input = reopened(&file.fd()).map_err(cannot_create(bench.directory))?;
    let copied = planned.by.copy(
        bench,
        planned.buffer_bytes,
        (input, file.span_bytes),
        (output, *to == CopyTarget::Pipe),
        (!planned.by.is_ours).then_some(limit),
    )?;
    if let Some(written) = kept {
        let arrived = arrived(&written, pattern)
            .map_err(|error| wrong(error.into(), planned.technique, "apue-3.5"))?;
        planned
            .by
            .check(planned.buffer_bytes, arrived, file.span_bytes)?;
    }
    Ok(copied)
}

fn input(directory: &Path, pattern: Pattern, bytes: u64) -> Result<PatternFile, MeasureError> {
    PatternFile::with_span(directory, pattern, bytes, false).map_err(cannot_create(directory))
}

fn name_option_to(error: io::Error) -> MeasureError {
    let text = error.to_string().replace("--dir", "--to");
    MeasureError::Directory(io::Error::new(error.kind(), text))
}

fn cannot_create(directory: &Path) -> impl FnOnce(io::Error) -> MeasureError + use<> {
    MeasureError::io(format!(
        "cannot create a file in '{}': name another directory with --dir",
        directory.display()
    ))
}
