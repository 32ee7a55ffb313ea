//! The saved form of an advisory: its rows, and the checks when it is read.

use serde_json::{Value, json};
use vectored_machine::model::Price;
use vectored_report::{SavedResult, with_field};

use crate::model::{ADVISORY_SCHEMA, Advisory, FindingKey, Grade, Tally};

impl SavedResult for Advisory {
    const SCHEMA: &'static str = ADVISORY_SCHEMA;
    const ROWS: &'static [&'static str] = &["findings"];

    /// JSON has neither infinite numbers nor NaN.
    fn check(&self) -> Result<(), String> {
        let is_interval = |low: f64, value: f64, high: f64| low <= value && value <= high;
        let is_price = |price: &Price| {
            price.call_ns > 0.0 && is_interval(price.call_low_ns, price.call_ns, price.call_high_ns)
        };
        if !self.prices.iter().all(is_price) {
            return Err("a price is not positive, or outside its interval".to_owned());
        }
        if !is_interval(self.saving_low_s, self.saving_s, self.saving_high_s) {
            return Err("the saving lies outside its interval".to_owned());
        }
        let refuse = |pattern: &str, wrong: Option<&str>| match wrong {
            Some(wrong) => Err(format!("the finding {pattern:?} {wrong}")),
            None => Ok(()),
        };
        for one in &self.findings {
            let wrong = if matches!(one.key.grade, Grade::Crossing | Grade::Unknown) {
                Some("has a grade that is never counted")
            } else if !is_interval(one.saving_low_s, one.saving_s, one.saving_high_s) {
                Some("has a saving that lies outside its interval")
            } else {
                wrong_tally(&one.key, &one.tally)
            };
            refuse(&one.pattern, wrong)?;
        }
        for one in &self.uncounted {
            let is_negative = one.at_most_s.is_some_and(|saving| saving < 0.0);
            let wrong = is_negative.then_some("has a negative saving");
            refuse(&one.pattern, wrong.or(wrong_tally(&one.key, &one.tally)))?;
        }
        Ok(())
    }

    fn rows(&self) -> Value {
        let (counted, listed) = (self.findings.iter(), self.uncounted.iter());
        let counted = counted.map(|one| with_field("counted", true, one));
        let listed = listed.map(|one| with_field("counted", false, one));
        json!({ "findings": counted.chain(listed).collect::<Vec<Value>>() })
    }
}

/// Merging adds these counts, and matches steps by position.
fn wrong_tally(key: &FindingKey, tally: &Tally) -> Option<&'static str> {
    if key.steps.len() != tally.step_bytes.len() {
        return Some("has not as many steps as ranges of bytes");
    }
    if tally.step_bytes.iter().any(|(least, most)| least > most) {
        return Some("has a step whose least bytes are more than its most");
    }
    let ascends = tally.sizes.is_sorted_by(|one, next| one.0 < next.0);
    let is_class = |&(class, ..): &(u8, u64, u64)| u32::from(class) <= u64::BITS;
    (!ascends || !tally.sizes.iter().all(is_class)).then_some("has classes of sizes that are none")
}
