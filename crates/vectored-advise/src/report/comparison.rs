//! Two advisories side by side: what an edit changed.

use serde::Serialize;
use serde_json::json;
use vectored_machine::model::DescriptorKind;
use vectored_report::sort;
use vectored_report::words::{NONE, capital, count, grouped, memory, ratio};
use vectored_report::{
    Block, Cell, Change, ComparedRow, Document, Role, Ruling, Sentence, Tone, comparison_table,
    csv_of_values, join, value_of, with_field,
};

use crate::model::{Advisory, FindingKey, FindingKind, Tally};
use crate::report::figures::{seconds, shortened};
use crate::report::rows::{SHOWN_CHARACTERS, program_in_words};

/// Two times of waiting for delayed acknowledgements differ only if their difference is more than this share.
const STALLS_DIFFER: f64 = 0.25;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceComparison {
    pub schema: &'static str,
    pub old: SideOfAdvice,
    pub new: SideOfAdvice,
    /// Whether the commands of both sides differ in more than an `.old` at the end of a word or before its extension.
    pub commands_differ: bool,
    pub findings: Vec<ComparedFinding>,
    pub limit: Option<f64>,
    pub ruling: Option<Ruling>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideOfAdvice {
    pub sources: Vec<String>,
    pub calls: u64,
    pub transfers: u64,
    pub bytes: u64,
    pub saving_s: f64,
    pub stalls: u64,
    pub stalled_s: f64,
}

/// Findings of one kind in one program, file and call site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFinding {
    /// `came`, `went`, `changed`, or `stayed`, which means that the number of calls is the same.
    pub change: &'static str,
    #[serde(flatten)]
    pub place: Place,
    pub old: Option<FindingCounts>,
    pub new: Option<FindingCounts>,
}

/// What findings of both sides have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    pub kind: FindingKind,
    /// Whether the finding is counted; otherwise it is only listed.
    pub counted: bool,
    /// The program, without `.old`.
    pub program: String,
    pub target: DescriptorKind,
    pub file: Option<String>,
    pub site: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingCounts {
    pub calls: u64,
    pub merged_calls: u64,
    /// For a listed finding, the most that could be saved.
    pub saving_s: f64,
    pub pattern: String,
}

/// Compares two advisories. Findings are matched by kind, program, file and call site. The program `prog.old` counts as
/// `prog`.
pub fn compare_advice(old: &Advisory, new: &Advisory) -> AdviceComparison {
    let findings = join(vec![places(old), places(new)]).into_iter();
    let mut findings: Vec<ComparedFinding> = findings.map(compared).collect();
    sort::sort_by_key(&mut findings, |one| {
        let calls = |side: &Option<FindingCounts>| side.as_ref().map_or(0, |one| one.calls);
        std::cmp::Reverse(calls(&one.old).abs_diff(calls(&one.new)))
    });
    let side = |advisory: &Advisory| SideOfAdvice {
        sources: advisory.sources.clone(),
        calls: advisory.calls,
        transfers: advisory.transfers,
        bytes: advisory.bytes,
        saving_s: advisory.saving_s,
        stalls: advisory.stalls,
        stalled_s: advisory.stalled_s,
    };
    let words = |side: &Advisory| -> Vec<String> {
        let words = side.sources.iter().flat_map(|source| source.split(' '));
        words.map(without_old).collect()
    };
    AdviceComparison {
        schema: "vectored-advice-comparison/1",
        old: side(old),
        new: side(new),
        commands_differ: old.is_command && new.is_command && words(old) != words(new),
        findings,
        limit: None,
        ruling: None,
    }
}

/// The name of the edited program, if `name` may be a copy from before the edit (`prog.old`, `x.old.mjs`).
fn without_old(name: &str) -> String {
    match name.rsplit_once(".old") {
        Some((before, after))
            if after.is_empty() || after.starts_with('.') && !after.contains('/') =>
        {
            before.to_owned() + after
        }
        _ => name.to_owned(),
    }
}

