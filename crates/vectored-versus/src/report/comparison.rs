//! Compares two results of `vectored versus`: an earlier and a later result.

use serde::Serialize;
use serde_json::json;
use vectored_report::words::{NONE, grouped};
use vectored_report::{
    Block, ComparedRow, Document, Sentence, Table, Tone, comparison_table, csv, value_of,
};

use crate::judge;
use crate::model::{Calls, Change, Compared, Comparison, RuledLimit, Versus};
use crate::report::answer::{calls, limit_sentences, ratio_in_words, sentence};
use crate::report::document::ROWS;

pub const VERSUS_COMPARISON_SCHEMA: &str = "vectored-versus-comparison/1";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersusComparison {
    pub schema: &'static str,
    pub new: Vec<CommandChange>,
    pub limits: Vec<RuledLimit>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandChange {
    pub name: String,
    pub earlier: [String; 2],
    pub later: [String; 2],
    /// Times and memory as ratios to the old command of the same result, so that machines may differ. Counts are absolute.
    pub figures: Vec<Compared>,
    /// The rounds of the shorter result.
    pub rounds: usize,
    #[serde(skip)]
    sides: [Comparison; 2],
}

pub fn compare_versus(earlier: &Versus, later: &Versus) -> VersusComparison {
    let pairs = std::iter::zip(&earlier.new, &later.new);
    let commands =
        |of: &Versus, new: &Comparison| [&of.old, &new.side].map(|one| one.command.clone());
    let new = pairs.map(|(one, other)| CommandChange {
        name: other.side.name.clone(),
        earlier: commands(earlier, one),
        later: commands(later, other),
        figures: figures(one, other),
        rounds: earlier.old.runs.len().min(later.old.runs.len()),
        sides: [one.clone(), other.clone()],
    });
    VersusComparison {
        schema: VERSUS_COMPARISON_SCHEMA,
        new: new.collect(),
        limits: Vec::new(),
    }
}

/// The ratios of both results, the later divided by the earlier. The interval has all quotients of both intervals.
fn figures(earlier: &Comparison, later: &Comparison) -> Vec<Compared> {
    let quotient = |new: Option<f64>, old: Option<f64>| Some(new? / old.filter(|old| *old > 0.0)?);
    let ratio = |old: &Compared| {
        let new = later.figure(&old.figure)?;
        let (low, high) = (quotient(new.low, old.high), quotient(new.high, old.low));
        let ends = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
        Some(Compared {
            figure: old.figure.clone(),
            old: old.ratio?,
            new: new.ratio?,
            ratio: quotient(new.ratio, old.ratio),
            low,
            high,
            change: Change::of_ranges((1.0, 1.0), ends),
        })
    };
    let ratios = earlier
        .figures
        .iter()
        .filter(|one| !judge::is_count(&one.figure));
    let mut all: Vec<Compared> = ratios.filter_map(ratio).collect();
    let counts = earlier.side.calls.as_ref().zip(later.side.calls.as_ref());
    all.extend(counts.map_or_else(Vec::new, |(old, new)| judge::counts(old, new)));
    all
}

impl CommandChange {
    pub fn ruled(&self) -> judge::Ruled<'_> {
        judge::Ruled {
            name: &self.name,
            figures: &self.figures,
            calls: self.calls(),
            rounds: self.rounds,
        }
    }

    /// The calls of the new command in the earlier result, and in the later result.
    fn calls(&self) -> Option<(&Calls, &Calls)> {
        let [earlier, later] = self.sides.each_ref().map(|one| one.side.calls.as_ref());
        earlier.zip(later)
    }
}

impl VersusComparison {
    pub fn csv(&self) -> String {
        let new = value_of(&self.new).expect("plain data");
        csv(&json!({ "new": new }), &["new", "figures"])
    }
}

/// `new takes 0.550 [0.500, 0.600] of the time of old, 0.0611 [0.0341, 0.135] before, and makes 40,000 writes instead of 61`.
fn answer(of: &CommandChange) -> String {
    let [earlier, later] = of
        .sides
        .each_ref()
        .map(|side| ratio_in_words(side.figure("wall_ns")?));
    let (mut parts, mut silent) = (Vec::new(), None);
    if let (Some(earlier), Some(later)) = (earlier, later) {
        let wall = of.figures.iter().find(|one| one.figure == "wall_ns");
        if wall.is_some_and(|wall| wall.low.is_some() && wall.change != Change::NotFound) {
            parts.push(format!(
                "takes {later} of the time of old, {earlier} before"
            ));
        } else {
            silent = Some(format!(
                "no change in time was shown ({later} of the time of old, {earlier} before)"
            ));
        }
    }
    if let Some((earlier, later)) = of.calls() {
        parts.push(calls(earlier, later, "as many system calls"));
    } else if parts.is_empty() && silent.is_none() {
        parts.push("was neither timed nor counted in both results".to_owned());
    }
    sentence(&of.name, &parts, silent)
}

/// The answer for each new command, and its figures.
pub fn versus_comparison_document(comparison: &VersusComparison) -> Document {
    let (mut answers, mut body) = (Vec::new(), Vec::new());
    for one in &comparison.new {
        for (when, side) in std::iter::zip(["earlier", "later"], &one.sides) {
            if !side.differences.is_empty() {
                let text = format!(
                    "{} did something else than old in the {when} result",
                    one.name
                );
                answers.push(Block::Sentence(Sentence::toned(Tone::Warning, text)));
            }
        }
        answers.push(Block::Sentence(Sentence::toned(Tone::Strong, answer(one))));
        for (name, [old, new]) in [("earlier", &one.earlier), ("later", &one.later)] {
            body.push(Block::Sentence(Sentence::of(
                name,
                format!("{old} and {new}"),
            )));
        }
        body.push(Block::Table(table(one)));
    }
    answers.extend(limit_sentences(&comparison.limits, "the earlier result"));
    body.push(Block::Note(
        "Times, memory, switches and faults are those of new divided by those of old in the same result; counts are those of new."
            .into(),
    ));
    Document {
        title: "What became of the edit?".into(),
        lead: "Two results of `vectored versus`. A change is reported if the intervals of both have nothing in common.".into(),
        answer: answers,
        body,
        ..Document::default()
    }
}

fn table(of: &CommandChange) -> Table {
    let rows = ROWS.iter().filter_map(|(name, words, _)| {
        let figure = of.figures.iter().find(|one| one.figure == *name)?;
        let is_count = judge::is_count(name);
        let shown = |side: &Comparison, value: f64| match side.figure(name) {
            Some(one) if !is_count => ratio_in_words(one).unwrap_or_else(|| NONE.to_owned()),
            _ => grouped(value.round() as u64),
        };
        let [earlier, later] = &of.sides;
        Some(ComparedRow {
            names: vec![(*words).into()],
            sides: [
                shown(earlier, figure.old).into(),
                shown(later, figure.new).into(),
            ],
            ratio: ratio_in_words(figure),
            change: figure.change.cell(),
        })
    });
    comparison_table("", &[""], ["earlier", "later"], rows.collect())
}
