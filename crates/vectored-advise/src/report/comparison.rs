//! Two advisories side by side: what an edit changed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use vectored_machine::model::DescriptorKind;
use vectored_report::sort;
use vectored_report::words::{NONE, count, grouped, memory};
use vectored_report::{Block, Cell, Column, Document, Role, Sentence, Table, Tone, csv};

use crate::model::{Advisory, FindingKey, FindingKind, Tally};
use crate::report::figures::{seconds, shortened};
use crate::report::rows::SHOWN_CHARACTERS;

/// Times of waiting for delayed acknowledgements differ if they do so by more than this share.
const STALLS_DIFFER: f64 = 0.25;

/// The schema of [`AdviceComparison`].
pub const ADVICE_COMPARISON_SCHEMA: &str = "vectored-advice-comparison/1";

/// An old and a new program, by the logs of their calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceComparison {
    /// [`ADVICE_COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// Before the edit.
    pub old: SideOfAdvice,
    /// After it.
    pub new: SideOfAdvice,
    /// Whether both sides are commands, which differ in more than an `.old` at the end of words, or before their extension.
    pub commands_differ: bool,
    /// The findings of both, those that differ most in calls first.
    pub findings: Vec<ComparedFinding>,
}

/// The sums of one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideOfAdvice {
    /// As [`Advisory::sources`].
    pub sources: Vec<String>,
    /// System calls in the log.
    pub calls: u64,
    /// Calls that move bytes.
    pub transfers: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// As [`Advisory::saving_s`].
    pub saving_s: f64,
    /// As [`Advisory::stalls`].
    pub stalls: u64,
    /// As [`Advisory::stalled_s`].
    pub stalled_s: f64,
}

/// Findings of one kind in one program, file and call site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFinding {
    /// Its fate in the new program.
    pub change: FindingChange,
    /// Its kind.
    pub kind: FindingKind,
    /// Whether it is counted; otherwise it is only listed.
    pub counted: bool,
    /// The program, without `.old`.
    pub program: String,
    /// The kind of descriptor.
    pub target: DescriptorKind,
    /// As [`FindingKey::file`].
    pub file: Option<String>,
    /// As [`FindingKey::site`].
    pub site: Option<String>,
    /// Before the edit; `None` if it came.
    pub old: Option<FindingCounts>,
    /// After it; `None` if it went.
    pub new: Option<FindingCounts>,
}

/// What became of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingChange {
    /// Only the new side has it.
    Came,
    /// Only the old side has it.
    Went,
    /// Both have it, with other numbers of calls.
    Changed,
    /// Both have it, with the same number of calls.
    Stayed,
}

/// The counts of a finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FindingCounts {
    /// Calls.
    pub calls: u64,
    /// Calls that would remain.
    pub merged_calls: u64,
    /// The time that merging them would save, in s; of a listed one at most.
    pub saving_s: f64,
    /// The pattern with the most calls.
    pub pattern: String,
}

/// The kind, whether it is counted, the program, its target, file and site.
type Place = (
    FindingKind,
    bool,
    String,
    DescriptorKind,
    Option<String>,
    Option<String>,
);

/// Compares two advisories. Findings are matched by kind, program, file and call site. The program `prog.old` is `prog`.
pub fn compare_advice(old: &Advisory, new: &Advisory) -> AdviceComparison {
    let mut places: BTreeMap<Place, [Option<FindingCounts>; 2]> = BTreeMap::new();
    for (side, advisory) in [old, new].into_iter().enumerate() {
        let counted = advisory.findings.iter();
        let counted = counted.map(|one| (true, &one.key, &one.tally, &one.pattern, one.saving_s));
        let listed = advisory.uncounted.iter();
        let listed = listed.map(|one| {
            let saving_s = one.at_most_s.unwrap_or(0.0);
            (false, &one.key, &one.tally, &one.pattern, saving_s)
        });
        for (is_counted, key, tally, pattern, saving_s) in counted.chain(listed) {
            let sides = places.entry(place(key, is_counted)).or_default();
            add(
                sides[side].get_or_insert_default(),
                tally,
                pattern,
                saving_s,
            );
        }
    }
    let mut findings: Vec<ComparedFinding> = places.into_iter().map(compared).collect();
    sort::sort_by_key(&mut findings, |one| {
        let calls = |side: &Option<FindingCounts>| side.as_ref().map_or(0, |one| one.calls);
        std::cmp::Reverse(calls(&one.old).abs_diff(calls(&one.new)))
    });
    AdviceComparison {
        schema: ADVICE_COMPARISON_SCHEMA,
        old: side(old),
        new: side(new),
        commands_differ: commands_differ(old, new),
        findings,
    }
}

