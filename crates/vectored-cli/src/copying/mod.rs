//! What `vectored copy` adds to the library's copy: names, files that are made, progress.

mod ends;
mod progress;

pub use ends::{Input, Output};
pub use progress::{CopyProgress, is_shown};
