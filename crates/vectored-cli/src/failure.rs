//! Errors and their exit codes.

use std::fmt::Display;
use std::io;

use vectored_measure::measure::MeasureError;

#[derive(Debug)]
pub struct Failure {
    /// The failed operation, its object and the likely remedy.
    pub error: anyhow::Error,
    /// 1 for a failure, 2 for wrong usage.
    pub code: u8,
}

impl Failure {
    /// Wrong usage: the request must be changed.
    pub fn usage(message: impl Display) -> Self {
        Failure {
            error: anyhow::anyhow!("{message}"),
            code: 2,
        }
    }

    /// A failure with a directory that the user named. The failure is wrong usage if another directory would help.
    pub fn of_directory(error: impl Into<MeasureError>) -> Self {
        let error = error.into();
        let another_name_helps = match &error {
            MeasureError::Io { source, .. } | MeasureError::Directory(source) => matches!(
                source.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::PermissionDenied
            ),
            MeasureError::OtherDirectory(_) => true,
            _ => false,
        };
        Failure {
            code: if another_name_helps { 2 } else { 1 },
            ..Failure::from(error)
        }
    }

    /// This failure, with a remedy that names the option of the directory: `with --target` for the path of a target,
    /// else `with --dir`.
    pub fn for_directory_of_target(self, is_target: bool) -> Self {
        if is_target {
            Failure {
                error: anyhow::anyhow!(
                    self.error
                        .to_string()
                        .replace("with --dir", "with --target")
                ),
                ..self
            }
        } else {
            self
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
        // The text of the error includes the source.
        Failure::from(anyhow::anyhow!("{error}"))
    }
}