fn commands_differ(old: &Advisory, new: &Advisory) -> bool {
    let words = |side: &Advisory| {
        let words = side.sources.iter().flat_map(|source| source.split(' '));
        let words = words.map(without_old);
        words.collect::<Vec<String>>()
    };
    old.is_command && new.is_command && words(old) != words(new)
}

/// The name of a program of which this may be a copy from before an edit: `prog.old`, `x.old.mjs`.
fn without_old(name: &str) -> String {
    let end = name.rfind(".old").filter(|&at| {
        let rest = &name[at + 4..];
        rest.is_empty() || rest.starts_with('.') && !rest.contains('/')
    });
    end.map_or(name.to_owned(), |at| {
        name[..at].to_owned() + &name[at + 4..]
    })
}

fn place(key: &FindingKey, is_counted: bool) -> Place {
    let program = without_old(&key.program);
    let (file, site) = (key.file.clone(), key.site.clone());
    (key.kind, is_counted, program, key.target, file, site)
}

fn add(known: &mut FindingCounts, tally: &Tally, pattern: &str, saving_s: f64) {
    if known.pattern.is_empty() || tally.calls > known.calls {
        pattern.clone_into(&mut known.pattern);
    }
    known.calls = known.calls.saturating_add(tally.calls);
    known.merged_calls = known.merged_calls.saturating_add(tally.merged_calls);
    known.saving_s += saving_s;
}

fn compared((place, [old, new]): (Place, [Option<FindingCounts>; 2])) -> ComparedFinding {
    let (kind, counted, program, target, file, site) = place;
    let change = match (&old, &new) {
        (None, _) => FindingChange::Came,
        (_, None) => FindingChange::Went,
        (Some(old), Some(new)) if old.calls == new.calls => FindingChange::Stayed,
        _ => FindingChange::Changed,
    };
    ComparedFinding {
        change,
        kind,
        counted,
        program,
        target,
        file,
        site,
        old,
        new,
    }
}

fn side(advisory: &Advisory) -> SideOfAdvice {
    SideOfAdvice {
        sources: advisory.sources.clone(),
        calls: advisory.calls,
        transfers: advisory.transfers,
        bytes: advisory.bytes,
        saving_s: advisory.saving_s,
        stalls: advisory.stalls,
        stalled_s: advisory.stalled_s,
    }
}

impl AdviceComparison {
    /// Whether the new program makes more calls that move bytes, by more than this share of those of the old one.
    pub fn has_more_calls(&self, limit: f64) -> bool {
        self.new.transfers as f64 > self.old.transfers as f64 * (1.0 + limit)
    }

    /// One row for each finding.
    pub fn csv(&self) -> String {
        csv(&json!({ "findings": self.findings }), &["findings"])
    }
}

/// The answer in a sentence: calls, and findings that went and came.
pub fn compared_in_words(comparison: &AdviceComparison) -> String {
    let AdviceComparison { old, new, .. } = comparison;
    let number = |change| {
        let findings = comparison.findings.iter();
        findings
            .filter(|one| one.counted && one.change == change)
            .count()
    };
    let (went, came) = (number(FindingChange::Went), number(FindingChange::Came));
    let calls = calls_in_words(old, new);
    let change_s = new.stalled_s - old.stalled_s;
    let stalls = if change_s.abs() > STALLS_DIFFER * old.stalled_s.max(new.stalled_s) {
        let more = if change_s > 0.0 { "more" } else { "less" };
        format!(
            "waits {} {more} for delayed acknowledgements, and ",
            seconds(change_s.abs())
        )
    } else {
        String::new()
    };
    let findings = match (went, came) {
        (0, 0) => "no finding came or went".to_owned(),
        (went, 0) => format!("{} went", count(went, "finding")),
        (0, came) => format!("{} came", count(came, "finding")),
        (went, came) => format!("{} went, and {came} came", count(went, "finding")),
    };
    format!("new {stalls}{calls}: {findings}")
}

