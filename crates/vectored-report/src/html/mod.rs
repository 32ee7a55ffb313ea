//! Documents as a self-contained page: one file without a script, which loads nothing.
//!
//! A content security policy at the top prevents the page from loading or sending anything. maud escapes all texts.

mod blocks;
mod curves;
mod scale;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::document::Document;
use crate::html::blocks::blocks;
use crate::html::curves::STYLE as DRAWINGS;

const STYLE: &str = include_str!("../../assets/page.css");

/// No content of the data can load, send, frame or submit anything.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The most documents that the title of the window names.
const NAMED: usize = 3;

/// Documents as one page. Several documents get a list of contents.
///
/// On a narrow screen, such as a phone's, a table with many columns becomes a list of its rows.
pub fn html(documents: &[Document]) -> String {
    let title = title(documents);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(DRAWINGS)) (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "To the results" }
                main #main {
                    @if let [only] = documents {
                        h1 { (only.title) }
                        (content(only, false))
                    } @else {
                        h1 { (title) }
                        ul.contents {
                            @for (index, document) in documents.iter().enumerate() {
                                li { a href={ "#document-" (index) } { (document.title) } }
                            }
                        }
                        @for (index, document) in documents.iter().enumerate() {
                            article id={ "document-" (index) } {
                                h2 { (document.title) }
                                (content(document, true))
                            }
                        }
                    }
                }
                footer {
                    p { "Made by vectored " (env!("CARGO_PKG_VERSION")) ". Every figure is in the saved JSON." }
                }
            }
        }
    };
    page.into_string() + "\n"
}

fn title(documents: &[Document]) -> String {
    let mut titles: Vec<&str> = documents.iter().map(|document| &*document.title).collect();
    titles.dedup();
    let more = if titles.len() > NAMED { " …" } else { "" };
    titles.truncate(NAMED);
    if titles.is_empty() { "vectored".to_owned() } else { titles.join("; ") + more }
}

fn content(document: &Document, is_one_of_several: bool) -> Markup {
    html! {
        (blocks(&document.answer_first()))
        @if !document.lead.is_empty() {
            p.lead { (document.lead) }
        }
        (blocks(&document.body))
        @for section in &document.sections {
            section {
                @if is_one_of_several {
                    h3 { (section.title) }
                } @else {
                    h2 { (section.title) }
                }
                (blocks(&section.blocks))
            }
        }
    }
}
