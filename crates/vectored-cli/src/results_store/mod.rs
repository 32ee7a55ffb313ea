//! Saved results: where they are saved, how they are named, and reading them.

mod kind;
mod names;
mod saved;
mod store;

pub use kind::ResultKind;
#[cfg(unix)]
pub use names::unmatched;
pub use names::{ResultName, paths, read, saved_files};
pub use saved::Saved;
pub use store::{
    GrowingResult, SaveOutcome, Store, ignored_state_home, results_directory, time_of,
};
