//! `adaptive` against the peers: gather taxes, means, and the cells that a peer wins.

use vectored_results::model::TechniqueName;

use super::known_cell::{ADAPTIVE, KnownCell, select};
use super::ratio::{Rounds, geometric_mean, over_floor, ratio};
use super::section::{Row, Section, factor, factor_or_dash, names};
use crate::bench_target::BenchTarget;
use crate::grid::name_of;
use crate::techniques::{BY_HAND, C_CALLERS, PEERS, peers_and_c_callers};

/// The promised upper limit of the gather tax of `adaptive`.
fn promised_tax(target: BenchTarget) -> Option<f64> {
    match target {
        BenchTarget::FileOverwrite | BenchTarget::Tcp => Some(0.13),
        BenchTarget::Tmpfs => Some(0.16),
        BenchTarget::Pipe => Some(0.25),
        BenchTarget::Unix => Some(0.23),
        BenchTarget::File | BenchTarget::Null => None,
    }
}

/// The gather tax of each technique, by target.
pub fn gather_taxes(cells: &[KnownCell<'_>]) -> Section {
    let techniques = [&BY_HAND[..], &[ADAPTIVE], &peers_and_c_callers()].concat();
    let plain = select(cells, |known| {
        known.is_hot() && !known.has_reader() && known.list.is_plain()
    });
    let measured: Vec<TechniqueName> = techniques
        .into_iter()
        .filter(|&technique| {
            plain
                .iter()
                .any(|known| known.cell.technique(technique).is_some())
        })
        .collect();
    let tax = |target: BenchTarget, technique: TechniqueName| {
        let here = plain.iter().filter(|known| known.target == target);
        let ratios = here.filter_map(|known| Some(over_floor(known.cell, Some(technique))?.ratio));
        geometric_mean(ratios).map(|mean| mean - 1.0)
    };
    let rows = BenchTarget::ALL.into_iter().filter_map(|target| {
        let own = tax(target, ADAPTIVE)?;
        let found = measured.iter().map(|&technique| {
            tax(target, technique)
                .map_or_else(|| "–".to_owned(), |tax| format!("{:.0} %", tax * 100.0))
        });
        Some(Row {
            what: match promised_tax(target) {
                Some(most) => format!("{target}: adaptive < {:.0} %", most * 100.0),
                None => target.to_string(),
            },
            found: found.collect(),
            met: promised_tax(target).map(|most| own < most),
        })
    });
    Section {
        title: "Gather tax, geometric mean of time ÷ floor, less 1, over counts 2 to 1000, sizes \
                3 B to 16 KiB and mixes, without reader threads"
            .to_owned(),
        columns: measured.iter().map(TechniqueName::to_string).collect(),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The techniques that `adaptive` is compared with. `true` marks a peer: `adaptive` must beat a peer, and must only match a
/// technique by hand.
fn rivals() -> impl Iterator<Item = (TechniqueName, bool)> {
    let by_hand = BY_HAND.iter().map(|&technique| (technique, false));
    by_hand.chain(PEERS.iter().map(|&technique| (technique, true)))
}

/// The cells in which peers were measured.
fn contested<'a>(cells: &[KnownCell<'a>]) -> Vec<KnownCell<'a>> {
    select(cells, |known| known.is_hot() && known.list.is_plain())
}

/// The mean ratio of `adaptive` to each peer, by target.
pub fn mean_ratios(cells: &[KnownCell<'_>]) -> Section {
    let cells = contested(cells);
    let rows = rivals().filter_map(|(rival, is_peer)| {
        let means: Vec<Option<f64>> = BenchTarget::ALL
            .into_iter()
            .map(|target| {
                let here = cells.iter().filter(|known| known.target == target);
                geometric_mean(here.filter_map(|known| known.adaptive_ratio(rival)))
            })
            .collect();
        let is_met = |(&target, mean): (&BenchTarget, &Option<f64>)| match (target, mean) {
            (BenchTarget::Null, _) | (_, None) => true,
            (_, Some(mean)) if is_peer => *mean < 1.0,
            (_, Some(mean)) => *mean <= 1.0,
        };
        let met = std::iter::zip(&BenchTarget::ALL, &means).all(is_met);
        means.iter().any(Option::is_some).then(|| Row {
            what: rival.to_string(),
            found: means.iter().copied().map(factor_or_dash).collect(),
            met: Some(met),
        })
    });
    Section {
        title: "Adaptive ÷ each other technique, geometric mean of hot cells. Promised except on \
                null: below 1 for peers, at most 1 for techniques by hand"
            .to_owned(),
        columns: BenchTarget::ALL
            .iter()
            .map(BenchTarget::to_string)
            .collect(),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The mean ratio of a C program that calls the C library to each program by hand, and to `adaptive`, by target.
pub fn from_c(cells: &[KnownCell<'_>]) -> Section {
    let cells = contested(cells);
    let [ours, by_hand @ ..] = C_CALLERS;
    let rows = [&by_hand[..], &[ADAPTIVE]].concat().into_iter();
    let rows = rows.filter_map(|rival| {
        let mean = |target: BenchTarget| {
            let here = cells.iter().filter(|known| known.target == target);
            let ratios =
                here.filter_map(|known| Some(ratio(known.cell, ours, rival, Rounds::All)?.ratio));
            geometric_mean(ratios)
        };
        let means = BenchTarget::ALL.map(mean);
        let found = means.iter().copied().map(factor_or_dash).collect();
        let is_measured = means.iter().any(Option::is_some);
        is_measured.then(|| Row::plain(rival.to_string(), found))
    });
    Section {
        title: format!("From C: {ours} ÷ each other technique, geometric mean of hot cells"),
        columns: BenchTarget::ALL
            .iter()
            .map(BenchTarget::to_string)
            .collect(),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// Lines of lost cells for one peer; the rest is counted.
const MAX_LOST_CELLS: usize = 8;

/// The cells in which a peer is significantly faster.
pub fn lost_cells(cells: &[KnownCell<'_>]) -> Section {
    let cells = select(&contested(cells), |known| known.target != BenchTarget::Null);
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for (peer, _) in rivals().filter(|(_, is_peer)| *is_peer) {
        let mut lost: Vec<(f64, f64, String)> = cells
            .iter()
            .filter_map(|known| {
                let pair = ratio(known.cell, ADAPTIVE, peer, Rounds::All)?;
                let (low, _) = pair.interval?;
                (low > 1.0).then(|| (pair.ratio, low, name_of(known.cell)))
            })
            .collect();
        lost.sort_by(|one, other| other.0.total_cmp(&one.0));
        if lost.len() > MAX_LOST_CELLS {
            notes.push(format!(
                "{peer}: {} more cells, nearer to 1",
                lost.len() - MAX_LOST_CELLS
            ));
        }
        rows.extend(
            lost.into_iter()
                .take(MAX_LOST_CELLS)
                .map(|(ratio, low, name)| {
                    Row::plain(format!("{peer}: {name}"), vec![factor(ratio), factor(low)])
                }),
        );
    }
    Section {
        title: "Cells in which a peer is significantly faster: 95 % interval of adaptive ÷ peer \
                above 1"
            .to_owned(),
        columns: names(&["ratio", "at least"]),
        rows,
        notes,
    }
}
