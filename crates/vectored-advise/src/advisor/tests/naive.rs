//! The analysis against a naive one, which keeps all calls and looks at everything between two of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::options::Options;
use crate::advisor::tests::events::*;
use vectored_strace::event::{Action, Direction, SocketKind, Transfer};

/// Kind, grade, reason → runs, calls, merged calls, bytes.
type Sums = BTreeMap<(String, String, String), [u64; 4]>;

/// The link between two transfers.
#[derive(Clone, Debug, PartialEq)]
enum Link {
    Joined(bool),
    Crossed(&'static str),
    Sought(bool),
    Broken,
}

const SEVERAL_WRITERS: &str =
    "several threads or processes write to it: a merged call changes the order of their bytes";
const SHARED_OFFSET: &str =
    "another thread or process uses the same offset, and would continue at a different offset";
const OBSERVED: &str =
    "another thread or process reads the file, or asks for its size, while it is written";
const ELSEWHERE: &str = "another thread or process uses the same file or descriptor between them";
const READ_ELSEWHERE: &str =
    "another thread or process reads there between them, and may wait for all that is written";
const SYNC_ELSEWHERE: &str = "another thread or process syncs the file between them";
const OFFSET_USED: &str = "the offset is used by more than the next call: lseek(SEEK_CUR), sendfile, or a call without a seek before it";
const SIZE: &str =
    "lseek(SEEK_END), statfs or the like between them, which shows how much was written";

const FILES: [i32; 2] = [3, 4];
const BUFFER_BYTES: u64 = 64 * 1024;
const MAX_DELAY_NS: u64 = 10_000_000;

fn preamble() -> Vec<Line> {
    vec![
        open(3),
        open(4),
        // A file that was read is no folder, so `fstat` of it concerns only that file.
        read_part(3, 8, 0),
        read_part(4, 8, 0),
        pipe(7, 5),
        socket(6, SocketKind::Tcp),
        thread(2),
    ]
}

fn transfer_of(line: &Line) -> Option<&Transfer<'static>> {
    match &line.action {
        Action::Transfer(transfer) => Some(transfer),
        _ => None,
    }
}

/// Descriptor and direction of a line, if it is a transfer.
fn lane_of(line: &Line) -> Option<(i32, bool)> {
    let transfer = transfer_of(line)?;
    Some((
        transfer.descriptor.number,
        transfer.direction == Direction::Read,
    ))
}

fn moved(line: &Line) -> u64 {
    transfer_of(line).map_or(0, |transfer| transfer.result.unwrap_or(0))
}

fn is_usable(line: &Line) -> bool {
    moved(line) > 0 && transfer_of(line).is_some_and(|transfer| !transfer.special)
}

fn is_short(line: &Line) -> bool {
    transfer_of(line).is_some_and(|transfer| transfer.asked_bytes > Some(moved(line)))
}

fn is_tiny(line: &Line) -> bool {
    let segments = transfer_of(line).map_or(0, |transfer| transfer.segment_count);
    segments > 1 && moved(line) < 256 * segments
}

/// The offset of a descriptor before a line.
fn position(lines: &[Line], number: i32, until: usize) -> u64 {
    lines[..until]
        .iter()
        .fold(0, |position, line| match &line.action {
            Action::Seek {
                descriptor,
                position,
                ..
            } if descriptor.number == number => *position,
            Action::Transfer(transfer)
                if transfer.descriptor.number == number && transfer.offset.is_none() =>
            {
                position + moved(line)
            }
            _ => position,
        })
}

/// Index of the seek that moved the offset for this transfer.
fn seek_before(lines: &[Line], number: i32, at: usize) -> Option<usize> {
    let until = lines[..at].iter().rposition(|line| {
        let transfer = transfer_of(line);
        transfer.is_some_and(|of| of.descriptor.number == number && of.offset.is_none())
    });
    (until.map_or(0, |until| until + 1)..at)
        .rev()
        .find(|&place| match &lines[place].action {
            Action::Seek {
                descriptor,
                position: to,
                only_asked: false,
                ..
            } => descriptor.number == number && position(lines, number, place) != *to,
            _ => false,
        })
}

const OTHER_READERS: &str = "several threads or processes read the stream, or may: a larger buffer \
                             would take bytes meant for another";

