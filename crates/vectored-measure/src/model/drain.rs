//! How a target that fills up is emptied.

use serde::{Deserialize, Serialize};

/// How a target that fills up was emptied, or one that runs dry was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// Between samples, each of which fits: written bytes are read back after the sample, bytes to be
    /// read are written before it.
    BetweenSamples,
    /// By a thread on another CPU that reads during the sample.
    ReaderThread,
    /// By a thread on another CPU that writes during the sample.
    WriterThread,
    /// By another program, at its own pace.
    Peer,
}
