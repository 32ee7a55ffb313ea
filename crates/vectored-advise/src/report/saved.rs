//! The saved form of an advisory: its rows, and what is checked when it is read.

use serde_json::{Value, json};
use vectored_report::{SavedResult, with_field};

use crate::model::{ADVISORY_SCHEMA, Advisory, FindingKey, Grade, Tally};

impl SavedResult for Advisory {
    const SCHEMA: &'static str = ADVISORY_SCHEMA;
    const ROWS: &'static [&'static str] = &["findings"];

    fn check(&self) -> Result<(), String> {
        check(self)
    }

    fn origin(&self) -> [&str; 3] {
        [&self.host.name, &self.host.kernel, &self.started_at]
    }

    fn rows(&self) -> Value {
        let counted = self
            .findings
            .iter()
            .map(|one| with_field("counted", true, one));
        let uncounted = self
            .uncounted
            .iter()
            .map(|one| with_field("counted", false, one));
        let findings: Vec<Value> = counted.chain(uncounted).collect();
        json!({ "findings": findings })
    }
}

fn check(advisory: &Advisory) -> Result<(), String> {
    let is_interval = |low: f64, value: f64, high: f64| {
        low.is_finite() && high.is_finite() && low <= value && value <= high
    };
    for price in &advisory.prices {
        let others = [
            price.medium_call_ns,
            price.answer_call_ns,
            price.batch_byte_ns,
            price.entry_ns,
            price.seek_ns,
            price.gather_call_ns,
            price.segment_ns,
            price.large_segment_ns,
            price.iovec_step_ns,
            price.copy_segment_ns,
            price.copy_byte_ns,
        ];
        if !is_positive(price.call_ns)
            || !is_interval(price.call_low_ns, price.call_ns, price.call_high_ns)
            || !others.iter().all(|cost| cost.is_finite())
        {
            return Err("a price is not positive, not a number or outside its interval".to_owned());
        }
    }
    let total = (
        advisory.saving_low_s,
        advisory.saving_s,
        advisory.saving_high_s,
    );
    if !is_interval(total.0, total.1, total.2) {
        return Err("the saving lies outside its interval".to_owned());
    }
    for finding in &advisory.findings {
        let pattern = || format!("the finding {:?}", finding.pattern);
        if matches!(finding.key.grade, Grade::Crossing | Grade::Unknown) {
            return Err(format!("{} has a grade that is never counted", pattern()));
        }
        let (low, high) = (finding.saving_low_s, finding.saving_high_s);
        if !is_interval(low, finding.saving_s, high) {
            return Err(format!(
                "{} has a saving that is not a number or lies outside its interval",
                pattern()
            ));
        }
        tally(&finding.key, &finding.tally).map_err(|why| format!("{} {why}", pattern()))?;
    }
    for left in &advisory.uncounted {
        if left
            .at_most_s
            .is_some_and(|saving| !saving.is_finite() || saving < 0.0)
        {
            return Err(format!("{:?} has a saving that is no number", left.pattern));
        }
        tally(&left.key, &left.tally).map_err(|why| format!("{:?} {why}", left.pattern))?;
    }
    Ok(())
}

/// Merging adds these counts, and identifies steps by position.
fn tally(key: &FindingKey, tally: &Tally) -> Result<(), String> {
    if key.steps.len() != tally.step_bytes.len() {
        return Err(format!(
            "has {} steps and the bytes of {}",
            key.steps.len(),
            tally.step_bytes.len()
        ));
    }
    if tally.step_bytes.iter().any(|(least, most)| least > most) {
        return Err("has a step whose least bytes are more than its most".to_owned());
    }
    let classes = || tally.sizes.iter().map(|&(class, _, _)| class);
    let ascends = classes().zip(classes().skip(1)).all(|(a, b)| a < b);
    if !ascends || classes().any(|class| u32::from(class) > u64::BITS) {
        return Err("has classes of sizes that are none".to_owned());
    }
    Ok(())
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
