//! Measuring the thresholds between copying and referencing, by timing both.

use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use super::bracket::{Crossover, Sample, TYPICAL_STEPS, search};
use super::channel::{
    BATCH_TIME, Channel, GAP_BYTES, MAX_CALLS, MAX_LIST_BYTES, STREAM_BATCH_BYTES,
};
use super::isotonic::Curve;
use super::median::median;
use crate::cost::TargetKind;
use crate::cost::page_alignment::{PAGE_BYTES, fits_pages};
use crate::cost::thresholds::CopyThresholds;
use crate::descriptor::BorrowedDescriptor;
use crate::{CostModel, Gather};

/// The shortest and longest segments that are measured, in bytes.
const MIN_SEGMENT_BYTES: usize = 32;
const MAX_SEGMENT_BYTES: usize = 16 << 10;

/// The longest list that is measured on a stream, in bytes: the default capacity of a pipe.
const MAX_STREAM_BYTES: usize = 64 << 10;

/// A length that fits pages is measured this many bytes shorter.
const OFF_PAGE_BYTES: usize = 8;

/// The most rounds of retries.
const MAX_ROUNDS: usize = 20;

/// Longer lists exceed the caches, which the fitted costs do not describe. Their search starts from the crossover of the
/// last count, scaled by this power of the ratio of counts.
const MAX_CACHED_SEGMENTS: usize = 64;
const LENGTH_EXPONENT: f64 = 0.6;

/// The size of a staging buffer is a multiple of this, in bytes.
const STAGING_STEP_BYTES: usize = 64 << 10;

/// Retries measure these multiples of the crossover, in turn: near ones refine it, far ones confirm it.
const RETRY_FACTORS: [f64; 6] = [1.4, 0.7, 3.0, 0.33, 1.15, 0.87];

const MAX_RETRY_TIME: Duration = Duration::from_micros(400);

/// The least number of pairs of batches at each length, for any budget.
const MIN_PAIRS: usize = 2;

/// A call that takes longer is not repeated to warm the caches, since its list exceeds them.
const LONG_CALL: Duration = Duration::from_micros(40);

/// The most pairs of batches at each length.
const MAX_PAIRS: usize = 40;

/// The lists for `page_end_ns`: segments of one page, and segments a little shorter.
const PAGE_LIST_SEGMENTS: usize = 8;
const OFF_PAGE_SEGMENT_BYTES: usize = PAGE_BYTES as usize - 48;

/// The number of these comparisons, and their share of the time: one divided by this.
const PAGE_COMPARISONS: usize = 8;
const PAGE_SHARE: u32 = 5;

/// The least number of comparisons in which lists of pages gain. Without an effect, at least this many of eight gain by
/// chance in 4 % of calibrations.
const MIN_GAINS: usize = 7;

/// Measures the threshold at every count until about `deadline`, and on a file `page_end_ns`. Returns `fitted` with the
/// measured values.
///
/// Each search starts at the threshold of `fitted`, or from the crossover of the last count.
pub(super) fn measure(
    channel: &mut Channel,
    kind: TargetKind,
    fitted: &CostModel,
    deadline: Instant,
) -> io::Result<CostModel> {
    let max_list_bytes = if channel.is_stream() { MAX_STREAM_BYTES } else { MAX_LIST_BYTES };
    let mut comparison = Comparison {
        copying: Gather::with_model(CostModel {
            copy_thresholds: CopyThresholds::everywhere(u32::MAX),
            // Large enough to stage the longest list in one call.
            staging_bytes: max_list_bytes.max(fitted.staging_bytes),
            ..*fitted
        }),
        gathering: Gather::with_model(CostModel {
            copy_thresholds: CopyThresholds::everywhere(0),
            ..*fitted
        }),
        memory: vec![
            0x5a;
            MAX_LIST_BYTES
                + CopyThresholds::MEASURED[CopyThresholds::MEASURED.len() - 1] * GAP_BYTES
        ],
        log_ratios: Vec::new(),
        gathered_ns: Vec::new(),
    };
    let mut page_end_ns = fitted.page_end_ns;
    if kind == TargetKind::File {
        let left = deadline.saturating_duration_since(Instant::now());
        page_end_ns = comparison.page_end_ns(channel, left / PAGE_SHARE)?;
    }
    let mut curves = Curves::default();
    let half_time = Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2;
    comparison.search_each(channel, fitted, max_list_bytes, half_time, &mut curves)?;
    comparison.retry_each(channel, max_list_bytes, deadline, &mut curves)?;
    let crossovers = curves.each_ref().map(Curve::crossover);
    Ok(CostModel {
        copy_thresholds: copy_thresholds(fitted, crossovers),
        page_end_ns,
        staging_bytes: staging_bytes(fitted.staging_bytes, crossovers),
        ..*fitted
    })
}

