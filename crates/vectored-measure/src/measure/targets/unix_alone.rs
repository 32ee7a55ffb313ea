//! FIFOs, which Windows does not have.

use std::io;
use std::path::Path;

use vectored_machine::platform::descriptors::Pair;
use vectored_machine::platform::lacks;

use crate::measure::sampler::interface::MeasureError;

/// Refuses a FIFO.
///
/// # Errors
///
/// Always.
pub fn check_fifo(path: &Path) -> Result<(), MeasureError> {
    let what = format!("cannot measure the FIFO '{}'", path.display());
    open_fifo(path).map(drop).map_err(MeasureError::io(what))
}

/// Refuses a FIFO.
pub(crate) fn open_fifo(_path: &Path) -> io::Result<Pair> {
    Err(lacks("FIFOs"))
}