/// The answer, the sums of both sides, and the findings that differ.
pub fn advice_comparison_document(comparison: &AdviceComparison) -> Document {
    let AdviceComparison { old, new, .. } = comparison;
    let sources = |side: &SideOfAdvice| shortened(&side.sources.join(", "), 2 * SHOWN_CHARACTERS);
    let answer = Sentence::toned(Tone::Strong, compared_in_words(comparison));
    let mut body = vec![
        Block::Sentence(Sentence::of("old", sources(old))),
        Block::Sentence(Sentence::of("new", sources(new))),
    ];
    if comparison.commands_differ {
        let text =
            "The commands differ: their arguments may have changed the calls, instead of an edit.";
        body.push(Block::Sentence(Sentence::toned(Tone::Quiet, text)));
    }
    body.push(Block::Table(sums(old, new)));
    let differs = |one: &&ComparedFinding| one.change != FindingChange::Stayed;
    let changed: Vec<Vec<Cell>> = comparison
        .findings
        .iter()
        .filter(differs)
        .map(row)
        .collect();
    if !changed.is_empty() {
        body.push(Block::Table(Table {
            title: "Findings that differ".into(),
            columns: vec![
                Column::words("finding"),
                Column::words("change"),
                Column::figures("old calls"),
                Column::figures("new calls"),
                Column::figures("old saving"),
                Column::figures("new saving"),
            ],
            rows: changed,
        }));
    }
    Document {
        title: "What did the edit change?".into(),
        lead: "The calls of a program before and after an edit, by results of `vectored advise`. What an edit saves is \
               measured by `vectored versus`."
            .into(),
        answer: vec![Block::Sentence(answer)],
        body,
        ..Document::default()
    }
}

fn sums(old: &SideOfAdvice, new: &SideOfAdvice) -> Table {
    let row = |name: &str, of: fn(&SideOfAdvice) -> String| {
        vec![name.into(), of(old).into(), of(new).into()]
    };
    Table {
        title: "".into(),
        columns: vec![
            Column::words(""),
            Column::figures("old"),
            Column::figures("new"),
        ],
        rows: vec![
            row("system calls", |side| grouped(side.calls)),
            row("calls that move bytes", |side| grouped(side.transfers)),
            row("bytes", |side| memory(side.bytes)),
            row("merging would save", |side| seconds(side.saving_s)),
            row("stalls", |side| match side.stalls {
                0 => NONE.to_owned(),
                stalls => format!("{}, {}", grouped(stalls), seconds(side.stalled_s)),
            }),
        ],
    }
}

fn row(one: &ComparedFinding) -> Vec<Cell> {
    let side = one.old.as_ref().or(one.new.as_ref());
    let pattern = side.map_or("", |side| &side.pattern);
    let place = [&one.file, &one.site];
    let place = place.into_iter().flatten();
    let place: Vec<String> = place
        .map(|text| shortened(text, SHOWN_CHARACTERS))
        .collect();
    let (name, role) = match one.change {
        FindingChange::Came => ("came", Role::Loser),
        FindingChange::Went => ("went", Role::Winner),
        FindingChange::Changed => ("changed", Role::Plain),
        FindingChange::Stayed => ("stayed", Role::Plain),
    };
    let name = if one.counted { name.to_owned() } else { format!("{name}, listed only") };
    let calls = |side: &Option<FindingCounts>| {
        side.as_ref()
            .map_or(NONE.to_owned(), |side| grouped(side.calls))
    };
    let saving = |side: &Option<FindingCounts>| {
        side.as_ref()
            .map_or(NONE.to_owned(), |side| seconds(side.saving_s))
    };
    let program = if one.program.is_empty() { "a program" } else { &one.program };
    let text = [
        &[program.to_owned(), shortened(pattern, SHOWN_CHARACTERS)][..],
        &place,
    ]
    .concat();
    vec![
        text.join(", ").into(),
        Cell::with_role(name, role),
        calls(&one.old).into(),
        calls(&one.new).into(),
        saving(&one.old).into(),
        saving(&one.new).into(),
    ]
}

fn calls_in_words(old: &SideOfAdvice, new: &SideOfAdvice) -> String {
    let [before, after] = [old, new].map(|side| grouped(side.transfers));
    if before == after {
        format!("makes as many calls that move bytes as old, {before}")
    } else {
        format!("makes {after} calls that move bytes instead of {before}")
    }
}

/// The sentence of a limit that is exceeded.
pub fn more_calls_in_words(comparison: &AdviceComparison, limit: f64) -> String {
    let calls = calls_in_words(&comparison.old, &comparison.new);
    format!(
        "new {calls}: the limit is {} % more",
        (limit * 1e4).round() / 100.0
    )
}
