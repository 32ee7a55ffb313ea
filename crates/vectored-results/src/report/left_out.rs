//! Cells that were not measured, by reason.

use vectored_report::{by_key, each_once, visible, words};

use crate::model::LeftOut;
use crate::report::target_names::place;

/// The most lists that are named for each reason. The JSON has all lists.
const MAX_NAMED_LISTS: usize = 6;

/// Each reason, with its cells, as `1000 × 16 KiB on file, pipe, unix`: a list that was left out on several targets is named
/// once.
pub fn left_out_in_words(left_out: &[LeftOut]) -> Vec<(String, String)> {
    let of_reason = |(reason, cells): (&String, Vec<&LeftOut>)| {
        let lists = by_key(cells.into_iter().map(|cell| (&cell.segment_sizes, cell)));
        // A list in several states of caches is named once on its target.
        let lists = lists.into_iter().map(|(_, cells)| {
            let targets = each_once(cells.iter().map(|cell| place(&cell.conditions)));
            (cells[0], targets)
        });
        let lists: Vec<(&LeftOut, Vec<String>)> = lists.collect();
        let named = lists.iter().take(MAX_NAMED_LISTS).map(|(list, targets)| {
            let targets = targets.join(", ");
            match (list.conditions.from, &list.segment_sizes[..]) {
                (Some(_), [(1, bytes)]) => {
                    format!("{} from {targets}", words::bytes(*bytes as u64))
                }
                (_, sizes) => format!("{} on {targets}", words::list(sizes)),
            }
        });
        let rest = lists
            .iter()
            .skip(MAX_NAMED_LISTS)
            .map(|(_, targets)| targets.len());
        let rest = Some(rest.sum()).filter(|rest| *rest > 0);
        let rest = rest.map(|rest| words::count(rest, "more cell"));
        let cells = named.chain(rest).collect::<Vec<_>>().join("; ");
        (visible(reason), cells)
    };
    let reasons = by_key(left_out.iter().map(|cell| (&cell.reason, cell)));
    reasons.into_iter().map(of_reason).collect()
}
