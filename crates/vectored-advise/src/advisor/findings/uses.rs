//! All calls by program and file, whether they can be merged or not.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use vectored_machine::model::{DescriptorKind, Operation};
use vectored_report::sort;

use crate::advisor::descriptors::fd_kind::{FdKind, kind_of_text};
use crate::advisor::descriptors::open_file::OpenFile;
use crate::advisor::findings::call_counts::CallCounts;
use crate::advisor::findings::price::operation_of;
use crate::advisor::runs::barriers::Barrier;
use crate::model::{DescriptorUse, FindingKey, FindingKind, Tally};

/// Entries of a log that are counted separately; later entries are one for each kind and direction.
const ENTRIES_MAX: usize = 1 << 15;

#[derive(Debug, Default)]
pub(crate) struct DescriptorUses {
    places: FxHashMap<UseName, u32>,
    entries: Vec<(UseName, Entry)>,
}

/// The program, the kind, whether the use is a read, the path of the file, and the number of a standard stream without a
/// path (else -1).
type UseName = (String, String, bool, Option<String>, i32);

#[derive(Debug, Default)]
struct Entry {
    kind: Option<FdKind>,
    descriptor: i32,
    openings: u64,
    calls: CallCounts,
    counted: u64,
    listed: BTreeMap<Barrier, u64>,
}

pub(crate) type UsesByName = BTreeMap<UseName, DescriptorUse>;

pub(crate) fn join_use(known: &mut UsesByName, new: DescriptorUse) {
    let standard = standard_of(new.descriptor, new.path.as_ref());
    let is_read = new.operation == Operation::Read;
    let DescriptorUse {
        program,
        kind,
        path,
        ..
    } = new.clone();
    let name = (program, kind, is_read, path, standard);
    let Some(one) = known.get_mut(&name) else {
        known.insert(name, new);
        return;
    };
    // The reason of the largest part, whatever the order in which parts are joined.
    let is_larger = (new.reason_calls, &one.reason) > (one.reason_calls, &new.reason);
    if one.reason.is_none() || new.reason.is_some() && is_larger {
        one.reason_calls = new.reason_calls;
        one.reason = new.reason;
    }
    one.descriptor = one.descriptor.min(new.descriptor);
    one.openings = one.openings.saturating_add(new.openings);
    one.calls = one.calls.saturating_add(new.calls);
    one.bytes = one.bytes.saturating_add(new.bytes);
    one.counted = one.counted.saturating_add(new.counted);
    one.listed = one.listed.saturating_add(new.listed);
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

/// Moves the calls of a finding from the counted calls of its uses to the listed calls, for a reason. If `is_back`, moves
/// them back.
pub(crate) fn relist(
    uses: &mut UsesByName,
    (key, tally): (&FindingKey, &Tally),
    reason: &str,
    is_back: bool,
) {
    let all = transfers(key, tally);
    let is_read = operation_of(key) == Operation::Read;
    let mut left = all;
    let mut relist = |one: &mut DescriptorUse, most: u64| {
        let (from, to) = if is_back {
            (&mut one.listed, &mut one.counted)
        } else {
            (&mut one.counted, &mut one.listed)
        };
        let before = one.calls.saturating_sub(*from);
        let moved = most.min(left).min(*from);
        (*from, *to) = (*from - moved, to.saturating_add(moved));
        left -= moved;
        if is_back {
            if let Some(first) = one.reason_before.take() {
                (one.reason, one.reason_calls) = first;
            }
        } else if moved > 0 && moved >= before {
            let first = (one.reason.take(), one.reason_calls);
            one.reason_before.get_or_insert(first);
            one.reason = Some(reason.to_owned());
            one.reason_calls = one.calls.saturating_sub(one.counted);
        }
    };
    let words = target_in_words(key.target);
    // The table tells sockets from other descriptors of unknown kind.
    let socket = (key.target == DescriptorKind::Unknown).then_some("socket");
    let is_socket = |path: &str| kind_of_text(path.as_bytes()) == FdKind::Socket;
    let name = |kind: &str, path, standard| {
        let kind = kind.to_owned();
        (key.program.clone(), kind, is_read, path, standard)
    };
    for file in &tally.files {
        let path = file.path.as_deref();
        let kind = socket.filter(|_| path.is_some_and(is_socket));
        let kind = kind.unwrap_or(words);
        let path = path.filter(|path| kind == "file" || path.starts_with('/'));
        let path = path.map(|path| {
            let name = path.split('<').next().filter(|name| name.starts_with('/'));
            name.unwrap_or(path).to_owned()
        });
        let standard = standard_of(file.descriptor, path.as_ref());
        // Counts the transfers, not the seeks.
        let share = u128::from(file.calls) * u128::from(all);
        let most = share.div_ceil(u128::from(tally.calls.max(1)));
        let one = uses.get_mut(&name(kind, path, standard));
        one.into_iter().for_each(|one| relist(one, most as u64));
    }
    // Files that the finding does not name.
    for kind in [words].into_iter().chain(socket) {
        let rest = uses.range_mut(name(kind, None, i32::MIN)..);
        let rest = rest.take_while(|(other, _)| {
            (&other.0, other.1.as_str(), other.2) == (&key.program, kind, is_read)
        });
        rest.for_each(|(_, one)| relist(one, u64::MAX));
    }
}

pub(crate) fn target_in_words(target: DescriptorKind) -> &'static str {
    match target {
        DescriptorKind::File => "file",
        DescriptorKind::Pipe => "pipe",
        DescriptorKind::Unix => "Unix socket",
        DescriptorKind::Tcp => "TCP socket",
        DescriptorKind::Datagram => "datagram socket",
        DescriptorKind::Unknown => "unknown",
    }
}

