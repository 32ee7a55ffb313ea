//! The invented document in each format.

use vectored_report::{TerminalOptions, html, markdown, terminal};

use crate::samples::everything;

#[test]
fn a_document_on_a_terminal() {
    for width in [40, 80, 120] {
        let options = TerminalOptions {
            width,
            details: true,
            color: false,
        };
        insta::assert_snapshot!(
            format!("terminal_{width}"),
            terminal(&everything(), &options)
        );
    }
}

#[test]
fn the_answer_alone_in_colours() {
    let options = TerminalOptions {
        width: 80,
        details: false,
        color: true,
    };
    insta::assert_snapshot!(terminal(&everything(), &options).replace('\x1b', "␛"));
}

#[test]
fn a_document_in_markdown() {
    insta::assert_snapshot!(markdown(&everything()));
}

#[test]
fn a_document_as_a_page() {
    let page = html(&[everything()]);
    let style = page.find("</style>").expect("the page has a style");
    insta::assert_snapshot!(&page[style..]);
}

#[test]
fn several_documents_have_contents() {
    let page = html(&[everything(), everything()]);
    for index in 0..2 {
        assert!(
            page.contains(&format!("href=\"#document-{index}\"")),
            "{index}"
        );
        assert!(
            page.contains(&format!("<article id=\"document-{index}\"")),
            "{index}"
        );
    }
}
