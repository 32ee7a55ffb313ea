//! Measuring a [`CostModel`] on the current machine.

use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use self::channel::{
    BATCH_TIME, Channel, GAP_BYTES, MAX_CALLS, MAX_LIST_BYTES, STREAM_BATCH_BYTES,
};
use crate::cost::calibration_target::CalibrationTarget;
use crate::cost::fit::Observation;
use crate::cost::{CostModel, TargetKind};
use crate::sys::staging::StagingBuffer;
use crate::write::all::write_all;

mod bracket;
mod channel;
mod ends;
mod isotonic;
mod median;
mod queue;
mod thresholds;

/// The lists that are measured, as segment count and segment bytes: up to 8 segments and more, segments below and above
/// the usual crossover, and segments that end at page ends and others.
const LISTS: [(usize, usize); 11] = [
    (2, 64),
    (8, 64),
    (9, 64),
    (64, 64),
    (2, 1000),
    (16, 300),
    (64, 500),
    (16, 1000),
    (16, 1024),
    (16, 2048),
    (8, 4500),
];

/// Longer lists, which only a file takes in one call.
const LONG_LISTS: [(usize, usize); 3] = [(1000, 64), (256, 1024), (512, 2048)];

/// The least number of rounds, for any budget.
const MIN_ROUNDS: usize = 5;

impl CostModel {
    /// Measures a model on a target that it opens itself, in about `budget`. On a busy machine it may take
    /// up to twice as long.
    ///
    /// It opens a pipe, a pair of sockets or an unnamed file, and writes lists of several counts and sizes to it by
    /// three techniques in turn: in one piece, by `writev(2)`, and copied into one buffer first. [`CostModel::fit`]
    /// computes the costs from the medians. A cost that cannot be measured stays near the one of
    /// [`CostModel::for_target`]: on a stream, which takes no large list at once, that is `copy_byte_uncached_ns`.
    /// The costs of copying are those with a staging buffer of the default size, even if the result has a larger one.
    ///
    /// The costs take two fifths of the budget. Another two fifths are for the
    /// [thresholds](CostModel::copy_thresholds). At each of
    /// [`CopyThresholds::COUNTS`](crate::cost::CopyThresholds::COUNTS), a [`Gather`](crate::Gather) that copies all
    /// segments and one that copies none write the same lists in turn. A search narrows down the length at which they
    /// take equally long, then measures lengths below and above it until the time is spent. The threshold is where a
    /// rising curve through all measured ratios of the two times crosses 1.
    ///
    /// - On a stream, only lists of up to 64 KiB are measured. If those do not show the threshold, it stays unmeasured.
    /// - On a file, lists of up to 1 MiB are measured in one call, and
    ///   [`staging_bytes`](CostModel::staging_bytes) is raised to the length of the longest list that was faster
    ///   copied. Lists of whole pages are compared with other lists, for [`page_end_ns`](CostModel::page_end_ns).
    ///
    /// The last fifth is for the [thresholds of a queue](CostModel::queue_thresholds). They are measured as a server
    /// pays for them: 1 MiB of other memory is read before each write, and the segments are taken in turn from 1 MiB. A
    /// queue that copies its segments and one that keeps them write 4 segments, each after a copied head. They have 0.55 to
    /// 1.8 times the bytes of the threshold that follows from the costs, at most 12,000. Then two messages of 3 to 24 KB
    /// are copied into one call, and written by two calls. The first threshold is the geometric mean of the measured one
    /// and the one that follows from the costs, since around it both ways take nearly the same time.
    ///
    /// A budget of 40 to 50 ms is good, and 75 ms for a file. With less, the costs come from a few rounds. The least
    /// number of measurements, five rounds of the first part, two pairs of each list of the second and three rounds of
    /// the third, takes 10 ms on a stream and 35 to 50 ms on a file. One calibration at the start of a program is enough:
    /// near the threshold both techniques take about the same time. If the speed of a machine changes over time, as
    /// that of virtual machines does, the thresholds hold for the time of the calibration only: for 8 segments that
    /// overwrite a file on ext4, one run may find 200 bytes and another 5000.
    ///
    /// # Errors
    ///
    /// The errors of opening the target: [`NotFound`](io::ErrorKind::NotFound) or
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) for a directory in which no file can be
    /// created, and [`StorageFull`](io::ErrorKind::StorageFull) if it has no room for the file (8 or 16 MiB). On Windows
    /// [`Unsupported`](io::ErrorKind::Unsupported) for a pipe and for Unix sockets. A program should then use
    /// [`CostModel::for_target`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use vectored::{CostModel, Gather};
    /// use vectored::cost::TargetKind;
    /// use vectored::cost::CalibrationTarget;
    ///
    /// let model = CostModel::calibrate(CalibrationTarget::Pipe, Duration::from_millis(50))
    ///     .unwrap_or(CostModel::for_target(TargetKind::Pipe));
    /// let gather = Gather::with_model(model);
    /// # let _ = gather;
    /// ```
    pub fn calibrate(target: CalibrationTarget<'_>, budget: Duration) -> io::Result<CostModel> {
        let began = Instant::now();
        let mut channel = Channel::open(target)?;
        if matches!(target, CalibrationTarget::FileOverwrite(_)) {
            channel.overwrite()?;
        }
        let mut lists: Vec<List> = LISTS.iter().map(|&list| List::new(list)).collect();
        if target.kind() == TargetKind::File {
            lists.extend(LONG_LISTS.iter().map(|&list| List::new(list)));
        }
        let mut buffers = Buffers {
            contiguous: vec![0; MAX_LIST_BYTES],
            staging: StagingBuffer::with_capacity(MAX_LIST_BYTES),
        };
        for list in &mut lists {
            list.choose_calls(&mut channel, &mut buffers)?;
        }
        for round in 0.. {
            if round >= MIN_ROUNDS && began.elapsed() >= 2 * budget / 5 {
                break;
            }
            for list in &mut lists {
                list.sample(&mut channel, &mut buffers, round)?;
            }
        }
        let observations: Vec<Observation> =
            lists.iter_mut().filter_map(List::observation).collect();
        let prior = CostModel::for_target(target.kind());
        // These lists do not show how long the staging buffer should be, since each further call costs microseconds on
        // a file. `thresholds::measure` does.
        let fitted = CostModel::fit_for_staging(prior, &observations);
        let deadline = began + 4 * budget / 5;
        let model = thresholds::measure(&mut channel, target.kind(), &fitted, deadline)?;
        Ok(CostModel {
            queue_thresholds: queue::measure(&mut channel, began + budget)?,
            ..model
        })
    }
}

