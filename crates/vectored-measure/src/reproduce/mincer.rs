//! `mincer`: writes buffers and reads them back: one by one, vectored, or as one asynchronous transfer.

use std::fs::File;
use std::io;
use std::path::Path;

use fastrand::Rng;
use vectored::CostModel;
use vectored::files::{AlignedBuffer, DirectAlignment};
use vectored_machine::Clock;
use vectored_machine::host::check_room;
use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::files::{set_direct, unnamed_file};
use vectored_machine::platform::plain_calls::{
    NULL_DEVICE, OFlags, SeekFrom, fsync, ftruncate, seek,
};
use vectored_results::model::{
    ExperimentName, ExperimentRow, IovecSetup, Measure, Operation, Ratio, Reproduction, Setting,
    TechniqueName,
};

#[cfg(windows)]
use crate::in_flight::pages::PageQueue;
use crate::measure::{
    Contender, Lists, MeasureError, Meter, Mismatch, Mover, ReadMover, Timed, check_available,
    movers, read_movers,
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
    /// The asynchronous techniques that are measured beside the plain calls.
    pub asynchronous: Vec<TechniqueName>,
    /// The alignment of files with `O_DIRECT`, if rows with that flag are measured too.
    pub direct: Option<DirectAlignment>,
    /// The techniques that are not measured, each with the reason.
    pub missing: Vec<String>,
    /// Whether the plan is smaller than the published experiment.
    pub reduced: bool,
}

impl PassPlan {
    /// Both published lists, ten passes, both setups, and the asynchronous techniques that this machine offers.
    pub fn published() -> Self {
        let (mut asynchronous, mut missing) = (Vec::new(), Vec::new());
        for technique in ["io-uring", "linux-aio"].map(TechniqueName::new) {
            match check_available(technique, DEPTH) {
                Ok(()) => asynchronous.push(technique),
                Err(error) => missing.push(format!("{technique} ({error})")),
            }
        }
        if cfg!(windows) {
            missing.push("writev and readv (WriteFile and ReadFile take one buffer)".to_owned());
        }
        let lists = [(1024, 1000), (102_400, 10)];
        PassPlan {
            lists: lists
                .map(|(size_bytes, count)| BufferList { size_bytes, count })
                .to_vec(),
            passes: 10,
            setups: IovecSetup::ALL.to_vec(),
            asynchronous,
            direct: None,
            missing,
            reduced: false,
        }
    }

    /// Adds rows of files with `O_DIRECT` for the lists whose buffers have a length that such files in `directory`
    /// take. If there are none, adds the reason. A directory in which no file can be made is reported by `check`.
    pub fn with_direct(mut self, directory: &Path) -> Self {
        let odd = self.lists.iter().map(|list| list.size_bytes);
        for bytes in odd.filter(|bytes| cfg!(windows) && !is_pages(*bytes)) {
            let reason = format!("{bytes} is not a multiple of 4096");
            let text = format!("write-file-gather for buffers of {bytes} bytes ({reason})");
            self.missing.push(text);
        }
        let alignment = unnamed_file(directory, OFlags::empty()).and_then(|file| {
            let alignment = DirectAlignment::of(&file)?;
            set_direct(file.as_fd(), true)?;
            Ok(alignment)
        });
        match alignment {
            Err(error) => self.missing.push(format!("O_DIRECT ({error})")),
            Ok(alignment) => {
                let step = alignment.offset_bytes;
                let lists = self.lists.iter().map(|list| list.size_bytes);
                for bytes in lists.filter(|bytes| !bytes.is_multiple_of(step)) {
                    let reason = format!("{bytes} is not a multiple of {step}");
                    let text = format!("O_DIRECT for buffers of {bytes} bytes ({reason})");
                    self.missing.push(text);
                }
                self.direct = Some(alignment);
            }
        }
        self
    }

