//! Techniques: the ways to pass several buffers to the kernel.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::sync::SyncMode;
use crate::model::target::Target;
use crate::model::workload::{IovecSetup, Operation};

/// A way to move the bytes of several segments through one descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Technique {
    /// One `write` a segment.
    WriteEach,
    /// Every segment copied into one staging buffer, then one `write`.
    CopyThenWrite,
    /// One `writev` over all segments (one per `IOV_MAX`).
    Writev,
    /// The library's choice: for writes [`vectored::Gather`], which copies small segments, references
    /// large ones, and makes one call; for reads its counterpart.
    Adaptive,
    /// One `read` a segment.
    ReadEach,
    /// One `read` into a staging buffer, then a copy to every segment.
    ReadThenSplit,
    /// One `readv` over all segments (one per `IOV_MAX`).
    Readv,
    /// `writev` by the newer call: one `pwritev2` without flags at the current position (offset −1).
    Pwritev2,
    /// One `send` a segment, with `MSG_MORE` for all but the last.
    SendMore,
    /// One `sendmsg` with `MSG_ZEROCOPY`, whose notifications are counted.
    SendZerocopy,
    /// One `fwrite` a segment into a stream of the C library, then one
    /// `fflush`.
    Stdio,
    /// Copies between the segments and a shared mapping of the file, created in each call at the current
    /// file position.
    Mmap,
    /// std's `BufWriter` of 8 KiB, its default: `write_all` a segment, `flush`.
    BufWriter,
    /// The same with a buffer of 64 KiB.
    BufWriterLarge,
    /// std's `write_vectored` and `IoSlice::advance_slices`, in a loop.
    StdVectored,
    /// `write_all_vectored` of the crate tokio-util.
    TokioUtil,
    /// [`Technique::Stdio`] with a buffer of 1 MiB (`setvbuf`).
    StdioLarge,
    /// `uv_try_write` of libuv, and `uv_fs_write` for files.
    Libuv,
    /// `evbuffer_add` and `evbuffer_write` of libevent.
    LibeventCopy,
    /// `evbuffer_add_reference` and `evbuffer_write` of libevent.
    LibeventReference,
    /// `net.Buffers` of Go, in a process of its own.
    GoNetBuffers,
    /// `vectored_gather_write` of the library's C interface, called by C.
    CGather,
    /// A loop of `writev` in C, by hand.
    CWritev,
    /// `fwrite` a segment and `fflush` in C, with a buffer of 256 KiB.
    CFwrite,
    /// [`Technique::WriteEach`] a second time: the A/A control for measurements with a concurrent reader.
    WriteEachAgain,
    /// [`Technique::Adaptive`] with a second, independent calibration.
    #[serde(rename = "adaptive-2")]
    Adaptive2,
    /// The same with a third calibration.
    #[serde(rename = "adaptive-3")]
    Adaptive3,
    /// One transfer a list by [`vectored::uring::Ring`], of io_uring, with [up to `queue_depth`] in flight.
    ///
    /// [up to `queue_depth`]: crate::model::Conditions::queue_depth
    IoUring,
    /// One `IOCB_CMD_PWRITEV` or `PREADV` a list, by Linux native AIO (`io_submit`).
    LinuxAio,
    /// One `WriteFileGather` of Windows a list of pages, past the cache, awaited by a completion port, with up to
    /// `queue_depth` in flight.
    WriteFileGather,
}

impl Technique {
    /// Every technique that the lab implements, in the order of the tables.
    pub const ALL: [Technique; 15] = [
        Technique::WriteEach,
        Technique::CopyThenWrite,
        Technique::Writev,
        Technique::Pwritev2,
        Technique::SendMore,
        Technique::SendZerocopy,
        Technique::Stdio,
        Technique::ReadEach,
        Technique::ReadThenSplit,
        Technique::Readv,
        Technique::Mmap,
        Technique::IoUring,
        Technique::LinuxAio,
        Technique::WriteFileGather,
        Technique::Adaptive,
    ];

    /// Techniques of Linux that can have several transfers in flight.
    pub const ASYNCHRONOUS: [Technique; 2] = [Technique::IoUring, Technique::LinuxAio];

