//! Times a list of equal segments by several techniques in turn.

use std::io::{self, IoSlice};

use super::channel::{
    BATCH_TIME, Channel, GAP_BYTES, MAX_CALLS, MAX_LIST_BYTES, STREAM_BATCH_BYTES,
};
use crate::cost::Observation;
use crate::cost::thresholds::CopyThresholds;
use crate::write::all::write_all;
use crate::{CostModel, Gather};

const MEMORY_BYTES: usize =
    MAX_LIST_BYTES + CopyThresholds::MEASURED[CopyThresholds::MEASURED.len() - 1] * GAP_BYTES;

/// The number of segments, and the bytes of each segment.
pub(super) type List = (usize, usize);

#[derive(Clone, Copy)]
pub(super) enum Technique {
    /// `write(2)` of the same number of contiguous bytes.
    Write,
    Reference,
    Copy,
}

pub(super) struct Writers {
    memory: Vec<u8>,
    pub(super) copying: Gather,
    pub(super) referencing: Gather,
}

impl Writers {
    pub(super) fn new(model: CostModel) -> Writers {
        // Each list must be sent in one call.
        let model = model.with(|model| model.chunk_policy = None);
        Writers {
            memory: vec![0x5a; MEMORY_BYTES],
            copying: Gather::with_model(CostModel {
                copy_thresholds: CopyThresholds::everywhere(u32::MAX),
                // The staging buffer must have room for the longest list.
                staging_bytes: MAX_LIST_BYTES,
                ..model
            }),
            referencing: Gather::with_model(CostModel {
                copy_thresholds: CopyThresholds::everywhere(0),
                ..model
            }),
        }
    }

    /// Returns the mean time of each technique, or NaN for a technique that is not in `techniques`. `None` if the
    /// target does not take the list.
    pub(super) fn observe(
        &mut self,
        channel: &mut Channel,
        list: List,
        techniques: impl IntoIterator<Item = Technique>,
    ) -> io::Result<Option<Observation>> {
        let bytes = (list.0 * list.1) as u64;
        // The first two calls are not part of the result, because the list and the staging buffer are outside the
        // near caches.
        let Some(_) = self.batch(channel, list, Technique::Copy, 1)? else {
            return Ok(None);
        };
        let Some(call_ns) = self.batch(channel, list, Technique::Reference, 1)? else {
            return Ok(None);
        };
        let most = (STREAM_BATCH_BYTES / bytes).clamp(1, MAX_CALLS);
        let wanted = (BATCH_TIME.as_nanos() as f64 / call_ns) as u64;
        // TCP acknowledges every second segment, and an acknowledgement takes as long as half a call. With an
        // even number of calls, all batches have an equal share of acknowledgements.
        let mut calls = wanted.next_multiple_of(2).clamp(1, most) as u32;
        // The result of this batch is dropped: on TCP, the first batch after single calls takes 1.3 times as long
        // as later batches.
        self.batch(channel, list, Technique::Reference, calls)?;
        let mut sums_ns = [(0.0, 0.0); 3];
        for technique in techniques {
            let call_ns = loop {
                match self.batch(channel, list, technique, calls)? {
                    Some(call_ns) => break call_ns,
                    None if calls == 1 => return Ok(None),
                    // The buffer of the pipe or socket is smaller than `STREAM_BATCH_BYTES`.
                    None => calls /= 2,
                }
            };
            let (sum, count) = &mut sums_ns[technique as usize];
            (*sum, *count) = (*sum + call_ns, *count + 1.0);
        }
        let [write_ns, writev_ns, copy_then_write_ns] = sums_ns.map(|(sum, count)| sum / count);
        Ok(Some(Observation {
            segment_count: list.0,
            bytes,
            write_ns,
            writev_ns,
            copy_then_write_ns,
        }))
    }

    /// The time of one call of a batch, in ns. `None` if the target does not take the batch.
    fn batch(
        &mut self,
        channel: &mut Channel,
        (segment_count, segment_bytes): List,
        technique: Technique,
        calls: u32,
    ) -> io::Result<Option<f64>> {
        let slots = self.memory.chunks(segment_bytes + GAP_BYTES);
        let segments: Vec<IoSlice<'_>> = (slots.take(segment_count))
            .map(|slot| IoSlice::new(&slot[..segment_bytes]))
            .collect();
        let bytes = segment_count * segment_bytes;
        let contiguous = [IoSlice::new(&self.memory[..bytes])];
        let took = channel.time_batch(calls, bytes as u64, |fd| match technique {
            Technique::Write => write_all(fd, &contiguous),
            Technique::Reference => self.referencing.write_all(fd, &segments),
            Technique::Copy => self.copying.write_all(fd, &segments),
        })?;
        Ok(took.map(|took| took.as_nanos().max(1) as f64 / f64::from(calls)))
    }
}
