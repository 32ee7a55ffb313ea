//! The rows of a saved result, and the checks when the result is read.

use serde_json::{Value, json};
use vectored_report::{SavedResult, value_of};

use crate::model::{Calls, Compared, Comparison, VERSUS_SCHEMA, Versus};

impl SavedResult for Versus {
    const SCHEMA: &'static str = VERSUS_SCHEMA;
    const ROWS: &'static [&'static str] = &["new", "figures"];

    fn check(&self) -> Result<(), String> {
        let rounds = self.old_again_runs.len();
        if self.sides().any(|side| side.runs.len() != rounds) {
            return Err("the commands have different numbers of runs".to_owned());
        }
        let new = self.new.iter().flat_map(|one| &one.figures);
        let is_wrong = |one: &Compared| {
            let numbers = [Some(one.old), Some(one.new), one.ratio, one.low, one.high];
            let mut numbers = numbers.into_iter().flatten();
            numbers.any(|number| !(0.0..f64::INFINITY).contains(&number))
        };
        if new.chain(&self.noise).any(is_wrong) {
            return Err("a figure is negative or not a number".to_owned());
        }
        let is_reversed = |of: &Calls| {
            let all = [
                of.calls,
                of.waits,
                of.reads,
                of.read_bytes,
                of.writes,
                of.written_bytes,
            ];
            let mut all = all.iter().chain(of.kinds.values());
            all.any(|range| range.low > range.high)
        };
        if self
            .sides()
            .filter_map(|side| side.calls.as_ref())
            .any(is_reversed)
        {
            return Err("a range ends before it begins".to_owned());
        }
        Ok(())
    }

    fn rows(&self) -> Value {
        let new = self.new.iter().map(|one| {
            json!({
                "outputs_equal": is_compared(one).then_some(one.differences.is_empty()),
                "old_command": self.old.command,
                "new_command": one.side.command,
                "old_failed": self.old.failed.len(),
                "new_failed": one.side.failed.len(),
                "figures": value_of(&one.figures).expect("plain data"),
            })
        });
        json!({ "new": new.collect::<Vec<Value>>() })
    }
}

/// Outputs are not compared after a failed run.
fn is_compared(new: &Comparison) -> bool {
    !new.figures.is_empty() || !new.differences.is_empty()
}
