//! Measures the numbers of a [`CostModel`] on the machine at hand.

use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use self::channel::{BATCH, CalibrationTarget, Channel, GAP, MAX_BYTES, MAX_CALLS, STREAM_BYTES};
use crate::cost::fit::Observation;
use crate::cost::{CostModel, TargetKind};
use crate::sys::staging::StagingBuffer;
use crate::write::all::write_all_vectored;

mod bracket;
pub(crate) mod channel;
mod isotonic;
mod thresholds;

/// The lists that are measured, as segment count and segment bytes: both sides of the ninth `iovec`,
/// and of the sizes at which copying and gathering usually cost the same; segments that end where
/// pages do, and others.
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

/// Longer ones, which only a file takes at once.
const LONG_LISTS: [(usize, usize); 3] = [(1000, 64), (256, 1024), (512, 2048)];

/// Rounds that are made whatever the budget.
const MIN_ROUNDS: usize = 5;

impl CostModel {
    /// Measures the numbers of the model, on a target of its own, in about `budget`; on a busy machine it may take
    /// up to twice as long.
    ///
    /// It makes a pipe, a pair of sockets or an unnamed file, writes lists of several counts and sizes
    /// to it in three ways (in one piece, by `writev(2)`, and copied first), in turn, takes the medians
    /// and lets [`CostModel::fit`] find the numbers. What it cannot see stays near
    /// [`CostModel::default_for`] the kind of target: on a stream, which takes no large list at once,
    /// that is copying beyond the caches. The prices of copying are those of a staging buffer of
    /// [`default_for`](CostModel::default_for), also where it becomes longer.
    ///
    /// Half the budget goes to that, the other half to the [borders](CostModel::copy_thresholds): at each of
    /// [`CopyThresholds::COUNTS`](crate::CopyThresholds::COUNTS) a [`Gather`](crate::Gather) that copies all and one
    /// that copies nothing write the same lists in turn. The size at which they take equally long is narrowed
    /// down and then tried from both sides until the budget is spent, and the border is where a rising curve
    /// through all that was measured crosses. On a stream only lists up to 64 KiB are
    /// tried; where the border cannot be seen in those, it stays unmeasured. On a file it is lists up to 1 MiB,
    /// in one piece, and [`staging_bytes`](CostModel::staging_bytes) becomes as long as those that were faster
    /// copied; and lists of pages, at places where pages begin, are compared with others
    /// ([`page_end_ns`](CostModel::page_end_ns)).
    ///
    /// 30 to 45 ms are a good budget, 60 for a file. With less, the figures are those of a few rounds.
    /// Five rounds of the first half and two pairs of each list of the second are made in any case, which
    /// takes 5 ms on a stream and 30 to 45 on a file. One calibration at the start of a program is enough:
    /// around the border both ways cost about the same. Where a machine has several speeds, as virtual ones
    /// have, it finds the border of the moment: on ext4 overwritten, 8 segments, 200 bytes or 5000.
    ///
    /// # Errors
    ///
    /// Those of making the target: [`NotFound`](io::ErrorKind::NotFound) or
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) for a directory in which no file can be
    /// made, [`StorageFull`](io::ErrorKind::StorageFull) if it has no room for 8 MiB, or 16. A program then
    /// does well to go on with [`CostModel::default_for`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use vectored::{CalibrationTarget, CostModel, Gather, TargetKind};
    ///
    /// let model = CostModel::calibrate(CalibrationTarget::Pipe, Duration::from_millis(40))
    ///     .unwrap_or(CostModel::default_for(TargetKind::Pipe));
    /// let gather = Gather::new(model);
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
        let mut staging = ChunkPolicy {
            whole: vec![0; MAX_BYTES],
            copied: StagingBuffer::with_capacity(MAX_BYTES),
        };
        for list in &mut lists {
            list.choose_calls(&mut channel, &mut staging)?;
        }
        for round in 0.. {
            if round >= MIN_ROUNDS && began.elapsed() >= budget / 2 {
                break;
            }
            for list in &mut lists {
                list.sample(&mut channel, &mut staging, round)?;
            }
        }
        let observations: Vec<Observation> =
            lists.iter_mut().filter_map(List::observation).collect();
        let prior = CostModel::default_for(target.kind());
        // These lists do not tell how long a buffer should be: each further call of one that does not fit it
        // costs microseconds on a file. The borders do.
        let fitted = CostModel::fit_for_staging(prior, &observations);
        thresholds::measure(&mut channel, target.kind(), &fitted, began + budget)
    }
}

/// The bytes of a list, in one piece.
struct ChunkPolicy {
    /// There from the start.
    whole: Vec<u8>,
    /// Copied anew for each call.
    copied: StagingBuffer,
}

/// The three ways to write a list.
const WAYS: [Way; 3] = [Way::Write, Way::Writev, Way::CopyThenWrite];

#[derive(Clone, Copy)]
enum Way {
    Write,
    Writev,
    CopyThenWrite,
}

/// A list of equal segments, with what it took each way.
struct List {
    segment_count: usize,
    segment_bytes: usize,
    memory: Vec<u8>,
    /// Calls in a batch; 0 where not one fits.
    calls: u32,
    samples_ns: [Vec<f64>; 3],
}

