//! The time that merging would save, from counts and prices.

use vectored_machine::model::{DescriptorKind, FAST_IOVECS, Operation, Price};

use crate::advisor::wording::remedies::starts;
use crate::model::{FindingKey, FindingKind, StallTally, Tally};

/// A saved time and its interval; negative if time is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Saving {
    pub s: f64,
    pub low_s: f64,
    pub high_s: f64,
}

/// The time that following a finding would save; `None` without a price for its calls.
///
/// Each call that is no longer made saves the cost of a call. The segments of a merged call add a cost: all segments of
/// a size class are copied into one buffer or referenced in a list, whichever is cheaper. Bytes that go through a read
/// buffer are always copied. The cost of lists that the program uses today is subtracted from the added cost. On a
/// file, larger calls also save [`Price::batch_byte_ns`] for each byte: in full if calls grow from a page to 64 KiB,
/// and in part if they grow less.
///
/// Each saved call saves at least its entry to the kernel ([`Price::entry_ns`]). So the lower end of the interval is at
/// least the time of these entries, less the cost of copying and lists.
///
/// For reads of a pipe or socket, the lower end assumes a writer that is slower than the reader.
pub fn price(key: &FindingKey, tally: &Tally, prices: &[Price]) -> Option<Saving> {
    let saving = price_of(key, tally, prices)?;
    let most = tally.merged_calls_most.min(tally.calls);
    if most <= tally.merged_calls {
        return Some(saving);
    }
    let paced = Tally {
        merged_calls: most,
        ..tally.clone()
    };
    let low_s = price_of(key, &paced, prices)?.low_s.min(saving.low_s);
    Some(Saving { low_s, ..saving })
}

fn price_of(key: &FindingKey, tally: &Tally, prices: &[Price]) -> Option<Saving> {
    if key.kind.is_stall() {
        return Some(lost(tally.stall.unwrap_or_default()));
    }
    let operation = operation_of(key);
    let price = prices
        .iter()
        .find(|price| price.target == key.target && price.operation == operation)?;
    let saved_calls = tally.calls.saturating_sub(tally.merged_calls) as f64;
    if key.kind == FindingKind::SeekThenTransfer {
        let modelled = saving(price, 0.0, saved_calls * price.seek_ns);
        let saved = at_least_entries(modelled, saved_calls, price, 0.0);
        return Some(less_starts(saved, starts(key, tally)));
    }
    let batch_ns = batch_ns(key.target, tally, price);
    let added_ns = gathering_ns(operation, key.kind, tally, price) - lists_ns(tally, price);
    let besides_ns = batch_ns - added_ns;
    let calls = saved_calls * answer_share(key.target, tally, price)
        + medium_calls(tally) * (price.medium_call_ns / price.call_ns - 1.0);
    let modelled = saving(price, calls, besides_ns);
    let saved = at_least_entries(modelled, saved_calls, price, added_ns);
    Some(less_starts(saved, starts(key, tally)))
}

const START_S: [f64; 3] = [0.003, 0.002, 0.004];

fn less_starts(saving: Saving, starts: u64) -> Saving {
    let [s, least_s, most_s] = START_S.map(|one| one * starts as f64);
    Saving {
        s: saving.s - s,
        low_s: saving.low_s - most_s,
        high_s: saving.high_s - least_s,
    }
}

/// The time that stalls lost: at least 38 ms for each stall, at most the whole wait.
fn lost(stall: StallTally) -> Saving {
    let lost_s = stall.lost_ns as f64 / 1e9;
    Saving {
        s: lost_s,
        low_s: lost_s.min(stall.stalls as f64 * 0.038),
        high_s: lost_s.max(stall.waited_ns as f64 / 1e9),
    }
}

/// Raises a saving to at least the saved entries to the kernel, less the cost added in user space. The state of the
/// machine changes neither of these times, so both ends of the interval are raised alike.
fn at_least_entries(modelled: Saving, saved_calls: f64, price: &Price, added_ns: f64) -> Saving {
    if saved_calls == 0.0 {
        return modelled;
    }
    let least_s = (saved_calls * price.entry_ns - added_ns.max(0.0)) / 1e9;
    Saving {
        s: modelled.s.max(least_s),
        low_s: modelled.low_s.max(least_s),
        high_s: modelled.high_s.max(least_s),
    }
}

