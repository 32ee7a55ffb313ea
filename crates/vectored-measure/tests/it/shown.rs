//! Results in each format.

use vectored_report::{Block, Document, TerminalOptions, csv_of, terminal};
use vectored_results::model::Results;
use vectored_results::report::measured;

/// A whole document on a terminal without colours.
pub fn text(document: &Document, width: usize) -> String {
    let options = TerminalOptions {
        width,
        color: false,
        details: true,
    };
    terminal(document, &options)
}

/// The text of a document on a terminal without its details.
pub fn answer(document: &Document, width: usize) -> String {
    let options = TerminalOptions {
        width,
        ..TerminalOptions::default()
    };
    terminal(document, &options)
}

/// A whole run on a terminal of 100 columns.
pub fn table(results: &Results) -> String {
    text(&measured(results), 100)
}

/// The sentences of a run that have a subject, each after its subject.
pub fn sentences(results: &Results) -> Vec<String> {
    let document = measured(results);
    let sections = document.sections.iter().flat_map(|section| &section.blocks);
    let blocks = document.answer.iter().chain(sections);
    let said = blocks.filter_map(|block| match block {
        Block::Sentence(one) if !one.subject.to_string().is_empty() => {
            Some(format!("{}: {}", one.subject, one.text))
        }
        _ => None,
    });
    said.collect()
}

pub fn markdown(results: &Results) -> String {
    vectored_report::markdown(&measured(results))
}

/// A run as a page.
pub fn html(results: &Results) -> String {
    vectored_report::html(&[measured(results)])
}

pub fn csv(results: &Results) -> String {
    csv_of(&[results])
}
