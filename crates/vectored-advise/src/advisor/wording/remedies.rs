//! How to change a program, in the language of its runtime.

use vectored_machine::model::DescriptorKind;

use crate::advisor::runs::remedy_kind::remedy_kinds;
use crate::languages::{
    FLUSH, Language, Mark, OPTIONS, Remedy, RemedyKind, STDBUF, Way, bare_name, language_of,
    remedies_of, runtime_of_interpreter, runtime_of_program,
};
use crate::model::{FindingKey, FindingKind, Runtime, Tally};

/// The runtime of a finding's program: from the log or, if the log has none, from the program's name.
pub fn runtime_of(key: &FindingKey, tally: &Tally) -> Option<Runtime> {
    tally
        .runtime
        .or_else(|| runtime_of_program(key.program.as_bytes()))
}

pub fn language(runtime: Option<Runtime>) -> &'static str {
    language_of(runtime).name
}

/// The option with which a program of the system makes larger calls. A program with this name in another language is
/// the user's.
pub fn option_of(key: &FindingKey, tally: &Tally) -> Option<&'static str> {
    let runtime = runtime_of(key, tally);
    let way = way_of(key.kind, key.target);
    let is_full = tally.step_bytes == [(STDIO_BYTES, STDIO_BYTES)];
    let mut options = OPTIONS
        .iter()
        .filter(|one| !is_full || !one.2.starts_with("no "));
    let option = options.find(|(name, ways, _)| *name == key.program && ways.contains(&way));
    let is_output = tally.descriptor == 1 && matches!(way, Way::Writes | Way::SocketWrites);
    match (runtime, option) {
        (None | Some(Runtime::System), Some((_, _, text))) => Some(text),
        (Some(Runtime::System), None) if is_full && is_output => Some(STDBUF),
        _ => None,
    }
}

const STDIO_BYTES: u64 = 4096;

fn way_of(kind: FindingKind, target: DescriptorKind) -> Way {
    let is_socket = matches!(target, DescriptorKind::Unix | DescriptorKind::Tcp);
    match kind {
        FindingKind::AdjacentWrites if is_socket => Way::SocketWrites,
        FindingKind::Stall => Way::SocketWrites,
        FindingKind::AdjacentWrites => Way::Writes,
        FindingKind::SmallReads if target == DescriptorKind::File => Way::Reads,
        FindingKind::SmallReads => Way::StreamReads,
        FindingKind::PositionalWrites => Way::WritesAt,
        FindingKind::PositionalReads => Way::ReadsAt,
        FindingKind::SeekThenTransfer => Way::Seeks,
        FindingKind::TinySegments => Way::Tiny,
        FindingKind::SyncEach => Way::Syncs,
        FindingKind::Datagrams => Way::Datagrams,
        FindingKind::PeerStall => Way::QuickAck,
    }
}

/// The rows of these kinds for a way in a language; the general rows if the language has none. General rows that name
/// calls of section 2 of the manual are left out, unless the language is unknown.
fn rows_for(
    way: Way,
    kinds: &[RemedyKind],
    runtime: Option<Runtime>,
    program: &str,
) -> Vec<&'static Remedy> {
    let suits = |one: &&Remedy| kinds.contains(&one.kind) && suits(one.text, runtime, program);
    let of = |runtime, way| remedies_of(runtime).filter(move |one| one.way == way);
    let own: Vec<&Remedy> = of(runtime, way).filter(suits).collect();
    // If a language has no call that takes an offset, a library makes the calls at offsets.
    let is_at_offset = matches!(way, Way::WritesAt | Way::ReadsAt);
    let mut seeks = of(runtime, Way::Seeks).filter(|one| is_at_offset && one.mark == Mark::Lacks);
    let is_for_all = |one: &&Remedy| runtime.is_none() || !one.text.contains("(2)");
    match (own.is_empty(), seeks.next()) {
        (true, Some(lack)) => vec![lack],
        (true, None) => of(None, way).filter(suits).filter(is_for_all).collect(),
        (false, _) if own.iter().all(|one| one.mark == Mark::Lacks) => own,
        (false, _) => own
            .into_iter()
            .filter(|one| one.mark != Mark::Lacks)
            .collect(),
    }
}

