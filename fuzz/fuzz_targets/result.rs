#![no_main]

use libfuzzer_sys::fuzz_target;
use vectored_measure::model::Saved;
use vectored_measure::report;
use vectored_measure::stats::compare;
use vectored_report::{Document, TerminalOptions, html, markdown, terminal};

// Any file is either rejected as a saved result or rendered in every form without a panic. No text in it
// controls a terminal or becomes markup.
fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let Ok(saved) = report::parse_saved(text) else {
        return;
    };
    let document = report::document(&saved);
    let mut texts = of_document(&document);
    texts.extend(report::csv(&[&saved, &saved]));
    if let Saved::Results(results) = &saved {
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

fn of_document(document: &Document) -> Vec<String> {
    let options = TerminalOptions {
        details: true,
        ..TerminalOptions::default()
    };
    let page = html(&[document.clone(), document.clone()]);
    assert!(!page.contains("<script"));
    vec![page, markdown(document), terminal(document, &options)]
}
