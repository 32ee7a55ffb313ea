//! Saved results of another program: no value is a panic.

use proptest::prelude::*;
use vectored_report::{Document, SavedResult, csv_of, html, json, parse};
use vectored_results::model::Results;
use vectored_results::report::{experiments, machines_document, measured};

use crate::damage::{changed, changes};
use crate::experiments::all;
use crate::samples::{text, with_curves};

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
    fn a_hostile_file_is_an_error_or_shown(changes in changes()) {
        let (run, found) = (json(&with_curves()), json(&all()));
        let run = changed(&run, &changes);
        render_all(&run, measured);
        if let Ok(results) = &parse::<Results>(&run) {
            text(&machines_document(&[results]), 100);
            vectored_results::stats::compare(&[results], &[results, results]);
        }
        render_all(&changed(&found, &changes), experiments::document);
    }
}
