//! Measures a [`CostModel`] on the current machine.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use self::channel::{Channel, MAX_LIST_BYTES};
use self::lists::{List, Technique, Writers};
use crate::cost::crossing::crossover;
use crate::cost::fit::{lengths, lists_of};
use crate::cost::thresholds::CopyThresholds;
use crate::cost::{CostModel, Observation, TargetKind};

mod channel;
mod ends;
mod lists;
mod queue;

/// The lists that are measured for the costs. The lists include counts up to 8 and above 8. Segments are shorter
/// and longer than the usual crossover. Some segments end at page ends.
const LISTS: [List; 11] = [
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

/// Lists that a stream does not take in one call.
const LONG_LISTS: [List; 3] = [(1000, 64), (256, 1024), (512, 2048)];

const MIN_ROUNDS: usize = 2;

const MAX_SEGMENT_BYTES: usize = 16 << 10;

/// Exponents of √2, one for each round in turn. The next lengths are the crossover times the power, and the
/// crossover divided by the power.
const STEPS: [i32; 2] = [1, 2];

/// The first technique changes from round to round.
const TECHNIQUES: [Technique; 3] = [Technique::Write, Technique::Reference, Technique::Copy];

/// Each row times both techniques twice, so that a change of speed affects both equally. The rows alternate,
/// because the outer and the inner batches of a row may differ.
const PAIRS: [[Technique; 4]; 2] = {
    let (reference, copy) = (Technique::Reference, Technique::Copy);
    [
        [reference, copy, copy, reference],
        [copy, reference, reference, copy],
    ]
};

/// The default capacity of a pipe on Linux (pipe(7)).
const MAX_STREAM_BYTES: usize = 64 << 10;

impl CostModel {
    /// Opens a target of this kind and measures a model on the target, in about `budget`. On a busy machine, the
    /// measurement may take up to twice as long.
    ///
    /// The target is closed afterwards:
    ///
    /// - [`File`](TargetKind::File): an unnamed file in `directory`, of up to 8 MiB. Every write appends to the
    ///   file, like the writes of a log.
    /// - [`FileOverwrite`](TargetKind::FileOverwrite): an unnamed file of 16 MiB in `directory`. Every write
    ///   overwrites bytes of the file, like the writes of a page store.
    /// - [`Pipe`](TargetKind::Pipe) and [`Unix`](TargetKind::Unix): a pipe, or a pair of connected Unix stream
    ///   sockets. Not available on Windows.
    /// - [`Tcp`](TargetKind::Tcp): a TCP connection over the loopback interface, with `TCP_NODELAY`.
    /// - [`Other`](TargetKind::Other): `/dev/null` (on Windows `NUL`). A write moves no byte, so only calls and
    ///   lists have a cost. On this target, copying is slower for all segments except the shortest.
    ///
    /// Growing a file costs more for each segment than overwriting it. On ext4, copying two appended segments is
    /// faster than referencing them up to about 4 KB. Copying two segments that overwrite bytes in the page cache
    /// is faster up to about 300 B.
    ///
    /// `directory` is used for files only. In rounds, the method writes lists of several counts and sizes to the
    /// target: in one piece, referenced and copied. [`CostModel::fit`] computes the costs and the
    /// [thresholds](CostModel::copy_thresholds) from the rounds. At each of [`CopyThresholds::COUNTS`], the next
    /// round measures segments a little shorter and a little longer than the crossover that was found before. A
    /// threshold that the rounds do not show to within a factor of 1.3 stays unmeasured. A cost that cannot be
    /// measured stays near its default.
    ///
    /// The last fifth of the budget is for the [thresholds of a queue](CostModel::queue_thresholds). To reproduce
    /// the conditions of a server, 1 MiB of other memory is read before each write. A threshold of
    /// [`QueuePolicy::for_target`](crate::queue::QueuePolicy::for_target) stays unless the rounds refute it.
    ///
    /// A budget of 40 to 50 ms is good for a stream, and 75 ms for a file. The smallest set of measurements takes
    /// 10 ms on a stream, and 30 to 50 ms on a file. One calibration at the start of a program is enough.
    ///
    /// # Errors
    ///
    /// The error of opening the target. After an error, a program should use [`CostModel::for_target`].
    ///
    /// - [`NotFound`](io::ErrorKind::NotFound) or [`PermissionDenied`](io::ErrorKind::PermissionDenied) if no
    ///   file can be created in the directory.
    /// - [`StorageFull`](io::ErrorKind::StorageFull) if there is no room for the file (8 or 16 MiB).
    /// - [`Unsupported`](io::ErrorKind::Unsupported) on Windows for a pipe and for Unix sockets.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use vectored::{CostModel, Gather};
    /// use vectored::cost::TargetKind;
    ///
    /// let model = CostModel::calibrate(TargetKind::Pipe, ".", Duration::from_millis(50))
    ///     .unwrap_or(CostModel::for_target(TargetKind::Pipe));
    /// let gather = Gather::with_model(model);
    /// # let _ = gather;
    /// ```
    pub fn calibrate(
        kind: TargetKind,
        directory: impl AsRef<Path>,
        budget: Duration,
    ) -> io::Result<CostModel> {
        let began = Instant::now();
        let mut channel = Channel::open(kind, directory.as_ref())?;
        if kind == TargetKind::FileOverwrite {
            channel.overwrite()?;
        }
        let prior = CostModel::for_target(kind);
        let observations = observe(&mut channel, &prior, began + 4 * budget / 5)?;
        let fitted = CostModel::fit(prior, &observations);
        Ok(CostModel {
            page_end_ns: match kind {
                TargetKind::File => prior.page_end_ns,
                _ => fitted.page_end_ns,
            },
            queue_thresholds: queue::measure(&mut channel, kind, began + budget)?,
            ..fitted
        })
    }
}

/// The speed of a shared machine can change fourfold for milliseconds. Rounds spread the measurements of each list
/// over time, so that a change does not affect all of them.
fn observe(
    channel: &mut Channel,
    prior: &CostModel,
    deadline: Instant,
) -> io::Result<Vec<Observation>> {
    let mut writers = Writers::new(*prior);
    let is_stream = channel.is_stream();
    let max_list_bytes = if is_stream { MAX_STREAM_BYTES } else { MAX_LIST_BYTES };
    let long_lists = if is_stream { &[][..] } else { &LONG_LISTS };
    let mut costs = Vec::new();
    let mut around = CopyThresholds::MEASURED.map(|_| Vec::new());
    for round in 0.. {
        if round >= MIN_ROUNDS && Instant::now() >= deadline {
            break;
        }
        if round < MIN_ROUNDS || round % 3 == 0 {
            for &list in LISTS.iter().chain(long_lists) {
                let turns = TECHNIQUES
                    .into_iter()
                    .cycle()
                    .skip(round + round / 3)
                    .take(3);
                costs.extend(writers.observe(channel, list, turns)?);
            }
        }
        for (count, around) in std::iter::zip(CopyThresholds::MEASURED, &mut around) {
            for bytes in next_lengths(round, count, around, prior, max_list_bytes / count) {
                around.extend(writers.observe(
                    channel,
                    (count, bytes),
                    PAIRS[round / STEPS.len() % 2],
                )?);
            }
        }
    }
    Ok([costs, around.concat()].concat())
}

/// Returns a length above and a length below the crossover of `observations`. Each length is 30 bytes times a power
/// of √2, so that later rounds repeat the lengths of earlier rounds.
fn next_lengths(
    round: usize,
    count: usize,
    observations: &[Observation],
    prior: &CostModel,
    max: usize,
) -> [usize; 2] {
    let center = crossover(&lengths(&lists_of(observations), count, 0.0));
    let center = center.unwrap_or_else(|| prior.copy_below_bytes(count));
    let place = |bytes: usize| (2.0 * (bytes as f64 / 30.0).log2() + 0.1).max(0.0) as i32;
    let last = place(max.min(MAX_SEGMENT_BYTES));
    let steps = STEPS[round % STEPS.len()];
    [steps, -steps].map(|steps| {
        let place = (place(center) + steps).clamp(0, last);
        ((30.0 * 2.0_f64.powf(f64::from(place) / 2.0)).round() as usize).min(max)
    })
}

#[cfg(test)]
mod tests {
    use super::channel::STREAM_BATCH_BYTES;
    use super::*;

    const KINDS: &[TargetKind] = &[
        TargetKind::File,
        TargetKind::FileOverwrite,
        #[cfg(unix)]
        TargetKind::Pipe,
        #[cfg(unix)]
        TargetKind::Unix,
        TargetKind::Tcp,
        TargetKind::Other,
    ];

    #[cfg(windows)]
    #[test]
    fn what_windows_lacks_is_unsupported() {
        for kind in [TargetKind::Pipe, TargetKind::Unix] {
            let error = CostModel::calibrate(kind, ".", Duration::ZERO).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
        }
    }

    #[test]
    fn every_target_gives_a_plausible_model() {
        let directory = std::env::temp_dir();
        for &kind in KINDS {
            let model = CostModel::calibrate(kind, &directory, Duration::from_millis(1)).unwrap();
            let is_sane = |number: f64| number.is_finite() && number >= 0.0;
            assert!(model.call_ns > 1.0, "{kind:?}: {model:?}");
            assert!(is_sane(model.segment_ns) && is_sane(model.copy_byte_ns));
            assert!(model.staging_bytes > 0);
            let measured = model.queue_thresholds;
            assert!(measured.copy_below_bytes.is_some(), "{kind:?}: {model:?}");
            assert!(measured.join_below_bytes.is_some(), "{kind:?}: {model:?}");
            for count in [2, 16, 1000] {
                assert!(model.copy_below_bytes(count) <= model.staging_bytes);
            }
        }
    }

    #[test]
    fn nothing_is_left_in_the_directory() {
        struct Removed(std::path::PathBuf);
        impl Drop for Removed {
            fn drop(&mut self) {
                let _ = std::fs::remove_dir_all(&self.0);
            }
        }
        let name = format!("vectored-calibrate-{}", std::process::id());
        let directory = Removed(std::env::temp_dir().join(name));
        std::fs::create_dir(&directory.0).unwrap();
        for kind in [TargetKind::File, TargetKind::FileOverwrite] {
            CostModel::calibrate(kind, &directory.0, Duration::ZERO).unwrap();
        }
        assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let outcome =
            CostModel::calibrate(TargetKind::File, "/nonexistent/vectored", Duration::ZERO);
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    struct Random(u64);

    impl Random {
        fn between(&mut self, from: f64, to: f64) -> f64 {
            self.0 = (self.0.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1_442_695);
            from + (to - from) * (self.0 >> 33) as f64 / f64::from(u32::MAX >> 1)
        }
    }

    fn rounds(
        machine: &CostModel,
        prior: &CostModel,
        max_list_bytes: usize,
        noise: &mut impl FnMut() -> f64,
    ) -> [Vec<Observation>; 7] {
        let mut observations = CopyThresholds::MEASURED.map(|_| Vec::new());
        for round in 0..24 {
            for (segment_count, around) in
                std::iter::zip(CopyThresholds::MEASURED, &mut observations)
            {
                let max = max_list_bytes / segment_count;
                for segment_bytes in next_lengths(round, segment_count, around, prior, max) {
                    let bytes = (segment_count * segment_bytes) as u64;
                    let copied_ns = machine.copy_then_write_ns(segment_count, bytes);
                    around.push(Observation {
                        segment_count,
                        bytes,
                        write_ns: f64::NAN,
                        writev_ns: machine.writev_ns(segment_count, bytes),
                        copy_then_write_ns: copied_ns * noise(),
                    });
                }
            }
        }
        observations
    }

    #[test]
    fn a_threshold_is_right_within_a_factor_of_1_3_or_unknown() {
        // The observed shares of known thresholds were slightly larger than `least_known`.
        for (deviation, least_known) in [(0.01, 0.5), (0.05, 0.2), (0.4, 0.0)] {
            let mut random = Random(1);
            let (mut all, mut known, mut wrong, mut wrong_crossovers) = (0.0, 0.0, 0.0, 0.0);
            for number in 0..24 {
                let (kind, max_list_bytes) = [
                    (TargetKind::File, MAX_LIST_BYTES),
                    (TargetKind::Pipe, MAX_STREAM_BYTES),
                    (TargetKind::Unix, MAX_STREAM_BYTES),
                ][number % 3];
                let prior = CostModel::for_target(kind);
                let copy_byte_ns = random.between(0.02, 0.1);
                let machine = CostModel {
                    call_ns: random.between(250.0, 1500.0),
                    byte_ns: random.between(0.05, 0.4),
                    gather_call_ns: random.between(40.0, 300.0),
                    segment_ns: random.between(15.0, 60.0),
                    large_segment_ns: random.between(15.0, 100.0),
                    copy_byte_ns,
                    copy_byte_uncached_ns: 2.0 * copy_byte_ns,
                    staging_bytes: MAX_LIST_BYTES,
                    ..prior
                };
                let mut deviations = Random(number as u64);
                let mut noise = || {
                    // A wide peak, and an outlier with a probability of 1/8.
                    let peak = deviations.between(-1.0, 1.0) + deviations.between(-1.0, 1.0);
                    let outlier = (deviations.between(-4.0, 4.0).abs() - 3.5).max(0.0);
                    (1.2 * deviation * peak + outlier * deviations.between(-1.4, 1.4)).exp()
                };
                let observations = rounds(&machine, &prior, max_list_bytes, &mut noise);
                let fitted = CostModel::fit(prior, &observations.concat());
                for (count, around) in std::iter::zip(CopyThresholds::MEASURED, &observations) {
                    let is_wrong = |bytes: usize| {
                        let factor = bytes as f64 / machine.copy_below_bytes(count) as f64;
                        f64::from(!(1.0 / 1.3..=1.3).contains(&factor))
                    };
                    let threshold = fitted.copy_thresholds.get(count);
                    all += 1.0;
                    known += f64::from(threshold.is_some());
                    wrong += threshold.map_or(0.0, |bytes| is_wrong(bytes as usize));
                    wrong_crossovers +=
                        is_wrong(crossover(&lengths(&lists_of(around), count, 0.0)).unwrap());
                }
            }
            let shares = [known, wrong, wrong_crossovers].map(|number| number / all);
            let [known, wrong, wrong_crossovers] = shares;
            assert!(
                known >= least_known && wrong <= 0.05,
                "{deviation}: {shares:?}"
            );
            // The crossovers alone are often wrong, so an interval is needed.
            assert!(wrong_crossovers > 0.2, "{deviation}: {shares:?}");
        }
    }

    #[test]
    fn each_list_is_written_in_one_call() {
        let writers = Writers::new(CostModel::for_target(TargetKind::Pipe));
        for gather in [&writers.copying, &writers.referencing] {
            assert_eq!(gather.cost_model().chunk_policy, None);
        }
        assert_eq!(writers.copying.cost_model().staging_bytes, MAX_LIST_BYTES);
    }

    #[test]
    fn every_list_fits_an_empty_stream() {
        for (segment_count, segment_bytes) in LISTS {
            assert!((segment_count * segment_bytes) as u64 <= STREAM_BATCH_BYTES);
        }
    }
}
