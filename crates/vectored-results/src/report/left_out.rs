//! Cells that were not measured, by reason.

use vectored_report::{visible, words};

use crate::model::LeftOut;
use crate::report::target_names::place;

/// Lists that are named for each reason; the JSON has all.
const MAX_NAMED_LISTS: usize = 6;

/// Cells that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutWords {
    /// The reason.
    pub reason: String,
    /// The cells, as `1000 × 16 KiB on file, pipe, unix`.
    pub cells: String,
}

/// Groups cells that were not measured by reason; a list that was left out on several targets is named once.
pub fn left_out_in_words(left_out: &[LeftOut]) -> Vec<LeftOutWords> {
    let mut reasons: Vec<&str> = Vec::new();
    for cell in left_out {
        if !reasons.contains(&cell.reason.as_str()) {
            reasons.push(&cell.reason);
        }
    }
    reasons
        .into_iter()
        .map(|reason| {
            let place_of = |cell: &LeftOut| place(&cell.conditions);
            // The first cell of each list stands for the list.
            let mut lists: Vec<(&LeftOut, Vec<String>)> = Vec::new();
            for cell in left_out.iter().filter(|cell| cell.reason == reason) {
                let same = |list: &LeftOut| list.segment_sizes == cell.segment_sizes;
                match lists.iter_mut().find(|(list, _)| same(list)) {
                    // A list in several states of caches is named once.
                    Some((_, targets)) if targets.contains(&place_of(cell)) => {}
                    Some((_, targets)) => targets.push(place_of(cell)),
                    None => lists.push((cell, vec![place_of(cell)])),
                }
            }
            let mut named: Vec<String> = lists
                .iter()
                .take(MAX_NAMED_LISTS)
                .map(|(list, targets)| {
                    let targets = targets.join(", ");
                    match (list.conditions.from, &list.segment_sizes[..]) {
                        (Some(_), [(1, bytes)]) => {
                            format!("{} from {targets}", words::bytes(*bytes as u64))
                        }
                        (_, sizes) => format!("{} on {targets}", words::list(sizes)),
                    }
                })
                .collect();
            let rest: usize = lists
                .iter()
                .skip(MAX_NAMED_LISTS)
                .map(|(_, t)| t.len())
                .sum();
            if rest > 0 {
                named.push(words::count(rest, "more cell"));
            }
            LeftOutWords {
                reason: visible(reason),
                cells: named.join("; "),
            }
        })
        .collect()
}
