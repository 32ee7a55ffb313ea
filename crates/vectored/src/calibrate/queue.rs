//! Measures the thresholds of a queue under the conditions of a server: other work runs between the calls.
//!
//! In a loop of equal calls, the code of the kernel, the caller's values and the buffer of the queue stay in the
//! near caches. Calls and copies in this loop cost less than in a server. So 1 MiB of other memory is read before
//! each timed write. The values are taken in turn from a pool that is larger than the near caches.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::channel::Channel;
use crate::SegmentQueue;
use crate::cost::TargetKind;
use crate::cost::crossing::{Length, crossover_unless};
use crate::cost::queue_thresholds::QueueThresholds;
use crate::cost::queueing::{MAX_COPY_BELOW_BYTES, MAX_JOIN_BELOW_BYTES};
use crate::queue::policy::QueuePolicy;
use crate::sys::limits::MAX_CALL_BYTES;

/// The memory that is read before each write, in bytes. Second-level caches of 1 MiB are usual.
const OTHER_BYTES: usize = 1 << 20;

const POOL_BYTES: usize = 1 << 20;

/// On every measured machine, keeping was faster than copying for many values above the last length.
const VALUE_BYTES: [usize; 5] = [1500, 2150, 3070, 4300, MAX_COPY_BELOW_BYTES];

/// The number of values in a call. With four values, the copies would fit the nearest cache, and the measured
/// threshold would be twice as high (Zen 5). Calls of many values would then be up to 12 % slower. With the
/// threshold of 16 values, calls of one value are up to 4 % slower.
const VALUES: usize = 16;

const HEAD: [u8; 24] = [0x5a; 24];

/// The bytes of two messages together. A stream takes all these lengths. The last length is the highest threshold
/// of any policy. If joining is faster at every length, the last length becomes the threshold.
const JOINED_BYTES: [usize; 5] = [6000, 11_000, 20_000, 36_000, MAX_JOIN_BELOW_BYTES];

const MIN_ROUNDS: usize = 3;

const MAX_ROUNDS: usize = 40;

/// If the rounds do not refute the default of `kind`, the default is kept.
pub(super) fn measure(
    channel: &mut Channel,
    kind: TargetKind,
    deadline: Instant,
) -> io::Result<QueueThresholds> {
    let mut server = Server::new();
    let mut values = VALUE_BYTES.map(|bytes| Comparison::new(bytes, bytes, VALUES));
    let mut messages = JOINED_BYTES.map(|bytes| Comparison::new(bytes, bytes / 2, 2));
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
    let default = QueuePolicy::for_target(kind);
    let measured = |comparisons: Vec<Comparison>, default| {
        let lengths = comparisons.into_iter().map(|comparison| comparison.length);
        // A pipe does not take the longest lists in one call, so some lengths have no ratio.
        let measured = lengths.filter(|length| !length.log_ratios.is_empty());
        u32::try_from(crossover_unless(&measured.collect::<Vec<_>>(), default)).ok()
    };
    Ok(QueueThresholds {
        copy_below_bytes: measured(values.into(), default.copy_below_bytes),
        join_below_bytes: measured(messages.into(), default.join_below_bytes),
    })
}

/// Compares copying with the alternative for segments of one size. The alternative is to keep a value, or to make
/// one call for each message.
struct Comparison {
    segments: Vec<Arc<[u8]>>,
    count: usize,
    next: usize,
    /// The ratios are time of copying ÷ time of the alternative.
    length: Length,
}

impl Comparison {
    fn new(bytes: usize, segment_bytes: usize, count: usize) -> Comparison {
        let segment: Vec<u8> = vec![0x5a; segment_bytes];
        Comparison {
            segments: (0..POOL_BYTES / segment_bytes)
                .map(|_| segment.as_slice().into())
                .collect(),
            count,
            next: 0,
            length: Length {
                segment_bytes: bytes,
                log_ratios: Vec::with_capacity(MAX_ROUNDS),
            },
        }
    }

    /// The first round is not added, because the queues allocate memory during the first round.
    fn add(
        &mut self,
        round: usize,
        mut write: impl FnMut(bool, &[Arc<[u8]>]) -> io::Result<Option<f64>>,
    ) -> io::Result<()> {
        let mut times = [None; 2];
        let copies_first = round % 2 == 0;
        for copies in [copies_first, !copies_first] {
            // Each write takes the next segments of the pool, because the previous segments may still be in a
            // cache.
            if self.next + self.count > self.segments.len() {
                self.next = 0;
            }
            let segments = &self.segments[self.next..][..self.count];
            self.next += self.count;
            times[usize::from(copies)] = write(copies, segments)?;
        }
        match times {
            [Some(other), Some(copied)] if round > 0 => {
                self.length.log_ratios.push((copied / other).ln());
            }
            _ => {}
        }
        Ok(())
    }
}

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

    /// With `copies`, one call writes both messages. Without `copies`, each message is written by a call.
    fn write_messages(
        &mut self,
        channel: &mut Channel,
        copies: bool,
        messages: &[Arc<[u8]>],
    ) -> io::Result<Option<f64>> {
        self.work();
        let queue = self.queue(copies);
        let bytes: usize = messages.iter().map(|message| message.len()).sum();
        let took = channel.time_batch(1, bytes as u64, |fd| {
            let mut written = 0;
            for message in messages {
                queue.push(Arc::clone(message));
                if !copies {
                    written += queue.write_to(fd)?;
                }
            }
            Ok(written + queue.write_to(fd)?)
        });
        queue.clear();
        Ok(took?.map(|took| took.as_nanos().max(1) as f64))
    }

    fn queue(&mut self, copies: bool) -> &mut SegmentQueue {
        if copies { &mut self.copying } else { &mut self.keeping }
    }

    fn work(&self) {
        let lines = self.other.iter().step_by(64);
        black_box(lines.fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
    }
}
