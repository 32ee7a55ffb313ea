//! Compares an earlier with a later result of `vectored versus`.

use serde::Serialize;
use vectored_report::words::NONE;
use vectored_report::{
    Block, ComparedRow, Document, Sentence, Table, Tone, comparison_table, csv, value_of,
};

use crate::judge::{Limits, counts, is_count, rulings};
use crate::model::{Change, Compared, Comparison, RuledLimit, Side, Versus};
use crate::report::answer::{calls, limit_sentences, ratio_in_words, sentence};
use crate::report::document::ROWS;

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
    /// Times and memory are ratios to the old command of the same result, because the machines may differ. Counts are
    /// absolute.
    pub figures: Vec<Compared>,
    /// The number of rounds of the result with fewer rounds.
    pub rounds: usize,
    #[serde(skip)]
    sides: [Comparison; 2],
}

pub fn compare_versus(earlier: &Versus, later: &Versus) -> VersusComparison {
    let commands =
        |of: &Versus, new: &Comparison| [&of.old, &new.side].map(|one| one.command.clone());
    let new = std::iter::zip(&earlier.new, &later.new).map(|(one, other)| CommandChange {
        name: other.side.name.clone(),
        earlier: commands(earlier, one),
        later: commands(later, other),
        figures: figures(one, other),
        rounds: earlier.old.runs.len().min(later.old.runs.len()),
        sides: [one.clone(), other.clone()],
    });
    VersusComparison {
        schema: "vectored-versus-comparison/1",
        new: new.collect(),
        limits: Vec::new(),
    }
}

/// Divides the ratios of `later` by the ratios of `earlier`. The new interval contains each quotient of a value of
/// one interval and a value of the other interval.
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
    let ratios = earlier.figures.iter().filter(|one| !is_count(&one.figure));
    let both = earlier.side.calls.as_ref().zip(later.side.calls.as_ref());
    let counts = both.map(|(old, new)| counts(old, new)).into_iter();
    ratios.filter_map(ratio).chain(counts.flatten()).collect()
}

impl CommandChange {
    /// The new command of the earlier result becomes the old command of the returned result.
    fn as_versus(&self) -> Versus {
        let [earlier, later] = &self.sides;
        Versus {
            old: Side {
                runs: earlier
                    .side
                    .runs
                    .iter()
                    .take(self.rounds)
                    .copied()
                    .collect(),
                ..earlier.side.clone()
            },
            new: vec![Comparison {
                figures: self.figures.clone(),
                ..later.clone()
            }],
            ..Versus::default()
        }
    }
}

impl VersusComparison {
    pub fn rule(&mut self, limits: Limits<'_>) {
        let ruled = self.new.iter().map(|one| rulings(&one.as_versus(), limits));
        self.limits = ruled.flatten().collect();
    }

    pub fn csv(&self) -> String {
        csv(&value_of(self).expect("plain data"), &["new", "figures"])
    }
}

/// For example `new takes 0.550 [0.500, 0.600] of the time of old, 0.0611 [0.0341, 0.135] before, and makes 40,000
/// writes instead of 61`.
fn answer(of: &CommandChange) -> String {
    let ratios = of.sides.each_ref();
    let [earlier, later] = ratios.map(|side| ratio_in_words(side.figure("wall_ns")?));
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
    let [one, other] = of.sides.each_ref().map(|side| side.side.calls.as_ref());
    if let Some((earlier, later)) = one.zip(other) {
        parts.push(calls(earlier, later, "as many system calls"));
    } else if parts.is_empty() && silent.is_none() {
        parts.push("was neither timed nor counted in both results".to_owned());
    }
    sentence(&of.name, &parts, silent)
}

pub fn versus_comparison_document(comparison: &VersusComparison) -> Document {
    let (mut answers, mut body) = (Vec::new(), Vec::new());
    for one in &comparison.new {
        let commands = [("earlier", &one.earlier), ("later", &one.later)];
        for ((when, [old, new]), side) in std::iter::zip(commands, &one.sides) {
            if !side.differences.is_empty() {
                let name = &one.name;
                let text = format!("{name} did something else than old in the {when} result");
                answers.push(Block::Sentence(Sentence::toned(Tone::Warning, text)));
            }
            let commands = Sentence::of(when, format!("{old} and {new}"));
            body.push(Block::Sentence(commands));
        }
        answers.push(Block::Sentence(Sentence::toned(Tone::Strong, answer(one))));
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
    let rows = ROWS.iter().filter_map(|(name, words, write)| {
        let figure = of.figures.iter().find(|one| one.figure == *name)?;
        let [earlier, later] = of.sides.each_ref().map(|side| {
            let ratio = side.figure(name).and_then(ratio_in_words);
            ratio.unwrap_or_else(|| NONE.to_owned())
        });
        Some(ComparedRow {
            names: vec![(*words).into()],
            sides: if is_count(name) {
                [figure.old, figure.new].map(|count| write(count).into())
            } else {
                [earlier.into(), later.into()]
            },
            ratio: ratio_in_words(figure),
            change: figure.change.cell(),
        })
    });
    comparison_table("", &[""], ["earlier", "later"], rows.collect())
}
