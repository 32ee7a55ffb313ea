//! Errors and the exit codes that they end the program with.

use std::fmt::Display;
use std::io;

use vectored_lab::measure::MeasureError;

/// What ends the program, and its exit code.
#[derive(Debug)]
pub struct Failure {
    /// What failed, on what, and the likely remedy.
    pub error: anyhow::Error,
    /// 1 for a failure, 2 for something that was asked for wrongly.
    pub code: u8,
}

impl Failure {
    /// The request cannot be carried out as it stands.
    pub fn usage(message: impl Display) -> Self {
        Failure {
            error: anyhow::anyhow!("{message}"),
            code: 2,
        }
    }

    /// Of a directory that the user named: whatever another name would mend is
    /// a matter of usage.
    pub fn of_directory(error: MeasureError) -> Self {
        let another_name_helps = match &error {
            MeasureError::Io { source, .. } | MeasureError::Directory { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::PermissionDenied
            ),
            MeasureError::NotCold { .. } => true,
            _ => false,
        };
        Failure {
            code: if another_name_helps { 2 } else { 1 },
            ..Failure::from(error)
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure { error, code: 1 }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        // Its own text names the source already.
        Failure::from(anyhow::anyhow!("{error}"))
    }
}
