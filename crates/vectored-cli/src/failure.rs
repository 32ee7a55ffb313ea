//! Errors and their exit codes.

use std::fmt::Display;
use std::io;

use vectored_measure::measure::MeasureError;

#[derive(Debug)]
pub struct Failure {
    /// The message names the failed operation, its object and the likely remedy.
    pub error: anyhow::Error,
    /// The exit status: 1 for a failure, 2 for wrong usage.
    pub code: u8,
}

impl Failure {
    /// The user must change the command line.
    pub fn usage(message: impl Display) -> Self {
        Failure {
            error: anyhow::anyhow!("{message}"),
            code: 2,
        }
    }

    /// The error is wrong usage if another directory would be accepted.
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

    /// Adds a remedy that names the option of the directory. The option is `--target` if `is_target` is set, and
    /// `--dir` if not.
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
        // The message of the error already contains the message of its source.
        Failure::from(anyhow::anyhow!("{error}"))
    }
}
