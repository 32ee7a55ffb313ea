//! The targets of a calibration.

use std::path::Path;

use crate::cost::TargetKind;

/// The target that [`CostModel::calibrate`](crate::CostModel::calibrate) creates, writes to and removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CalibrationTarget<'a> {
    /// An unnamed file in this directory, of up to 8 MiB, that is appended to, as logs are.
    File(&'a Path),
    /// An unnamed file of 16 MiB in this directory, that is overwritten, as page stores are.
    ///
    /// Growing a file costs more for each segment than overwriting it. On ext4, copying two appended segments is faster
    /// up to about 4 KB. Copying two segments that overwrite bytes in the page cache is faster up to about 300 B.
    FileOverwrite(&'a Path),
    /// A pipe. Not available on Windows, whose pipes block.
    Pipe,
    /// A pair of connected Unix stream sockets. Not available on Windows.
    Unix,
    /// A TCP connection over the loopback interface, with `TCP_NODELAY`.
    Tcp,
    /// `/dev/null` (on Windows `NUL`), which moves no byte, so that only calls and lists have a cost. On this target,
    /// copying is slower for all but the shortest segments.
    Other,
}

impl CalibrationTarget<'_> {
    /// The kind of target that this target represents.
    #[must_use]
    pub fn kind(self) -> TargetKind {
        match self {
            CalibrationTarget::File(_) => TargetKind::File,
            CalibrationTarget::FileOverwrite(_) => TargetKind::FileOverwrite,
            CalibrationTarget::Pipe => TargetKind::Pipe,
            CalibrationTarget::Unix => TargetKind::Unix,
            CalibrationTarget::Tcp => TargetKind::Tcp,
            CalibrationTarget::Other => TargetKind::Other,
        }
    }
}
