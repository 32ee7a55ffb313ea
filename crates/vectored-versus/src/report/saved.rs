//! The saved form: its rows, and what is checked when it is read.

use serde_json::{Map, Value, json};
use vectored_report::{SavedResult, value_of};

use crate::model::{Calls, Compared, Comparison, RuledLimit, VERSUS_SCHEMA, Versus};

impl SavedResult for Versus {
    const SCHEMA: &'static str = VERSUS_SCHEMA;
    const ROWS: &'static [&'static str] = &["new", "figures"];

    fn check(&self) -> Result<(), String> {
        let rounds = self.old_again_runs.len();
        let sides = || std::iter::once(&self.old).chain(self.new.iter().map(|one| &one.side));
        if sides().any(|side| side.runs.len() != rounds) {
            return Err("the commands have different numbers of runs".to_owned());
        }
        let compared = || {
            self.new
                .iter()
                .flat_map(|one| &one.figures)
                .chain(&self.noise)
        };
        let numbers = compared().flat_map(|one| {
            let others = [one.ratio, one.low, one.high].into_iter().flatten();
            [one.old, one.new].into_iter().chain(others)
        });
        if numbers
            .into_iter()
            .any(|number| !number.is_finite() || number < 0.0)
        {
            return Err("a figure is negative or not a number".to_owned());
        }
        let ranges = |calls: &Calls| {
            let Calls {
                calls: all,
                waits,
                reads,
                read_bytes,
                writes,
                written_bytes,
                ..
            } = calls;
            let of_all = [*all, *waits, *reads, *read_bytes, *writes, *written_bytes];
            of_all
                .into_iter()
                .chain(calls.kinds.values().copied())
                .collect::<Vec<_>>()
        };
        let mut counted = sides()
            .filter_map(|side| side.calls.as_ref())
            .flat_map(ranges);
        if counted.any(|range| range.low > range.high) {
            return Err("a range ends before it begins".to_owned());
        }
        Ok(())
    }

    fn origin(&self) -> [&str; 3] {
        [&self.host.name, &self.host.kernel, &self.started_at]
    }

    /// One for each figure of each new command, with its limit.
    fn rows(&self) -> Value {
        let new = self.new.iter().map(|one| {
            json!({
                "outputs_equal": is_compared(one).then_some(one.differences.is_empty()),
                "old_command": self.old.command,
                "new_command": one.side.command,
                "old_failed": self.old.failed.len(),
                "new_failed": one.side.failed.len(),
                "figures": limited(&one.side.name, &one.figures, &self.limits),
            })
        });
        json!({ "new": new.collect::<Vec<Value>>() })
    }
}

/// Whether outputs were compared: not if a run had failed by then.
fn is_compared(new: &Comparison) -> bool {
    !new.figures.is_empty() || !new.differences.is_empty()
}

/// A figure without any value.
fn unknown(name: Option<&str>) -> Value {
    let names = ["figure", "old", "new", "ratio", "low", "high", "change"];
    let mut row: Map<String, Value> = names
        .map(|name| (name.to_owned(), Value::Null))
        .into_iter()
        .collect();
    row["figure"] = json!(name);
    row.into()
}

/// The figures of a new command, each with its limit. A limit of another figure, or of one that is not known, has a row, and so
/// has a command without figures.
pub(super) fn limited(name: &str, figures: &[Compared], limits: &[RuledLimit]) -> Vec<Value> {
    let own = || limits.iter().filter(|limit| limit.new == name);
    let row = |figure: &Value, limit: Option<&RuledLimit>| {
        let mut row = figure.clone();
        row["limit"] = json!(limit.map(|limit| limit.share));
        row["ruling"] = json!(limit.map(|limit| limit.ruling));
        row
    };
    let known = figures.iter().map(|figure| {
        row(
            &value_of(figure).expect("plain data"),
            own().find(|limit| limit.figure == figure.figure),
        )
    });
    let mut rows: Vec<Value> = known.collect();
    let has_row = |limit: &&RuledLimit| figures.iter().any(|one| one.figure == limit.figure);
    rows.extend(own().filter(|limit| !has_row(limit)).map(|limit| {
        let compared = limit
            .compared
            .as_ref()
            .map(|one| value_of(one).expect("plain data"));
        row(
            &compared.unwrap_or_else(|| unknown(Some(&limit.figure))),
            Some(limit),
        )
    }));
    if rows.is_empty() {
        rows.push(row(&unknown(None), None));
    }
    rows
}