fn places(advisory: &Advisory) -> Vec<(Place, FindingCounts)> {
    let mut places = Vec::new();
    let mut add = |key: &FindingKey, counted, tally: &Tally, pattern: &String, saving_s| {
        let place = Place {
            kind: key.kind,
            counted,
            program: without_old(&key.program),
            target: key.target,
            file: key.file.clone(),
            site: key.site.clone(),
        };
        let counts = FindingCounts {
            calls: tally.calls,
            merged_calls: tally.merged_calls,
            saving_s,
            pattern: pattern.clone(),
        };
        places.push((place, counts));
    };
    for one in &advisory.findings {
        add(&one.key, true, &one.tally, &one.pattern, one.saving_s);
    }
    for one in &advisory.uncounted {
        let most_s = one.at_most_s.unwrap_or(0.0);
        add(&one.key, false, &one.tally, &one.pattern, most_s);
    }
    places
}

fn compared((place, sides): (Place, Vec<Vec<FindingCounts>>)) -> ComparedFinding {
    let sum = |findings: &[FindingCounts]| {
        let most = findings.iter().rev().max_by_key(|one| one.calls)?;
        let sum =
            |of: fn(&FindingCounts) -> u64| findings.iter().map(of).fold(0, u64::saturating_add);
        Some(FindingCounts {
            calls: sum(|one| one.calls),
            merged_calls: sum(|one| one.merged_calls),
            saving_s: findings.iter().map(|one| one.saving_s).sum(),
            pattern: most.pattern.clone(),
        })
    };
    let (old, new) = (sum(&sides[0]), sum(&sides[1]));
    let change = match (&old, &new) {
        (None, _) => "came",
        (_, None) => "went",
        (Some(old), Some(new)) if old.calls == new.calls => "stayed",
        _ => "changed",
    };
    ComparedFinding {
        change,
        place,
        old,
        new,
    }
}

impl AdviceComparison {
    pub fn rule(&mut self, limit: f64) {
        let most = self.old.transfers as f64 * (1.0 + limit);
        let is_beyond = self.new.transfers as f64 > most;
        self.limit = Some(limit);
        self.ruling = Some(if is_beyond { Ruling::Beyond } else { Ruling::Within });
    }

    pub fn limits_in_words(&self) -> Vec<(Ruling, String)> {
        let found = self.limit.zip(self.ruling).into_iter();
        let found = found.map(|(limit, ruling)| {
            let calls = calls_in_words(&self.old, &self.new);
            let limit = (limit * 1e4).round() / 100.0;
            (ruling, format!("new {calls}: the limit is {limit} % more"))
        });
        found.collect()
    }

    /// One row for each sum, and one row for each finding. Only the row of the calls that move bytes has the limit.
    pub fn csv(&self) -> String {
        let sums = std::iter::zip(sums(&self.old), sums(&self.new));
        let sums = sums.map(|(old, new)| {
            let limit = self.limit.filter(|_| old.0 == "transfers");
            json!({
                "figure": old.0,
                "old": old.2,
                "new": new.2,
                "ratio": quotient(&old, &new),
                "limit": limit,
                "ruling": limit.and(self.ruling).map(|ruling| value_of(&ruling).expect("a word")),
            })
        });
        let findings = self.findings.iter();
        let findings = findings.map(|one| with_field("figure", "finding", one));
        csv_of_values(sums.chain(findings).collect())
    }
}

