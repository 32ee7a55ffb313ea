#![no_main]

use libfuzzer_sys::fuzz_target;
use vectored_advise::model::Advisory;
use vectored_advise::report::TOP;
use vectored_report::{
    Document, SavedResult, TerminalOptions, csv_of, html, markdown, parse, terminal,
};
use vectored_results::model::Results;
use vectored_results::report::{self, experiments};
use vectored_results::stats::compare;

// Any file is either rejected as a saved result or rendered in every form without a panic. No text in it
// controls a terminal or becomes markup.
fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let mut texts = of_result(text, report::measured);
    texts.extend(of_result(text, experiments::document));
    texts.extend(of_result(text, |advisory: &Advisory| {
        vectored_advise::report::document(advisory, TOP)
    }));
    texts.extend(of_result(text, vectored_versus::report::document));
    if let Ok(results) = parse::<Results>(text) {
        let results = &results;
        texts.extend(of_document(&report::machines_document(&[results, results])));
        let comparison = compare(&[results], &[results, results]).expect("runs on both sides");
        texts.extend(of_document(&report::comparison_document(&comparison)));
        texts.push(report::comparison_csv(&comparison));
    }
    for text in texts {
        let is_control = |c: &char| c.is_control() && *c != '\n';
        assert_eq!(text.chars().find(is_control), None);
    }
});

fn of_result<T: SavedResult>(text: &str, document: impl Fn(&T) -> Document) -> Vec<String> {
    let Ok(found) = parse::<T>(text) else {
        return Vec::new();
    };
    let mut texts = of_document(&document(&found));
    texts.push(csv_of(&[&found, &found]));
    texts
}

fn of_document(document: &Document) -> Vec<String> {
    let options = TerminalOptions {
        details: true,
        ..TerminalOptions::default()
    };
    let page = html(&[document.clone(), document.clone()]);
    assert!(!page.contains("<script"));
    vec![page, markdown(document), terminal(document, &options)]
}
