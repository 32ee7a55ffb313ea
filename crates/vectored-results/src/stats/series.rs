//! Series of cells that differ in one size only.

use vectored_report::{by_key, sort};

use crate::model::{Cell, Drain, TechniqueName};
use crate::stats::paired::{PairStats, paired};
use crate::stats::verdict::log_ratios;

/// Groups `cells` into series of one shape under the same conditions, each by the size that varies. Cells of fixed mixes are
/// left out. Cells with a thread at the other end are left out, since their times depend on how two threads wait for each
/// other. Copies to or from a stream stay: in any program their times depend on another thread.
pub fn series<'a>(cells: &[&'a Cell]) -> Vec<Vec<&'a Cell>> {
    let is_alone = |cell: &Cell| !has_helper(cell) || cell.conditions.from.is_some();
    let is_of_series = |cell: &&Cell| cell.swept_bytes().is_some() && is_alone(cell);
    let here = cells.iter().copied().filter(is_of_series);
    let mut all = by_key(here.map(|cell| ((&cell.conditions, cell.shape()), cell)));
    for (_, cells) in &mut all {
        sort::sort_by_key(cells, |cell| cell.swept_bytes());
    }
    all.into_iter().map(|(_, cells)| cells).collect()
}

/// Whether a thread or program at the other end took part.
pub(crate) fn has_helper(cell: &Cell) -> bool {
    cell.drain
        .is_some_and(|drain| drain.has_thread() || drain == Drain::Peer)
}

pub fn pair(cell: &Cell, of: TechniqueName, to: TechniqueName) -> Option<PairStats> {
    let [of, to] = [cell.technique(of)?, cell.technique(to)?];
    paired(&log_ratios(&of.samples_ns, &to.samples_ns))
}
