//! Measuring the thresholds of a queue as a server pays for them: with other work between the calls.
//!
//! In a loop of equal calls, the code of the kernel, the caller's values and the buffer of the queue stay in the near
//! caches, so that a call and a copy cost a fraction of what they cost in a server. Here other memory is read before
//! each timed write, and the values are taken in turn from more memory than the near caches hold.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::bracket::{Crossover, Sample};
use super::channel::Channel;
use super::isotonic::Curve;
use super::median::median;
use crate::cost::queue_thresholds::QueueThresholds;
use crate::queue::policy::QueuePolicy;
use crate::sys::limits::MAX_CALL_BYTES;
use crate::{CostModel, SegmentQueue};

/// The memory that is read before each write, in bytes: the second-level cache of one CPU.
const OTHER_BYTES: usize = 1 << 20;

/// The values of one size, in bytes.
const POOL_BYTES: usize = 1 << 20;

/// The lengths of values that are copied or kept, divided by the threshold that follows from the costs. A call differs by a
/// few percent of its time around the threshold, and a calibration has time for few calls: with a wider range, noise alone
/// moved the threshold by a factor of five. So the result is 0.74 to 1.34 times the threshold that follows from the costs.
const VALUE_RATIOS: [f64; 4] = [0.55, 0.8, 1.2, 1.8];

/// The longest value: a stream takes a call of them.
const MAX_VALUE_BYTES: usize = 12_000;

/// The values in a call, between those of a server that answers each request alone and of one whose requests are
/// pipelined.
const VALUES: usize = 4;

/// The copied bytes before each value.
const HEAD: [u8; 24] = [0x5a; 24];

/// The bytes of two messages that are joined, or written by two calls. A stream takes all of them.
const JOINED_BYTES: [usize; 4] = [6000, 12_000, 24_000, 48_000];

/// The least number of pairs of writes at each size, for any budget. The first is not counted, since the queues allocate
/// memory in it.
const MIN_ROUNDS: usize = 3;

/// The most pairs.
const MAX_ROUNDS: usize = 40;

/// Measures the two thresholds until about `deadline`. `fitted` has the costs that were measured before.
pub(super) fn measure(
    channel: &mut Channel,
    fitted: &CostModel,
    deadline: Instant,
) -> io::Result<QueueThresholds> {
    let mut server = Server::new();
    let computed_bytes = fitted.queue_copy_below_bytes();
    let lengths = VALUE_RATIOS.map(|ratio| (computed_bytes as f64 * ratio) as usize);
    let mut lengths = lengths.map(|bytes| bytes.min(MAX_VALUE_BYTES)).to_vec();
    lengths.dedup();
    let values: Vec<Comparison> = lengths
        .into_iter()
        .map(|bytes| Comparison::new(bytes, bytes))
        .collect();
    let messages = JOINED_BYTES.map(|bytes| Comparison::new(bytes, bytes / 2));
    let (mut values, mut messages) = (values, messages);
    for round in 0..MAX_ROUNDS {
        if round >= MIN_ROUNDS && Instant::now() >= deadline {
            break;
        }
        for comparison in &mut values {
            comparison.add(round, |copies, segments| {
                server.write_values(channel, copies, segments)
            })?;
        }
        for comparison in &mut messages {
            comparison.add(round, |copies, segments| {
                server.write_messages(channel, copies, segments)
            })?;
        }
    }
    Ok(QueueThresholds {
        copy_below_bytes: match crossover(&mut values) {
            Crossover::At(measured) => in_32_bits(between(measured, computed_bytes)),
            // Copying is faster at all lengths that the target takes: nothing contradicts a higher threshold.
            Crossover::AtLeast(measured) => {
                in_32_bits(between(measured, computed_bytes).max(computed_bytes))
            }
            Crossover::Unknown => None,
        },
        join_below_bytes: match crossover(&mut messages) {
            Crossover::At(bytes) | Crossover::AtLeast(bytes) => in_32_bits(bytes),
            Crossover::Unknown => None,
        },
    })
}

fn in_32_bits(bytes: usize) -> Option<u32> {
    u32::try_from(bytes).ok()
}

/// The size up to which copying is not slower.
fn crossover(comparisons: &mut [Comparison]) -> Crossover {
    let mut curve = Curve::default();
    for comparison in comparisons {
        let weight = comparison.log_ratios.len();
        if weight > 0 {
            let log_ratio = median(&mut comparison.log_ratios);
            let bytes = comparison.bytes;
            curve.add(Sample { bytes, log_ratio }, weight);
        }
    }
    curve.crossover()
}

