//! Renderings of results: the model in, text out. No I/O, no clock.
//!
//! [`table()`] is for terminals, [`markdown()`] for documents, [`csv()`] for spreadsheets and [`json()`]
//! for programs. Only [`json()`] is complete, and [`parse`] reads it back.

pub(crate) mod advice;
pub(crate) mod advice_figures;
pub mod advisory;
pub(crate) mod asynchronous;
pub(crate) mod compare;
pub(crate) mod costs;
pub(crate) mod crossover_text;
pub(crate) mod csv;
pub mod experiments;
pub(crate) mod grid;
pub mod host;
pub(crate) mod join_advice;
pub(crate) mod json;
pub(crate) mod left_out;
pub(crate) mod machines;
pub(crate) mod markdown;
pub(crate) mod notes;
pub(crate) mod page;
pub(crate) mod panels;
pub(crate) mod ranks;
pub(crate) mod scaling;
pub(crate) mod screen;
pub(crate) mod shape_text;
pub(crate) mod svg;
pub(crate) mod table;
pub(crate) mod table_rows;
pub(crate) mod target_names;
pub(crate) mod validate;
pub(crate) mod writers;

pub use crate::report::advice::advice;
pub use crate::report::asynchronous::asynchronous_advice;
pub use crate::report::compare::{
    comparison_csv, comparison_json, comparison_markdown, comparison_table,
};
pub use crate::report::csv::{csv, csv_of_runs};
pub use crate::report::grid::paragraph;
pub use crate::report::json::{ParseError, json, parse, parse_saved};
pub use crate::report::left_out::{LeftOutWords, left_out_in_words};
pub use crate::report::machines::{machines_markdown, machines_table};
pub use crate::report::markdown::markdown;
pub use crate::report::page::html;
pub use crate::report::ranks::rank_advice;
pub use crate::report::table::{TableOptions, table};
pub use crate::report::table_rows::unsuited_in_words;
pub use crate::report::target_names::conditions_in_words;
pub use crate::report::writers::writer_advice;
pub use crate::text::format::{bytes_in_words, escape_control, grouped, list_in_words};
