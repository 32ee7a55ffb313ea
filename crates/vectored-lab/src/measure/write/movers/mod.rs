//! The write techniques, as a program would implement them by hand; one idea
//! per file.

pub(crate) mod adaptive;
pub(crate) mod array;
#[cfg(target_os = "linux")]
pub(crate) mod asynchronous;
pub(crate) mod copy;
pub(crate) mod each;
#[cfg(unix)]
pub(crate) mod mmap;
#[cfg(windows)]
pub(crate) mod pages;
#[cfg(unix)]
pub(crate) mod stdio;
pub(crate) mod writev;
#[cfg(unix)]
pub(crate) mod zerocopy;

use std::io;

use vectored::CostModel;

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
use crate::in_flight::RingQueue;
#[cfg(target_os = "linux")]
use crate::in_flight::{AioQueue, ListQueue};
use crate::measure::sampling::sampler::Contender;
use crate::measure::write::mover::Mover;
use crate::measure::write::movers::adaptive::Adaptive;
use crate::measure::write::movers::array::WithArray;
#[cfg(target_os = "linux")]
use crate::measure::write::movers::asynchronous::AsynchronousWrite;
use crate::measure::write::movers::copy::CopyThenWrite;
#[cfg(unix)]
use crate::measure::write::movers::each::SendMore;
use crate::measure::write::movers::each::WriteEach;
#[cfg(unix)]
pub(crate) use crate::measure::write::movers::each::write_all;
#[cfg(unix)]
use crate::measure::write::movers::mmap::Mmap;
#[cfg(unix)]
use crate::measure::write::movers::stdio::Stdio;
use crate::measure::write::movers::writev::{Pwritev2, Writev};
#[cfg(unix)]
use crate::measure::write::movers::zerocopy::SendZerocopy;
use crate::model::Technique;

/// The buffer of [`Technique::StdioLarge`].
#[cfg(unix)]
const LARGE_BYTES: usize = 1 << 20;

/// The mover of a contender, for a target with this cost model. The floors get
/// one segment with all bytes.
///
/// # Panics
///
/// If the technique does not write, or is one of [`Technique::GUESTS`] that this
/// crate does not implement.
pub fn movers(contender: Contender, model: &CostModel) -> Box<dyn Mover> {
    match contender {
        Contender::Floor | Contender::FloorAgain => Box::new(WriteEach),
        Contender::Technique(Technique::WriteEach) => Box::new(WriteEach),
        Contender::Technique(Technique::CopyThenWrite) => Box::new(CopyThenWrite::default()),
        Contender::Technique(Technique::Writev) => Box::new(WithArray::new(Writev::default())),
        Contender::Technique(Technique::Pwritev2) => Box::new(WithArray::new(Pwritev2::default())),
        #[cfg(windows)]
        Contender::Technique(Technique::WriteFileGather) => {
            Box::new(pages::WriteFileGather::default())
        }
        #[cfg(unix)]
        Contender::Technique(Technique::SendMore) => Box::new(SendMore),
        #[cfg(unix)]
        Contender::Technique(Technique::SendZerocopy) => Box::new(SendZerocopy::new()),
        #[cfg(unix)]
        Contender::Technique(Technique::Stdio) => Box::new(Stdio::default()),
        #[cfg(unix)]
        Contender::Technique(Technique::StdioLarge) => Box::new(Stdio::with_buffer(LARGE_BYTES)),
        #[cfg(unix)]
        Contender::Technique(Technique::Mmap) => Box::new(Mmap::default()),
        #[cfg(all(
            target_os = "linux",
            target_pointer_width = "64",
            target_endian = "little"
        ))]
        Contender::Technique(Technique::IoUring) => Box::new(AsynchronousWrite::<RingQueue>::new()),
        #[cfg(target_os = "linux")]
        Contender::Technique(Technique::LinuxAio) => Box::new(AsynchronousWrite::<AioQueue>::new()),
        Contender::Technique(Technique::Adaptive) => {
            Box::new(WithArray::new(Adaptive::new(*model)))
        }
        Contender::Technique(Technique::ReadEach | Technique::ReadThenSplit | Technique::Readv) => {
            panic!("{contender} does not write")
        }
        Contender::Technique(_) => {
            panic!("{contender} is not built in: provide it with DescriptorSampler::with_movers")
        }
    }
}

/// Checks that this system offers a technique, with so many transfers in flight.
///
/// # Errors
///
/// The reason why it does not, with the remedy.
pub fn check_available(technique: Technique, depth: u32) -> io::Result<()> {
    match technique {
        #[cfg(all(
            target_os = "linux",
            target_pointer_width = "64",
            target_endian = "little"
        ))]
        Technique::IoUring => RingQueue::with_depth(depth).map(drop),
        #[cfg(target_os = "linux")]
        Technique::LinuxAio => AioQueue::with_depth(depth).map(drop),
        other => {
            let _ = depth;
            match other.lacks_here() {
                Some(reason) => Err(io::Error::new(io::ErrorKind::Unsupported, reason)),
                None => Ok(()),
            }
        }
    }
}
