//! Saved results of another program: their texts stay text, and no value is a panic.

use proptest::prelude::*;
use vectored_report::{Document, SavedResult, csv_of, html, json, parse};
use vectored_results::model::{Experiments, Results};
use vectored_results::report::{experiments, machines_document, measured};

use crate::damage::{changed, changes, cut, texts_stay_text};
use crate::experiments::all;
use crate::samples::{results, text, with_curves};

#[test]
fn every_text_of_a_result_stays_text() {
    let count = texts_stay_text(&json(&results()), |text| {
        let results = parse::<Results>(text).ok()?;
        Some((measured(&results), csv_of(&[&results])))
    });
    assert!(count > 10, "{count}");
    let count = texts_stay_text(&json(&all()), |text| {
        let found = parse::<Experiments>(text).ok()?;
        Some((experiments::document(&found), csv_of(&[&found])))
    });
    assert!(count > 10, "{count}");
}

/// Everything that takes saved results, so that a panic in any of it is seen.
fn render_all<T: SavedResult>(json: &str, document: impl Fn(&T) -> Document) {
    let Ok(found) = parse::<T>(json) else {
        return;
    };
    let document = document(&found);
    html(&[document.clone(), document.clone()]);
    text(&document, 100);
    vectored_report::markdown(&document);
    csv_of(&[&found, &found]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_truncated_file_is_an_error_and_a_hostile_one_an_error_or_shown(share in 0.0..1.0f64, changes in changes()) {
        let (run, found) = (json(&with_curves()), json(&all()));
        prop_assert!(cut(&run, share).is_none_or(|cut| parse::<Results>(cut).is_err()));
        prop_assert!(cut(&found, share).is_none_or(|cut| parse::<Experiments>(cut).is_err()));
        let run = changed(&run, &changes);
        render_all(&run, measured);
        if let Ok(results) = &parse::<Results>(&run) {
            text(&machines_document(&[results]), 100);
            vectored_results::stats::compare(&[results], &[results, results]);
        }
        render_all(&changed(&found, &changes), experiments::document);
    }
}
