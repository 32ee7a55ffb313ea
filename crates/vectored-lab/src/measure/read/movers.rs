//! Which type reads by which technique.

use vectored::CostModel;

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
    if let Contender::Technique(technique) = contender
        && Technique::ASYNCHRONOUS.contains(&technique)
    {
        return Box::new(AsynchronousRead::new(technique));
    }
    match contender {
        Contender::Floor | Contender::FloorAgain => Box::new(ReadEach),
        Contender::Technique(Technique::ReadEach) => Box::new(ReadEach),
        Contender::Technique(Technique::ReadThenSplit) => Box::new(ReadThenSplit::default()),
        Contender::Technique(Technique::Readv) => Box::new(WithArray::new(Readv::default())),
        #[cfg(unix)]
        Contender::Technique(Technique::Mmap) => Box::new(Mmap),
        Contender::Technique(Technique::Adaptive) => {
            Box::new(WithArray::new(Adaptive::new(*model)))
        }
        Contender::Technique(_) => panic!("{contender} does not read"),
    }
}
