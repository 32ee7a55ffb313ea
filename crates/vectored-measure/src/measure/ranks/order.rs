//! The orders of rank 0.

use serde::{Deserialize, Serialize};
use vectored_results::model::{CellSpec, TechniqueName};

use crate::measure::sampler::interface::{Contender, DrainChoice};

/// The next step of all ranks of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The ranks of the cell open it; the others rest until it is closed.
    Cell(CellSpec, Vec<TechniqueName>, DrainChoice),
    Round(u32),
    /// A sample of this many calls.
    Sample(Contender, u32),
    /// The cell is closed.
    Close,
    End,
}
