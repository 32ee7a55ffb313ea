//! The records of all CPUs in the order of time.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::record::{Record, Sample, Slot};

#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) cpu: usize,
    pub(crate) slots: Vec<Slot>,
    pub(crate) has_begin: bool,
    /// Samples of stacks, by their numbers, without those that were overwritten.
    pub(crate) samples: FxHashMap<u32, Sample>,
}

type Take<'t> = &'t mut dyn FnMut(&Record, &[Slot], Option<Sample>);

/// The records of each CPU that wait for records of the other CPUs.
pub(crate) struct Order {
    queues: Vec<Queue>,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// Slots of the first batch that were already handed on.
    at: usize,
}

impl Queue {
    fn first(&mut self) -> Option<Record> {
        while let Some(batch) = self.batches.front() {
            if let Some(slot) = batch.slots.get(self.at) {
                return Some(Record::read(slot));
            }
            self.batches.pop_front();
            self.at = 0;
        }
        None
    }
}

impl Order {
    pub(crate) fn new(cpus: usize) -> Order {
        Order {
            queues: (0..cpus).map(|_| Queue::default()).collect(),
        }
    }

    pub(crate) fn add(&mut self, batch: Batch) {
        if let Some(queue) = self.queues.get_mut(batch.cpu) {
            queue.batches.push_back(batch);
        }
    }

    /// Hands on, in the order of time, each record that ended before `before_ns`, with its extension and its sample.
    pub(crate) fn take(&mut self, before_ns: u64, take: Take<'_>) {
        loop {
            let ends = self
                .queues
                .iter_mut()
                .map(|queue| queue.first().map_or(u64::MAX, |record| record.end_ns));
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
            while let Some(record) = queue
                .first()
                .filter(|record| record.end_ns <= second && record.end_ns < before_ns)
            {
                let batch = &mut queue.batches[0];
                let sample = batch.samples.remove(&record.stack);
                let slots = &batch.slots[queue.at..=queue.at + record.extension];
                take(&record, slots, sample);
                queue.at += slots.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of calls, each given by its end and the slots of its extension. The number of a sample is the end of its call.
    fn batch(cpu: usize, records: &[(u64, u64)]) -> Batch {
        let slots = records.iter().flat_map(|&(end, extension)| {
            let record = [end, 0, extension << 48, 0, end << 32, 0, 0, 0];
            std::iter::once(record).chain((0..extension).map(|_| [0; 8]))
        });
        Batch {
            cpu,
            slots: slots.collect(),
            ..Batch::default()
        }
    }

    #[test]
    fn records_of_all_cpus_come_in_the_order_of_time() {
        let mut order = Order::new(3);
        let mut one = batch(0, &[(1, 0), (4, 2)]);
        let sample = Sample {
            ip: 7,
            ..Sample::default()
        };
        one.samples.insert(4, sample);
        order.add(one);
        order.add(batch(2, &[(2, 1), (3, 0), (9, 0)]));
        order.add(batch(0, &[(5, 0), (12, 0)]));
        let mut ends = Vec::new();
        let mut take = |before: u64| {
            order.take(before, &mut |record, slots, sample| {
                assert_eq!(slots.len(), 1 + record.extension);
                assert_eq!(
                    sample.map(|sample| sample.ip),
                    (record.end_ns == 4).then_some(7)
                );
                ends.push(record.end_ns);
            });
            std::mem::take(&mut ends)
        };
        // A later batch may bring another record that ended at 10.
        assert_eq!(take(10), [1, 2, 3, 4, 5, 9]);
        order.add(batch(1, &[(10, 0)]));
        let mut rest = Vec::new();
        order.take(u64::MAX, &mut |record, _, _| rest.push(record.end_ns));
        assert_eq!(rest, [10, 12]);
    }
}
