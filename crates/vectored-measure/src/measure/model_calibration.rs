//! Calibration before a run: the cost models that `adaptive` uses.

use std::io;
use std::path::Path;
use std::time::Duration;

use vectored::CostModel;
use vectored_results::model::{Conditions, Drain, FittedModel, ModelSource, Target};
use vectored_results::stats::target_kind;

const BUDGET: Duration = Duration::from_millis(50);

/// Time budget of a calibration on a file: the lists are longer, and each call takes longer.
const FILE_BUDGET: Duration = Duration::from_millis(75);

/// Calibrates writing to a target of this kind. Files are created in the directory at `path`, if `path` is given, else in
/// `directory`.
///
/// Returns `None` for a target that the library cannot calibrate.
pub fn calibrate(
    target: Target,
    path: Option<&str>,
    directory: &Path,
) -> io::Result<Option<FittedModel>> {
    let directory = path.map_or(directory, Path::new);
    let (budget, drain) = match target {
        Target::File | Target::FileOverwrite => (FILE_BUDGET, None),
        Target::Pipe | Target::Unix | Target::Tcp => (BUDGET, Some(Drain::BetweenSamples)),
        Target::Null => (BUDGET, None),
        // A calibration writes only to descriptors that it opened itself.
        Target::Socket | Target::Remote => return Ok(None),
    };
    let model = CostModel::calibrate(target_kind(target), directory, budget)?;
    let conditions = Conditions {
        path: path.map(str::to_owned),
        ..Conditions::write(target)
    };
    let model = FittedModel::new(conditions, drain, ModelSource::Calibration, &model);
    Ok(Some(model))
}
