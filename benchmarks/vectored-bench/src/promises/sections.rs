//! All promises, in the order of the report.

use vectored_results::model::Cell;

use super::known_cell::KnownCell;
use super::section::Section;
use super::{against_best, against_copying, against_peers};

/// All sections. A cell that this crate does not measure counts for none.
pub fn sections(cells: &[Cell]) -> Vec<Section> {
    let known: Vec<KnownCell<'_>> = cells.iter().filter_map(KnownCell::of).collect();
    vec![
        against_best::held_out_lists(&known),
        against_best::null_and_read_streams(&known),
        against_copying::tiny_segments(&known),
        against_copying::mixes(&known),
        against_best::cold_sources(&known),
        against_peers::gather_taxes(&known),
        against_peers::mean_ratios(&known),
        against_peers::from_c(&known),
        against_peers::lost_cells(&known),
    ]
}
