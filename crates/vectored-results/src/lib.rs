//! Results of measurements with [`vectored`]: structs, statistics and reports.
//!
//! [`model`] has plain structs that are saved as JSON. [`stats`] derives verdicts, crossovers and cost models from samples.
//! [`report`] makes documents of results. Nothing here reads a clock or a file, so each stage can run alone, on results of
//! another day or machine.
//!
//! # Examples
//!
//! The winner of each cell of a saved run:
//!
//! ```
//! use vectored_results::model::Results;
//!
//! fn winners(json: &str) -> Result<(), vectored_report::ParseError> {
//!     let results: Results = vectored_report::parse(json)?;
//!     for cell in &results.cells {
//!         match cell.winner {
//!             Some(winner) => println!("{}: {winner}", cell.conditions.place()),
//!             None => println!("{}: open", cell.conditions.place()),
//!         }
//!     }
//!     Ok(())
//! }
//! ```

// The public items of this crate are for the program alone; names say what most of them are.
#![allow(missing_docs)]

mod conclusions;
pub mod model;
pub mod report;
pub mod stats;