/// The number of saved calls that move 256 bytes or more. Merging is taken to save the calls with the smallest
/// segments, and to leave the call with the largest segments.
fn medium_calls(tally: &Tally) -> f64 {
    let saved = tally.calls.saturating_sub(tally.merged_calls);
    let small = tally.sizes.iter().filter(|size| size.0 < LARGE_CLASS);
    let small: u64 = small.map(|size| size.1).sum();
    saved.saturating_sub(small) as f64
}

/// The most calls in a run of pieces of an answer, as an average over the runs of a finding.
const ANSWER_CALLS: f64 = 16.0;

/// The cost of a call as a share of `call_ns`. A few calls in a row on a stream are taken for the pieces of an answer:
/// only the first piece wakes the reader.
fn answer_share(target: DescriptorKind, tally: &Tally, price: &Price) -> f64 {
    let is_stream = matches!(
        target,
        DescriptorKind::Pipe | DescriptorKind::Unix | DescriptorKind::Tcp
    );
    let is_answer = tally.calls as f64 <= ANSWER_CALLS * tally.runs as f64;
    if is_stream && is_answer { price.answer_call_ns / price.call_ns } else { 1.0 }
}

pub fn operation_of(key: &FindingKey) -> Operation {
    let reads = |call: &str| call.contains("read") || call.contains("recv");
    let is_read = match key.kind {
        FindingKind::SmallReads | FindingKind::PositionalReads | FindingKind::PeerStall => true,
        FindingKind::AdjacentWrites
        | FindingKind::PositionalWrites
        | FindingKind::SyncEach
        | FindingKind::Datagrams
        | FindingKind::Stall => false,
        FindingKind::SeekThenTransfer | FindingKind::TinySegments => {
            key.steps.iter().any(|step| reads(&step.call))
        }
    };
    if is_read { Operation::Read } else { Operation::Write }
}

/// The calls of a finding that move bytes and are in no other finding.
pub(crate) fn transfers(key: &FindingKey, tally: &Tally) -> u64 {
    match key.kind {
        // Their calls may be in other findings.
        FindingKind::Stall | FindingKind::PeerStall => 0,
        FindingKind::SeekThenTransfer => tally.merged_calls,
        _ => tally.calls,
    }
}

/// The saving from `calls` calls, plus the time `besides_ns`.
///
/// All prices are measured together, so both parts get the relative interval of a call.
fn saving(price: &Price, calls: f64, besides_ns: f64) -> Saving {
    let [low, high] = [price.call_low_ns, price.call_high_ns]
        .map(|end| if price.call_ns > 0.0 { end / price.call_ns } else { 1.0 });
    // The errors of the two parts may go in any direction. So one end of the interval adds the worse ends of both
    // parts, the other end adds the better ends.
    let calls_ns = calls * price.call_ns;
    let ends = |one: f64| (one * low).min(one * high)..=(one * low).max(one * high);
    let (of_calls, besides) = (ends(calls_ns), ends(besides_ns));
    Saving {
        s: (calls_ns + besides_ns) / 1e9,
        low_s: (of_calls.start() + besides.start()) / 1e9,
        high_s: (of_calls.end() + besides.end()) / 1e9,
    }
}

const LARGE_CLASS: u8 = 9;

fn reference_ns(class: u8, segments: u64, price: &Price) -> f64 {
    let segment_ns = if class >= LARGE_CLASS { price.large_segment_ns } else { price.segment_ns };
    segments as f64 * segment_ns
}

fn copy_ns(segments: u64, bytes: u64, price: &Price) -> f64 {
    segments as f64 * price.copy_segment_ns + bytes as f64 * price.copy_byte_ns
}

fn lists_ns(tally: &Tally, price: &Price) -> f64 {
    let referenced = |&(class, segments, _): &(u8, u64, u64)| reference_ns(class, segments, price);
    let segments_ns: f64 = tally.list_sizes.iter().map(referenced).sum();
    tally.list_calls as f64 * price.gather_call_ns
        + tally.long_list_calls as f64 * price.iovec_step_ns
        + segments_ns
}

