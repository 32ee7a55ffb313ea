//! How near a technique is to the best of others, over many cells.

use vectored_results::model::TechniqueName;

use super::known_cell::KnownCell;
use super::ratio::AgainstBest;
use super::section::{factor, percent};
use crate::grid::name_of;

/// Shares of cells by their ratio to the best, and the largest ratio.
pub struct Nearness {
    cells: usize,
    within_3: f64,
    pub within_5: f64,
    /// The share of cells whose whole 95 % interval is above 1.02.
    significantly_slower: f64,
    worst: (f64, String),
}

/// The ratio in a cell, its 95 % interval, and the name of the cell.
pub type CellRatio = (f64, Option<(f64, f64)>, String);

impl Nearness {
    /// `None` without cells.
    pub fn of(pairs: Vec<CellRatio>) -> Option<Self> {
        let share = |is: &dyn Fn(&CellRatio) -> bool| {
            pairs.iter().filter(|pair| is(pair)).count() as f64 / pairs.len() as f64
        };
        let worst = pairs
            .iter()
            .max_by(|one, other| one.0.total_cmp(&other.0))?;
        Some(Nearness {
            cells: pairs.len(),
            within_3: share(&|pair| pair.0 <= 1.03),
            within_5: share(&|pair| pair.0 <= 1.05),
            significantly_slower: share(&|pair| pair.1.is_some_and(|(low, _)| low > 1.02)),
            worst: (worst.0, worst.2.clone()),
        })
    }

    /// The nearness of `technique` to the best that a program writes by hand; `None` without cells.
    pub fn of_technique(cells: &[KnownCell<'_>], technique: TechniqueName) -> Option<Self> {
        let pairs = cells.iter().filter_map(|known| {
            let AgainstBest { best, pair } = known.against_by_hand(technique)?;
            let name = format!("{} ÷ {best}", name_of(known.cell));
            Some((pair.ratio, pair.interval, name))
        });
        Nearness::of(pairs.collect())
    }

    pub const COLUMNS: [&str; 6] = [
        "cells",
        "≤ 1.03",
        "≤ 1.05",
        "CI above 1.02",
        "worst",
        "where",
    ];

    pub fn columns(&self) -> Vec<String> {
        vec![
            self.cells.to_string(),
            percent(self.within_3),
            percent(self.within_5),
            percent(self.significantly_slower),
            factor(self.worst.0),
            self.worst.1.clone(),
        ]
    }

    /// Whether the promise for lists that were held out is kept.
    pub fn is_near(&self) -> bool {
        self.within_3 >= 0.97
            && self.within_5 >= 0.99
            && self.worst.0 <= 1.10
            && self.significantly_slower <= 0.03
    }
}
