//! Saves, names and reads results.

mod names;
mod saved;
mod store;

#[cfg(unix)]
pub use names::unmatched;
pub use names::{ResultName, paths, read, saved_files};
pub use saved::{ResultKind, Saved};
pub use store::{STATE_HOME, Store, results_directory, time_of};
