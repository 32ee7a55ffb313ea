//! Adds names, new files, progress and holes to the library's copy.

mod ends;
mod holes;
mod progress;

pub use ends::{Input, Output};
pub use holes::{HolesError, copy_with_holes, is_file};
pub use progress::{CopyProgress, is_shown};