/// Number of threads that read the socket.
fn readers(lines: &[Line]) -> usize {
    let reads = |line: &&Line| lane_of(line) == Some((6, true));
    let threads = lines.iter().filter(reads).map(|line| line.thread);
    threads.collect::<std::collections::BTreeSet<u32>>().len()
}

/// The link between two transfers in a row, in one direction.
fn link(lines: &[Line], clock: &[u64], from: usize, to: usize) -> Link {
    let (one, other) = (&lines[from], &lines[to]);
    let (Some(first), Some(second)) = (transfer_of(one), transfer_of(other)) else {
        return Link::Broken;
    };
    let number = first.descriptor.number;
    let is_file = FILES.contains(&number);
    let is_read = first.direction == Direction::Read;
    let between = &lines[from + 1..to];
    let is_own = |line: &&Line| lane_of(line).is_some_and(|lane| lane.0 == number);
    let by_another = |line: &Line| line.thread != one.thread;
    if is_short(one) || first.offset.is_some() != second.offset.is_some() {
        return Link::Broken;
    }
    if let (Some(before), Some(offset)) = (first.offset, second.offset)
        && before + moved(one) != offset
    {
        return Link::Broken;
    }
    if one.thread != other.thread {
        return match (is_read, is_file && first.offset.is_none()) {
            (false, _) => Link::Crossed(SEVERAL_WRITERS),
            (true, true) => Link::Crossed(SHARED_OFFSET),
            (true, false) => Link::Broken,
        };
    }
    let own: Vec<usize> = (from + 1..to)
        .filter(|&place| lines[place].thread == one.thread)
        .collect();
    if second.offset.is_none()
        && is_file
        && let Some(seek) = seek_before(lines, number, to)
    {
        return match &lines[seek].action {
            Action::Seek {
                asks_size: true, ..
            } => Link::Crossed(SIZE),
            _ if lines[seek].thread != other.thread => Link::Crossed(SHARED_OFFSET),
            _ => Link::Sought(own.last() != Some(&seek)),
        };
    }
    let asks_much = |transfer: &Transfer<'_>| transfer.asked_bytes >= Some(BUFFER_BYTES);
    if is_read && (asks_much(first) || asks_much(second)) {
        return Link::Broken;
    }
    if is_read && !is_file {
        if readers(&lines[..=to]) > 1 {
            return Link::Crossed(OTHER_READERS);
        }
        let seen = |what: &dyn Fn(&Line) -> bool| own.iter().any(|&place| what(&lines[place]));
        if seen(&|line| matches!(line.action, Action::Sync(_))) {
            return Link::Crossed("a sync of another file between them");
        }
        let sends =
            |line: &Line| lane_of(line).is_some_and(|lane| !lane.1 && !FILES.contains(&lane.0));
        if seen(&sends) {
            return Link::Crossed(
                "a write to a pipe or socket between them, which these bytes may answer",
            );
        }
    }
    let is_observed = |line: &Line| by_another(line) && looks_at(line, number);
    if is_file && !is_read && between.iter().any(is_observed) {
        return Link::Crossed(OBSERVED);
    }
    // Calls on the same open file description, by any thread.
    for line in between {
        let crossed = match (&line.action, line.name) {
            (Action::Transfer(_), _) if is_own(&line) && is_file => {
                let is_other = lane_of(line) != Some((number, is_read));
                let by = if by_another(line) {
                    ELSEWHERE
                } else {
                    "reads and writes of the same open file in turn"
                };
                is_other.then_some(by)
            }
            (Action::Transfer(_), _)
                if lane_of(line) == Some((number, true)) && line.thread != one.thread =>
            {
                Some(READ_ELSEWHERE)
            }
            (
                Action::Seek {
                    descriptor,
                    only_asked,
                    asks_size,
                    ..
                },
                _,
            ) if descriptor.number == number => {
                let moves_it = first.offset.is_none();
                match (line.thread == one.thread, *only_asked, *asks_size) {
                    (false, ..) if moves_it => Some(SHARED_OFFSET),
                    (true, true, _) if moves_it => Some(
                        "lseek(SEEK_CUR) between them, which shows the offset that the calls moved",
                    ),
                    (_, _, true) if !is_read => Some(SIZE),
                    _ => None,
                }
            }
            (Action::Sync(Some(of)), _) if of.number == number && !is_read && !by_another(line) => {
                Some("fsync between them")
            }
            (
                Action::Other {
                    descriptor: Some(of),
                },
                "fstat",
            ) if of.number == number && is_file && !is_read => {
                Some("stat between them, which may see the file's size")
            }
            (
                Action::Other {
                    descriptor: Some(of),
                },
                "ioctl",
            ) if of.number == number => Some(if by_another(line) {
                ELSEWHERE
            } else {
                "ioctl, setsockopt, ftruncate or the like between them"
            }),
            _ => None,
        };
        if let Some(reason) = crossed {
            return Link::Crossed(reason);
        }
    }
    let last_of = |what: &dyn Fn(&Line) -> Option<&'static str>| {
        own.iter().rev().find_map(|&place| what(&lines[place]))
    };
    let waits = |line: &Line| match line.name {
        "poll" => Some("poll, select or epoll_wait between them"),
        "ioctl" => Some("ioctl, setsockopt, ftruncate or the like between them"),
        _ => None,
    };
    let stream = |line: &Line| lane_of(line).filter(|lane| !FILES.contains(&lane.0));
    let hears = |line: &Line| {
        stream(line)
            .is_some_and(|lane| lane.1)
            .then_some("a read of a pipe or socket between them")
    };
    let polls = |place: usize| {
        let is_other = lane_of(&lines[place]) != Some((number, true));
        (polls(lines, place) && (is_other || !is_read)).then_some(
            "open, stat or read of a file again or in vain between them, which may be a wait",
        )
    };
    let syncs = |line: &Line| {
        matches!(line.action, Action::Sync(_)).then_some("a sync of another file between them")
    };
    let sends = |line: &Line| {
        stream(line)
            .is_some_and(|lane| !lane.1 && lane.0 != number)
            .then_some("a write to another pipe or socket between them")
    };
    let crossed = last_of(&waits)
        .or_else(|| last_of(&hears))
        .or_else(|| own.iter().rev().find_map(|&place| polls(place)))
        .or_else(|| if is_read { None } else { last_of(&syncs).or_else(|| last_of(&sends)) });
    if let Some(reason) = crossed {
        return Link::Crossed(reason);
    }
    if is_file
        && !is_read
        && between
            .iter()
            .any(|line| by_another(line) && syncs_it(line, number))
    {
        return Link::Crossed(SYNC_ELSEWHERE);
    }
    if clock[to] - (clock[from] + 1000) > MAX_DELAY_NS {
        return Link::Crossed("a gap of more than 10 ms");
    }
    Link::Joined(!own.is_empty())
}

