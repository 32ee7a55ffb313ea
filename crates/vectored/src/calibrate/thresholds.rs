//! The borders between copying and referencing, by trying both.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::bracket::{Found, Step, USUAL_STEPS, search};
use super::channel::{BATCH, Channel, GAP, MAX_BYTES, MAX_CALLS, STREAM_BYTES};
use super::isotonic::Curve;
use crate::cost::page_alignment::{PAGE_BYTES, fits_pages};
use crate::cost::thresholds::CopyThresholds;
use crate::{CostModel, Gather, TargetKind};

/// The sizes that are tried, in bytes a segment.
const MIN_SEGMENT_BYTES: usize = 32;
const MAX_SEGMENT_BYTES: usize = 16 << 10;

/// The longest list that is tried on a stream: what a pipe holds.
const MAX_STREAM_BYTES: usize = 64 << 10;

/// So far from a size that divides a page the next one is tried.
const BESIDE_BYTES: usize = 8;

/// What was found is tried again so often at most.
const MAX_ROUNDS: usize = 20;

/// Longer lists outgrow the caches, of which the numbers know nothing: their search starts from what was
/// found for the last count, and as if the border fell by this power of the counts.
const MAX_CACHED_SEGMENTS: usize = 64;
const FALL: f64 = 0.6;

/// Sizes of staging buffers differ by this.
const STAGING_STEP: usize = 64 << 10;

/// At so many times the size, in turns: near ones say where the border is, far ones whether it is there.
const BESIDE: [f64; 6] = [1.4, 0.7, 3.0, 0.33, 1.15, 0.87];

/// And each time for so long at most.
const LONG_LOOK: Duration = Duration::from_micros(400);

/// Pairs of batches of each size, whatever the budget.
const MIN_PAIRS: usize = 2;

/// Such a call finds most of its memory for the first time anyway.
const LONG_CALL: Duration = Duration::from_micros(40);

/// More tell no more.
const MAX_PAIRS: usize = 40;

/// A list of whole pages, and beside it one of segments that are none.
const PAGES: usize = 8;
const NO_PAGE_BYTES: usize = PAGE_BYTES as usize - 48;

/// They are compared so often, for a fifth of the time in all.
const PAGE_LOOKS: usize = 8;
const PAGE_SHARE: u32 = 5;

/// If fewer of these comparisons say that pages gain, chance may have done it: of eight so many are
/// alike by chance in 4 % of cases.
const MIN_GAINS: usize = 7;

