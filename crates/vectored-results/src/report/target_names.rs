//! Titles of sections.

use vectored_report::sort::distinct;
use vectored_report::visible;

use crate::model::{AXES, Axis, Cell, Conditions, Target};

/// The conditions of these cells, each once: the sections of a report, in their order.
pub(crate) fn sections<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<&'a Conditions> {
    distinct(cells.into_iter().map(|cell| &cell.conditions))
}

/// Titles of sections. Conditions that go without saying are named if sections differ in them.
pub(crate) struct Titles {
    varying: Vec<&'static str>,
}

impl Titles {
    pub fn among<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Self {
        let all = sections(cells);
        let varies = |axis: &&Axis| {
            let words = |conditions: &&Conditions| (axis.words)(conditions, true);
            all.windows(2)
                .any(|pair| words(&pair[0]) != words(&pair[1]))
        };
        Titles {
            varying: AXES.iter().filter(varies).map(|axis| axis.name).collect(),
        }
    }

    /// `file`, `file read hot`, `file-overwrite fsync`, `socket /tmp/x`,
    /// `pipe, cache cold, layout adjacent`.
    pub fn of(&self, conditions: &Conditions) -> String {
        visible(&conditions.title(|axis| self.varying.contains(&axis.name)))
    }
}

/// `pipe`, `file read hot`; conditions other than the default are named.
pub fn conditions_in_words(conditions: &Conditions) -> String {
    visible(&conditions.title(|_| false))
}

pub(crate) fn place(conditions: &Conditions) -> String {
    visible(&conditions.ends())
}

/// Whether the gather tax is meaningful for the target of `cell`: `/dev/null` reads no byte, so its floor does not grow
/// with the list. The floor of a copy to `/dev/null` does grow.
pub(crate) fn has_tax(cell: &Cell) -> bool {
    cell.conditions.target != Target::Null || cell.conditions.from.is_some()
}
