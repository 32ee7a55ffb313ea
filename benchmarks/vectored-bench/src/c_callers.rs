//! Programs in C: calls of the library against loops by hand, list by list.

use std::fmt::Write as _;

use vectored_results::model::{Cache, Cell, TechniqueName};

use crate::bench_target::BenchTarget;
use crate::grid::List;
use crate::promises::{Rounds, ratio};
use crate::techniques::{C_FWRITE, C_GATHER, C_WRITEV, PEERS};

/// The headings, and the techniques to which `vectored_gather_write_all` is compared.
const COLUMNS: [(&str, TechniqueName); 3] = [
    ("÷ writev", C_WRITEV),
    ("÷ fwrite", C_FWRITE),
    ("÷ Gather of Rust", TechniqueName::ADAPTIVE),
];

/// A section in Markdown with a line for each hot list.
///
/// `None` if another peer was measured in the same run: a page of all peers has one bar for all lists of a target. `None`
/// as well if no list was measured by all programs in C.
pub fn comparison(cells: &[Cell]) -> Option<String> {
    let has_peer = |cell: &Cell| PEERS.iter().any(|peer| cell.technique(*peer).is_some());
    if cells.iter().any(has_peer) {
        return None;
    }
    let hot = cells
        .iter()
        .filter(|cell| cell.conditions.cache == Cache::Hot);
    let rows: String = hot.filter_map(row).collect();
    let headings = COLUMNS.map(|(heading, _)| heading).join(" | ");
    (!rows.is_empty()).then(|| {
        format!(
            "## List by list\n\n\
             Time of `vectored_gather_write_all` ÷ that of a `writev` loop and of `fwrite` with `fflush`, by programs in C, and \
             of `Gather::write_all`: medians of the rounds, with 95 % intervals. The handle of C has the default cost model, \
             and the `Gather` of Rust one that was measured before the run. On pipes, most of the difference between the two \
             comes from that: a measured model cuts long lists into calls of 8 KiB. Lists are segments × bytes.\n\n\
             | target | list | {headings} |\n|---|---|---|---|---|\n{rows}"
        )
    })
}

/// The line of a list; `None` if one of the techniques was not measured.
fn row(cell: &Cell) -> Option<String> {
    let target = BenchTarget::of(cell)?;
    let list = match List::of(cell)? {
        List::Uniform { count, bytes } => format!("{count} × {bytes}"),
        List::Mixed(mix) => mix.to_string(),
    };
    let mut row = format!("| {target} | {list} |");
    for (_, other) in COLUMNS {
        let pair = ratio(cell, C_GATHER, other, Rounds::All)?;
        let _ = match pair.interval {
            Some((low, high)) => write!(row, " {:.2} [{low:.2}, {high:.2}] |", pair.ratio),
            None => write!(row, " {:.2} |", pair.ratio),
        };
    }
    Some(row + "\n")
}