fn standard_of(descriptor: i32, path: Option<&String>) -> i32 {
    match descriptor {
        0..=2 if path.is_none() => descriptor,
        _ => -1,
    }
}

const USES_KEPT: usize = 64;

pub(crate) fn most_used(uses: UsesByName) -> Vec<DescriptorUse> {
    let mut uses: Vec<DescriptorUse> = uses.into_values().collect();
    sort::sort_by_key(&mut uses, |one| std::cmp::Reverse(one.calls));
    uses.truncate(USES_KEPT);
    uses
}

impl DescriptorUses {
    /// Adds the calls of one direction through an open file description, and returns the place of their use.
    pub(crate) fn add(
        &mut self,
        open_file: &mut OpenFile,
        is_read: bool,
        program: String,
        calls: &CallCounts,
    ) -> u32 {
        let was_counted = std::mem::replace(&mut open_file.was_counted[usize::from(is_read)], true);
        let reopened = if is_read { 0 } else { std::mem::take(&mut open_file.reopened) };
        let number = *open_file.use_number.get_or_insert(open_file.number);
        let (kind, renamed) = (open_file.kind, &open_file.renamed_use);
        let shown = if renamed.is_empty() { open_file.name() } else { renamed };
        // Without strace's `<char 1:3>`.
        let path = match shown.first() {
            Some(b'/') => shown.split(|&byte| byte == b'<').next(),
            _ => (kind == FdKind::File).then_some(shown),
        };
        let standard = if path.is_some() { -1 } else { standard_of(number, None) };
        let is_folder = open_file.flags.directory || open_file.flags.path_only;
        let kind_name = kind_in_words(kind, is_folder, shown).to_owned();
        let path = path.filter(|path| !path.is_empty());
        let path = path.map(|path| String::from_utf8_lossy(path).into_owned());
        let mut name = (program, kind_name, is_read, path, standard);
        if self.entries.len() >= ENTRIES_MAX && !self.places.contains_key(&name) {
            (name.0, name.3, name.4) = (String::new(), None, -1);
        }
        let next = self.entries.len() as u32;
        let place = *self.places.entry(name.clone()).or_insert(next);
        if place == next {
            self.entries.push((name, Entry::default()));
        }
        let entry = &mut self.entries[place as usize].1;
        if entry.calls.calls == 0 || open_file.number < entry.descriptor {
            entry.descriptor = open_file.number;
        }
        entry.kind = Some(kind);
        entry.openings += u64::from(!was_counted) + reopened;
        entry.calls.join(calls);
        place
    }

    pub(crate) fn note_found(&mut self, place: u32, calls: u64, reason: Option<Barrier>) {
        let entry = &mut self.entries[place as usize].1;
        match reason {
            None => entry.counted += calls,
            Some(reason) => *entry.listed.entry(reason).or_default() += calls,
        }
    }