impl List {
    fn new((segment_count, segment_bytes): (usize, usize)) -> List {
        List {
            segment_count,
            segment_bytes,
            // Apart from each other, as buffers of a program are.
            memory: vec![0x5a; segment_count * (segment_bytes + GAP)],
            calls: 1,
            samples_ns: [const { Vec::new() }; 3],
        }
    }

    fn bytes(&self) -> u64 {
        (self.segment_count * self.segment_bytes) as u64
    }

    /// As many calls as last long enough and fit.
    fn choose_calls(&mut self, channel: &mut Channel, staging: &mut ChunkPolicy) -> io::Result<()> {
        // The first call finds its memory for the first time, the second counts.
        self.batch(channel, staging, Way::Writev)?;
        let Some(call) = self.batch(channel, staging, Way::Writev)? else {
            self.calls = 0;
            return Ok(());
        };
        let fitting = (STREAM_BYTES / self.bytes()).clamp(1, MAX_CALLS.into());
        let wanted = BATCH.as_nanos() / call.as_nanos().max(1);
        self.calls = wanted.clamp(1, fitting.into()) as u32;
        Ok(())
    }

    /// One batch each way, beginning with another in each round.
    fn sample(
        &mut self,
        channel: &mut Channel,
        staging: &mut ChunkPolicy,
        round: usize,
    ) -> io::Result<()> {
        for turn in 0..WAYS.len() {
            let way = (round + turn) % WAYS.len();
            if self.calls == 0 {
                return Ok(());
            }
            match self.batch(channel, staging, WAYS[way])? {
                Some(elapsed) => {
                    let call_ns = elapsed.as_nanos() as f64 / f64::from(self.calls);
                    self.samples_ns[way].push(call_ns);
                }
                // A small pipe or buffer.
                None => self.calls /= 2,
            }
        }
        Ok(())
    }

    /// What a batch took; nothing if the target could not take it.
    fn batch(
        &self,
        channel: &mut Channel,
        staging: &mut ChunkPolicy,
        way: Way,
    ) -> io::Result<Option<Duration>> {
        let bytes = self.bytes() as usize;
        let segments: Vec<IoSlice<'_>> = self
            .memory
            .chunks(self.segment_bytes + GAP)
            .map(|slot| IoSlice::new(&slot[..self.segment_bytes]))
            .collect();
        let piece = [IoSlice::new(&staging.whole[..bytes])];
        let copied = &mut staging.copied;
        channel.time(self.calls, self.bytes(), |fd| match way {
            Way::Write => write_all_vectored(fd, &piece),
            Way::Writev => write_all_vectored(fd, &segments),
            Way::CopyThenWrite => {
                copied.clear();
                copied.push_run(&segments);
                write_all_vectored(fd, &[IoSlice::new(copied)])
            }
        })
    }

    /// The medians, of a list that was measured each way.
    fn observation(&mut self) -> Option<Observation> {
        if self.samples_ns.iter().any(Vec::is_empty) {
            return None;
        }
        let bytes = self.bytes();
        let mut medians = self.samples_ns.iter_mut().map(|samples| {
            samples.sort_unstable_by(f64::total_cmp);
            samples[samples.len() / 2]
        });
        let mut next = || medians.next().expect("one for each way");
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

    fn targets(directory: &Path) -> [CalibrationTarget<'_>; 6] {
        [
            CalibrationTarget::File(directory),
            CalibrationTarget::FileOverwrite(directory),
            CalibrationTarget::Pipe,
            CalibrationTarget::UnixSocket,
            CalibrationTarget::TcpSocket,
            CalibrationTarget::Null,
        ]
    }

    #[test]
    fn every_target_gives_numbers_of_this_world() {
        let directory = std::env::temp_dir();
        for target in targets(&directory) {
            let model = CostModel::calibrate(target, Duration::from_millis(1)).unwrap();
            let is_sane = |number: f64| number.is_finite() && number >= 0.0;
            assert!(model.call_ns > 1.0, "{target:?}: {model:?}");
            assert!(is_sane(model.segment_ns) && is_sane(model.copy_byte_ns));
            assert!(model.staging_bytes > 0);
            for count in [2, 16, 1000] {
                assert!(model.copy_below_bytes(count) <= model.staging_bytes);
            }
            // Such lists are tried up to the longest segments, whatever comes of them: those of eight only where
            // they need not fit a stream.
            let tried: &[usize] = match target.kind() {
                TargetKind::Pipe | TargetKind::Socket => &[2, 4],
                TargetKind::File | TargetKind::Other => &[2, 4, 8],
            };
            for &count in tried {
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
                // A test that fails leaves no directory either.
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
    fn a_directory_that_is_not_there_is_an_error() {
        let nowhere = Path::new("/nonexistent/vectored");
        let outcome = CostModel::calibrate(CalibrationTarget::File(nowhere), Duration::ZERO);
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn every_list_fits_a_stream_of_its_own() {
        for (segment_count, segment_bytes) in LISTS {
            assert!((segment_count * segment_bytes) as u64 <= STREAM_BYTES);
        }
    }
}