    /// Techniques that a dependent crate implements: it passes their movers to
    /// [`DescriptorSampler::with_movers`](crate::measure::DescriptorSampler::with_movers). They are
    /// listed here so that results can name them.
    pub const GUESTS: [Technique; 15] = [
        Technique::BufWriter,
        Technique::BufWriterLarge,
        Technique::StdVectored,
        Technique::TokioUtil,
        Technique::StdioLarge,
        Technique::Libuv,
        Technique::LibeventCopy,
        Technique::LibeventReference,
        Technique::GoNetBuffers,
        Technique::CGather,
        Technique::CWritev,
        Technique::CFwrite,
        Technique::WriteEachAgain,
        Technique::Adaptive2,
        Technique::Adaptive3,
    ];

    /// The techniques of an operation that are measured by default, in the order of the tables.
    pub fn of(operation: Operation) -> [Technique; 4] {
        match operation {
            Operation::Write => [
                Technique::WriteEach,
                Technique::CopyThenWrite,
                Technique::Writev,
                Technique::Adaptive,
            ],
            Operation::Read => [
                Technique::ReadEach,
                Technique::ReadThenSplit,
                Technique::Readv,
                Technique::Adaptive,
            ],
        }
    }

    /// The techniques of an operation that are measured only on request.
    pub fn opt_in(operation: Operation) -> &'static [Technique] {
        let all: &[Technique] = match operation {
            Operation::Write if cfg!(windows) => &[Technique::WriteFileGather],
            Operation::Read if cfg!(windows) => &[],
            Operation::Write => &[
                Technique::Pwritev2,
                Technique::SendMore,
                Technique::SendZerocopy,
                Technique::Stdio,
                Technique::Mmap,
                Technique::IoUring,
                Technique::LinuxAio,
            ],
            Operation::Read => &[Technique::Mmap, Technique::IoUring, Technique::LinuxAio],
        };
        if cfg!(any(windows, target_os = "linux")) {
            all
        } else {
            // Without those of Linux.
            &all[..all.len() - 2]
        }
    }

    /// Whether it can have several transfers in flight.
    pub fn is_asynchronous(self) -> bool {
        self == Technique::WriteFileGather || Technique::ASYNCHRONOUS.contains(&self)
    }

    /// What this system lacks for the technique, in words; `None` if it has all.
    pub fn lacks_here(self) -> Option<&'static str> {
        match self {
            Technique::WriteFileGather if !cfg!(windows) => {
                Some("WriteFileGather is a call of Windows")
            }
            Technique::IoUring
                if !cfg!(all(
                    target_os = "linux",
                    target_pointer_width = "64",
                    target_endian = "little"
                )) =>
            {
                Some("only Linux has io_uring, and vectored::uring needs a 64-bit processor there")
            }
            Technique::LinuxAio if !cfg!(target_os = "linux") => {
                Some("only Linux has its native AIO")
            }
            _ if !cfg!(windows) => None,
            Technique::Pwritev2 => Some("Windows has no pwritev2(2)"),
            Technique::SendMore => Some("Windows has no MSG_MORE of send(2)"),
            Technique::SendZerocopy => Some("Windows has no MSG_ZEROCOPY of sendmsg(2)"),
            Technique::Stdio => Some("the streams of the C library are measured on Unix only"),
            Technique::Mmap => Some("mmap(2) is measured on Unix only"),
            _ => None,
        }
    }

    /// The synchronous call that passes a whole list to the kernel: what asynchronous techniques are
    /// compared with.
    pub fn vectored_call(operation: Operation) -> Technique {
        match operation {
            Operation::Write => Technique::Writev,
            Operation::Read => Technique::Readv,
        }
    }

    /// Whether the technique supports this target.
    pub fn works_on(self, target: Target) -> bool {
        match self {
            Technique::Mmap | Technique::WriteFileGather => target.is_file(),
            // WriteFile and ReadFile take one buffer.
            Technique::Writev | Technique::Readv if cfg!(windows) => target.is_socket(),
            Technique::SendMore => target.is_socket(),
            Technique::SendZerocopy => matches!(target, Target::Tcp | Target::Remote),
            _ => true,
        }
    }

    /// Whether the technique honours this sync mode. Flags of the descriptor have no effect on a mapping.
    /// An `fsync(2)` after each call would wait for every transfer in flight.
    pub fn heeds(self, sync: SyncMode) -> bool {
        match sync {
            SyncMode::None => true,
            SyncMode::Fsync => !self.is_asynchronous(),
            SyncMode::Dsync | SyncMode::Sync => {
                !matches!(self, Technique::Mmap | Technique::WriteFileGather)
            }
        }
    }

    /// Whether it can be given an array of `iovec` that was filled before. Asynchronous transfers fill their own.
    pub fn heeds_setup(self, setup: IovecSetup) -> bool {
        setup == IovecSetup::Timed || !self.is_asynchronous()
    }

    /// Whether its transfers bypass the page cache if the file has `O_DIRECT`. A mapping consists of pages of the
    /// cache, and a stream of the C library writes from a buffer that is not aligned.
    pub fn works_past_page_cache(self) -> bool {
        !matches!(
            self,
            Technique::Mmap | Technique::Stdio | Technique::StdioLarge
        )
    }

    /// The requirement of [`Technique::works_on`] in words; `None` if any target will do.
    pub fn needs(self) -> Option<&'static str> {
        match self {
            Technique::Mmap | Technique::WriteFileGather => Some("files"),
            Technique::Writev | Technique::Readv if cfg!(windows) => Some("sockets"),
            Technique::SendMore => Some("sockets"),
            Technique::SendZerocopy => Some("TCP connections"),
            _ => None,
        }
    }

    /// The name, the same on the command line, in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Technique::WriteEach => "write-each",
            Technique::CopyThenWrite => "copy-then-write",
            Technique::Writev => "writev",
            Technique::Adaptive => "adaptive",
            Technique::ReadEach => "read-each",
            Technique::ReadThenSplit => "read-then-split",
            Technique::Readv => "readv",
            Technique::Pwritev2 => "pwritev2",
            Technique::SendMore => "send-more",
            Technique::SendZerocopy => "send-zerocopy",
            Technique::Stdio => "stdio",
            Technique::Mmap => "mmap",
            Technique::BufWriter => "buf-writer",
            Technique::BufWriterLarge => "buf-writer-large",
            Technique::StdVectored => "std-vectored",
            Technique::TokioUtil => "tokio-util",
            Technique::StdioLarge => "stdio-large",
            Technique::Libuv => "libuv",
            Technique::LibeventCopy => "libevent-copy",
            Technique::LibeventReference => "libevent-reference",
            Technique::GoNetBuffers => "go-net-buffers",
            Technique::CGather => "c-gather",
            Technique::CWritev => "c-writev",
            Technique::CFwrite => "c-fwrite",
            Technique::WriteEachAgain => "write-each-again",
            Technique::Adaptive2 => "adaptive-2",
            Technique::Adaptive3 => "adaptive-3",
            Technique::IoUring => "io-uring",
            Technique::LinuxAio => "linux-aio",
            Technique::WriteFileGather => "write-file-gather",
        }
    }

    /// Whether the technique is one fixed strategy. `adaptive` is not: it mostly equals one of the
    /// others, so a contest with them would be undecidable.
    pub fn is_pure(self) -> bool {
        !matches!(
            self,
            Technique::Adaptive | Technique::Adaptive2 | Technique::Adaptive3
        )
    }
}

impl fmt::Display for Technique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is none of [`Technique::ALL`].
#[derive(Debug)]
pub struct UnknownTechnique(String);

impl fmt::Display for UnknownTechnique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Technique::ALL.map(Technique::name).join(", ");
        write!(f, "unknown technique '{}': choose from {names}", self.0)
    }
}

impl std::error::Error for UnknownTechnique {}

impl FromStr for Technique {
    type Err = UnknownTechnique;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Technique::ALL
            .into_iter()
            .find(|technique| technique.name() == name)
            .ok_or_else(|| UnknownTechnique(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_technique_has_one_name_in_json_and_in_tables() {
        let all = || Technique::ALL.into_iter().chain(Technique::GUESTS);
        for technique in all() {
            let json = serde_json::to_string(&technique).unwrap();
            assert_eq!(json, format!("\"{technique}\""));
            let others = all().filter(|other| other.name() == technique.name());
            assert_eq!(others.count(), 1, "{technique}");
        }
    }
}