fn naive(lines: &[Line]) -> Sums {
    let mut clock = Vec::new();
    let mut now_ns = 0;
    for line in lines {
        now_ns += line.after_ns;
        clock.push(now_ns);
        now_ns += 1000;
    }
    let mut sums = Sums::new();
    let lanes: std::collections::BTreeSet<_> = lines.iter().filter_map(lane_of).collect();
    for lane in lanes {
        let places: Vec<usize> = (0..lines.len())
            .filter(|&place| lane_of(&lines[place]) == Some(lane))
            .collect();
        // Each transfer with the link before it.
        let mut calls: Vec<(Link, usize)> = Vec::new();
        let mut last = None;
        for place in places {
            let line = &lines[place];
            if !is_usable(line) {
                last = None;
                continue;
            }
            let before = last.map_or(Link::Broken, |last| link(lines, &clock, last, place));
            calls.push((before, place));
            last = Some(place);
        }
        let mut of_lane = Sums::new();
        count_lane(lines, &clock, &calls, &mut of_lane);
        let shared = shared_by(lines, lane);
        for ((kind, grade, reason), sum) in of_lane {
            let depends = reason.is_empty() && kind != "tiny-segments";
            let shared = match kind.as_str() {
                "seek-then-transfer" if has_shared_offset(lines, lane.0) => Some(SHARED_OFFSET),
                "seek-then-transfer" if has_used_offset(lines, lane.0) => Some(OFFSET_USED),
                "adjacent-writes" => elsewhere(lines, lane.0).or(shared),
                _ => shared,
            };
            let shared = shared.filter(|_| depends && kind != "positional-reads");
            let key = match shared {
                Some(shared) => (kind, "crossing".to_owned(), shared.to_owned()),
                None => (kind, grade, reason),
            };
            let known = sums.entry(key).or_default();
            for (known, new) in known.iter_mut().zip(sum) {
                *known += new;
            }
        }
    }
    sums
}

