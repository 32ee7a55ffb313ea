//! Formats of one document, besides the terminal and the page.

mod markdown;

use crate::document::Document;

pub use crate::formats::markdown::markdown;

/// A format of a document.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name, as an option takes it.
    pub name: &'static str,
    /// The help of that option's value.
    pub about: &'static str,
    /// The document in it.
    pub render: fn(&Document) -> String,
}

/// All formats of a document.
pub static FORMATS: &[Format] = &[Format {
    name: "markdown",
    about: "Tables for a document",
    render: markdown,
}];
