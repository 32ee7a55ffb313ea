//! The cells that the promises count, each with its target and its list.

use vectored_results::model::{Cache, Cell, Drain, TechniqueName};

use super::ratio::{AgainstBest, Rounds, against_best, ratio};
use crate::bench_target::BenchTarget;
use crate::grid::List;
use crate::mix::Mix;
use crate::techniques::BY_HAND;

/// The technique that the promises are about, with its first calibration.
pub const ADAPTIVE: TechniqueName = TechniqueName::ADAPTIVE;

/// A measured cell with its target and its list.
#[derive(Clone, Copy)]
pub struct KnownCell<'a> {
    pub cell: &'a Cell,
    pub target: BenchTarget,
    pub list: List,
}

impl<'a> KnownCell<'a> {
    /// `None` for a cell that this crate does not measure.
    pub fn of(cell: &'a Cell) -> Option<Self> {
        Some(KnownCell {
            cell,
            target: BenchTarget::of(cell)?,
            list: List::of(cell)?,
        })
    }

    pub fn is_hot(&self) -> bool {
        self.cell.conditions.cache == Cache::Hot
    }

    pub fn has_reader(&self) -> bool {
        self.cell.drain == Some(Drain::ReaderThread)
    }

    /// Whether bytes are really moved (not to `/dev/null`) and by one thread alone.
    pub fn is_real(&self) -> bool {
        self.target != BenchTarget::Null && !self.has_reader()
    }

    /// The count and the bytes of segments of one size.
    pub fn uniform(&self) -> Option<(usize, usize)> {
        match self.list {
            List::Uniform { count, bytes } => Some((count, bytes)),
            List::Mixed(_) => None,
        }
    }

    pub fn mix(&self) -> Option<Mix> {
        match self.list {
            List::Mixed(mix) => Some(mix),
            List::Uniform { .. } => None,
        }
    }

    /// `technique` against the best of the techniques that a program writes by hand.
    pub fn against_by_hand(&self, technique: TechniqueName) -> Option<AgainstBest> {
        against_best(self.cell, technique, &BY_HAND)
    }

    /// The time of `adaptive` ÷ the time of `other`.
    pub fn adaptive_ratio(&self, other: TechniqueName) -> Option<f64> {
        Some(ratio(self.cell, ADAPTIVE, other, Rounds::All)?.ratio)
    }
}

/// The cells for which `is` holds.
pub fn select<'a>(
    cells: &[KnownCell<'a>],
    is: impl Fn(&KnownCell<'a>) -> bool,
) -> Vec<KnownCell<'a>> {
    cells.iter().copied().filter(|known| is(known)).collect()
}
