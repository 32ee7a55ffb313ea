//! How bytes leave a target that fills up.

use serde::{Deserialize, Serialize};

/// How a target that fills up was emptied, or one that runs dry was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// Every sample fitted: what was written was read back after it was timed,
    /// what was to be read was written before.
    BetweenSamples,
    /// A thread on another CPU read while the sample was timed.
    ReaderThread,
    /// A thread on another CPU wrote while the sample was timed.
    WriterThread,
    /// Another program read, when it liked.
    Peer,
}
