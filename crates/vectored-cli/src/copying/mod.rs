//! What `vectored copy` adds to the library's copy: names, files that are made, progress, holes.

mod ends;
mod holes;
mod made;
mod progress;

pub use ends::{Input, Output};
pub use holes::{HolesError, copy_with_holes};
pub use progress::{CopyProgress, is_shown};
