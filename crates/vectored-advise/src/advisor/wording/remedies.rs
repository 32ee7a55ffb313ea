//! How to change a program, in the language of its runtime.

use vectored_machine::model::DescriptorKind;

use crate::advisor::wording::remedy_kind::remedy_kinds;
use crate::languages::{
    FLUSH, Language, Remedy, RemedyKind, Way, language_of, remedies_of, runtime_of_program,
};
use crate::model::{FindingKey, FindingKind, Runtime, Tally};

/// The runtime of a finding's program: from the log, or by the program's name.
pub fn runtime_of(key: &FindingKey, tally: &Tally) -> Option<Runtime> {
    tally
        .runtime
        .or_else(|| runtime_of_program(key.program.as_bytes()))
}

/// The language of a runtime; `In general` if it is unknown.
pub fn language(runtime: Option<Runtime>) -> &'static str {
    language_of(runtime).name
}

/// The language of a runtime, above remedies: with its ways out that lose what is in a buffer, if a remedy has one.
pub fn language_of_remedies(runtime: Option<Runtime>, remedies: &[&str]) -> String {
    let Language { name, ends, .. } = language_of(runtime);
    if remedies.iter().any(|text| text.contains(FLUSH)) {
        format!("{name} ({ends})")
    } else {
        (*name).to_owned()
    }
}

/// Options of known programs that make their calls larger.
const OPTIONS: [(&str, &[FindingKind], &str); 6] = {
    const WRITES: &[FindingKind] = &[FindingKind::AdjacentWrites];
    const BOTH: &[FindingKind] = &[FindingKind::AdjacentWrites, FindingKind::SmallReads];
    [
        (
            "tcpdump",
            WRITES,
            "no `-U`, which writes each packet at once",
        ),
        ("split", WRITES, "no `-u`, which writes each line at once"),
        ("sed", WRITES, "no `-u`, which writes each line at once"),
        ("grep", WRITES, "no `--line-buffered`"),
        ("jq", WRITES, "no `--unbuffered`"),
        ("dd", BOTH, "`bs=64K`"),
    ]
};

/// The option of a known program that has it make larger calls.
pub fn option_of(kind: FindingKind, program: &str) -> Option<&'static str> {
    let mut options = OPTIONS.iter();
    let option = options.find(|(name, kinds, _)| *name == program && kinds.contains(&kind));
    option.map(|(_, _, text)| *text)
}

/// The way of moving bytes that a finding has.
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
        FindingKind::ManySegments => Way::Many,
        FindingKind::SyncEach => Way::Syncs,
        FindingKind::Datagrams => Way::Datagrams,
        FindingKind::PeerStall => Way::QuickAck,
    }
}

/// The remedies of a way in a language, of these kinds; the general ones if the language has none.
fn remedies_for(way: Way, kinds: &[RemedyKind], runtime: Option<Runtime>) -> Vec<&'static str> {
    let of = |runtime, way| {
        let fits = |one: &&Remedy| one.way == way && kinds.contains(&one.kind);
        let texts = remedies_of(runtime).filter(fits).map(|one| one.text);
        texts.collect::<Vec<&str>>()
    };
    let texts = of(runtime, way);
    if texts.is_empty() { of(None, way) } else { texts }
}

/// Alternative changes to the program, each for another way to have made the calls. The calls named may
/// transfer only a part, unless the text says otherwise.
pub fn remedies(key: &FindingKey, tally: &Tally) -> Vec<&'static str> {
    let runtime = runtime_of(key, tally);
    let kinds = remedy_kinds(key, tally);
    let mut texts = remedies_for(way_of(key.kind, key.target), &kinds[..], runtime);
    if key.kind == FindingKind::Stall {
        texts.extend(remedies_for(Way::NoDelay, &[RemedyKind::EachCall], runtime));
    }
    texts
}

/// The change in a program that opens a file for each write.
pub fn reopening(runtime: Option<Runtime>) -> &'static str {
    remedies_for(Way::Reopened, &[RemedyKind::EachCall], runtime)[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::LANGUAGES;
    use std::fmt::Write as _;

    fn runtimes() -> impl Iterator<Item = Option<Runtime>> {
        LANGUAGES.iter().map(|language| language.runtime)
    }

    /// The names that the cases of the programs have.
    // The length is the number of values of the enum.
    const WAYS: [(Way, &str); Way::Reopened as usize + 1] = [
        (Way::Writes, "adjacent-writes/file"),
        (Way::SocketWrites, "adjacent-writes/unix"),
        (Way::Reads, "small-reads/file"),
        (Way::StreamReads, "small-reads/pipe"),
        (Way::WritesAt, "positional-writes/file"),
        (Way::ReadsAt, "positional-reads/file"),
        (Way::Seeks, "seek-then-transfer/file"),
        (Way::Tiny, "tiny-segments/file"),
        (Way::Many, "many-segments/file"),
        (Way::Syncs, "sync-each/file"),
        (Way::Datagrams, "datagrams/file"),
        (Way::NoDelay, "no-delay/tcp"),
        (Way::QuickAck, "quick-ack/tcp"),
        (Way::Reopened, "reopened/file"),
    ];

    /// All remedies and options, each with the way that it changes. `cargo xtask remedies` reads the list, and tries each.
    #[test]
    fn every_remedy_is_in_the_list_of_those_that_are_tried() {
        let mut list = String::new();
        for runtime in runtimes() {
            for Remedy { way, text, .. } in remedies_of(runtime) {
                let name = WAYS.iter().find(|(of, _)| of == way).unwrap().1;
                // A call that takes the place of another keeps its flags: the signal of a closed socket may end the program.
                assert!(!text.contains("MSG_"), "{text}");
                let _ = writeln!(list, "{}: {name}: {text}", language(runtime));
            }
        }
        for (program, _, text) in OPTIONS {
            let _ = writeln!(list, "Option: {program}: {text}");
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("remedies", list);
        });
    }

    /// A buffer is never printed where only a join is allowed, and every way has a remedy of each kind that it may need.
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
                (Way::Many, &[Join]),
                (Way::Seeks, &[EachCall]),
                (Way::Tiny, &[EachCall]),
            ] {
                for kind in kinds {
                    let texts = remedies_for(way, &[*kind], runtime);
                    assert!(!texts.is_empty(), "{runtime:?} {way:?} {kind:?}");
                    let rows = remedies_of(runtime).chain(remedies_of(None));
                    let mut others = rows.filter(|one| one.kind != *kind);
                    let wrong = others.find(|one| one.way == way && texts.contains(&one.text));
                    assert_eq!(wrong, None);
                }
            }
        }
    }

    #[test]
    fn a_result_that_names_no_runtime_has_that_of_its_program() {
        let key = FindingKey {
            kind: FindingKind::AdjacentWrites,
            grade: crate::model::Grade::Adjacent,
            program: "python3.11".to_owned(),
            target: DescriptorKind::File,
            file: None,
            site: None,
            steps: Vec::new(),
        };
        assert_eq!(runtime_of(&key, &Tally::default()), Some(Runtime::Python));
        let tally = Tally {
            runtime: Some(Runtime::C),
            ..Tally::default()
        };
        assert_eq!(runtime_of(&key, &tally), Some(Runtime::C));
    }
}
