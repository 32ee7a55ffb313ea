//! Documents of sentences, tables, maps and charts, and their renderings.
//!
//! A [`Document`] says what a result means, in blocks and roles. A document has no width, no colour and no format.
//! [`terminal()`], [`markdown()`] and [`html()`] render documents; [`csv()`] makes a table of any JSON. All these functions are
//! pure: the same document always gives the same text.
//!
//! A kind of result that is saved implements [`SavedResult`]: [`json()`] writes a result, [`parse()`] reads and checks a
//! result, and [`csv_of()`] makes a table of several results.
//!
//! Texts may come from anywhere: [`Text`] makes control characters visible, and each renderer escapes the characters that have
//! a meaning in its format.
//!
//! ```
//! use vectored_report::{Block, Document, Sentence, TerminalOptions, html, markdown, terminal};
//!
//! let document = Document {
//!     title: "Copy or gather?".into(),
//!     answer: vec![Block::Sentence(Sentence::of("pipe", "copy below 1 KiB, gather above."))],
//!     ..Document::default()
//! };
//! assert_eq!(
//!     terminal(&document, &TerminalOptions::default()),
//!     "pipe: copy below 1 KiB, gather above.\n"
//! );
//! assert!(markdown(&document).contains("**pipe**: copy below 1 KiB, gather above."));
//! assert!(html(&[document]).starts_with("<!DOCTYPE html>"));
//! ```

// The public items of this crate are for the program alone; names say what most of them are.
#![allow(missing_docs)]

mod chart;
mod comparison;
mod csv;
mod document;
mod html;
mod markdown;
mod saved;
pub mod sort;
mod terminal;
mod text;
pub mod words;

pub use crate::chart::{Chart, Curve, Mark, Point, Series};
pub use crate::comparison::{
    Change, ComparedRow, Ruling, by_key, comparison_table, each_once, join,
};
pub use crate::csv::csv;
pub use crate::document::{
    Align, Block, Cell, Choices, Column, Document, Item, Key, Map, MapRow, Maps, Role, Section,
    Sentence, Square, Table, Tone,
};
pub use crate::html::html;
pub use crate::markdown::markdown;
pub use crate::saved::{
    ParseError, SavedResult, csv_of, csv_of_values, json, parse, schema_of, value_of, with_field,
};
pub use crate::terminal::{TerminalOptions, terminal};
pub use crate::text::{Text, visible};