fn gathering_ns(operation: Operation, kind: FindingKind, tally: &Tally, price: &Price) -> f64 {
    let copied = |&(_, segments, bytes): &(u8, u64, u64)| copy_ns(segments, bytes, price);
    let all_copied_ns: f64 = tally.sizes.iter().map(copied).sum();
    if operation == Operation::Read || kind == FindingKind::TinySegments {
        return all_copied_ns;
    }
    let (mut mixed_ns, mut references, mut copies) = (0.0, 0.0, 0.0);
    for size in &tally.sizes {
        let &(class, segments, _) = size;
        let referenced_ns = reference_ns(class, segments, price);
        if referenced_ns < copied(size) {
            mixed_ns += referenced_ns;
            references += segments as f64;
        } else {
            mixed_ns += copied(size);
            copies += segments as f64;
        }
    }
    if references == 0.0 {
        return all_copied_ns;
    }
    let calls = tally.gathered_calls as f64;
    // All copies between two references are one segment.
    let pieces = copies.min(references + calls);
    mixed_ns += pieces * price.segment_ns + calls * price.gather_call_ns;
    if references + pieces > FAST_IOVECS as f64 * calls {
        mixed_ns += calls * price.iovec_step_ns;
    }
    mixed_ns.min(all_copied_ns)
}

fn batch_ns(target: DescriptorKind, tally: &Tally, price: &Price) -> f64 {
    if target != DescriptorKind::File || tally.gathered_calls == 0 || tally.calls == 0 {
        return 0.0;
    }
    let bytes: f64 = tally.sizes.iter().map(|size| size.2 as f64).sum();
    let merged = bytes / tally.gathered_calls as f64;
    let single = tally.bytes as f64 / tally.calls as f64;
    bytes * price.batch_byte_ns * (batched(merged) - batched(single)).max(0.0)
}

