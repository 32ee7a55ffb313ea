//! `mincer`: writes buffers and reads them back: one by one, vectored, or as one asynchronous transfer.

use std::fs::File;
use std::io;
use std::path::Path;

use fastrand::Rng;
use vectored::CostModel;
use vectored::files::{AlignedBuffer, DirectAlignment};
use vectored_machine::Clock;
use vectored_machine::platform::fd::{AsFd, BorrowedFd};
use vectored_machine::platform::files::{set_direct, unnamed_file};
use vectored_machine::platform::plain_calls::{
    NULL_DEVICE, OFlags, SeekFrom, fsync, ftruncate, seek,
};
use vectored_results::model::{
    ExperimentName, ExperimentRow, IovecSetup, Operation, Reproduction, RowKey, Sample,
    TechniqueName, Times,
};

#[cfg(windows)]
use crate::in_flight::pages::PageQueue;
use crate::measure::{
    Contender, Lists, MeasureError, Meter, Mismatch, Mover, ReadMover, Timed, check_available,
    is_in_flight, movers, read_movers,
};
use crate::reproduce::content::{check_repeated, wrong};
use crate::reproduce::{Bench, Plan, REPEATS, Sampler, Step};

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

    /// The runs. Each gives one row of writes and one of reads.
    fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for &list in &self.lists {
            let fits = |alignment: &DirectAlignment| {
                list.size_bytes.is_multiple_of(alignment.offset_bytes)
            };
            let direct = self.direct.filter(fits);
            let buffered = self.setups.iter().map(|setup| (*setup, None));
            // The device takes so long that the array does not matter.
            let direct = direct.map(|alignment| (self.setups[0], Some(alignment)));
            for (setup, direct) in buffered.chain(direct) {
                let mut names = vec![[TechniqueName::WRITE_EACH, TechniqueName::READ_EACH]];
                // The one-by-one calls are the base of every ratio.
                names.extend(one_call(list, setup));
                // Asynchronous techniques fill their array themselves.
                let in_flight = self.asynchronous.iter();
                let in_flight = in_flight.filter(|_| setup == IovecSetup::Timed);
                names.extend(in_flight.map(|technique| [*technique; 2]));
                runs.extend(names.into_iter().map(|names| Run {
                    list,
                    setup,
                    direct,
                    names,
                }));
            }
        }
        runs
    }
}

impl Plan for PassPlan {
    fn name(&self) -> ExperimentName {
        NAME
    }

    fn is_reduced(&self) -> bool {
        self.reduced
    }

    /// Only one file exists at a time.
    fn file_bytes(&self) -> u64 {
        let bytes = self.lists.iter().map(|list| list.total_bytes());
        bytes.max().unwrap_or(0)
    }

    /// One step a run, with the rows of writing and of reading.
    fn steps(&self) -> Vec<Step> {
        let step = |run: Run| {
            let BufferList { size_bytes, count } = run.list;
            let rows = std::iter::zip([Operation::Write, Operation::Read], run.names);
            let row = |(operation, technique): (Operation, TechniqueName)| ExperimentRow {
                calls: Some(u64::from(self.passes)),
                ..ExperimentRow::here(RowKey {
                    technique: technique.to_string(),
                    operation: Some(operation),
                    iovec_setup: Some(run.setup),
                    direct: run.direct.is_some(),
                    segment_count: Some(count),
                    segment_bytes: Some(size_bytes),
                    ..RowKey::default()
                })
            };
            // A call with `O_DIRECT` takes the time of the device.
            let call_s = if run.direct.is_some() { 2e-4 } else { 3e-6 };
            let pass_s = 2e-3 + count as f64 * call_s + run.list.total_bytes() as f64 * 1e-8;
            Step {
                rows: rows.map(row).collect(),
                name: format!("{} of {count} × {size_bytes} B", run.names[0]),
                repeats: REPEATS,
                guess_s: f64::from(self.passes) * pass_s,
            }
        };
        self.runs().into_iter().map(step).collect()
    }

    fn begin<'a>(
        &'a self,
        _: &mut Bench<'_>,
        result: &mut Reproduction,
    ) -> Result<Option<Sampler<'a>>, MeasureError> {
        result.missing.clone_from(&self.missing);
        let runs = self.runs();
        Ok(Some(Box::new(move |step, bench, rng| {
            let passes = run_passes(self, bench, runs[step], rng)?;
            let sample = |passes: Vec<f64>| Sample {
                times: Times {
                    clock_s: Some(passes.iter().sum::<f64>() / passes.len() as f64),
                    ..Times::default()
                },
                pass_s: passes,
                ..Sample::default()
            };
            Ok(passes.map(|passes| passes.into_iter().map(sample).collect()))
        })))
    }
}

#[derive(Clone, Copy)]
struct Run {
    list: BufferList,
    setup: IovecSetup,
    /// The alignment of the file and the buffers, with `O_DIRECT`.
    direct: Option<DirectAlignment>,
    /// The techniques of writing and of reading.
    names: [TechniqueName; 2],
}

/// Whether Windows moves buffers of this size by `WriteFileGather`.
fn is_pages(bytes: usize) -> bool {
    cfg!(windows) && bytes.is_multiple_of(4096)
}

/// The techniques that pass a list in one call.
#[cfg(unix)]
fn one_call(_: BufferList, _: IovecSetup) -> Option<[TechniqueName; 2]> {
    Some([TechniqueName::WRITEV, TechniqueName::READV])
}

/// The techniques that pass a list in one call: on Windows, which has no vectored calls for buffered files, one transfer of
/// pages past the cache, which is waited for. It fills its array in every call.
#[cfg(windows)]
fn one_call(list: BufferList, setup: IovecSetup) -> Option<[TechniqueName; 2]> {
    let has_pages = setup == IovecSetup::Timed && is_pages(list.size_bytes);
    has_pages.then_some(PAGES)
}

#[cfg(windows)]
const PAGES: [TechniqueName; 2] = [
    TechniqueName::new("write-file-gather"),
    TechniqueName::new("read-file-scatter"),
];

/// The depth of the queue of an asynchronous technique: a pass has one transfer.
const DEPTH: u32 = 1;

impl Run {
    /// The movers that write and read.
    fn way(self) -> io::Result<Way> {
        #[cfg(windows)]
        if self.names == PAGES {
            return Ok(Way::Pages(PageQueue::new()?));
        }
        // No technique uses the model.
        let model = CostModel::default();
        let [write, read] = self.names;
        Ok(Way::Plain {
            writer: movers(Contender::Technique(write), &model),
            reader: read_movers(Contender::Technique(read), &model),
            // A queue keeps the memory of its last list.
            warms_up: is_in_flight(write),
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
                let meter = Meter { clock };
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
                let meter = Meter { clock };
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
    let [write, read] = run.names.map(TechniqueName::as_str);
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
        check_repeated(&file, &image, 1, (write, NAME.name()))?;
        let mut pairs = std::iter::zip(&back, &buffers);
        let differs = pairs.position(|(back, sent)| **back != **sent);
        if differs.is_some() {
            let difference = format!("buffer {} differs", differs.unwrap_or(0));
            return Err(wrong(Mismatch::Bytes(difference), read, NAME.name()));
        }
    }
    Ok(Some(times))
}
