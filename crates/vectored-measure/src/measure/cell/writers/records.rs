//! Records that name their writer and their number, and the check that none is torn, lost or doubled. Pure.

use fastrand::Rng;

use vectored_results::model::{RECORD_HEAD_BYTES, RecordCounts};

/// The number of a writer, with all bytes of one of its records.
pub(crate) type WriterRecord = (u32, Vec<u8>);

/// The records of one batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    /// A number that no other batch of the target has, so that old bytes cannot pass for these.
    pub mark: u32,
    /// The writers of this target. The bytes after the head are the same in each record of a writer.
    pub writers: &'a [WriterRecord],
    /// Records of each writer.
    pub records_each: u32,
}

pub(crate) fn head(mark: u32, writer: u32, number: u32) -> [u8; RECORD_HEAD_BYTES] {
    let mut head = [0; RECORD_HEAD_BYTES];
    let words = [mark, writer, number, check_word(mark, writer, number)];
    for (place, word) in std::iter::zip(head.chunks_exact_mut(4), words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    head
}

/// Makes it improbable that other bytes look like a head.
fn check_word(mark: u32, writer: u32, number: u32) -> u32 {
    let mixed = (u64::from(mark) << 32 | u64::from(number)) ^ u64::from(writer).rotate_left(48);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 32)) as u32
}

/// The bytes of a record of this writer, whose head is to be filled in.
pub(crate) fn body(seed: u64, writer: u32, bytes: usize) -> Vec<u8> {
    let mut body = vec![0; bytes];
    let seed = seed ^ (u64::from(writer) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Rng::with_seed(seed).fill(&mut body);
    body
}

/// Looks for each record of a batch in the bytes that arrived.
///
/// A record that stands there whole is sound. Bytes that are no whole record are searched for heads: a head without its
/// whole record is a torn record, and a record without a head is lost. Two records of one writer differ in
/// their heads only, so an exchange of their bodies goes unnoticed and does no harm.
pub(crate) fn check(batch: Batch<'_>, arrived: &[u8]) -> RecordCounts {
    let mut seen = Seen::new(batch);
    let mut at = 0;
    while at < arrived.len() {
        match batch.record_at(&arrived[at..]) {
            Some((place, number, bytes)) => {
                seen.whole(place, number);
                at += bytes;
            }
            None => {
                if let Some((place, number)) = batch.head_at(&arrived[at..]) {
                    seen.head(place, number);
                }
                at += batch.next_mark(&arrived[at + 1..]) + 1;
            }
        }
    }
    seen.counts()
}

impl Batch<'_> {
    /// Place of the writer and number in a whole head at the start of `bytes`.
    fn head_at(&self, bytes: &[u8]) -> Option<(usize, u32)> {
        let bytes = bytes.get(..RECORD_HEAD_BYTES)?;
        let mut words = bytes.chunks_exact(4).map(|word| {
            let word: [u8; 4] = word.try_into().expect("chunks of four bytes");
            u32::from_le_bytes(word)
        });
        let (mark, writer, number) = (words.next()?, words.next()?, words.next()?);
        let is_of_batch = mark == self.mark
            && number < self.records_each
            && words.next()? == check_word(mark, writer, number);
        let place = self.writers.iter().position(|(name, _)| *name == writer)?;
        is_of_batch.then_some((place, number))
    }

    /// The record at the start of `bytes`, with its length, if it is whole: [`head_at`](Self::head_at) and the right body.
    fn record_at(&self, bytes: &[u8]) -> Option<(usize, u32, usize)> {
        let (place, number) = self.head_at(bytes)?;
        let record = &self.writers[place].1;
        let body = RECORD_HEAD_BYTES..record.len();
        (bytes.get(body.clone())? == &record[body]).then_some((place, number, record.len()))
    }

    /// Bytes before the next one at which a head may begin.
    fn next_mark(&self, bytes: &[u8]) -> usize {
        let mark = self.mark.to_le_bytes();
        let mut windows = bytes.windows(mark.len());
        windows
            .position(|window| window == mark)
            .unwrap_or(bytes.len())
    }
}

/// The records and heads that were found.
struct Seen {
    records_each: usize,
    /// Per record how often it stood there whole.
    whole: Vec<u32>,
    /// Per record whether a head without the rest was found.
    heads: Vec<bool>,
    /// Per writer the highest number that stood there whole, plus one.
    next: Vec<u32>,
    out_of_order: u64,
}

impl Seen {
    fn new(batch: Batch<'_>) -> Self {
        let records_each = batch.records_each as usize;
        let records = records_each * batch.writers.len();
        Seen {
            records_each,
            whole: vec![0; records],
            heads: vec![false; records],
            next: vec![0; batch.writers.len()],
            out_of_order: 0,
        }
    }

    fn whole(&mut self, writer: usize, number: u32) {
        let count = &mut self.whole[writer * self.records_each + number as usize];
        *count += 1;
        if *count == 1 {
            self.out_of_order += u64::from(number < self.next[writer]);
            self.next[writer] = self.next[writer].max(number + 1);
        }
    }

    fn head(&mut self, writer: usize, number: u32) {
        self.heads[writer * self.records_each + number as usize] = true;
    }

