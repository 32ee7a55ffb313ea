//! The write techniques, as a program would implement them by hand; one idea
//! per file.

pub(crate) mod adaptive;
pub(crate) mod array;
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

use vectored::CostModel;

use crate::measure::sampling::sampler::Contender;
use crate::measure::write::mover::Mover;
use crate::measure::write::movers::adaptive::Adaptive;
use crate::measure::write::movers::array::WithArray;
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
    if let Contender::Technique(technique) = contender
        && Technique::ASYNCHRONOUS.contains(&technique)
    {
        return Box::new(AsynchronousWrite::new(technique));
    }
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
