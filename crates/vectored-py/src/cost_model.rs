//! The costs that decide what a [`Gather`](crate::gather::Gather) copies.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vectored::cost::TargetKind;

use crate::failure::of_path;

/// The costs of a system call, a buffer and a byte on a kind of descriptor.
///
/// The defaults were measured on one machine. `calibrate` measures the costs on this machine.
#[pyclass(frozen, module = "vectored")]
pub struct CostModel(pub vectored::CostModel);

#[pymethods]
impl CostModel {
    /// The costs of one machine for a kind of descriptor: 'file' (appended to), 'file-overwrite', 'pipe', 'unix', 'tcp' or
    /// 'other'.
    ///
    /// The model of 'pipe' also cuts long lists into calls of 8 KiB, so that the reader can work at the same time.
    #[staticmethod]
    #[pyo3(signature = (target = "other"))]
    fn for_target(target: &str) -> PyResult<CostModel> {
        let kind = kind_of(target)?;
        Ok(CostModel(vectored::CostModel::for_target(kind)))
    }

    /// The costs of a target, from the file `path`.
    ///
    /// The file is a result that `vectored measure --format json` printed on this type of machine. The command calibrated
    /// the costs before its run. 'other' is the target `null`.
    #[staticmethod]
    fn load(path: PathBuf, target: &str) -> PyResult<CostModel> {
        let kind = kind_of(target)?;
        let model = vectored::CostModel::load(&path, kind).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => PyValueError::new_err(error.to_string()),
            _ => of_path(&error, &path),
        })?;
        Ok(CostModel(model))
    }

    /// Measure the costs on this machine in about `milliseconds`, on new descriptors. 'other' is /dev/null.
    ///
    /// 'file' is appended to, 'file-overwrite' is overwritten. Both need `directory`, where an unnamed file of up to 16
    /// MiB is made. Allow 75 milliseconds for these two.
    #[staticmethod]
    #[pyo3(signature = (target, *, directory = None, milliseconds = 50))]
    fn calibrate(
        py: Python<'_>,
        target: &str,
        directory: Option<PathBuf>,
        milliseconds: u64,
    ) -> PyResult<CostModel> {
        let kind = kind_of(target)?;
        let is_file = matches!(kind, TargetKind::File | TargetKind::FileOverwrite);
        if is_file != directory.is_some() {
            let message = if is_file {
                format!("'{target}' needs the argument directory")
            } else {
                format!("'{target}' takes no directory: only 'file' and 'file-overwrite' do")
            };
            return Err(PyValueError::new_err(message));
        }
        let budget = Duration::from_millis(milliseconds);
        let made_in = directory.as_deref().unwrap_or(Path::new(""));
        let model = py.detach(|| vectored::CostModel::calibrate(kind, made_in, budget));
        let model = model.map_err(|error| match &directory {
            Some(directory) => of_path(&error, directory),
            None => error.into(),
        })?;
        Ok(CostModel(model))
    }

    /// The length in bytes up to which a buffer is copied, in a list of this many buffers.
    fn copy_below_bytes(&self, segment_count: usize) -> usize {
        self.0.copy_below_bytes(segment_count)
    }

    /// The size in bytes of the memory that a Gather copies into.
    #[getter]
    fn staging_bytes(&self) -> usize {
        self.0.staging_bytes
    }

    fn __eq__(&self, other: &CostModel) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        format!(
            "<vectored.CostModel: call {} ns, segment {} ns, staging {} bytes>",
            self.0.call_ns, self.0.segment_ns, self.0.staging_bytes
        )
    }
}

fn kind_of(target: &str) -> PyResult<TargetKind> {
    Ok(match target {
        "file" => TargetKind::File,
        "file-overwrite" => TargetKind::FileOverwrite,
        "pipe" => TargetKind::Pipe,
        "unix" => TargetKind::Unix,
        "tcp" => TargetKind::Tcp,
        "other" => TargetKind::Other,
        _ => {
            let known = "'file', 'file-overwrite', 'pipe', 'unix', 'tcp' or 'other'";
            let message = format!("target must be {known}, not '{target}'");
            return Err(PyValueError::new_err(message));
        }
    })
}