/// The memory from which a list is written in one piece.
struct Buffers {
    /// Filled from the start.
    contiguous: Vec<u8>,
    /// Copied into before each call.
    staging: StagingBuffer,
}

/// The three techniques of writing a list.
const TECHNIQUES: [Technique; 3] = [
    Technique::Write,
    Technique::Writev,
    Technique::CopyThenWrite,
];

#[derive(Clone, Copy)]
enum Technique {
    Write,
    Writev,
    CopyThenWrite,
}

/// A list of equal segments, and its measured times by technique.
struct List {
    segment_count: usize,
    segment_bytes: usize,
    memory: Vec<u8>,
    /// Calls in a batch; 0 if the target does not take one call.
    calls: u32,
    samples_ns: [Vec<f64>; 3],
}

impl List {
    fn new((segment_count, segment_bytes): (usize, usize)) -> List {
        List {
            segment_count,
            segment_bytes,
            // The segments have gaps between them, as between the buffers of a program.
            memory: vec![0x5a; segment_count * (segment_bytes + GAP_BYTES)],
            calls: 1,
            samples_ns: [const { Vec::new() }; 3],
        }
    }

    fn bytes(&self) -> u64 {
        (self.segment_count * self.segment_bytes) as u64
    }

    /// Sets the calls of a batch, so that it takes about [`BATCH_TIME`] and fits the target.
    fn choose_calls(&mut self, channel: &mut Channel, buffers: &mut Buffers) -> io::Result<()> {
        // The first call warms the caches; the second is timed.
        self.batch(channel, buffers, Technique::Writev)?;
        let Some(call) = self.batch(channel, buffers, Technique::Writev)? else {
            self.calls = 0;
            return Ok(());
        };
        let fitting = (STREAM_BATCH_BYTES / self.bytes()).clamp(1, MAX_CALLS.into());
        let wanted = BATCH_TIME.as_nanos() / call.as_nanos().max(1);
        self.calls = wanted.clamp(1, fitting.into()) as u32;
        Ok(())
    }

    /// Times one batch of each technique, in an order that rotates by round.
    fn sample(
        &mut self,
        channel: &mut Channel,
        buffers: &mut Buffers,
        round: usize,
    ) -> io::Result<()> {
        for turn in 0..TECHNIQUES.len() {
            let technique = (round + turn) % TECHNIQUES.len();
            if self.calls == 0 {
                return Ok(());
            }
            match self.batch(channel, buffers, TECHNIQUES[technique])? {
                Some(elapsed) => {
                    let call_ns = elapsed.as_nanos() as f64 / f64::from(self.calls);
                    self.samples_ns[technique].push(call_ns);
                }
                // The pipe or socket buffer is smaller than assumed.
                None => self.calls /= 2,
            }
        }
        Ok(())
    }