/// Whether a text suits a program. A text that begins with the name of an interpreter suits no other interpreter of the
/// same language.
fn suits(text: &str, runtime: Option<Runtime>, program: &str) -> bool {
    let begin = text.split([':', ',']).next().unwrap_or(text);
    let named = runtime_of_interpreter(begin.to_ascii_lowercase().as_bytes());
    named.is_none()
        || named != runtime
        || runtime_of_interpreter(program.as_bytes()) != runtime
        || bare_name(program.as_bytes()) == begin.to_ascii_lowercase().as_bytes()
}

/// The rows for a finding; none if the finding's program has an option.
fn rows_of(key: &FindingKey, tally: &Tally) -> Vec<&'static Remedy> {
    if option_of(key, tally).is_some() {
        return Vec::new();
    }
    let (kinds, runtime) = (remedy_kinds(key, tally), runtime_of(key, tally));
    rows_for(way_of(key.kind, key.target), &kinds, runtime, &key.program)
}

/// Why no change to the program can be typed: the language lacks the call, or the program is not the user's.
pub(crate) fn lack(key: &FindingKey, tally: &Tally) -> Option<String> {
    let is_of_system = runtime_of(key, tally) == Some(Runtime::System);
    // The calls of a `PeerStall` are an answer of another program, the peer.
    if is_of_system && key.kind != FindingKind::PeerStall {
        return option_of(key, tally)
            .is_none()
            .then(|| NO_OPTION.to_owned());
    }
    let rows = rows_of(key, tally);
    let lack = rows.iter().find(|one| one.mark == Mark::Lacks)?;
    Some(format!(
        "{} has no {}",
        language(runtime_of(key, tally)),
        lack.text
    ))
}

const NO_OPTION: &str = "a program of the system, without an option that is known to merge them";

/// The bytes of a call with each remedy of the finding, if the buffers of the language are smaller than the requested
/// size.
pub(crate) fn part_bytes(key: &FindingKey, tally: &Tally) -> Option<u64> {
    let is_buffer = |one: &&Remedy| one.kind == RemedyKind::WriteBuffer;
    let rows = rows_of(key, tally);
    let parts = rows.into_iter().filter(is_buffer).map(|one| {
        let part = one.text.split_once("in parts of ")?.1;
        part.split_once(" KiB")?.0.parse::<u64>().ok()
    });
    let largest = parts.collect::<Option<Vec<u64>>>()?.into_iter().max();
    largest.map(|kib| kib << 10)
}

/// How often the program with the remedy is started: once for each run, or for each opening of a file that is read as a
/// whole.
pub(crate) fn starts(key: &FindingKey, tally: &Tally) -> u64 {
    if option_of(key, tally) == Some(STDBUF) {
        return tally.processes;
    }
    let rows = rows_of(key, tally);
    let at_most = match tally.ends.is_empty() {
        _ if rows.iter().any(|one| one.mark != Mark::Starts) => 0,
        true => tally.openings.max(1),
        false => u64::MAX,
    };
    if rows.is_empty() { 0 } else { tally.runs.min(at_most) }
}

/// Alternative changes to the program, under the name of the language: one for each way in which the program may have
/// made the calls. If a change has a buffer, the ways out of the program that lose the buffer's bytes are also named.
/// The named calls may transfer only a part, unless the text says otherwise.
pub fn remedies(key: &FindingKey, tally: &Tally) -> (String, Vec<&'static str>) {
    let runtime = runtime_of(key, tally);
    let mut rows = rows_of(key, tally);
    if key.kind == FindingKind::Stall {
        let kinds = [RemedyKind::EachCall];
        rows.extend(rows_for(Way::NoDelay, &kinds, runtime, &key.program));
    }
    let Language { name, ends, .. } = language_of(runtime);
    let has_buffer = rows.iter().any(|one| one.kind == RemedyKind::WriteBuffer);
    let name = if has_buffer { format!("{name} ({ends})") } else { (*name).to_owned() };
    (
        name,
        rows.into_iter().map(|one| text_in(runtime, one)).collect(),
    )
}

/// The text of a row. The code of general rows is in C, so another language gets the text without the code.
fn text_in(runtime: Option<Runtime>, row: &Remedy) -> &'static str {
    let is_own = runtime.is_none() || remedies_of(runtime).any(|own| own == row);
    let end = if is_own { None } else { row.text.find(FLUSH) };
    &row.text[..end.unwrap_or(row.text.len())]
}

