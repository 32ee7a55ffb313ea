//! The result of a transfer.

use std::io;

use vectored::TransferError;

#[derive(Debug)]
pub struct Outcome {
    pub transferred: u64,
    pub error: Option<io::Error>,
}

impl From<Result<u64, TransferError>> for Outcome {
    fn from(result: Result<u64, TransferError>) -> Outcome {
        match result {
            Ok(transferred) => Outcome {
                transferred,
                error: None,
            },
            Err(error) => Outcome {
                transferred: error.transferred(),
                error: Some(error.into_io_error()),
            },
        }
    }
}

impl From<io::Result<usize>> for Outcome {
    fn from(result: io::Result<usize>) -> Outcome {
        Outcome {
            transferred: *result.as_ref().unwrap_or(&0) as u64,
            error: result.err(),
        }
    }
}

/// The counts of one transfer, session or connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub arrived: u64,
    /// Faults: resumptions, errors, and operations that were cancelled or dropped.
    pub faults: u64,
    /// Bytes that are missing, wrong, surplus or miscounted, and bytes that changed after the end of their transfer.
    pub lost: u64,
}