/// The geometric mean of the measured crossover and the one that follows from the costs. It halves the error of a short
/// measurement, on a logarithmic axis.
fn between(measured: usize, computed: usize) -> usize {
    (measured as f64 * computed as f64).sqrt() as usize
}

/// Copying against the other way, for segments of one size.
struct Comparison {
    bytes: usize,
    segments: Vec<Arc<[u8]>>,
    /// The first of the segments that are written next.
    next: usize,
    /// The log ratios of copying's time to the other's, one for each pair.
    log_ratios: Vec<f64>,
}

impl Comparison {
    fn new(bytes: usize, segment_bytes: usize) -> Comparison {
        let segment: Vec<u8> = vec![0x5a; segment_bytes];
        Comparison {
            bytes,
            segments: (0..POOL_BYTES / segment_bytes)
                .map(|_| segment.as_slice().into())
                .collect(),
            next: 0,
            log_ratios: Vec::with_capacity(MAX_ROUNDS),
        }
    }

    /// Adds a pair, if the target takes it and this is not the first round.
    fn add(
        &mut self,
        round: usize,
        mut write: impl FnMut(bool, &[Arc<[u8]>]) -> io::Result<Option<f64>>,
    ) -> io::Result<()> {
        let mut times = [None; 2];
        let copies_first = round % 2 == 0;
        for copies in [copies_first, !copies_first] {
            // Other segments each time: those of the last time may still be in a cache.
            if self.next + VALUES > self.segments.len() {
                self.next = 0;
            }
            let segments = &self.segments[self.next..][..VALUES];
            self.next += VALUES;
            times[usize::from(copies)] = write(copies, segments)?;
        }
        match times {
            [Some(other), Some(copied)] if round > 0 => {
                self.log_ratios.push((copied / other).ln());
            }
            _ => {}
        }
        Ok(())
    }
}

/// The queues, and the other memory of a program.
struct Server {
    copying: SegmentQueue,
    keeping: SegmentQueue,
    other: Vec<u8>,
}

impl Server {
    fn new() -> Server {
        let policy = QueuePolicy {
            chunk_bytes: MAX_CALL_BYTES,
            ..QueuePolicy::default()
        };
        let queue = |copy_below_bytes| {
            SegmentQueue::with_policy(QueuePolicy {
                copy_below_bytes,
                ..policy
            })
        };
        Server {
            copying: queue(usize::MAX),
            keeping: queue(0),
            other: vec![1; OTHER_BYTES],
        }
    }

    /// The time of values with copied heads, in one call.
    fn write_values(
        &mut self,
        channel: &mut Channel,
        copies: bool,
        values: &[Arc<[u8]>],
    ) -> io::Result<Option<f64>> {
        self.work();
        let queue = self.queue(copies);
        let bytes: usize = values.iter().map(|value| HEAD.len() + value.len()).sum();
        let took = channel.time_batch(1, bytes as u64, |fd| {
            for value in values {
                queue.put_slice(&HEAD);
                queue.push(Arc::clone(value));
            }
            queue.write_to(fd)
        });
        queue.clear();
        Ok(took?.map(|took| took.as_nanos().max(1) as f64))
    }

    /// The time of two messages: copied into one call, or by a call each.
    fn write_messages(
        &mut self,
        channel: &mut Channel,
        copies: bool,
        messages: &[Arc<[u8]>],
    ) -> io::Result<Option<f64>> {
        self.work();
        let queue = self.queue(copies);
        let messages = &messages[..2];
        let bytes: usize = messages.iter().map(|message| message.len()).sum();
        let took = channel.time_batch(1, bytes as u64, |fd| {
            let mut written = 0;
            for message in messages {
                queue.push(Arc::clone(message));
                if !copies {
                    written += queue.write_to(fd).map_err(|error| error.behind(written))?;
                }
            }
            let rest = queue.write_to(fd);
            rest.map(|rest| written + rest)
                .map_err(|error| error.behind(written))
        });
        queue.clear();
        Ok(took?.map(|took| took.as_nanos().max(1) as f64))
    }

    fn queue(&mut self, copies: bool) -> &mut SegmentQueue {
        if copies { &mut self.copying } else { &mut self.keeping }
    }

    /// Reads other memory.
    fn work(&self) {
        let lines = self.other.iter().step_by(64);
        black_box(lines.fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
    }
}
