//! The records of all CPUs in the order of time.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::record::{Record, Sample, Slot};

/// What one pass read from all rings.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    pub(crate) slots: Vec<Slot>,
    /// When each record ended, and its first slot.
    pub(crate) records: Vec<(u64, usize)>,
    /// Whether a program begins.
    pub(crate) has_begin: bool,
    /// The samples that were not overwritten, by the first slot of the record.
    pub(crate) samples: FxHashMap<usize, Sample>,
    /// No later pass brings a record that ended before this time.
    pub(crate) before_ns: u64,
    /// Calls lost after the last record of their CPU.
    pub(crate) lost: u64,
    pub(crate) bytes: usize,
}

/// Records that wait for records of later passes: for each, the end, the pass, and the first slot in the pass.
#[derive(Default)]
pub(crate) struct Order(Vec<(u64, Rc<Pass>, usize)>);

impl Order {
    /// Hands on, in the order of time, the records that no record of a later pass can precede, each with its
    /// extension and sample.
    pub(crate) fn take(
        &mut self,
        pass: Pass,
        mut take: impl FnMut(&Record, &[Slot], Option<&Sample>),
    ) {
        let pass = Rc::new(pass);
        let new = pass.records.iter();
        self.0
            .extend(new.map(|&(end_ns, at)| (end_ns, Rc::clone(&pass), at)));
        self.0.sort_by_key(|one| one.0);
        let ready = self.0.partition_point(|one| one.0 < pass.before_ns);
        for (_, pass, at) in self.0.drain(..ready) {
            let record = Record::read(&pass.slots[at]);
            let slots = &pass.slots[at..=at + record.extension];
            take(&record, slots, pass.samples.get(&at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of calls, each given by its end and the slots of its extension.
    fn pass(before_ns: u64, records: &[(u64, u64)]) -> Pass {
        let mut pass = Pass {
            before_ns,
            ..Pass::default()
        };
        for &(end, extension) in records {
            pass.records.push((end, pass.slots.len()));
            pass.slots.push([end, 0, extension << 48, 0, 0, 0, 0, 0]);
            pass.slots.extend((0..extension).map(|_| [0; 8]));
        }
        pass
    }

    #[test]
    fn records_of_all_cpus_come_in_the_order_of_time() {
        let mut order = Order::default();
        let mut first = pass(
            10,
            &[
                (1, 0),
                (4, 2),
                (5, 0),
                (10, 0),
                (12, 0),
                (2, 1),
                (3, 0),
                (9, 0),
            ],
        );
        let sample = Sample {
            ip: 7,
            ..Sample::default()
        };
        first.samples.insert(1, sample);
        // A later pass may bring another record that ended at 10.
        let second = pass(u64::MAX, &[(10, 0)]);
        for (pass, expected) in [(first, &[1, 2, 3, 4, 5, 9][..]), (second, &[10, 10, 12])] {
            let mut ends = Vec::new();
            order.take(pass, |record, slots, sample| {
                assert_eq!(slots.len(), 1 + record.extension);
                assert_eq!(sample.is_some(), record.end_ns == 4);
                ends.push(record.end_ns);
            });
            assert_eq!(ends, expected);
        }
    }
}