type Curves = [Curve; CopyThresholds::MEASURED.len()];

fn max_segment_bytes(max_list_bytes: usize, count: usize) -> usize {
    (max_list_bytes / count).min(MAX_SEGMENT_BYTES)
}

/// The thresholds of `fitted`, except where a crossover was measured.
fn copy_thresholds(
    fitted: &CostModel,
    crossovers: [Crossover; CopyThresholds::MEASURED.len()],
) -> CopyThresholds {
    let mut copy_thresholds = fitted.copy_thresholds;
    for (index, count) in CopyThresholds::MEASURED.into_iter().enumerate() {
        copy_thresholds.bytes[index] = match crossovers[index] {
            Crossover::At(bytes) => Some(bytes as u32),
            // The threshold is at least `bytes`. Keeps a higher one of the fitted costs, unless these are the longest
            // segments that are ever measured.
            Crossover::AtLeast(bytes)
                if bytes >= fitted.copy_below_bytes(count) || bytes == MAX_SEGMENT_BYTES =>
            {
                Some(bytes as u32)
            }
            Crossover::AtLeast(_) | Crossover::Unknown => None,
        };
    }
    copy_thresholds
}

/// The size of a staging buffer that holds every list up to its measured crossover, and at least `min`.
fn staging_bytes(min: usize, crossovers: [Crossover; CopyThresholds::MEASURED.len()]) -> usize {
    let lists = std::iter::zip(CopyThresholds::MEASURED, crossovers).map(|(count, crossover)| {
        match crossover {
            Crossover::At(bytes) | Crossover::AtLeast(bytes) => {
                let bytes = bytes.min(MAX_LIST_BYTES / count);
                (count * bytes).next_multiple_of(STAGING_STEP_BYTES)
            }
            Crossover::Unknown => 0,
        }
    });
    lists.fold(min, usize::max)
}

/// An estimate of the crossover at `count` segments, from that at `shorter_count`.
fn scaled_crossover(crossover: usize, shorter_count: usize, count: usize) -> usize {
    (crossover as f64 * (shorter_count as f64 / count as f64).powf(LENGTH_EXPONENT)) as usize
}

/// A `Gather` that copies every segment and one that copies none, to be compared.
struct Comparison {
    copying: Gather,
    gathering: Gather,
    /// The bytes of the longest list, with gaps.
    memory: Vec<u8>,
    /// For each pair of batches so far, the logarithm of copying's time ÷ gathering's, and the time of a gathering call.
    log_ratios: Vec<f64>,
    gathered_ns: Vec<f64>,
}

impl Comparison {
    /// Searches the crossover of each count until about `until`.
    fn search_each(
        &mut self,
        channel: &mut Channel,
        fitted: &CostModel,
        max_list_bytes: usize,
        until: Instant,
        curves: &mut Curves,
    ) -> io::Result<()> {
        for (index, count) in CopyThresholds::MEASURED.into_iter().enumerate() {
            let fitted_bytes = fitted.copy_below_bytes(count);
            let max_bytes = max_segment_bytes(max_list_bytes, count);
            // If `fitted` copies far longer segments than can be measured, copying at the longest would show nothing new,
            // unless the list does not fit the staging buffer: that shows how long the buffer should be.
            let all_fit = max_list_bytes <= fitted.staging_bytes;
            if fitted_bytes / 2 >= max_bytes && max_bytes < MAX_SEGMENT_BYTES && all_fit {
                continue;
            }
            let start = match curves[..index].last().map(Curve::crossover) {
                Some(Crossover::At(found)) if count > MAX_CACHED_SEGMENTS => {
                    scaled_crossover(found, CopyThresholds::MEASURED[index - 1], count)
                }
                _ => fitted_bytes,
            };
            let left = until.saturating_duration_since(Instant::now());
            let share = left / (CopyThresholds::MEASURED.len() - index) as u32;
            search(start, MIN_SEGMENT_BYTES, max_bytes, |segment_bytes| {
                self.add(
                    channel,
                    (count, segment_bytes),
                    share / TYPICAL_STEPS,
                    &mut curves[index],
                )
            })?;
        }
        Ok(())
    }

