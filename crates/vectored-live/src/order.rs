//! The records of all CPUs in the order of time.

use std::collections::VecDeque;

use crate::record::{Record, Sample, Slot};

/// What was taken from the ring of a CPU at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) cpu: usize,
    pub(crate) slots: Vec<Slot>,
    /// Samples of stacks, by their numbers, in the order of the records.
    pub(crate) samples: VecDeque<(u32, Sample)>,
}

/// Takes a record, its slots, and its sample.
type Take<'t> = &'t mut dyn FnMut(&Record, &[Slot], Option<Sample>);

/// The records of each CPU, which wait for the records of the others.
pub(crate) struct Order {
    queues: Vec<Queue>,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// Slots of the first batch that were handed on.
    at: usize,
}

impl Queue {
    /// The next record of the CPU.
    fn first(&mut self) -> Option<Record> {
        loop {
            let batch = self.batches.front()?;
            let record = batch.slots.get(self.at).map(Record::read);
            match record {
                Some(Some(record)) if self.at + record.extension < batch.slots.len() => return Some(record),
                // The end, or what no record is.
                _ => {
                    self.batches.pop_front();
                    self.at = 0;
                }
            }
        }
    }
}

impl Order {
    pub(crate) fn new(cpus: usize) -> Order {
        Order { queues: (0..cpus).map(|_| Queue::default()).collect() }
    }

    pub(crate) fn add(&mut self, batch: Batch) {
        if let Some(queue) = self.queues.get_mut(batch.cpu) {
            queue.batches.push_back(batch);
        }
    }

    /// Hands on, in the order of time, each record that ended before `before_ns`, with its extension and its sample.
    pub(crate) fn take(&mut self, before_ns: u64, take: Take<'_>) {
        loop {
            let ends = self.queues.iter_mut().map(|queue| queue.first().map_or(u64::MAX, |record| record.end_ns));
            let (mut cpu, mut least, mut second) = (0, u64::MAX, u64::MAX);
            for (at, end) in ends.enumerate() {
                if end < least {
                    (cpu, least, second) = (at, end, least);
                } else {
                    second = second.min(end);
                }
            }
            if least >= before_ns {
                return;
            }
            let queue = &mut self.queues[cpu];
            while let Some(record) = queue.first().filter(|record| record.end_ns <= second && record.end_ns < before_ns) {
                let batch = &mut queue.batches[0];
                let sample = batch.samples.front().is_some_and(|sample| sample.0 == record.stack);
                let sample = if sample { batch.samples.pop_front().map(|sample| sample.1) } else { None };
                let slots = &batch.slots[queue.at..=queue.at + record.extension];
                take(&record, slots, sample);
                queue.at += slots.len();
            }
        }
    }
}