/// Whether a line shows the size of a file: a read, `fstat`, `lseek(SEEK_END)`.
fn looks_at(line: &Line, number: i32) -> bool {
    match (&line.action, line.name) {
        (Action::Transfer(_), _) => lane_of(line) == Some((number, true)),
        (
            Action::Seek {
                descriptor,
                asks_size,
                ..
            },
            _,
        ) => descriptor.number == number && *asks_size,
        _ => is_call_on(line, "fstat", number),
    }
}

fn is_call_on(line: &Line, name: &str, number: i32) -> bool {
    let on = |descriptor: &Option<_>| *descriptor == Some(fd(number));
    line.name == name && matches!(&line.action, Action::Other { descriptor } if on(descriptor))
}

fn syncs_it(line: &Line, number: i32) -> bool {
    matches!(&line.action, Action::Sync(Some(of)) if of.number == number)
}

/// Whether a read of a file may be a wait for what others write: at the place of the read before it, or of a file that another
/// thread wrote.
fn polls(lines: &[Line], place: usize) -> bool {
    let reads = |at: usize| match (lane_of(&lines[at]), transfer_of(&lines[at])) {
        (Some((number, true)), Some(of)) if FILES.contains(&number) => {
            let from = of.offset.unwrap_or_else(|| position(lines, number, at));
            Some((number, from))
        }
        _ => None,
    };
    let Some(this) = reads(place) else {
        return false;
    };
    let mut before = (0..place).rev().filter_map(reads);
    let is_written =
        |line: &Line| line.thread != lines[place].thread && lane_of(line) == Some((this.0, false));
    lines[..place].iter().any(is_written) || before.find(|read| read.0 == this.0) == Some(this)
}

/// Whether a call relied on the offset that a seek and the next transfer left.
fn has_used_offset(lines: &[Line], number: i32) -> bool {
    let (mut sought, mut placed, mut left) = (false, false, false);
    for (at, line) in lines.iter().enumerate() {
        match &line.action {
            Action::Seek {
                descriptor,
                position: to,
                only_asked,
                ..
            } if descriptor.number == number => {
                if *only_asked && (left || placed) {
                    return true;
                }
                placed |= !only_asked;
                sought |= !only_asked && position(lines, number, at) != *to;
            }
            Action::Transfer(of) if of.descriptor.number == number && of.offset.is_none() => {
                if left && !placed {
                    return true;
                }
                left |= sought;
                (sought, placed) = (false, false);
            }
            _ => {}
        }
    }
    false
}

/// What another thread called first after a write and before the next one: the writer cannot empty a buffer before it.
fn elsewhere(lines: &[Line], number: i32) -> Option<&'static str> {
    let is_file = FILES.contains(&number);
    let writes = |line: &Line| lane_of(line) == Some((number, false));
    let whole = |place: &usize| {
        let line = &lines[*place];
        writes(line) && is_usable(line) && !is_short(line)
    };
    let after_write = |place: usize| {
        let after = lines[place + 1..].iter().take_while(|line| !writes(line));
        let others = after.filter(|line| line.thread != lines[place].thread);
        let others: Vec<&Line> = others.collect();
        let any = |what: &dyn Fn(&Line) -> bool| others.iter().any(|line| what(line));
        let is_positional = transfer_of(&lines[place]).is_some_and(|of| of.offset.is_some());
        let crosses = |line: &&Line| match &line.action {
            Action::Seek { descriptor, .. } => {
                (descriptor.number == number && !is_positional).then_some(SHARED_OFFSET)
            }
            Action::Transfer(_) if lane_of(line) == Some((number, true)) => {
                Some(if is_file { ELSEWHERE } else { READ_ELSEWHERE })
            }
            _ => is_call_on(line, "ioctl", number).then_some(ELSEWHERE),
        };
        if is_file && any(&|line| looks_at(line, number)) {
            Some(OBSERVED)
        } else if is_file && any(&|line| syncs_it(line, number)) {
            Some(SYNC_ELSEWHERE)
        } else {
            others.iter().find_map(crosses)
        }
    };
    (0..lines.len()).filter(whole).find_map(after_write)
}

/// Whether several threads read, write or seek at the offset of a descriptor, after the first transfer.
fn has_shared_offset(lines: &[Line], number: i32) -> bool {
    let mut users = lines
        .iter()
        .filter(|line| match &line.action {
            Action::Transfer(transfer) => {
                transfer.descriptor.number == number && transfer.offset.is_none()
            }
            Action::Seek { descriptor, .. } => descriptor.number == number,
            _ => false,
        })
        .skip_while(|line| transfer_of(line).is_none())
        .map(|line| line.thread);
    let first = users.next();
    users.any(|user| Some(user) != first)
}

