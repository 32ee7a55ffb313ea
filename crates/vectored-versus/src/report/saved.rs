//! The saved form: its rows, and what is checked when it is read.

use serde_json::{Value, json};
use vectored_report::{SavedResult, with_field};

use crate::model::{Calls, VERSUS_SCHEMA, Versus};

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

    /// One for each figure of each new command.
    fn rows(&self) -> Value {
        let new = self.new.iter().map(|one| {
            let words = json!({ "old_command": self.old.command, "new_command": one.side.command });
            let equal = one.differences.is_empty();
            let mut row = with_field("outputs_equal", equal, &words);
            row["figures"] = json!(one.figures);
            row
        });
        json!({ "new": new.collect::<Vec<Value>>() })
    }
}