    pub(crate) fn close(self, max_delay_ns: u64, into: &mut UsesByName) {
        let of = |((program, kind, is_read, path, _), entry): (UseName, Entry)| {
            let listed = entry.listed.values().sum();
            let reason = entry.reason(&kind, listed, max_delay_ns);
            DescriptorUse {
                program,
                kind,
                operation: if is_read { Operation::Read } else { Operation::Write },
                path,
                descriptor: entry.descriptor,
                openings: entry.openings,
                calls: entry.calls.calls,
                bytes: entry.calls.bytes,
                counted: entry.counted,
                listed,
                reason_before: None,
                reason_calls: match reason {
                    Some(_) => entry.calls.calls.saturating_sub(entry.counted),
                    None => 0,
                },
                reason,
            }
        };
        for entry in self.entries {
            join_use(into, of(entry));
        }
    }
}

impl Entry {
    fn reason(&self, kind: &str, listed: u64, max_delay_ns: u64) -> Option<String> {
        let calls = &self.calls;
        let neither = calls.calls.saturating_sub(self.counted + listed);
        let by_reason = self.listed.iter().max_by_key(|(_, calls)| **calls);
        if let Some((reason, most)) = by_reason
            && *most >= neither
        {
            return Some(reason.in_words(max_delay_ns));
        }
        if neither == 0 {
            return None;
        }
        if self.kind == Some(FdKind::Datagram)
            || self.kind.is_some_and(|kind| kind.target().is_none())
        {
            return Some(why_never(kind).to_owned());
        }
        let alone = neither
            .saturating_sub(calls.empty)
            .saturating_sub(calls.special)
            .saturating_sub(calls.large)
            .saturating_sub(calls.short);
        let why = [
            (alone, "no adjacent call to merge with"),
            (calls.large, "the calls are as large as a buffer already"),
            (
                calls.short,
                "the calls returned less than they asked for: a larger buffer would not help",
            ),
            (
                calls.special,
                "calls with flags or an address, or without a buffer in the program",
            ),
            (calls.empty, "the calls failed or moved nothing"),
        ];
        // The first of equal entries.
        let most = why.iter().rev().max_by_key(|(calls, _)| *calls)?;
        Some(most.1.to_owned())
    }
}

/// Further targets of a descriptor, by the begin of its text.
const OTHERS: [(&str, &str); 11] = [
    ("/proc/", "/proc file"),
    ("/sys/", "/sys file"),
    ("/dev/pts/", "terminal"),
    ("/dev/tty", "terminal"),
    ("/dev/console", "terminal"),
    ("/", "device"),
    ("UNIX-SEQPACKET", "packet socket"),
    ("NETLINK", "netlink socket"),
    ("anon_inode:[eventfd", "eventfd"),
    ("anon_inode:", "event descriptor"),
    ("pipe:", "packet pipe"),
];

fn kind_in_words(kind: FdKind, is_folder: bool, name: &[u8]) -> &'static str {
    let starts = |with: &str| name.starts_with(with.as_bytes());
    match kind {
        FdKind::Socket => "socket",
        FdKind::Nothing => "null device",
        FdKind::Other => match OTHERS.iter().find(|(begin, _)| starts(begin)) {
            _ if is_folder => "folder",
            Some((_, words)) => words,
            None => "message socket",
        },
        _ => target_in_words(kind.target().unwrap_or(DescriptorKind::Unknown)),
    }
}

fn why_never(kind: &str) -> &'static str {
    match kind {
        "terminal" => "terminals are never counted: text has to appear at once",
        "datagram socket" | "message socket" | "packet socket" | "netlink socket" => {
            "each call is a message: sendmmsg and recvmmsg move several in one call"
        }
        "packet pipe" => "each call is a packet",
        "null device" => "calls on it take next to no time",
        "eventfd" | "event descriptor" => "each call consumes or signals an event",
        _ => "never counted: each call may have an effect of its own",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vectored_strace::event::{Descriptor, OpenFlags};

    #[test]
    fn programs_with_many_files_each_have_a_bounded_table() {
        let mut uses = DescriptorUses::default();
        for program in 1..=40 {
            for file in 0..1000 {
                let (number, path) = (3, format!("/{file}"));
                let leads_to = Some(path.as_bytes());
                let descriptor = Descriptor { number, leads_to };
                let flags = OpenFlags::default();
                let mut open_file = OpenFile::new(FdKind::File, flags, descriptor, 1);
                let calls = CallCounts {
                    calls: 1,
                    ..CallCounts::default()
                };
                uses.add(&mut open_file, false, program.to_string(), &calls);
            }
        }
        assert_eq!(uses.entries.len(), ENTRIES_MAX + 1);
        let calls: u64 = uses
            .entries
            .iter()
            .map(|(_, entry)| entry.calls.calls)
            .sum();
        assert_eq!(calls, 40_000);
    }
}
