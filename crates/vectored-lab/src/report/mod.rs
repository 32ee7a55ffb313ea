//! Renderings of results: the model in, text out. No I/O, no clock.
//!
//! [`table()`] is for people at a terminal, [`markdown()`] for people who publish,
//! [`csv()`] for spreadsheets and [`json()`] for programs. Only [`json()`] has
//! everything, and [`parse`] reads it back; the others show what is in it.

mod advice;
pub mod advisory;
mod chart;
mod compare;
mod costs;
mod csv;
pub mod experiments;
mod grid;
pub mod host;
mod json;
mod machines;
mod markdown;
mod page;
mod panels;
mod places;
mod plot;
mod rows;
mod sound;
mod svg;
mod table;
mod words;

pub use advice::advice;
pub use compare::{
    comparison_csv, comparison_json, comparison_markdown, comparison_table, conditions_in_words,
};
pub use csv::{csv, csv_of_runs};
pub use grid::paragraph;
pub use json::{ParseError, json, parse, parse_saved};
pub use machines::{machines_markdown, machines_table};
pub use markdown::markdown;
pub use page::html;
pub use plot::{PlotOptions, plot};
pub use rows::unsuited_in_words;
pub use svg::svg;
pub use table::{TableOptions, table};
pub use words::{
    LeftOutWords, bytes_in_words, escape_control, grouped, left_out_in_words, list_in_words,
};
