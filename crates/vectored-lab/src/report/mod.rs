//! Renderings of results: the model in, text out. No I/O, no clock.
//!
//! [`table()`] is for people at a terminal, [`markdown()`] for people who publish,
//! [`csv()`] for spreadsheets and [`json()`] for programs. Only [`json()`] has
//! everything, and [`parse`] reads it back; the others show what is in it.

mod advice;
mod chart;
mod costs;
mod csv;
pub mod experiments;
pub mod host;
mod json;
mod markdown;
mod places;
mod plot;
mod rows;
mod table;
mod words;

pub use advice::advice;
pub use csv::csv;
pub use json::{ParseError, json, parse};
pub use markdown::markdown;
pub use plot::{PlotOptions, plot};
pub use rows::unsuited_in_words;
pub use table::{TableOptions, table};
pub use words::{LeftOutWords, bytes_in_words, escape_control, left_out_in_words, list_in_words};
