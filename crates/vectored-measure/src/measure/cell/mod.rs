//! Open cells. [`OpenCell`](open_cell::OpenCell) has the loop of batches, the proof of their bytes and the words for failures. The
//! operations differ in their [`Step`](step::Step) alone.

pub(crate) mod copying;
pub(crate) mod first_call;
pub(crate) mod open_cell;
pub(crate) mod reading;
pub(crate) mod step;
pub(crate) mod writing;
