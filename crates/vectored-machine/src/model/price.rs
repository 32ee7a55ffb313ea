//! The costs of calls on a machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The direction of a transfer.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// From the segments into the descriptor.
    #[default]
    Write,
    /// From the descriptor into the segments.
    Read,
}

impl Operation {
    /// Both, the default first.
    pub const ALL: [Operation; 2] = [Operation::Write, Operation::Read];

    /// The name, the same on the command line, in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Write => "write",
            Operation::Read => "read",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kind of file behind a descriptor, as far as prices and soundness differ.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum DescriptorKind {
    /// A regular file.
    #[default]
    File,
    /// A pipe or FIFO.
    Pipe,
    /// A local stream socket.
    Unix,
    /// A TCP socket.
    Tcp,
    /// A datagram socket: its calls are listed, never counted, and have no price.
    Datagram,
    /// Unknown: never counted, and without a price.
    Unknown,
}

/// Costs of calls on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Kind of file.
    pub target: DescriptorKind,
    /// Direction.
    pub operation: Operation,
    /// Cost of a call without its bytes, in ns.
    pub call_ns: f64,
    /// Lower end of the interval of `call_ns`.
    pub call_low_ns: f64,
    /// Upper end of the interval of `call_ns`.
    pub call_high_ns: f64,
    /// `call_ns` of a call that moves 256 bytes or more: a page of a file is looked up, locked and
    /// accounted for with each call that fills a part of the page.
    pub medium_call_ns: f64,
    /// `call_ns` of a further piece of an answer, if a few pieces come together before a wait: only the
    /// first piece wakes the peer.
    pub answer_call_ns: f64,
    /// Extra cost of a byte in calls of a page (4 KiB) over a byte in calls of 64 KiB, in ns: a file
    /// allocates memory for a large call in larger pieces. May be negative.
    pub batch_byte_ns: f64,
    /// Cost of the cheapest system call, in ns: each saved call saves at least that.
    pub entry_ns: f64,
    /// Cost of an `lseek(2)` before a call, in ns; 0 for files without an offset.
    pub seek_ns: f64,
    /// Extra cost of a call with a list over a call without a list, in ns.
    pub gather_call_ns: f64,
    /// Cost of a referenced segment below 256 bytes, in ns.
    pub segment_ns: f64,
    /// Cost of a referenced segment of 256 bytes or more, in ns.
    pub large_segment_ns: f64,
    /// Extra cost of a list of more than 8 segments, in ns a call.
    pub iovec_step_ns: f64,
    /// Cost of a copied segment without its bytes, in ns.
    pub copy_segment_ns: f64,
    /// Cost of a copied byte, in ns.
    pub copy_byte_ns: f64,
}

/// Linux keeps up to this many `iovec`s on its stack, and allocates memory for more (`UIO_FASTIOV` in
/// `include/uapi/linux/uio.h`).
pub const FAST_IOVECS: usize = 8;