/// Tries both ways at every count until about `deadline`, from where the numbers of `fitted` or the last
/// count say that the border is, and on a file with segments that are pages. Returns `fitted` with what
/// was found.
pub(super) fn measure(
    channel: &mut Channel,
    kind: TargetKind,
    fitted: &CostModel,
    deadline: Instant,
) -> io::Result<CostModel> {
    let most_bytes = match channel.reader {
        Some(_) => MAX_STREAM_BYTES,
        None => MAX_BYTES,
    };
    let mut pair = Pair {
        copying: Gather::new(CostModel {
            copy_thresholds: CopyThresholds::everywhere(u32::MAX),
            // Where it pays to stage the longest list in one piece, the buffer becomes as long.
            staging_bytes: most_bytes.max(fitted.staging_bytes),
            ..*fitted
        }),
        gathering: Gather::new(CostModel {
            copy_thresholds: CopyThresholds::everywhere(0),
            ..*fitted
        }),
        memory: vec![
            0x5a;
            MAX_BYTES + CopyThresholds::COUNTS[CopyThresholds::COUNTS.len() - 1] * GAP
        ],
        logs: Vec::new(),
        gathered_ns: Vec::new(),
    };
    let mut page_end_ns = fitted.page_end_ns;
    if kind == TargetKind::File {
        let left = deadline.saturating_duration_since(Instant::now());
        page_end_ns = pair.page_end_ns(channel, left / PAGE_SHARE)?;
    }
    let mut curves: [Curve; CopyThresholds::COUNTS.len()] = Default::default();
    let most = |count: usize| (most_bytes / count).min(MAX_SEGMENT_BYTES);
    let half_time = Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2;
    for (index, count) in CopyThresholds::COUNTS.into_iter().enumerate() {
        let (fitted_bytes, most) = (fitted.copy_below_bytes(count), most(count));
        // Even if copying won at the longest that can be tried, that would say nothing new, but of lists that do
        // not fit the buffer: how long that should be.
        let all_fit = most_bytes <= fitted.staging_bytes;
        if fitted_bytes / 2 >= most && most < MAX_SEGMENT_BYTES && all_fit {
            continue;
        }
        let start = match curves[..index].last().map(Curve::border) {
            Some(Found::Border(found)) if count > MAX_CACHED_SEGMENTS => {
                border_of_longer(found, CopyThresholds::COUNTS[index - 1], count)
            }
            _ => fitted_bytes,
        };
        let left = half_time.saturating_duration_since(Instant::now());
        let share = left / (CopyThresholds::COUNTS.len() - index) as u32;
        search(start, MIN_SEGMENT_BYTES, most, |segment_bytes| {
            pair.add(
                channel,
                (count, segment_bytes),
                share / USUAL_STEPS,
                &mut curves[index],
            )
        })?;
    }
    // What was found is tried on either side, one after the other: the speed of a machine that others
    // share changes for milliseconds, and what is measured meanwhile can be four times off.
    for (round, beside) in BESIDE.into_iter().cycle().take(MAX_ROUNDS).enumerate() {
        for (index, count) in CopyThresholds::COUNTS.into_iter().enumerate() {
            let (Found::Border(found) | Found::AtLeast(found)) = curves[index].border() else {
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if round > 0 && left.is_zero() {
                break;
            }
            let bytes = (found as f64 * beside) as usize;
            let bytes = bytes.clamp(MIN_SEGMENT_BYTES, most(count));
            let searches = CopyThresholds::COUNTS.len() - index;
            let time = (left / searches as u32).min(LONG_LOOK);
            pair.add(channel, (count, bytes), time, &mut curves[index])?;
        }
    }
    let found = curves.each_ref().map(Curve::border);
    let mut borders = fitted.copy_thresholds;
    for (index, count) in CopyThresholds::COUNTS.into_iter().enumerate() {
        borders.bytes[index] = match found[index] {
            Found::Border(bytes) => Some(bytes as u32),
            // The numbers may well be right that it is higher, but not that it is lower; and of segments that
            // are longer than any that is tried, and won, they know nothing.
            Found::AtLeast(bytes)
                if bytes >= fitted.copy_below_bytes(count) || bytes == MAX_SEGMENT_BYTES =>
            {
                Some(bytes as u32)
            }
            Found::AtLeast(_) | Found::Nothing => None,
        };
    }
    Ok(CostModel {
        copy_thresholds: borders,
        page_end_ns,
        staging_bytes: staging_bytes(fitted.staging_bytes, found),
        ..*fitted
    })
}

/// A staging buffer that holds each of the lists of which it was measured that they are worth copying.
fn staging_bytes(least: usize, found: [Found; CopyThresholds::COUNTS.len()]) -> usize {
    let lists = std::iter::zip(CopyThresholds::COUNTS, found).map(|(count, found)| match found {
        Found::Border(bytes) | Found::AtLeast(bytes) => {
            let bytes = bytes.min(MAX_BYTES / count);
            (count * bytes).next_multiple_of(STAGING_STEP)
        }
        Found::Nothing => 0,
    });
    lists.fold(least, usize::max)
}

/// Where the border for lists of `count` segments may lie, if it was found there for shorter ones.
fn border_of_longer(found: usize, shorter_count: usize, count: usize) -> usize {
    (found as f64 * (shorter_count as f64 / count as f64).powf(FALL)) as usize
}

/// Both ways, each as `Gather` goes.
struct Pair {
    copying: Gather,
    gathering: Gather,
    /// Of the longest list.
    memory: Vec<u8>,
    /// Of the ratios of the pairs so far, and what gathering took in them.
    logs: Vec<f64>,
    gathered_ns: Vec<f64>,
}

impl Pair {
    /// Measures such a list for about `time` and adds what it took to the curve, if it could be.
    fn add(
        &mut self,
        channel: &mut Channel,
        list: (usize, usize),
        time: Duration,
        curve: &mut Curve,
    ) -> io::Result<Option<f64>> {
        // Segments that end where pages do have a border of their own: `page_end_ns`.
        let (count, bytes) = list;
        let beside = if fits_pages(bytes) { BESIDE_BYTES } else { 0 };
        let ratio = self.ratio(channel, (count, bytes - beside), time)?;
        if let Some(ratio) = ratio {
            let log = ratio.ln();
            curve.add(Step { bytes, log }, self.logs.len());
        }
        Ok(ratio)
    }

    /// What gathering gains on copying for each segment that ends where a page does, in about `time`.
    fn page_end_ns(&mut self, channel: &mut Channel, time: Duration) -> io::Result<f64> {
        let time = time / (2 * PAGE_LOOKS) as u32;
        let mut gains = Vec::with_capacity(PAGE_LOOKS);
        for _ in 0..PAGE_LOOKS {
            let mut log = |bytes| -> io::Result<Option<f64>> {
                // Else no segment of the list would lie on a page, but across two.
                channel.begins_pages = true;
                let ratio = self.ratio(channel, (PAGES, bytes), time);
                channel.begins_pages = false;
                Ok(ratio?.map(f64::ln))
            };
            let beside = log(NO_PAGE_BYTES)?;
            let Some((pages, beside)) = log(PAGE_BYTES as usize)?.zip(beside) else {
                return Ok(0.0);
            };
            gains.push((pages - beside) * median(&mut self.gathered_ns));
        }
        Ok(page_end_ns_by(&mut gains))
    }

    /// The time of copying ÷ that of gathering for lists of equal segments: the median of pairs that
    /// follow one another at once, for about `time`. `None` if the target does not take such a list.
    fn ratio(
        &mut self,
        channel: &mut Channel,
        (segment_count, segment_bytes): (usize, usize),
        time: Duration,
    ) -> io::Result<Option<f64>> {
        let segments: Vec<IoSlice<'_>> = self
            .memory
            .chunks(segment_bytes + GAP)
            .take(segment_count)
            .map(|slot| IoSlice::new(&slot[..segment_bytes]))
            .collect();
        let bytes = (segment_count * segment_bytes) as u64;
        let began = Instant::now();
        let mut calls = 1;
        // The first call each way finds its memory for the first time, the second counts, unless it is a long one.
        for _ in 0..2 {
            let gathering = |fd: BorrowedFd<'_>| self.gathering.write_all(fd, &segments);
            let Some(call) = channel.time(1, bytes, gathering)? else {
                return Ok(None);
            };
            let copying = |fd: BorrowedFd<'_>| self.copying.write_all(fd, &segments);
            if channel.time(1, bytes, copying)?.is_none() {
                return Ok(None);
            }
            let fitting = (STREAM_BYTES / bytes).clamp(1, MAX_CALLS.into());
            let wanted = BATCH.as_nanos() / call.as_nanos().max(1);
            calls = wanted.clamp(1, fitting.into()) as u32;
            if call > LONG_CALL {
                break;
            }
        }
        self.logs.clear();
        self.gathered_ns.clear();
        while self.logs.len() < MIN_PAIRS || (self.logs.len() < MAX_PAIRS && began.elapsed() < time)
        {
            // What goes first finds the caches as the reader left them: they take turns.
            let copying_first = self.logs.len().is_multiple_of(2);
            let mut times = [None; 2];
            for copies in [copying_first, !copying_first] {
                let gather = match copies {
                    true => &mut self.copying,
                    false => &mut self.gathering,
                };
                let took = channel.time(calls, bytes, |fd| gather.write_all(fd, &segments))?;
                let Some(took) = took else {
                    break;
                };
                times[usize::from(copies)] = Some(took.as_nanos().max(1) as f64);
            }
            match times {
                [Some(gathered), Some(copied)] => {
                    self.logs.push((copied / gathered).ln());
                    self.gathered_ns.push(gathered / f64::from(calls));
                }
                // A small pipe or buffer.
                _ if calls > 1 => calls /= 2,
                _ => return Ok(None),
            }
        }
        Ok(Some(median(&mut self.logs).exp()))
    }
}

/// What a page's end spares, by what lists of pages gained on others in several comparisons.
fn page_end_ns_by(gains_ns: &mut [f64]) -> f64 {
    if gains_ns.iter().filter(|&&gain| gain > 0.0).count() < MIN_GAINS {
        return 0.0;
    }
    median(gains_ns) / (PAGES - 1) as f64
}

/// Of some numbers, that are sorted by it.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        0 => (numbers[middle - 1] + numbers[middle]) / 2.0,
        _ => numbers[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_gain_if_nearly_all_comparisons_say_so() {
        let gains = [700.0, 600.0, 800.0, 650.0, 750.0, 500.0, 900.0, 700.0];
        assert_eq!(page_end_ns_by(&mut gains.clone()), 100.0);
        let with_negative = |count: usize| {
            let mut gains = gains;
            gains[..count].fill(-700.0);
            page_end_ns_by(&mut gains)
        };
        assert!(with_negative(1) > 0.0);
        assert_eq!(with_negative(2), 0.0);
        assert_eq!(with_negative(8), 0.0);
    }

    #[test]
    fn longer_lists_are_looked_for_at_lower_borders_but_at_more_bytes_in_all() {
        assert_eq!(border_of_longer(2000, 64, 64), 2000);
        for (shorter, count) in [(64, 256), (256, 1000)] {
            let start = border_of_longer(2000, shorter, count);
            assert!((500..1000).contains(&start), "{start}");
            assert!(start * count > 2000 * shorter, "{start}");
        }
    }

    #[test]
    fn the_staging_buffer_holds_what_is_worth_copying() {
        use Found::{AtLeast, Border, Nothing};
        let bytes = |of_2, of_64, of_256, of_1000| {
            let found = [of_2, Nothing, Nothing, Nothing, of_64, of_256, of_1000];
            staging_bytes(256 << 10, found)
        };
        assert_eq!(bytes(Nothing, Nothing, Nothing, Nothing), 256 << 10);
        let short = bytes(AtLeast(16_384), Border(4096), Nothing, Border(260));
        assert_eq!(short, 256 << 10);
        assert_eq!(
            bytes(Nothing, Nothing, Border(1500), Border(300)),
            384 << 10
        );
        // Whether or not the numbers say that more would be worth it.
        assert_eq!(bytes(Nothing, Nothing, Nothing, AtLeast(1048)), 1 << 20);
        // What was not tried is not known to be.
        assert_eq!(bytes(Nothing, Nothing, Border(16_384), Nothing), 1 << 20);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_two() {
        assert_eq!(median(&mut [3.0, 1.0]), 2.0);
        assert_eq!(median(&mut [5.0, 1.0, 3.0]), 3.0);
    }
}
