//! Findings in words: the pattern in one line, and the action.

use vectored_machine::model::DescriptorKind;
use vectored_report::sort;
use vectored_report::{visible, words};

use crate::advisor::runs::barriers::{Barrier, CLOSE};
use crate::advisor::runs::remedy_kind::{has_large_step, is_record, remedy_kinds};
use crate::advisor::wording::remedies::{option_of, runtime_of};
use crate::languages::{RemedyKind, language_of};
use crate::model::{FindingKey, FindingKind, Grade, Step, Tally};

/// The most steps of a pattern that are named; the others are counted.
const NAMED_STEPS: usize = 4;

/// The most characters of a file's name in a sentence.
const NAMED_CHARACTERS: usize = 60;

/// The pattern in one line: `10,233 × write 8 B + write 4 KiB`, `1.2 M × write 5–90 B`. The number is the count of
/// repetitions of all steps that follow.
pub fn pattern(key: &FindingKey, tally: &Tally) -> String {
    // If each record is synced, only the calls that write count.
    let counts = |step: &&Step| key.kind != FindingKind::SyncEach || moves_bytes(&step.call);
    let period = key.steps.iter().filter(counts).count().max(1) as u64;
    let times = match key.kind {
        kind if kind.is_stall() => short_count(tally.runs),
        _ => short_count((tally.calls / period).max(1)),
    };
    if key.steps.is_empty() {
        return format!("{times} calls");
    }
    // The text begins with the step that most runs began with: a period has no first step.
    let first = std::iter::zip(&tally.starts, 0..key.steps.len());
    let first = first.rev().max_by_key(|(runs, _)| **runs);
    let first = first.map_or(0, |(_, step)| step);
    let order = (first..key.steps.len()).chain(0..first);
    let mut groups: Vec<(String, usize)> = Vec::new();
    for index in order {
        let step = step_in_words(&key.steps[index], tally.step_bytes.get(index));
        match groups.last_mut() {
            Some((same, times)) if *same == step => *times += 1,
            _ => groups.push((step, 1)),
        }
    }
    let rest: usize = groups.iter().skip(NAMED_STEPS).map(|group| group.1).sum();
    groups.truncate(NAMED_STEPS);
    let is_repeated = groups.iter().any(|group| group.1 > 1);
    let mut named: Vec<String> = groups
        .into_iter()
        .map(|(step, times)| match times {
            1 => step,
            _ => format!("{times} × {step}"),
        })
        .collect();
    if rest > 0 {
        named.push(format!("{rest} more"));
    }
    let named = if key.kind == FindingKind::PeerStall {
        format!(
            "(request, {}, then the rest after 40 ms)",
            named.join(" + ")
        )
    } else if key.kind == FindingKind::Stall {
        let between = if tally.calls > 2 * tally.runs { " … " } else { " + " };
        let next = if serves(tally) { "the next request" } else { "an answer" };
        format!("({}, then {next})", named.join(between))
    } else {
        named.join(" + ")
    };
    let mut text = if is_repeated {
        format!("{times} × ({named})")
    } else {
        format!("{times} × {named}")
    };
    let has_lists = key.kind == FindingKind::TinySegments;
    if has_lists && tally.calls > 0 && tally.segments > tally.calls {
        let segments = (tally.segments as f64 / tally.calls as f64).round() as u64;
        text += &format!(" in {} segments", words::grouped(segments));
    }
    text
}

fn step_in_words(step: &Step, bytes: Option<&(u64, u64)>) -> String {
    let name = visible(&step.call);
    match bytes {
        Some(&(least, most)) if moves_bytes(&step.call) => {
            format!("{name} {}", range_in_words(least, most))
        }
        _ => name,
    }
}

/// Whether a call moves bytes; `lseek` and `fsync` do not.
fn moves_bytes(call: &str) -> bool {
    ["read", "write", "send", "recv"]
        .iter()
        .any(|family| call.contains(family))
}

/// `8 B`, `5–90 B`, `4–64 KiB`.
fn range_in_words(least: u64, most: u64) -> String {
    if least == most {
        return words::bytes(least);
    }
    let (low, high) = (words::bytes(least), words::bytes(most));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((low, unit)), Some((high, same))) if unit == same => format!("{low}–{high} {unit}"),
        _ => format!("{low}–{high}"),
    }
}