/// The reason why nothing of a direction is counted, if both threads use it. Neither thread was created
/// after the other's last call.
fn shared_by(lines: &[Line], (number, is_read): (i32, bool)) -> Option<&'static str> {
    let uses = |line: &&Line| match &line.action {
        Action::Transfer(transfer) => {
            lane_of(line) == Some((number, is_read)) && (!is_read || transfer.offset.is_none())
        }
        Action::Seek { descriptor, .. } => is_read && descriptor.number == number,
        _ => false,
    };
    let mut threads = lines.iter().filter(uses).map(|line| line.thread);
    let first = threads.next()?;
    let is_shared = threads.any(|thread| thread != first);
    let reason = if is_read { SHARED_OFFSET } else { SEVERAL_WRITERS };
    (is_shared && (!is_read || FILES.contains(&number))).then_some(reason)
}

fn count_lane(lines: &[Line], clock: &[u64], calls: &[(Link, usize)], sums: &mut Sums) {
    let mut runs: Vec<&[(Link, usize)]> = Vec::new();
    let mut start = 0;
    for next in 1..=calls.len() {
        if next == calls.len() || !matches!(calls[next].0, Link::Joined(_)) {
            runs.push(&calls[start..next]);
            start = next;
        }
    }
    let same = |one: &Link, other: &Link| match (one, other) {
        (Link::Sought(_), Link::Sought(_)) => true,
        (one, other) => one == other,
    };
    let mut chain: Vec<(Link, usize)> = Vec::new();
    let mut by = Link::Broken;
    for (index, run) in runs.iter().enumerate() {
        let after = runs.get(index + 1).map_or(&Link::Broken, |next| &next[0].0);
        let tiny = is_tiny(&lines[run[0].1]);
        let goes_on = !chain.is_empty()
            && run.len() == 1
            && same(&by, &run[0].0)
            && (!tiny || matches!(by, Link::Sought(_)));
        if goes_on {
            chain.push(run[0].clone());
        } else {
            count(lines, clock, &std::mem::take(&mut chain), &by, sums);
            let starts = match after {
                Link::Broken => false,
                Link::Crossed(_) => !tiny,
                _ => true,
            };
            if run.len() == 1 && starts {
                chain = run.to_vec();
                by = after.clone();
            } else {
                count(lines, clock, run, &Link::Joined(false), sums);
            }
        }
        if !same(&by, after) {
            count(lines, clock, &std::mem::take(&mut chain), &by, sums);
        }
    }
    count(lines, clock, &chain, &by, sums);
}

