//! Calibration before a run: the cost models that `adaptive` uses.

use std::io;
use std::path::Path;
use std::time::Duration;

use vectored::{CalibrationTarget, CostModel};

use crate::model::{
    Cache, Conditions, Drain, FittedModel, IovecSetup, Layout, ModelSource, Operation, SyncMode,
    Target,
};

/// Time budget of a calibration.
const BUDGET: Duration = Duration::from_millis(50);

/// Time budget of a calibration on a file: its lists are longer, and each call
/// takes longer.
const FILE_BUDGET: Duration = Duration::from_millis(75);

/// Calibrates writing to a target of this kind. Files are created in the
/// directory at `path` if the target has one, else in `directory`.
///
/// Returns `None` for a target that the library cannot calibrate.
///
/// # Errors
///
/// Those of [`CostModel::calibrate`].
pub fn calibrate(
    target: Target,
    path: Option<&Path>,
    directory: &Path,
) -> io::Result<Option<FittedModel>> {
    let directory = path.unwrap_or(directory);
    let (on, drain) = match target {
        Target::File => (CalibrationTarget::File(directory), None),
        Target::FileOverwrite => (CalibrationTarget::FileOverwrite(directory), None),
        Target::Pipe => (CalibrationTarget::Pipe, Some(Drain::BetweenSamples)),
        Target::Unix => (CalibrationTarget::UnixSocket, Some(Drain::BetweenSamples)),
        Target::Tcp => (CalibrationTarget::TcpSocket, Some(Drain::BetweenSamples)),
        Target::Null => (CalibrationTarget::Null, None),
        // A calibration writes only to descriptors that it opened itself.
        Target::Fifo | Target::Socket | Target::Remote | Target::Device => return Ok(None),
    };
    let budget = match on {
        CalibrationTarget::File(_) | CalibrationTarget::FileOverwrite(_) => FILE_BUDGET,
        _ => BUDGET,
    };
    let model = CostModel::calibrate(on, budget)?;
    let conditions = Conditions {
        target,
        path: path.map(|path| path.to_string_lossy().into_owned()),
        operation: Operation::Write,
        layout: Layout::default(),
        cache: Cache::default(),
        page_cache: None,
        iovec_setup: IovecSetup::default(),
        sync: SyncMode::None,
        direct: false,
        drain,
        queue_depth: 1,
        writers: None,
        ranks: None,
    };
    Ok(Some(FittedModel::new(
        conditions,
        ModelSource::Calibration,
        &model,
    )))
}
