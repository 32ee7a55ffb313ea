//! The C library: `include/vectored.h` is generated from this crate's public items and their comments.
//!
//! The comments of items with a C name are written for readers of the header. `cargo xtask install-c` installs the
//! library; `docs/c.md` says how.
//!
//! # Safety
//!
//! `unsafe` because C calls every function with pointers. Each pointer is checked for null. The header says what else a
//! caller promises. Lists are passed on as [`vectored::bindings::RawList`]: no reference to the bytes of a segment is made.
//!
//! No panic leaves a function: see `entry`.

#![allow(unsafe_code)]
// Names of C.
#![allow(non_camel_case_types)]
// The contract of each function is in words for C: "Safety" is no section of a C header.
#![allow(clippy::missing_safety_doc)]

mod entry;

// The order of the header, which rustfmt keeps if the lines are apart.
mod version;

mod list;

mod cursor;

mod gather;

mod scatter;

mod cost_model;

mod queue;

/// Checks the claims of the header about threads.
const _: () = {
    const fn moves_to_threads<T: Send>() {}
    const fn is_shared_by_threads<T: Send + Sync>() {}
    moves_to_threads::<vectored_gather>();
    moves_to_threads::<vectored_scatter>();
    moves_to_threads::<vectored_queue>();
    is_shared_by_threads::<vectored_cost_model>();
};

pub use cost_model::*;
pub use cursor::*;
pub use gather::*;
pub use list::*;
pub use queue::*;
pub use scatter::*;
pub use version::*;