/// `10,233`. From a million on, two digits and a unit: `1.2 M`, `34 G`.
fn short_count(number: u64) -> String {
    const MILLION: u64 = 1_000_000;
    let (scale, unit) = match number {
        0..MILLION => return words::grouped(number),
        // 999.5 million is shown as 1.0 G.
        MILLION..999_500_000 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let scaled = number as f64 / scale;
    if scaled < 9.95 {
        format!("{scaled:.1} {unit}")
    } else {
        format!("{} {unit}", words::grouped(scaled.round() as u64))
    }
}

pub fn action(key: &FindingKey, tally: &Tally) -> String {
    let what = match key.kind {
        FindingKind::AdjacentWrites => writes(key, tally),
        FindingKind::SmallReads if tally.ends.is_empty() => {
            "Read more at once, through a larger buffer".to_owned()
        }
        FindingKind::SmallReads => "Read each run at once".to_owned() + &before(tally, ", with no buffer that outlives "),
        FindingKind::PositionalWrites => {
            "Write adjacent ranges in one call, at the offset of the first".to_owned()
                + &before(tally, ", before ")
        }
        FindingKind::PositionalReads => {
            "Read adjacent ranges in one call, at the offset of the first".to_owned()
                + &before(tally, ", with no buffer that outlives ")
        }
        FindingKind::SeekThenTransfer => {
            "Pass the offset to the read or write itself, in place of a seek before it".to_owned()
        }
        FindingKind::TinySegments => {
            "Copy the tiny segments into one buffer, and write that".to_owned()
        }
        FindingKind::SyncEach => {
            "Sync once for several records, if they may be lost together".to_owned()
        }
        FindingKind::Datagrams => "Send several datagrams in one call, sendmmsg(2)".to_owned(),
        FindingKind::PeerStall => {
            "The end that sends the message, in this program or another, should write all of it in one call, or set TCP_NODELAY: \
             it keeps the last part until this end acknowledges the first, which takes 40 ms. Where it cannot change, \
             acknowledge at once at this end"
                .to_owned()
        }
        FindingKind::Stall => {
            let parts = if serves(tally) { "of an answer" } else { "before the answer" };
            format!(
                "Write all parts {parts} in one call, or set TCP_NODELAY: the last part waits until the peer acknowledges \
                 the first"
            )
        }
    };
    let is_buffer = remedy_kinds(key, tally).first() == Some(&RemedyKind::WriteBuffer);
    let may_cut = is_buffer && key.target == DescriptorKind::File && !tally.others_write;
    let may_hide = is_buffer && language_of(runtime_of(key, tally)).hides_errors;
    let is_late = may_hide && option_of(key, tally).is_none();
    let if_so = |is_so, text: &'static str| if is_so { text } else { "" };
    let mut order = if_so(may_cut, CUT).to_owned() + if_so(is_late, LATE_ERRORS);
    order += &(late_in_words(tally) + &order_in_words(tally) + if_so(tally.killed, KILLED));
    if key.grade == Grade::ReadsAhead {
        BEFORE_POLL.clone_into(&mut order);
    }
    order += if_so(is_buffer && reads_streams(tally), HIDDEN_READ);
    order += if_so(tally.forked && what.contains(EVERY_END), FORKED);
    if tally.merged_calls > 0 && tally.merged_calls < tally.calls {
        let (left, calls) = (short_count(tally.merged_calls), short_count(tally.calls));
        let of = if tally.merged_calls == 1 { "call" } else { "calls" };
        // Without the buffer, other remedies of the finding leave more calls.
        let by = match remedy_kinds(key, tally).first() {
            Some(RemedyKind::WriteBuffer | RemedyKind::ReadAhead) => " with such a buffer,",
            _ => "",
        };
        let (few, pace) = if is_paced(key, tally) {
            ("as few as ", ", depending on the pace of the other end")
        } else {
            ("", "")
        };
        format!("{what}: {few}{left} {of}{by} instead of {calls}{pace}.{order}")
    } else {
        format!("{what}.{order}")
    }
}

/// What to do with writes in a row. The text names the barriers. If bytes stay in a buffer, the text also names the
/// ends of the program.
fn writes(key: &FindingKey, tally: &Tally) -> String {
    if is_record(key.steps.len(), tally) {
        let what = if has_large_step(tally) {
            "Write the small pieces and the large one in one call, with a list".to_owned()
        } else {
            format!("Write the {} pieces in one call", key.steps.len())
        };
        return what + &before(tally, ", before ");
    }
    let what = match (key.target, tally.others_write) {
        (DescriptorKind::File, true) => {
            "Others may append to the file: collect whole records in one buffer, count its bytes, and flush it before a record that would leave less than 100 B of room, since a full buffer cuts a record"
        }
        (_, true) => {
            "Others may write to the pipe: collect whole records in one buffer, count its bytes, and flush it before it has more than 4 KiB"
        }
        (DescriptorKind::File, false) => {
            "Collect all writes to the descriptor in one buffer, and flush that when it is full, not after each record"
        }
        (_, false) => {
            "Collect all writes to the descriptor in one buffer, and flush that when it is full, not after each record, before waiting"
        }
    };
    what.to_owned() + &flushed(key.target, tally)
}

/// Where a buffer is flushed: before each named call, and before the file is closed, since the next file may take the
/// place of the file.
pub(crate) fn flushed(target: DescriptorKind, tally: &Tally) -> String {
    let file = match target {
        DescriptorKind::File => "the file",
        _ => "the descriptor",
    };
    let closes = tally.ends.iter().find(|(call, _)| call == CLOSE);
    let close = match closes {
        Some((_, closes @ 2..)) => format!("each close of {file} ({})", times(*closes)),
        _ => format!("the close of {file}"),
    };
    let ends = ends(tally);
    let joint = if ends.is_empty() { "" } else { ", " };
    format!(", before {ends}{joint}{close}, and {EVERY_END}")
}

pub(crate) const EVERY_END: &str = "on every way out";

/// `, before fsync (100 times)`: the calls before which the buffer must be empty, with `joint` in front.
fn before(tally: &Tally, joint: &str) -> String {
    let ends = ends(tally);
    if ends.is_empty() { ends } else { joint.to_owned() + &ends }
}

/// The calls before which a buffer must be empty, the most frequent first: `fsync (100 times), close (once)`.
fn ends(tally: &Tally) -> String {
    let mut ends: Vec<&(String, u64)> = tally.ends.iter().filter(|end| end.0 != CLOSE).collect();
    sort::sort_by_key(&mut ends, |end| std::cmp::Reverse(end.1));
    let own = language_of(tally.runtime).own.first();
    let (place, calls) = own.copied().unwrap_or_default();
    let all = ends.len();
    ends.retain(|(call, _)| !calls.iter().any(|own| call.starts_with(own)));
    let has_own = ends.len() < all;
    let named = ends.into_iter();
    let named = named.map(|(call, runs)| format!("{} ({})", visible(call), times(*runs)));
    let named: Vec<String> = named.chain(has_own.then(|| place.to_owned())).collect();
    named.join(", ")
}

pub(crate) fn serves(tally: &Tally) -> bool {
    tally.stall.is_some_and(|stall| stall.serves)
}

/// `once`, `100 times`.
fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        _ => format!("{} times", short_count(number)),
    }
}