    /// Measures below and above each crossover again until about `deadline`. One retry of each count a round: the speed of a
    /// shared machine can change fourfold for milliseconds, and would otherwise disturb all measurements of one count.
    fn retry_each(
        &mut self,
        channel: &mut Channel,
        max_list_bytes: usize,
        deadline: Instant,
        curves: &mut Curves,
    ) -> io::Result<()> {
        let factors = RETRY_FACTORS.into_iter().cycle().take(MAX_ROUNDS);
        for (round, factor) in factors.enumerate() {
            for (index, count) in CopyThresholds::MEASURED.into_iter().enumerate() {
                let (Crossover::At(found) | Crossover::AtLeast(found)) = curves[index].crossover()
                else {
                    continue;
                };
                let left = deadline.saturating_duration_since(Instant::now());
                if round > 0 && left.is_zero() {
                    break;
                }
                let bytes = (found as f64 * factor) as usize;
                let max_bytes = max_segment_bytes(max_list_bytes, count);
                let bytes = bytes.clamp(MIN_SEGMENT_BYTES, max_bytes);
                let searches = CopyThresholds::MEASURED.len() - index;
                let time = (left / searches as u32).min(MAX_RETRY_TIME);
                self.add(channel, (count, bytes), time, &mut curves[index])?;
            }
        }
        Ok(())
    }

    /// Measures the ratio of a list for about `time`, adds it to `curve` and returns it. `None` if the target does not
    /// take such a list.
    fn add(
        &mut self,
        channel: &mut Channel,
        list: (usize, usize),
        time: Duration,
        curve: &mut Curve,
    ) -> io::Result<Option<f64>> {
        // Segments that end at page ends have another threshold, by `page_end_ns`.
        let (count, bytes) = list;
        let shortened_by = if fits_pages(bytes) { OFF_PAGE_BYTES } else { 0 };
        let ratio = self.ratio(channel, (count, bytes - shortened_by), time)?;
        if let Some(ratio) = ratio {
            let log_ratio = ratio.ln();
            curve.add(Sample { bytes, log_ratio }, self.log_ratios.len());
        }
        Ok(ratio)
    }

    /// Measures the saving of gathering for a segment that ends at a page end, for about `time`.
    fn page_end_ns(&mut self, channel: &mut Channel, time: Duration) -> io::Result<f64> {
        let time = time / (2 * PAGE_COMPARISONS) as u32;
        let mut gains = Vec::with_capacity(PAGE_COMPARISONS);
        for _ in 0..PAGE_COMPARISONS {
            let mut log_ratio = |bytes| -> io::Result<Option<f64>> {
                // At another place, each segment would lie across two pages.
                channel.starts_at_page = true;
                let ratio = self.ratio(channel, (PAGE_LIST_SEGMENTS, bytes), time);
                channel.starts_at_page = false;
                Ok(ratio?.map(f64::ln))
            };
            let off_page = log_ratio(OFF_PAGE_SEGMENT_BYTES)?;
            let Some((pages, off_page)) = log_ratio(PAGE_BYTES as usize)?.zip(off_page) else {
                return Ok(0.0);
            };
            gains.push((pages - off_page) * median(&mut self.gathered_ns));
        }
        Ok(page_end_ns_from(&mut gains))
    }