/// The answer in a sentence: the calls, and the findings that went and came.
fn compared_in_words(comparison: &AdviceComparison) -> String {
    let AdviceComparison { old, new, .. } = comparison;
    let number = |change| {
        let findings = comparison.findings.iter();
        findings
            .filter(|one| one.place.counted && one.change == change)
            .count()
    };
    let (went, came) = (number("went"), number("came"));
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

pub fn advice_comparison_document(comparison: &AdviceComparison) -> Document {
    let AdviceComparison { old, new, .. } = comparison;
    let both = std::iter::zip(sums(old), sums(new));
    let known = both.filter(|(old, new)| old.2 > 0.0 || new.2 > 0.0);
    let rows = known.map(|(old, new)| ComparedRow {
        names: vec![old.1.into()],
        ratio: quotient(&old, &new).map(ratio),
        change: if old.3 == new.3 {
            Change::NotFound.cell()
        } else {
            Change::of_ranges((old.2, old.2), (new.2, new.2)).cell()
        },
        sides: [old.3.into(), new.3.into()],
    });
    let sums = comparison_table("", &[""], ["old", "new"], rows.collect());
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
    body.push(Block::Table(sums));
    let differs = |one: &&ComparedFinding| one.change != "stayed";
    let rows = comparison.findings.iter().filter(differs).map(row);
    let rows: Vec<ComparedRow> = rows.collect();
    if !rows.is_empty() {
        let title = "Findings that differ: calls, and what merging them would save";
        let table = comparison_table(title, &["finding"], ["old", "new"], rows);
        body.push(Block::Table(table));
    }
    let limits = comparison.limits_in_words().into_iter();
    let beyond = limits.filter(|(ruling, _)| *ruling == Ruling::Beyond);
    let beyond = beyond.map(|(ruling, text)| ruling.sentence(capital(&text)));
    Document {
        title: "What did the edit change?".into(),
        lead: "The calls of a program before and after an edit, by results of `vectored advise`. What an edit saves is \
               measured by `vectored versus`."
            .into(),
        answer: [Block::Sentence(answer)].into_iter().chain(beyond).collect(),
        body,
        ..Document::default()
    }
}

/// For each figure of a side: its name in CSV, its name in a table, its value, and the value in words.
type Sum = (&'static str, &'static str, f64, String);

fn sums(side: &SideOfAdvice) -> [Sum; 6] {
    let count = |figure, words, value: u64| (figure, words, value as f64, grouped(value));
    let time = |figure, words, value_s: f64| (figure, words, value_s, seconds(value_s));
    [
        count("calls", "system calls", side.calls),
        count("transfers", "calls that move bytes", side.transfers),
        ("bytes", "bytes", side.bytes as f64, memory(side.bytes)),
        time("saving_s", "merging would save", side.saving_s),
        count("stalls", "stalls", side.stalls),
        time("stalled_s", "waiting in stalls", side.stalled_s),
    ]
}

fn quotient(old: &Sum, new: &Sum) -> Option<f64> {
    (old.2 > 0.0).then(|| new.2 / old.2)
}

fn row(one: &ComparedFinding) -> ComparedRow {
    let side = one.old.as_ref().or(one.new.as_ref());
    let pattern = side.map(|side| &side.pattern);
    let role = match one.change {
        "came" => Role::Loser,
        "went" => Role::Winner,
        _ => Role::Plain,
    };
    let only = if one.place.counted { "" } else { ", listed only" };
    let shown = |side: &Option<FindingCounts>| {
        let shown = side.as_ref().map(|side| {
            let calls = grouped(side.calls);
            format!("{calls}, {}", seconds(side.saving_s))
        });
        shown.unwrap_or_else(|| NONE.to_owned()).into()
    };
    let calls = |side: &Option<FindingCounts>| side.as_ref().map(|side| side.calls as f64);
    let both = calls(&one.old).zip(calls(&one.new));
    let rest = [pattern, one.place.file.as_ref(), one.place.site.as_ref()];
    let rest = rest.into_iter().flatten();
    let mut text = vec![program_in_words(&one.place.program)];
    text.extend(rest.map(|text| shortened(text, SHOWN_CHARACTERS)));
    ComparedRow {
        names: vec![text.join(", ").into()],
        sides: [shown(&one.old), shown(&one.new)],
        ratio: both.map(|(old, new)| ratio(new / old)),
        change: Cell::with_role(one.change.to_owned() + only, role),
    }
}

fn calls_in_words(old: &SideOfAdvice, new: &SideOfAdvice) -> String {
    let [before, after] = [old, new].map(|side| grouped(side.transfers));
    if before == after {
        format!("makes as many calls that move bytes as old, {before}")
    } else {
        format!("makes {after} calls that move bytes instead of {before}")
    }
}