const BEFORE_POLL: &str =
    " Empty the buffer before poll or select: they do not report bytes that are in it.";

const FORKED: &str = " A forked process wrote it: it flushes its own buffer before it ends.";

pub(crate) fn reads_streams(tally: &Tally) -> bool {
    let read = Barrier::PeerRead.before(false);
    tally.ends.iter().any(|(call, _)| read == Some(&**call))
}

/// Whether the number of remaining calls depends on the pace of another process. The calls are reads of a stream, or
/// writes to a buffer that the program flushes before it reads a stream or waits for one.
pub(crate) fn is_paced(key: &FindingKey, tally: &Tally) -> bool {
    let is_wait = |(call, _): &(String, u64)| call.contains("poll") || call.contains("select");
    let is_buffer = remedy_kinds(key, tally).first() == Some(&RemedyKind::WriteBuffer);
    let waits = reads_streams(tally) || tally.ends.iter().any(is_wait);
    key.grade == Grade::ReadsAhead || is_buffer && waits
}

/// Whether the calls write a stream for a reader, while the program reads another pipe or socket. The language may read
/// that pipe or socket through a buffer, so the program does not know when it waits.
pub(crate) fn waits_unseen(key: &FindingKey, tally: &Tally) -> bool {
    key.target != DescriptorKind::File
        && remedy_kinds(key, tally) == [RemedyKind::WriteBuffer]
        && reads_streams(tally)
}

