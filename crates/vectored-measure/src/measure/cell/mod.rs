//! Open cells. [`OpenCell`] has the loop of batches, the proof of their bytes and the words for failures. The operations differ in
//! their [`Step`] alone.

mod first_call;
mod open_cell;
mod step;

pub(crate) use first_call::FirstCall;
pub(crate) use open_cell::{OpenCell, settings};
pub(crate) use step::{Moving, Step, Supply};
