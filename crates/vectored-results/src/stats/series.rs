//! Series of cells that differ in one size only.

use vectored_report::{by_key, sort};

use crate::model::{Cell, Conditions, Drain, ListShape, TechniqueName};
use crate::stats::paired::{PairStats, paired};
use crate::stats::verdict::log_ratios;

/// Lists of one shape under the same conditions: equally many segments that are all of one size, or a swept mix.
pub struct SizeSeries<'a> {
    pub conditions: &'a Conditions,
    pub shape: ListShape<'a>,
    /// In order of the size that varies; cells of fixed mixes are left out.
    pub cells: Vec<&'a Cell>,
}

/// Groups `cells` into series, in their order. Cells with a thread at the other end are left out: their
/// times depend on how two threads wait for each other. So does every copy to or from a stream, in any program.
pub fn series<'a>(cells: &[&'a Cell]) -> Vec<SizeSeries<'a>> {
    let is_alone = |cell: &&Cell| !has_helper(cell) || cell.conditions.from.is_some();
    let swept = cells
        .iter()
        .copied()
        .filter(|cell| cell.swept_bytes().is_some());
    let alone = swept.filter(is_alone);
    let all = by_key(alone.map(|cell| ((&cell.conditions, cell.shape()), cell)));
    let one = |((conditions, shape), mut cells): (_, Vec<&'a Cell>)| {
        sort::sort_by_key(&mut cells, |cell| cell.swept_bytes());
        SizeSeries {
            conditions,
            shape,
            cells,
        }
    };
    all.into_iter().map(one).collect()
}

/// Whether a thread or program at the other end took part.
pub(crate) fn has_helper(cell: &Cell) -> bool {
    cell.drain
        .is_some_and(|drain| drain.has_thread() || drain == Drain::Peer)
}

/// One technique against another in one cell, by round.
pub fn pair(cell: &Cell, of: TechniqueName, to: TechniqueName) -> Option<PairStats> {
    let [of, to] = [cell.technique(of)?, cell.technique(to)?];
    paired(&log_ratios(&of.samples_ns, &to.samples_ns))
}