fn count(lines: &[Line], clock: &[u64], calls: &[(Link, usize)], by: &Link, sums: &mut Sums) {
    let Some((_, first)) = calls.first() else {
        return;
    };
    let by = if calls.len() == 1 { &Link::Joined(false) } else { by };
    // Bytes of a file that are read wait for no call.
    let reads_file = lane_of(&lines[*first]).is_some_and(|lane| lane.1 && FILES.contains(&lane.0));
    let delays_end = matches!(by, Link::Joined(_)) && !reads_file;
    let mut merged: Vec<Vec<usize>> = Vec::new();
    let mut is_full = true;
    for &(_, place) in calls {
        // Segments of the merged list: neighbours that are copied are one segment.
        let segments = |group: &[usize]| -> u64 {
            let mut segments = 0;
            let mut ends_copied = false;
            for &place in group {
                let own = transfer_of(&lines[place]).map_or(0, |of| of.segment_count);
                let is_copied = own < 1024 && moved(&lines[place]) < 256 * own;
                segments += match (is_copied, ends_copied) {
                    (true, true) => 0,
                    (true, false) => 1,
                    (false, _) => own,
                };
                ends_copied = is_copied;
            }
            segments
        };
        let fits = merged.last().is_some_and(|group| {
            let delay_ns = clock[place].saturating_sub(clock[group[0]] + 1000);
            !is_full
                && segments(&[&group[..], &[place]].concat()) <= 1024
                && !(delays_end && delay_ns > MAX_DELAY_NS)
        });
        match merged.last_mut() {
            Some(group) if fits => group.push(place),
            _ => merged.push(vec![place]),
        }
        let group = &merged[merged.len() - 1];
        is_full = group.iter().map(|&place| moved(&lines[place])).sum::<u64>() >= BUFFER_BYTES;
    }
    let line = &lines[*first];
    let (is_read, positional) = (
        lane_of(line).is_some_and(|lane| lane.1),
        transfer_of(line).is_some_and(|of| of.offset.is_some()),
    );
    let usual = match (is_read, positional) {
        (false, false) => "adjacent-writes",
        (false, true) => "positional-writes",
        (true, false) => "small-reads",
        (true, true) => "positional-reads",
    };
    let (count, left) = (calls.len() as u64, merged.len() as u64);
    let has_between = calls[1..]
        .iter()
        .any(|call| matches!(call.0, Link::Joined(true) | Link::Sought(true)));
    let own_grade = if has_between { "harmless-between" } else { "adjacent" };
    let is_stream_read = lane_of(line).is_some_and(|lane| lane.1 && !FILES.contains(&lane.0));
    let by = match by {
        Link::Joined(_) if is_stream_read && readers(lines) > 1 && left < count => {
            &Link::Crossed(OTHER_READERS)
        }
        by => by,
    };
    let grade = if is_stream_read { "reads-ahead" } else { own_grade };
    let segments: Vec<u64> = calls
        .iter()
        .filter_map(|call| transfer_of(&lines[call.1]).map(|of| of.segment_count))
        .collect();
    let bytes: u64 = calls.iter().map(|call| moved(&lines[call.1])).sum();
    let all_lists = segments.iter().all(|&segments| segments > 1);
    let all_tiny = all_lists && bytes < 256 * segments.iter().sum::<u64>();
    let is_split = all_lists && count > 1 && segments[0] == 1024;
    let found = match by {
        Link::Sought(_) => Some(("seek-then-transfer", grade, "", 2 * count - 1, count)),
        Link::Crossed("fsync between them") if left < count => {
            Some(("sync-each", "crossing", "fsync between them", count, left))
        }
        Link::Crossed(reason) if left < count => Some((usual, "crossing", *reason, count, left)),
        Link::Joined(_) if left < count => Some((usual, grade, "", count, left)),
        Link::Joined(_) if all_tiny => Some(("tiny-segments", own_grade, "", count, left)),
        Link::Joined(_) if is_split => Some(("many-segments", own_grade, "", count, left)),
        _ => None,
    };
    if let Some((kind, grade, reason, count, left)) = found {
        let key = (kind.to_owned(), grade.to_owned(), reason.to_owned());
        let sum = sums.entry(key).or_default();
        for (sum, new) in sum.iter_mut().zip([1, count, left, bytes]) {
            *sum += new;
        }
    }
}

fn sums(tallies: &Tallies) -> Sums {
    let mut sums = Sums::new();
    let word = |value: String| value.trim_matches('"').to_owned();
    let mut add = |key: &crate::model::FindingKey, reason: &str, tally: &crate::model::Tally| {
        let kind = word(serde_json::to_string(&key.kind).unwrap());
        let grade = word(serde_json::to_string(&key.grade).unwrap());
        let sum = sums.entry((kind, grade, reason.to_owned())).or_default();
        let new = [tally.runs, tally.calls, tally.merged_calls, tally.bytes];
        for (sum, new) in sum.iter_mut().zip(new) {
            *sum += new;
        }
    };
    for (key, tally) in &tallies.findings {
        add(key, "", tally);
    }
    for ((key, reason), tally) in &tallies.uncounted {
        add(key, reason, tally);
    }
    sums
}

