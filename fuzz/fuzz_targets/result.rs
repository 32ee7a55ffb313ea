#![no_main]

use libfuzzer_sys::fuzz_target;
use vectored_lab::model::Saved;
use vectored_lab::report::{self, TableOptions, advisory, experiments};
use vectored_lab::stats::compare;

// Any file is either rejected as a saved result or rendered in every form without a panic. No text in it
// controls a terminal or becomes markup.
fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let Ok(saved) = report::parse_saved(text) else {
        return;
    };
    let page = report::html(&[&saved, &saved]);
    assert!(!page.contains("<script"));
    let mut texts = vec![page];
    let options = TableOptions::default();
    match &saved {
        Saved::Results(results) => {
            texts.push(report::table(results, options));
            texts.push(report::markdown(results));
            texts.push(report::csv(results));
            texts.push(report::machines_table(&[results, results], 80));
            let comparison = compare(&[results], &[results, results]).expect("runs on both sides");
            texts.push(report::comparison_table(&comparison, 100));
            texts.push(report::comparison_csv(&comparison));
        }
        Saved::Experiments(found) => {
            texts.push(experiments::table(found, options));
            texts.push(experiments::markdown(found));
            texts.push(experiments::csv(found));
        }
        Saved::Advisory(found) => {
            texts.push(advisory::table(found, options, advisory::TOP));
            texts.push(advisory::markdown(found, advisory::TOP));
        }
    }
    for text in texts {
        let is_control = |c: &char| c.is_control() && *c != '\n';
        assert_eq!(text.chars().find(is_control), None);
    }
});