    fn counts(&self) -> RecordCounts {
        let mut counts = RecordCounts {
            records: self.whole.len() as u64,
            out_of_order: self.out_of_order,
            ..RecordCounts::default()
        };
        for (&whole, &has_head) in std::iter::zip(&self.whole, &self.heads) {
            match (whole, has_head) {
                (0, true) => counts.torn += 1,
                (0, false) => counts.lost += 1,
                (times, _) => counts.doubled += u64::from(times - 1),
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Records of several writers, interleaved in a random order that keeps each writer's own.
    #[derive(Debug, Clone)]
    struct Sent {
        writers: Vec<(u32, Vec<u8>)>,
        records_each: u32,
        order: Vec<(usize, u32)>,
    }

    const MARK: u32 = 0x5eed_0001;

    impl Sent {
        fn batch(&self) -> Batch<'_> {
            Batch {
                mark: MARK,
                writers: &self.writers,
                records_each: self.records_each,
            }
        }

        fn record(&self, (place, number): (usize, u32)) -> Vec<u8> {
            let (writer, body) = &self.writers[place];
            let mut record = body.clone();
            record[..RECORD_HEAD_BYTES].copy_from_slice(&head(MARK, *writer, number));
            record
        }

        fn bytes(&self, order: &[(usize, u32)]) -> Vec<u8> {
            order.iter().flat_map(|&one| self.record(one)).collect()
        }

        fn check(&self, arrived: &[u8]) -> RecordCounts {
            check(self.batch(), arrived)
        }
    }

    fn sent() -> impl Strategy<Value = Sent> {
        (1_usize..5, 1_u32..6, 17_usize..60, any::<u64>()).prop_map(
            |(writers, records_each, bytes, seed)| {
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut next = vec![0; writers];
                let mut order = Vec::new();
                while order.len() < writers * records_each as usize {
                    let place = rng.usize(..writers);
                    if next[place] < records_each {
                        order.push((place, next[place]));
                        next[place] += 1;
                    }
                }
                Sent {
                    writers: (0..writers as u32)
                        .map(|writer| (writer, body(seed, writer, bytes)))
                        .collect(),
                    records_each,
                    order,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn whole_records_in_any_interleaving_are_sound(sent in sent()) {
            let counts = sent.check(&sent.bytes(&sent.order));
            prop_assert_eq!(counts.records, sent.order.len() as u64);
            prop_assert!(counts.is_sound(), "{:?}", counts);
        }

        #[test]
        fn a_missing_record_is_lost(sent in sent(), at: prop::sample::Index) {
            let mut order = sent.order.clone();
            order.remove(at.index(order.len()));
            let counts = sent.check(&sent.bytes(&order));
            let expected = RecordCounts { records: counts.records, lost: 1, ..RecordCounts::default() };
            prop_assert_eq!(counts, expected);
        }

        #[test]
        fn a_repeated_record_is_doubled(
            sent in sent(),
            (from, to) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let mut order = sent.order.clone();
            let (from, to) = (from.index(order.len()), to.index(order.len() + 1));
            order.insert(to.max(from), order[from]);
            let counts = sent.check(&sent.bytes(&order));
            let expected = RecordCounts { records: counts.records, doubled: 1, ..RecordCounts::default() };
            prop_assert_eq!(counts, expected);
        }

        /// Record b is written between two parts of record a. If the cut is in the head of a, no head of it
        /// remains.
        #[test]
        fn a_record_with_another_inside_is_torn(
            sent in sent(),
            at: prop::sample::Index,
            cut: prop::sample::Index,
        ) {
            prop_assume!(sent.order.len() >= 2);
            let at = at.index(sent.order.len() - 1);
            let mut bytes = sent.bytes(&sent.order[..at]);
            let (a, b) = (sent.record(sent.order[at]), sent.record(sent.order[at + 1]));
            let cut = 1 + cut.index(a.len() - 1);
            let mixed = [&a[..cut], &b, &a[cut..]].concat();
            // The head of b may continue a as its own rest does.
            prop_assume!(!mixed.windows(a.len()).any(|window| window == a));
            bytes.extend(mixed);
            bytes.extend(sent.bytes(&sent.order[at + 2..]));
            let counts = sent.check(&bytes);
            prop_assert_eq!(counts.torn + counts.lost, 1, "{:?}", counts);
            if cut >= RECORD_HEAD_BYTES {
                prop_assert_eq!(counts.torn, 1);
            }
            prop_assert_eq!((counts.doubled, counts.out_of_order), (0, 0));
        }

        #[test]
        fn two_exchanged_records_of_a_writer_are_out_of_order(sent in sent(), at: prop::sample::Index) {
            let (place, number) = sent.order[at.index(sent.order.len())];
            prop_assume!(number + 1 < sent.records_each);
            let exchanged: Vec<_> = sent.order.iter().map(|&one| match one {
                one if one == (place, number) => (place, number + 1),
                one if one == (place, number + 1) => (place, number),
                one => one,
            }).collect();
            let counts = sent.check(&sent.bytes(&exchanged));
            let expected =
                RecordCounts { records: counts.records, out_of_order: 1, ..RecordCounts::default() };
            prop_assert_eq!(counts, expected);
        }

        #[test]
        fn a_changed_byte_is_noticed(sent in sent(), at: prop::sample::Index, by in 1_u8..) {
            let mut bytes = sent.bytes(&sent.order);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            let counts = sent.check(&bytes);
            prop_assert_eq!(counts.torn + counts.lost, 1, "{:?}", counts);
        }

        #[test]
        fn records_of_another_batch_do_not_count(sent in sent()) {
            let batch = Batch { mark: MARK + 1, ..sent.batch() };
            let counts = check(batch, &sent.bytes(&sent.order));
            prop_assert_eq!(counts.lost, counts.records);
        }

        #[test]
        fn any_bytes_are_checked_without_a_panic(sent in sent(), bytes: Vec<u8>) {
            let counts = sent.check(&bytes);
            prop_assert_eq!(counts.lost, counts.records);
        }
    }
}
