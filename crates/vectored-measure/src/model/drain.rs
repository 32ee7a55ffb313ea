//! How a target that fills up is emptied.

use serde::{Deserialize, Serialize};

/// How a target that fills up was emptied, or one that runs dry was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// Between samples, each of which fits: written bytes are read back after the sample, bytes to be
    /// read are written before it.
    BetweenSamples,
    /// A thread on another CPU reads during the sample.
    ReaderThread,
    /// A thread on another CPU writes during the sample.
    WriterThread,
    /// Another program reads or writes at its own pace.
    Peer,
}
