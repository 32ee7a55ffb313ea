//! Saved results are read back, or refused with the reason.

use serde_json::Value;
use vectored::CostModel;
use vectored_report::{json, parse};
use vectored_results::model::{Conditions, Drain, FittedModel, ModelSource, Results, Target};

use crate::samples::{results, with_every_field};

#[test]
fn results_are_read_back_as_they_were_written() {
    let model = CostModel::default().with(|costs| {
        costs.copy_thresholds.set(2, Some(1234)).unwrap();
        costs.queue_thresholds.join_below_bytes = Some(40_000);
    });
    let conditions = Conditions::write(Target::Pipe);
    let drain = Some(Drain::BetweenSamples);
    let model = FittedModel::new(conditions, drain, ModelSource::Calibration, &model);
    let mut calibrated = results();
    calibrated.cost_models.push(model);
    let text = json(&calibrated);
    for saved in [
        r#""copy_thresholds":[[2,1234]]"#,
        r#""copy_below_bytes":[[2,1234],"#,
        r#""queue_join_below_bytes":40000"#,
    ] {
        assert!(text.contains(saved), "{saved}: {text}");
    }
    for written in [results(), with_every_field(), calibrated] {
        let text = json(&written);
        assert_eq!(parse::<Results>(&text).unwrap(), written);
        // A later version may know more.
        let extended = text.replacen('{', "{\"novelty\":[1,{}],", 1);
        assert_eq!(parse::<Results>(&extended).unwrap(), written);
    }
    let (few, all) = (json(&results()), json(&with_every_field()));
    for field in ["\"rank_median_ns", "\"stragglers", "alignment"] {
        assert_eq!(
            (few.contains(field), all.contains(field)),
            (false, true),
            "{field}"
        );
    }
    assert!(all.contains("\"swept_mix\":[[9,null],[1,4096]]"), "{all}");
}

/// Places of a saved result, values that no run has found there, and a part of the reason. MANY are 41 samples.
const DAMAGED: &str = r#"
/seed -1 => invalid value
/cells 3 => invalid type
/schema "vectored-results/2" => unknown schema "vectored-results/2"
/cells/0/floor_samples_ns/0 -1.0 => time
/cells/0/floor_ns -1.0 => time
/cells/0/techniques/0/median_ns 0.0 => time
/cells/0/rounds 0 => in 0 rounds
/cells/0/floor_samples_ns MANY => in 40 rounds
/cells/0/aa_samples_ns MANY => in 40 rounds
/cells/0/techniques/1/samples_ns MANY => in 40 rounds
/cells/0/segment_bytes 0 => segments of 0 bytes
/crossovers/0/at_bytes 0 => crossover
/cells/4/segment_sizes [[9,16],[1,4095]] => is not a list of its swept mix
/cells/4/segment_bytes 16 => is not a list of its swept mix
/cells/4/swept_mix [[1,150]] => one run of a variable size
"#;

#[test]
fn what_no_run_can_have_found_is_refused() {
    let written: Value = serde_json::from_str(&json(&with_every_field())).unwrap();
    let many = serde_json::to_string(&[1.0; 32])
        .unwrap()
        .replace(']', ",1,1,1,1,1,1,1,1,1]");
    for line in DAMAGED.trim().lines() {
        let (damage, words) = line.split_once(" => ").unwrap();
        let (place, value) = damage.split_once(' ').unwrap();
        let value = serde_json::from_str(&value.replace("MANY", &many)).unwrap();
        let mut damaged = written.clone();
        let (parent, field) = place.rsplit_once('/').unwrap();
        match damaged.pointer_mut(parent).unwrap() {
            Value::Array(list) => list[field.parse::<usize>().unwrap()] = value,
            object => object[field] = value,
        }
        let refused = parse::<Results>(&damaged.to_string()).err();
        let refused = refused
            .unwrap_or_else(|| panic!("{line} is not refused"))
            .to_string();
        assert!(refused.contains(words), "{words}: {refused}");
    }
}
