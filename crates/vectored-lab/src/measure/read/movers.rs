//! Which type reads by which technique.

use vectored::CostModel;

#[cfg(target_os = "linux")]
use crate::in_flight::AioQueue;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
use crate::in_flight::RingQueue;
#[cfg(target_os = "linux")]
use crate::measure::read::asynchronous::AsynchronousRead;
#[cfg(unix)]
use crate::measure::read::mover::Mmap;
use crate::measure::read::mover::{Adaptive, ReadEach, ReadMover, ReadThenSplit, Readv, WithArray};
use crate::measure::sampling::sampler::Contender;
use crate::model::Technique;

/// The mover of a contender, for a target with this cost model. The floors get
/// one segment for all bytes.
///
/// # Panics
///
/// If the technique does not read.
pub fn read_movers(contender: Contender, model: &CostModel) -> Box<dyn ReadMover> {
    match contender {
        Contender::Floor | Contender::FloorAgain => Box::new(ReadEach),
        Contender::Technique(Technique::ReadEach) => Box::new(ReadEach),
        Contender::Technique(Technique::ReadThenSplit) => Box::new(ReadThenSplit::default()),
        Contender::Technique(Technique::Readv) => Box::new(WithArray::new(Readv::default())),
        #[cfg(unix)]
        Contender::Technique(Technique::Mmap) => Box::new(Mmap),
        #[cfg(all(
            target_os = "linux",
            target_pointer_width = "64",
            target_endian = "little"
        ))]
        Contender::Technique(Technique::IoUring) => Box::new(AsynchronousRead::<RingQueue>::new()),
        #[cfg(target_os = "linux")]
        Contender::Technique(Technique::LinuxAio) => Box::new(AsynchronousRead::<AioQueue>::new()),
        Contender::Technique(Technique::Adaptive) => {
            Box::new(WithArray::new(Adaptive::new(*model)))
        }
        Contender::Technique(_) => panic!("{contender} does not read"),
    }
}
