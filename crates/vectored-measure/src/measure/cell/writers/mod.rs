//! Several writers at once: threads that start each sample together, and the records that they write.
//!
//! The measuring thread gives the orders (`crew`), the writers carry them out (`writer`), and a record checker
//! (`records`) reads every byte that arrived (`target`).

pub(crate) mod cell;
pub(crate) mod crew;
pub(crate) mod gate;
pub(crate) mod promise;
pub(crate) mod records;
pub(crate) mod target;
pub(crate) mod writer;
