//! Numbers, sizes and external texts in words.

pub use vectored_report::visible as escape_control;
pub use vectored_report::words::{bytes as bytes_in_words, grouped, list as list_in_words};
pub(crate) use vectored_report::words::{count, percent, three_digits, time};
