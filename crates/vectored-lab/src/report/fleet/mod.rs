//! Extracts of results that name no machine: making them, reading them, and tables of many machines.

pub(crate) mod comparison;
pub(crate) mod csv;
pub(crate) mod extract;
pub(crate) mod json;
pub(crate) mod known;
pub(crate) mod rows;
pub(crate) mod sheets;
pub(crate) mod words;

pub use crate::report::fleet::comparison::compare_with;
pub use crate::report::fleet::csv::fleet_csv;
pub use crate::report::fleet::extract::{Extract, extract};
pub use crate::report::fleet::json::{
    fleet_json, is_extract, machine_json, parse_machine, parse_machine_or_result,
};
pub use crate::report::fleet::known::known_machines;
pub use crate::report::fleet::sheets::{fleet_markdown, fleet_table};
