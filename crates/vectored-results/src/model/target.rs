//! Targets: where bytes go, or come from.

use serde::{Deserialize, Serialize};

use crate::model::words::words;

/// The start of the path of a [`Target::Remote`]; `HOST:PORT` follows.
pub const REMOTE_SCHEME: &str = "tcp://";

words! {
    /// The target or source of bytes. A target that a user names by path is one of these too; its path is in
    /// [`Conditions::path`](crate::model::Conditions::path).
    #[derive(Default)]
    pub enum Target {
        /// A file. For writes, it is appended to up to 32 MiB and then truncated outside the timed region,
        /// like a log. For reads it has 32 MiB.
        #[default]
        File = "file",
        /// A file that is rewritten in place within a span of 64 MiB, from start to end and again, like a
        /// page store.
        FileOverwrite = "file-overwrite",
        /// A pipe of the default capacity.
        Pipe = "pipe",
        /// A connected pair of Unix stream sockets with the default buffers.
        Unix = "unix",
        /// A TCP connection over the loopback device, with fixed buffers and
        /// without delay (`TCP_NODELAY`).
        Tcp = "tcp",
        /// A Unix stream socket with a path, whose peer is another program.
        Socket = "socket",
        /// A TCP connection to another program, usually on another machine. Its path is `tcp://HOST:PORT`.
        Remote = "remote",
        /// `/dev/null`, which moves no bytes: it shows fixed costs only.
        Null = "null",
    }
}

impl Target {
    /// The targets that `vectored measure` measures by default, in the order of the tables.
    pub const USUAL: [Target; 3] = [Target::File, Target::Pipe, Target::Unix];

    /// The targets that can be requested by name. The other kinds need a path.
    pub const NAMED: [Target; 6] = [
        Target::File,
        Target::FileOverwrite,
        Target::Pipe,
        Target::Unix,
        Target::Tcp,
        Target::Null,
    ];

    /// The targets that can be read or copied from.
    pub const READABLE: [Target; 4] = [Target::File, Target::Pipe, Target::Unix, Target::Tcp];

    pub fn is_file(self) -> bool {
        matches!(self, Target::File | Target::FileOverwrite)
    }

    pub fn has_peer(self) -> bool {
        matches!(self, Target::Socket | Target::Remote)
    }

    /// Whether several transfers in flight leave the bytes in order: each has an offset, or there are no bytes.
    pub fn keeps_order_in_flight(self) -> bool {
        self.is_file() || self == Target::Null
    }

    pub fn is_socket(self) -> bool {
        matches!(
            self,
            Target::Unix | Target::Tcp | Target::Socket | Target::Remote
        )
    }
}

/// How a target that fills up was emptied, or how a source that runs dry was filled.
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
    /// For copies: during the sample, a thread on another CPU writes, and a thread reads.
    BothThreads,
    /// Another program reads or writes at its own pace.
    Peer,
}

impl Drain {
    pub fn has_thread(self) -> bool {
        match self {
            Drain::ReaderThread | Drain::WriterThread | Drain::BothThreads => true,
            Drain::BetweenSamples | Drain::Peer => false,
        }
    }
}