/// Any call of a program with two files, a pipe and a socket.
pub(super) fn any_line() -> impl Strategy<Value = Line> {
    let number = || prop_oneof![3 => Just(3), 1 => Just(4), 1 => Just(5), 1 => Just(6)];
    let file = || prop_oneof![3 => Just(3), 1 => Just(4)];
    let size = || prop_oneof![6 => Just(8_u64), 2 => Just(5000), 1 => Just(70_000)];
    let what = prop_oneof![
        12 => (number(), size()).prop_map(|(number, bytes)| write(number, bytes)),
        6 => (file(), size()).prop_map(|(number, bytes)| read(number, bytes)),
        1 => (Just(6), size()).prop_map(|(number, bytes)| read(number, bytes)),
        1 => number().prop_map(|number| write(number, 8).but(|of| of.result = Ok(3))),
        1 => file().prop_map(|number| read_part(number, 8, 0)),
        1 => number().prop_map(|number| write(number, 8).but(|of| of.result = Err(b"EAGAIN"))),
        3 => (file(), 0_u64..4).prop_map(|(number, at)| pwrite(number, 8, at * 8)),
        2 => (file(), 0_u64..4).prop_map(|(number, at)| pread(number, 8, at * 8)),
        2 => number().prop_map(|number| writev(number, &[5, 6, 7])),
        1 => number().prop_map(|number| writev(number, &[5, 6000])),
        1 => number().prop_map(|number| writev(number, &[100; 1024])),
        4 => (file(), 0_u64..3).prop_map(|(number, at)| seek(number, at * 8)),
        1 => number().prop_map(fsync),
        1 => (file(), 0_u64..3).prop_map(|(number, at)| seek_end(number, at * 8)),
        1 => (file(), 0_u64..3).prop_map(|(number, at)| tell(number, at * 8)),
        1 => file().prop_map(|number| call_on("fstat", number)),
        1 => number().prop_map(|number| call_on("ioctl", number)),
        2 => Just(call("poll")),
        3 => Just(brk()),
    ];
    let thread = prop_oneof![19 => Just(1), 1 => Just(2)];
    let after_ns = prop_oneof![12 => Just(1000), 2 => Just(4_000_000), 1 => Just(20_000_000)];
    (what, thread, after_ns).prop_map(|(line, thread, after_ns)| line.by(thread).after(after_ns))
}

/// Lines, some of them several times, so that there are runs.
pub(super) fn any_lines() -> impl Strategy<Value = Vec<Line>> {
    let block = (prop::collection::vec(any_line(), 1..4), 1_usize..6);
    let repeat = |(lines, times): (Vec<Line>, usize)| vec![lines; times].concat();
    prop::collection::vec(block.prop_map(repeat), 0..8).prop_map(|blocks| blocks.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_is_counted_is_what_a_naive_analysis_counts(lines in any_lines()) {
        let lines = [preamble(), lines].concat();
        prop_assert_eq!(Options::default().buffer_bytes, BUFFER_BYTES);
        prop_assert_eq!(sums(&analysed(&lines)), naive(&lines));
    }

    #[test]
    fn each_transfer_is_in_one_finding_at_most(lines in any_lines()) {
        let lines = [preamble(), lines].concat();
        let tallies = analysed(&lines);
        let transfers = lines.iter().filter(|line| transfer_of(line).is_some()).count() as u64;
        let bytes: u64 = lines.iter().map(moved).sum();
        let counted = || tallies.findings.iter().chain(
            tallies.uncounted.iter().map(|((key, _), tally)| (key, tally)));
        let calls = |(key, tally): (&crate::model::FindingKey, &crate::model::Tally)| match key.kind {
            crate::model::FindingKind::SeekThenTransfer => tally.merged_calls,
            _ => tally.calls,
        };
        prop_assert!(counted().map(calls).sum::<u64>() <= transfers);
        prop_assert!(counted().map(|(_, tally)| tally.bytes).sum::<u64>() <= bytes);
        for (_, tally) in counted() {
            prop_assert!(tally.merged_calls <= tally.calls);
            prop_assert_eq!(tally.sizes.iter().map(|size| size.1).sum::<u64>(), tally.segments);
            prop_assert!(tally.sizes.iter().map(|size| size.2).sum::<u64>() <= tally.bytes);
        }
        // The table of files and descriptors has all of them, with the same counts.
        let uses: Vec<_> = tallies.uses.values().collect();
        let calls_of = |kinds: &mut dyn Iterator<Item = (&crate::model::FindingKey, &crate::model::Tally)>| {
            kinds.map(calls).sum::<u64>()
        };
        prop_assert_eq!(uses.iter().map(|one| one.calls).sum::<u64>(), transfers);
        prop_assert_eq!(
            uses.iter().map(|one| one.counted).sum::<u64>(),
            calls_of(&mut tallies.findings.iter())
        );
        prop_assert_eq!(
            uses.iter().map(|one| one.listed).sum::<u64>(),
            calls_of(&mut tallies.uncounted.iter().map(|((key, _), tally)| (key, tally)))
        );
        for one in uses {
            prop_assert_eq!(one.reason.is_none(), one.counted == one.calls);
        }
    }
}