    /// The time of a batch. `None` if the target did not take it.
    fn batch(
        &self,
        channel: &mut Channel,
        buffers: &mut Buffers,
        technique: Technique,
    ) -> io::Result<Option<Duration>> {
        let bytes = self.bytes() as usize;
        let segments: Vec<IoSlice<'_>> = self
            .memory
            .chunks(self.segment_bytes + GAP_BYTES)
            .map(|slot| IoSlice::new(&slot[..self.segment_bytes]))
            .collect();
        let contiguous = [IoSlice::new(&buffers.contiguous[..bytes])];
        let staging = &mut buffers.staging;
        channel.time_batch(self.calls, self.bytes(), |fd| match technique {
            Technique::Write => write_all(fd, &contiguous),
            Technique::Writev => write_all(fd, &segments),
            Technique::CopyThenWrite => {
                staging.clear();
                staging.push_run(&segments);
                write_all(fd, &[IoSlice::new(staging)])
            }
        })
    }

    /// The median times. `None` if a technique was not measured.
    fn observation(&mut self) -> Option<Observation> {
        if self.samples_ns.iter().any(Vec::is_empty) {
            return None;
        }
        let bytes = self.bytes();
        let mut medians = self.samples_ns.iter_mut().map(|samples| {
            samples.sort_unstable_by(f64::total_cmp);
            samples[samples.len() / 2]
        });
        let mut next = || medians.next().expect("one for each technique");
        Some(Observation {
            segment_count: self.segment_count,
            bytes,
            write_ns: next(),
            writev_ns: next(),
            copy_then_write_ns: next(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn targets(directory: &Path) -> Vec<CalibrationTarget<'_>> {
        vec![
            CalibrationTarget::File(directory),
            CalibrationTarget::FileOverwrite(directory),
            #[cfg(unix)]
            CalibrationTarget::Pipe,
            #[cfg(unix)]
            CalibrationTarget::Unix,
            CalibrationTarget::Tcp,
            CalibrationTarget::Other,
        ]
    }

    #[cfg(windows)]
    #[test]
    fn what_windows_lacks_is_unsupported() {
        for target in [CalibrationTarget::Pipe, CalibrationTarget::Unix] {
            let error = CostModel::calibrate(target, Duration::ZERO).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
        }
    }

    #[test]
    fn every_target_gives_a_plausible_model() {
        let directory = std::env::temp_dir();
        for target in targets(&directory) {
            let model = CostModel::calibrate(target, Duration::from_millis(1)).unwrap();
            let is_sane = |number: f64| number.is_finite() && number >= 0.0;
            assert!(model.call_ns > 1.0, "{target:?}: {model:?}");
            assert!(is_sane(model.segment_ns) && is_sane(model.copy_byte_ns));
            assert!(model.staging_bytes > 0);
            let measured = model.queue_thresholds;
            assert!(measured.copy_below_bytes.is_some(), "{target:?}: {model:?}");
            assert!(measured.join_below_bytes.is_some(), "{target:?}: {model:?}");
            for count in [2, 16, 1000] {
                assert!(model.copy_below_bytes(count) <= model.staging_bytes);
            }
            // At these counts even the longest segments are measured, so a threshold is always found. Eight of them do
            // not fit a stream.
            let measured: &[usize] = match target.kind() {
                TargetKind::Pipe | TargetKind::Unix | TargetKind::Tcp => &[2, 4],
                TargetKind::File | TargetKind::FileOverwrite | TargetKind::Other => &[2, 4, 8],
            };
            for &count in measured {
                assert!(
                    model.copy_thresholds.get(count).is_some(),
                    "{target:?}: {model:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_left_in_the_directory() {
        struct Removed(std::path::PathBuf);
        impl Drop for Removed {
            fn drop(&mut self) {
                // The directory is removed if the test fails, too.
                let _ = std::fs::remove_dir_all(&self.0);
            }
        }
        let name = format!("vectored-calibrate-{}", std::process::id());
        let directory = Removed(std::env::temp_dir().join(name));
        std::fs::create_dir(&directory.0).unwrap();
        let directory = directory.0.as_path();
        CostModel::calibrate(CalibrationTarget::File(directory), Duration::ZERO).unwrap();
        CostModel::calibrate(CalibrationTarget::FileOverwrite(directory), Duration::ZERO).unwrap();
        assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let nowhere = Path::new("/nonexistent/vectored");
        let outcome = CostModel::calibrate(CalibrationTarget::File(nowhere), Duration::ZERO);
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn every_list_fits_an_empty_stream() {
        for (segment_count, segment_bytes) in LISTS {
            assert!((segment_count * segment_bytes) as u64 <= STREAM_BATCH_BYTES);
        }
    }
}