    /// The ratio of copying's time to gathering's for a list of equal segments: the median of pairs of consecutive
    /// batches, measured for about `time`. `None` if the target does not take such a list.
    fn ratio(
        &mut self,
        channel: &mut Channel,
        (segment_count, segment_bytes): (usize, usize),
        time: Duration,
    ) -> io::Result<Option<f64>> {
        let segments: Vec<IoSlice<'_>> = self
            .memory
            .chunks(segment_bytes + GAP_BYTES)
            .take(segment_count)
            .map(|slot| IoSlice::new(&slot[..segment_bytes]))
            .collect();
        let bytes = (segment_count * segment_bytes) as u64;
        let began = Instant::now();
        let mut calls = 1;
        // The first call of each warms the caches; the second is timed, unless the first was long.
        for _ in 0..2 {
            let gathering = |fd: BorrowedDescriptor<'_>| self.gathering.write_all(fd, &segments);
            let Some(call) = channel.time_batch(1, bytes, gathering)? else {
                return Ok(None);
            };
            let copying = |fd: BorrowedDescriptor<'_>| self.copying.write_all(fd, &segments);
            if channel.time_batch(1, bytes, copying)?.is_none() {
                return Ok(None);
            }
            let fitting = (STREAM_BATCH_BYTES / bytes).clamp(1, MAX_CALLS.into());
            let wanted = BATCH_TIME.as_nanos() / call.as_nanos().max(1);
            calls = wanted.clamp(1, fitting.into()) as u32;
            if call > LONG_CALL {
                break;
            }
        }
        self.log_ratios.clear();
        self.gathered_ns.clear();
        while self.log_ratios.len() < MIN_PAIRS
            || (self.log_ratios.len() < MAX_PAIRS && began.elapsed() < time)
        {
            // The first batch of a pair finds the caches as the reader left them, so the order alternates.
            let copying_first = self.log_ratios.len() % 2 == 0;
            let mut times = [None; 2];
            for copies in [copying_first, !copying_first] {
                let gather = if copies { &mut self.copying } else { &mut self.gathering };
                let took =
                    channel.time_batch(calls, bytes, |fd| gather.write_all(fd, &segments))?;
                let Some(took) = took else {
                    break;
                };
                times[usize::from(copies)] = Some(took.as_nanos().max(1) as f64);
            }
            match times {
                [Some(gathered), Some(copied)] => {
                    self.log_ratios.push((copied / gathered).ln());
                    self.gathered_ns.push(gathered / f64::from(calls));
                }
                // The pipe or socket buffer is smaller than assumed.
                _ if calls > 1 => calls /= 2,
                _ => return Ok(None),
            }
        }
        Ok(Some(median(&mut self.log_ratios).exp()))
    }
}

/// `page_end_ns` from the gains of lists of pages over other lists in several comparisons.
fn page_end_ns_from(gains_ns: &mut [f64]) -> f64 {
    if gains_ns.iter().filter(|&&gain| gain > 0.0).count() < MIN_GAINS {
        return 0.0;
    }
    median(gains_ns) / (PAGE_LIST_SEGMENTS - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_gain_if_nearly_all_comparisons_show_it() {
        let gains = [700.0, 600.0, 800.0, 650.0, 750.0, 500.0, 900.0, 700.0];
        assert_eq!(page_end_ns_from(&mut gains.clone()), 100.0);
        let with_negative = |count: usize| {
            let mut gains = gains;
            gains[..count].fill(-700.0);
            page_end_ns_from(&mut gains)
        };
        assert!(with_negative(1) > 0.0);
        assert_eq!(with_negative(2), 0.0);
        assert_eq!(with_negative(8), 0.0);
    }

    #[test]
    fn searches_of_longer_lists_start_at_shorter_segments_but_more_bytes_in_all() {
        assert_eq!(scaled_crossover(2000, 64, 64), 2000);
        for (shorter, count) in [(64, 256), (256, 1000)] {
            let start = scaled_crossover(2000, shorter, count);
            assert!((500..1000).contains(&start), "{start}");
            assert!(start * count > 2000 * shorter, "{start}");
        }
    }

    #[test]
    fn the_staging_buffer_holds_every_list_that_is_faster_copied() {
        use Crossover::{At, AtLeast, Unknown};
        let bytes = |of_2, of_64, of_256, of_1000| {
            let crossovers = [of_2, Unknown, Unknown, Unknown, of_64, of_256, of_1000];
            staging_bytes(256 << 10, crossovers)
        };
        assert_eq!(bytes(Unknown, Unknown, Unknown, Unknown), 256 << 10);
        let short = bytes(AtLeast(16_384), At(4096), Unknown, At(260));
        assert_eq!(short, 256 << 10);
        assert_eq!(bytes(Unknown, Unknown, At(1500), At(300)), 384 << 10);
        // Copying may be faster even at the longest list.
        assert_eq!(bytes(Unknown, Unknown, Unknown, AtLeast(1048)), 1 << 20);
        // Lists longer than the longest measured do not count.
        assert_eq!(bytes(Unknown, Unknown, At(16_384), Unknown), 1 << 20);
    }
}
