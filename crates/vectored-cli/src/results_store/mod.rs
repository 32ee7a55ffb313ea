//! Saved results: where they are saved, how they are named, and reading them.

mod extracts;
mod names;
mod store;

pub use extracts::{extract_paths, load_machines, name_extracts};
#[cfg(unix)]
pub use names::unmatched;
pub use names::{ResultKind, ResultName, paths, read, saved_files};
pub use store::{GrowingResult, SaveOutcome, Store, ignored_state_home, results_directory};
