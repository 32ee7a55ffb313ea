//! How a target that fills up is emptied.

use serde::{Deserialize, Serialize};

/// How a target that fills up was emptied, or one that runs dry was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// Between samples; each sample fits: written bytes are read back after the sample, bytes to be
    /// read are written before it.
    BetweenSamples,
    /// A thread on another CPU reads during the sample.
    ReaderThread,
    /// A thread on another CPU writes during the sample.
    WriterThread,
    /// A thread on another CPU writes and one reads during the sample: of copies.
    BothThreads,
    /// Another program reads or writes at its own pace.
    Peer,
}

impl Drain {
    /// Whether threads of this process worked at the other ends during a sample.
    pub fn has_thread(self) -> bool {
        match self {
            Drain::ReaderThread | Drain::WriterThread | Drain::BothThreads => true,
            Drain::BetweenSamples | Drain::Peer => false,
        }
    }
}