/// Whether one call is to replace the reads of a run, although their lengths vary, or their number varies and they have
/// no offset. A program may learn the length of the next read from the read before.
pub(crate) fn is_of_varying_reads(key: &FindingKey, tally: &Tally) -> bool {
    let varies = |&(least, most): &(u64, u64)| least != most;
    let reads_runs = remedy_kinds(key, tally) == [RemedyKind::ReadRun];
    let is_read_at = key.kind == FindingKind::PositionalReads;
    let has_runs_of_any_length = !is_read_at && !tally.calls.is_multiple_of(tally.runs.max(1));
    reads_runs && (has_runs_of_any_length || tally.step_bytes.iter().any(varies))
}

const HIDDEN_READ: &str = " If the language reads ahead, the program does not know when it waits for that: then flush after \
    each record that somebody may wait for.";

const CUT: &str = " A reader may find, and a kill may leave, part of a record.";

const LATE_ERRORS: &str = " A failed write shows at a later write, flush or close: check each.";

const KILLED: &str =
    " A signal killed a process that wrote it: it would lose the bytes that are in a buffer then.";

/// How long bytes stay in a buffer, if that is longer than a byte may wait.
fn late_in_words(tally: &Tally) -> String {
    match tally.late_ns {
        0 => String::new(),
        late_ns => format!(
            " Bytes stay in the buffer for up to {} here: a reader sees them so much later, and a kill loses them.",
            words::time(late_ns as f64)
        ),
    }
}

/// The effect of merging on the order of writes; empty if none is known.
fn order_in_words(tally: &Tally) -> String {
    if tally.order_between.is_empty() {
        return String::new();
    }
    let named = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let characters = name.chars().take(NAMED_CHARACTERS);
        visible(&characters.collect::<String>())
    };
    let others = tally.order_between.iter().map(|path| named(path));
    let others: Vec<String> = others.collect();
    format!(
        " The program writes {} in turn with {}: merging changes the order in which their bytes \
         reach the kernel.",
        tally.path.as_deref().map_or("this file".to_owned(), named),
        words::enumerated(&others),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_count_and_its_period() {
        let cases = "\
            adjacent-writes | write 8 + write 4096 | 20466 | 10,233 × write 8 B + write 4 KiB
            adjacent-writes | write 5-90 | 1234567 | 1.2 M × write 5–90 B
            adjacent-writes | send 0 | 34500000000 | 35 G × send 0 B
            small-reads | read 4096-65536 | 999999 | 999,999 × read 4–64 KiB
            small-reads | read 100-4096 | 3 | 3 × read 100 B–4 KiB
            seek-then-transfer | lseek 0 + read 512 | 10 | 5 × lseek + read 512 B
            sync-each | write 10 + fsync 0 | 100 | 100 × write 10 B + fsync
            small-reads | read 1 + read 1 + read 1 + read 1 + read 8 + read 1 + read 1 + read 6 | 16 | 2 × (4 × read 1 B + read 8 B + 2 × read 1 B + read 6 B)
            adjacent-writes | write 1 + write 2 + write 3 + write 4 + write 5 + write 6 | 12 | 2 × write 1 B + write 2 B + write 3 B + write 4 B + 2 more
            adjacent-writes |  | 7 | 7 calls
            adjacent-writes | w\x1b[2Jrite 1 | 1 | 1 × w\\u{1b}[2Jrite";
        for case in cases.lines() {
            let [kind, steps, calls, expected] = case.trim().split(" | ").collect::<Vec<_>>()[..]
            else {
                panic!("{case}");
            };
            let bytes = |text: &str| text.parse::<u64>().unwrap();
            let (mut key, mut tally) = (FindingKey::default(), Tally::default());
            key.kind = serde_json::from_value(kind.into()).unwrap();
            (tally.calls, tally.runs) = (bytes(calls), 1);
            for step in steps.split(" + ") {
                let Some((call, range)) = step.rsplit_once(' ') else {
                    continue;
                };
                let (least, most) = range.split_once('-').unwrap_or((range, range));
                tally.step_bytes.push((bytes(least), bytes(most)));
                key.steps.push(Step {
                    call: call.to_owned(),
                    size_class: 0,
                });
            }
            assert_eq!(pattern(&key, &tally), expected);
        }
    }
}