/// Where a call of this size lies between a page (0) and 64 KiB (1), by powers of two.
fn batched(bytes: f64) -> f64 {
    ((bytes / 4096.0).log2() / 4.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Step;

    const PRICE: Price = Price {
        target: DescriptorKind::File,
        operation: Operation::Write,
        call_ns: 400.0,
        call_low_ns: 300.0,
        call_high_ns: 500.0,
        medium_call_ns: 400.0,
        answer_call_ns: 400.0,
        batch_byte_ns: 0.0,
        entry_ns: 0.0,
        seek_ns: 100.0,
        gather_call_ns: 60.0,
        segment_ns: 20.0,
        large_segment_ns: 50.0,
        iovec_step_ns: 100.0,
        copy_segment_ns: 4.0,
        copy_byte_ns: 0.05,
    };

    /// Returns the tally of `calls` calls with the given classes of sizes. If all are gathered, `merged_calls` calls
    /// remain.
    fn tally(calls: u64, merged_calls: u64, sizes: &[(u8, u64, u64)]) -> Tally {
        Tally {
            runs: merged_calls,
            calls,
            merged_calls,
            gathered_calls: merged_calls,
            bytes: sizes.iter().map(|(.., bytes)| bytes).sum(),
            sizes: sizes.to_vec(),
            ..Tally::default()
        }
    }

    fn saved(kind: FindingKind, tally: &Tally, price: Price) -> [f64; 3] {
        let key = FindingKey {
            kind,
            target: price.target,
            steps: vec![Step::default()],
            ..FindingKey::default()
        };
        let saving = super::price(&key, tally, &[price]).unwrap();
        [saving.s, saving.low_s, saving.high_s].map(|s| (s * 1e9).round())
    }

    #[test]
    fn what_a_call_saves_depends_on_its_segments() {
        use FindingKind::{AdjacentWrites, SeekThenTransfer, TinySegments};
        let ends = |s: f64| [s, 0.75 * s, 1.25 * s].map(f64::round);
        assert_eq!(
            saved(SeekThenTransfer, &tally(199, 100, &[]), PRICE),
            ends(9900.0)
        );
        // A hundred times 8 B and 10,000 B, in one call instead of two. Copied bytes are one more segment, and each
        // call has a list.
        let record = tally(200, 100, &[(4, 100, 800), (14, 100, 1_000_000)]);
        let gathering = 440.0 + 5000.0 + 100.0 * 20.0 + 100.0 * 60.0;
        // The costs are uncertain by a quarter, and so are the calls. One end of the interval adds both worse ends, the
        // other end adds both better ends.
        let expected = [
            40_000.0 - gathering,
            30_000.0 - 1.25 * gathering,
            50_000.0 - 0.75 * gathering,
        ];
        assert_eq!(saved(AdjacentWrites, &record, PRICE), expected);
        // If references are dear, all bytes are copied. If a header and a payload are merged, the call of the header is
        // saved.
        let dear = Price {
            large_segment_ns: 1e6,
            medium_call_ns: 600.0,
            ..PRICE
        };
        let copying = 200.0 * 4.0 + 1_000_800.0 * 0.05;
        assert_eq!(saved(AdjacentWrites, &record, dear)[0], 40_000.0 - copying);
        let [plain, medium] = [PRICE, dear]
            .map(|price| saved(AdjacentWrites, &tally(80, 10, &[(10, 80, 80 * 512)]), price));
        // The lower end rises in proportion: 150 is to 200 as 300 is to 400.
        assert_eq!(
            [medium[0] - plain[0], medium[1] - plain[1]],
            [70.0 * 200.0, 70.0 * 150.0]
        );
        // Ten segments of 7 B in a list, a hundred times: the program pays for the lists today.
        let lists = Tally {
            gathered_calls: 0,
            list_calls: 100,
            long_list_calls: 100,
            list_sizes: vec![(3, 1000, 7000)],
            ..tally(100, 100, &[(3, 1000, 7000)])
        };
        let known = 100.0 * 60.0 + 100.0 * 100.0 + 1000.0 * 20.0;
        assert_eq!(
            saved(TinySegments, &lists, PRICE),
            ends(known - 1000.0 * 4.0 - 7000.0 * 0.05)
        );
        // Larger calls save in proportion to their growth.
        let batched = Price {
            batch_byte_ns: 0.1,
            ..PRICE
        };
        let [without, with] = [PRICE, batched]
            .map(|price| saved(AdjacentWrites, &tally(32, 2, &[(13, 32, 131_072)]), price)[0]);
        assert_eq!(with - without, 13_107.0);
        // A later piece of an answer costs less than the first piece, which wakes its reader.
        let answer = Price {
            target: DescriptorKind::Unix,
            answer_call_ns: 160.0,
            ..PRICE
        };
        let of_runs = |runs| {
            saved(
                AdjacentWrites,
                &Tally {
                    runs,
                    ..tally(100, 20, &[])
                },
                answer,
            )[0]
        };
        assert_eq!([of_runs(25), of_runs(2)], [80.0 * 160.0, 80.0 * 400.0]);
        let reads = FindingKey {
            kind: FindingKind::SmallReads,
            ..FindingKey::default()
        };
        assert_eq!(super::price(&reads, &Tally::default(), &[PRICE]), None);
    }

    proptest! {
        /// Compares with a simple bound: the entries of the saved calls, less one copy of each segment.
        #[test]
        fn no_interval_reaches_below_entries_less_copies(
            kind in prop::sample::select(vec![
                FindingKind::AdjacentWrites, FindingKind::SmallReads, FindingKind::SeekThenTransfer, FindingKind::PositionalReads,
            ]),
            calls in 1_u64..10_000, merged in 1_u64..10_000, bytes in 1_u64..1000,
            call_ns in 1.0_f64..5000.0, low in 0.001_f64..1.0, high in 1.0_f64..10.0,
            entry_ns in 1.0_f64..1000.0, batch_byte_ns in -1.0_f64..1.0,
        ) {
            let merged_calls = merged.min(calls);
            let class = (64 - bytes.leading_zeros()) as u8;
            let is_read = matches!(kind, FindingKind::SmallReads | FindingKind::PositionalReads);
            let tally = Tally { runs: 1, ..tally(calls, merged_calls, &[(class, calls, calls * bytes)]) };
            let price = Price {
                operation: if is_read { Operation::Read } else { Operation::Write },
                call_ns, call_low_ns: call_ns * low, call_high_ns: call_ns * high, medium_call_ns: call_ns,
                entry_ns, batch_byte_ns,
                ..PRICE
            };
            let [s, low_s, high_s] = saved(kind, &tally, price);
            prop_assert!(low_s <= s && s <= high_s, "{low_s} {s} {high_s}");
            if merged_calls < calls {
                // Every segment can be copied, so merging adds at most this cost.
                let copies_ns = calls as f64 * (4.0 + bytes as f64 * 0.05);
                let entries_ns = (calls - merged_calls) as f64 * entry_ns;
                let adds = kind != FindingKind::SeekThenTransfer;
                let least_ns = entries_ns - if adds { copies_ns } else { 0.0 };
                prop_assert!(low_s >= least_ns - 1.0, "{low_s}, not {least_ns}");
            }
        }
    }
}
