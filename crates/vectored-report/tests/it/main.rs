//! One invented document in each format, and properties of any document.

mod golden;
mod properties;
mod samples;