/// The changes in a program that opens a file for each write. Before its first write, the changed program may check
/// whether the file exists.
pub fn reopening(runtime: Option<Runtime>, program: &str) -> String {
    let rows = rows_for(Way::Reopened, &[RemedyKind::EachCall], runtime, program);
    let texts: Vec<&str> = rows.iter().map(|one| one.text).collect();
    texts.join("; or ")
        + "; open it where the program first opens it: earlier, that would create the file"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::LANGUAGES;
    use std::fmt::Write as _;

    fn runtimes() -> impl Iterator<Item = Option<Runtime>> {
        LANGUAGES.iter().map(|language| language.runtime)
    }

    const WAYS: [(Way, &str); Way::Reopened as usize + 1] = [
        (Way::Writes, "adjacent-writes/file"),
        (Way::SocketWrites, "adjacent-writes/unix"),
        (Way::Reads, "small-reads/file"),
        (Way::StreamReads, "small-reads/pipe"),
        (Way::WritesAt, "positional-writes/file"),
        (Way::ReadsAt, "positional-reads/file"),
        (Way::Seeks, "seek-then-transfer/file"),
        (Way::Tiny, "tiny-segments/file"),
        (Way::Syncs, "sync-each/file"),
        (Way::Datagrams, "datagrams/file"),
        (Way::NoDelay, "no-delay/tcp"),
        (Way::QuickAck, "quick-ack/tcp"),
        (Way::Reopened, "reopened/file"),
    ];

    /// The list has all remedies and options, each with the way that it changes. `cargo xtask remedies` reads the list,
    /// and tries each entry.
    #[test]
    fn every_remedy_is_in_the_list_of_those_that_are_tried() {
        let mut list = String::new();
        for runtime in runtimes() {
            let rows = remedies_of(runtime).filter(|one| one.mark != Mark::Lacks);
            for Remedy {
                way, text, kind, ..
            } in rows
            {
                let is_buffer = *kind == RemedyKind::WriteBuffer;
                assert_eq!(is_buffer, text.contains(FLUSH), "{text}");
                let name = WAYS.iter().find(|(of, _)| of == way).unwrap().1;
                // A call that replaces another call keeps its flags: without `MSG_NOSIGNAL`, a closed socket may end
                // the program by a signal.
                assert!(!text.contains("MSG_"), "{text}");
                let _ = writeln!(list, "{}: {name}: {text}", language(runtime));
            }
        }
        for (program, _, text) in OPTIONS {
            let _ = writeln!(list, "Option: {program}: {text}");
        }
        let _ = writeln!(list, "Option: sort: {STDBUF}");
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("remedies", list);
        });
    }

    /// Where only a join is allowed, no buffer is printed. Every way has a remedy of each kind that it may need.
    #[test]
    fn a_remedy_is_of_a_kind_that_is_allowed() {
        use RemedyKind::{EachCall, Join, ReadAhead, ReadRun, WriteBuffer};
        for runtime in runtimes() {
            for (way, kinds) in [
                (Way::Writes, &[Join, WriteBuffer][..]),
                (Way::SocketWrites, &[Join, WriteBuffer]),
                (Way::Reads, &[ReadAhead, ReadRun]),
                (Way::StreamReads, &[ReadAhead, ReadRun]),
                (Way::WritesAt, &[Join]),
                (Way::ReadsAt, &[ReadRun]),
                (Way::Seeks, &[EachCall]),
                (Way::Tiny, &[EachCall]),
            ] {
                for kind in kinds {
                    let rows = rows_for(way, &[*kind], runtime, "");
                    assert!(!rows.is_empty(), "{runtime:?} {way:?} {kind:?}");
                    for row in rows {
                        assert_eq!(row.kind, if row.way == way { *kind } else { EachCall });
                        // A general text names no code and no call, since a known language may have neither.
                        let is_own =
                            runtime.is_none() || remedies_of(runtime).any(|own| own == row);
                        let text = text_in(runtime, row);
                        let is_code =
                            text.contains('`') || text.contains(" if ") || text.contains("(2)");
                        assert!(is_own || !is_code, "{runtime:?} {way:?}: {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_result_that_names_no_runtime_has_that_of_its_program() {
        let key = FindingKey {
            program: "python3.11".to_owned(),
            ..FindingKey::default()
        };
        let mut tally = Tally::default();
        assert_eq!(runtime_of(&key, &tally), Some(Runtime::Python));
        tally.runtime = Some(Runtime::C);
        assert_eq!(runtime_of(&key, &tally), Some(Runtime::C));
    }
}