    /// The alignment of a list, if it is measured with `O_DIRECT` too.
    fn direct_for(&self, list: BufferList) -> Option<DirectAlignment> {
        let fits =
            |alignment: &DirectAlignment| list.size_bytes.is_multiple_of(alignment.offset_bytes);
        self.direct.filter(fits)
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
            let direct = self.direct_for(list);
            let buffered = self.setups.iter().map(|setup| (*setup, None));
            // The device takes so long that the array does not matter.
            let direct = direct.map(|alignment| (self.setups[0], Some(alignment)));
            for (setup, direct) in buffered.chain(direct) {
                let asynchronous = self.asynchronous.iter();
                let in_flight = asynchronous
                    // Asynchronous techniques fill their array themselves.
                    .filter(|_| setup == IovecSetup::Timed)
                    .map(|technique| How::InFlight(*technique));
                // A port fills the array in every call.
                let has_pages = setup == IovecSetup::Timed && is_pages(list.size_bytes);
                let ways = plain_ways(has_pages);
                for how in ways.into_iter().chain(in_flight) {
                    runs.push(Run {
                        list,
                        setup,
                        direct,
                        how,
                    });
                }
            }
        }
        runs
    }

    pub(super) fn enter(&self, eta: &mut EtaTracker<'_>) {
        for (index, run) in self.runs().iter().enumerate() {
            let bytes = run.list.total_bytes() as f64;
            // A call with `O_DIRECT` takes the time of the device.
            let call_s = if run.direct.is_some() { 2e-4 } else { 3e-6 };
            let pass_s = 2e-3 + run.list.count as f64 * call_s + bytes * 1e-8;
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

    pub(super) fn row_repeats(&self) -> Vec<usize> {
        vec![REPEATS; self.rows().len()]
    }

    fn rows(&self) -> Vec<ExperimentRow> {
        let rows = |run: &Run| {
            let operations = [Operation::Write, Operation::Read];
            let both: Vec<ExperimentRow> = std::iter::zip(operations, run.names())
                .map(|(operation, technique)| ExperimentRow {
                    technique: technique.to_owned(),
                    operation: Some(operation),
                    iovec_setup: Some(run.setup),
                    direct: run.direct.is_some(),
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
    /// The alignment of the file and the buffers, with `O_DIRECT`.
    direct: Option<DirectAlignment>,
    how: How,
}

/// How a list is moved.
#[derive(Clone, Copy)]
enum How {
    OneByOne,
    #[cfg(unix)]
    Vectored,
    /// One transfer in flight, which is waited for.
    InFlight(TechniqueName),
    /// One transfer of pages past the cache, which is waited for.
    #[cfg(windows)]
    Pages,
}

/// Whether Windows moves buffers of this size by `WriteFileGather`.
fn is_pages(bytes: usize) -> bool {
    cfg!(windows) && bytes.is_multiple_of(4096)
}

/// The ways without a queue. The second one is what all others are compared with.
#[cfg(unix)]
fn plain_ways(_has_pages: bool) -> Vec<How> {
    vec![How::OneByOne, How::Vectored]
}

/// The ways of Windows, which has no vectored calls for buffered files.
#[cfg(windows)]
fn plain_ways(has_pages: bool) -> Vec<How> {
    if has_pages { vec![How::OneByOne, How::Pages] } else { vec![How::OneByOne] }
}

/// The depth of the queue of an asynchronous technique: a pass has one transfer.
const DEPTH: u32 = 1;

impl Run {
    /// The names of writing and of reading.
    fn names(self) -> [&'static str; 2] {
        match self.how {
            How::OneByOne => [
                TechniqueName::WRITE_EACH.as_str(),
                TechniqueName::READ_EACH.as_str(),
            ],
            #[cfg(windows)]
            How::Pages => [
                TechniqueName::new("write-file-gather").as_str(),
                "read-file-scatter",
            ],
            #[cfg(unix)]
            How::Vectored => [
                TechniqueName::WRITEV.as_str(),
                TechniqueName::READV.as_str(),
            ],
            How::InFlight(technique) => [technique.as_str(); 2],
        }
    }

    /// The movers that write and read.
    fn way(self) -> io::Result<Way> {
        // No technique uses the model.
        let model = CostModel::default();
        let plain = |write, read| Way::Plain {
            writer: movers(Contender::Technique(write), &model),
            reader: read_movers(Contender::Technique(read), &model),
            // A queue keeps the memory of its last list.
            warms_up: matches!(self.how, How::InFlight(_)),
        };
        Ok(match self.how {
            How::OneByOne => plain(TechniqueName::WRITE_EACH, TechniqueName::READ_EACH),
            #[cfg(windows)]
            How::Pages => Way::Pages(PageQueue::new()?),
            #[cfg(unix)]
            How::Vectored => plain(TechniqueName::WRITEV, TechniqueName::READV),
            How::InFlight(technique) => plain(technique, technique),
        })
    }
}

/// The movers of the lists of a run.
enum Way {
    Plain {
        writer: Box<dyn Mover>,
        reader: Box<dyn ReadMover>,
        /// Whether each list is first written to the null device.
        warms_up: bool,
    },
    #[cfg(windows)]
    Pages(PageQueue),
}

impl Way {
    /// Writes a list to the start of a file, and returns the seconds that it took.
    fn write(
        &mut self,
        fd: BorrowedFd<'_>,
        list: Vec<&[u8]>,
        setup: IovecSetup,
        clock: &dyn Clock,
    ) -> io::Result<f64> {
        let elapsed_ns = match self {
            Way::Plain {
                writer, warms_up, ..
            } => {
                let lists = Lists::one(list);
                writer.prepare(lists.first(), 0);
                if *warms_up {
                    let null = File::options().write(true).open(NULL_DEVICE)?;
                    writer.call(null.as_fd(), lists.first())?;
                }
                seek(fd, SeekFrom::Start(0))?;
                let meter = Meter::whole(clock);
                writer.sample(fd, &lists, once(setup), meter)?.elapsed_ns
            }
            #[cfg(windows)]
            Way::Pages(queue) => {
                queue.load(&list);
                queue.get_ready(fd, 1)?;
                let began_ns = clock.now_ns();
                queue.write(0, 1, &mut |_| ())?;
                clock.now_ns() - began_ns
            }
        };
        Ok(elapsed_ns as f64 / 1e9)
    }

    /// Fills a list from the start of a file, and returns the seconds that it took.
    fn read(
        &mut self,
        fd: BorrowedFd<'_>,
        list: Vec<&mut [u8]>,
        setup: IovecSetup,
        clock: &dyn Clock,
    ) -> io::Result<f64> {
        let elapsed_ns = match self {
            Way::Plain { reader, .. } => {
                reader.prepare(&list, 0);
                seek(fd, SeekFrom::Start(0))?;
                let meter = Meter::whole(clock);
                let (timing, _) = reader.sample(fd, &mut [list], once(setup), meter)?;
                timing.elapsed_ns
            }
            #[cfg(windows)]
            Way::Pages(queue) => {
                // The bytes that were written lie in its buffers.
                let before: Vec<&[u8]> = list.iter().map(|segment| &**segment).collect();
                queue.load(&before);
                let began_ns = clock.now_ns();
                queue.read(0)?;
                let elapsed_ns = clock.now_ns() - began_ns;
                for (segment, bytes) in std::iter::zip(list, queue.buffers()) {
                    segment.copy_from_slice(bytes);
                }
                elapsed_ns
            }
        };
        Ok(elapsed_ns as f64 / 1e9)
    }
}

fn once(iovec_setup: IovecSetup) -> Timed {
    Timed {
        iovec_setup,
        ..Timed::calls(1)
    }
}

pub(super) fn run(plan: &PassPlan, bench: &mut Bench<'_>) -> (Reproduction, Option<MeasureError>) {
    let setting = Setting {
        repeats: REPEATS,
        ..Setting::default()
    };
    let mut reproduction = Reproduction {
        reduced: plan.reduced,
        missing: plan.missing.clone(),
        ..unmeasured(NAME, setting, plan.rows())
    };
    for row in &mut reproduction.rows {
        row.pass_s_samples.resize(REPEATS, Vec::new());
    }
    let failure = measure(plan, bench, &mut reproduction.rows).err();
    (reproduction, failure)
}

/// The ratios of all other ways to the vectored one. The rows of a list and a setup come one after another, each way
/// written and read: one by one, vectored, and the asynchronous ones.
pub(super) fn ratios(reproduction: &Reproduction) -> Vec<Ratio> {
    let Reproduction {
        rows, published, ..
    } = reproduction;
    let key = |row: &ExperimentRow| {
        let list = (row.segment_count, row.segment_bytes);
        (list, row.iovec_setup, row.direct)
    };
    let mut ratios = Vec::new();
    let mut first = 0;
    for group in rows.chunk_by(|one, next| key(one) == key(next)) {
        let end = first + group.len();
        for operation in 0..2 {
            let vectored = first + 2 + operation;
            let others = (first + operation..end)
                .step_by(2)
                .filter(|row| *row != vectored);
            let pairs = others
                .map(|other| (other, vectored))
                .filter(|_| vectored < end);
            ratios.extend(pairs.filter_map(|pair| ratio(rows, pair, Measure::Clock, published)));
        }
        first = end;
    }
    ratios
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
    let memory_bytes = run.direct.map_or(1, |alignment| alignment.memory_bytes);
    let zeroed = || -> Vec<AlignedBuffer> {
        let buffers = (0..count).map(|_| AlignedBuffer::zeroed(size_bytes, memory_bytes));
        buffers.collect()
    };
    let (mut buffers, mut back) = (zeroed(), zeroed());
    let [write, read] = run.names();
    let mut way = run.way().map_err(failed)?;
    let file = File::from(unnamed_file(bench.directory, OFlags::empty()).map_err(failed)?);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..plan.passes {
        if bench.is_stopped() {
            return Ok(None);
        }
        // New random bytes in every pass, so that old ones cannot pass for them.
        buffers.iter_mut().for_each(|buffer| rng.fill(buffer));
        ftruncate(&file, 0).map_err(|error| failed(error.into()))?;
        set_direct(file.as_fd(), run.direct.is_some()).map_err(failed)?;
        let list = buffers.iter().map(|buffer| &**buffer).collect();
        let written = way.write(file.as_fd(), list, run.setup, bench.clock);
        let failed_by = |name: &str| MeasureError::io(format!("{name} failed on a file"));
        times[0].push(written.map_err(failed_by(write))?);
        fsync(&file).map_err(|error| failed(error.into()))?;
        back.iter_mut().for_each(|buffer| buffer.fill(0xa5));
        let list = back.iter_mut().map(|buffer| &mut **buffer).collect();
        let taken = way.read(file.as_fd(), list, run.setup, bench.clock);
        times[1].push(taken.map_err(failed_by(read))?);
        // The comparison reads into memory that is not aligned.
        set_direct(file.as_fd(), false).map_err(failed)?;
        let parts: Vec<&[u8]> = buffers.iter().map(|buffer| &**buffer).collect();
        let image = parts.concat();
        check_repeated(file.as_fd(), &image, 1, write, NAME.name())?;
        let mut pairs = std::iter::zip(&back, &buffers);
        let differs = pairs.position(|(back, sent)| **back != **sent);
        if differs.is_some() {
            let difference = format!("buffer {} differs", differs.unwrap_or(0));
            return Err(wrong(Mismatch::Bytes(difference), read, NAME.name()));
        }
    }
    Ok(Some(times))
}
