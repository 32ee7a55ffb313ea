//! `adaptive` against the best that a program writes by hand.

use vectored_results::model::TechniqueName;

use super::known_cell::{ADAPTIVE, KnownCell, select};
use super::nearness::Nearness;
use super::ratio::{AgainstBest, over_floor};
use super::section::{Row, Section, names};
use crate::bench_target::BenchTarget;
use crate::grid::name_of;
use crate::techniques::{ADAPTIVES, CONTROL};

/// Real cells with hot sources; the promise is for lists that no calibration measures.
pub fn held_out_lists(cells: &[KnownCell<'_>]) -> Section {
    let real = select(cells, |known| known.is_real() && known.is_hot());
    let held_out = select(&real, |known| known.list.is_held_out());
    let mut rows = Vec::new();
    for technique in ADAPTIVES {
        for (set, what, is_promised) in [
            (&held_out, "sizes and counts held out", true),
            (&real, "all", false),
        ] {
            if let Some(near) = Nearness::of_technique(set, technique) {
                rows.push(Row {
                    what: format!("{technique}, {what}"),
                    found: near.columns(),
                    met: is_promised.then(|| near.is_near()),
                });
            }
        }
    }
    let same = real.iter().filter_map(|known| {
        let pair = over_floor(known.cell, None)?;
        Some((pair.ratio, pair.interval, name_of(known.cell)))
    });
    if let Some(noise) = Nearness::of(same.collect()) {
        rows.push(Row::plain("the floor against itself, all", noise.columns()));
    }
    Section {
        title: "Adaptive ÷ best of write-each, copy-then-write and writev, real cells with hot \
                sources. Promised for held-out lists, with each of three fresh calibrations: \
                ≤ 1.03 in 97 % of the cells, ≤ 1.05 in 99 %, none above 1.10, 95 % interval (CI) \
                above 1.02 in ≤ 3 %"
            .to_owned(),
        columns: names(&Nearness::COLUMNS),
        rows,
        notes: Vec::new(),
    }
}

/// The A/A control: a technique as good as the best shows the same ratios.
const SAME: &str = "write-each ÷ itself where it is best";

/// `/dev/null`, and streams that a thread reads meanwhile.
pub fn null_and_read_streams(cells: &[KnownCell<'_>]) -> Section {
    let hot = select(cells, KnownCell::is_hot);
    let mut groups = vec![(
        "null".to_owned(),
        select(&hot, |known| known.target == BenchTarget::Null),
    )];
    for target in BenchTarget::ALL
        .into_iter()
        .filter(|target| target.is_stream())
    {
        let read = select(&hot, |known| known.target == target && known.has_reader());
        groups.push((format!("{target} with a reader"), read));
    }
    let mut rows = Vec::new();
    for (what, set) in groups {
        if let Some(near) = Nearness::of_technique(&set, ADAPTIVE) {
            rows.push(Row {
                what: what.clone(),
                met: Some(near.within_5 >= 0.90),
                found: near.columns(),
            });
        }
        let same = set.iter().filter_map(|known| {
            let AgainstBest { best, pair } = known.against_by_hand(CONTROL)?;
            let name = name_of(known.cell);
            (best == TechniqueName::WRITE_EACH).then_some((pair.ratio, pair.interval, name))
        });
        if let Some(noise) = Nearness::of(same.collect()) {
            rows.push(Row::plain(format!("{what}, {SAME}"), noise.columns()));
        }
    }
    Section {
        title: "Adaptive ÷ best by hand on /dev/null, and on streams that a thread reads because \
                the list does not fit. Promised: ≤ 1.05 in 90 % of the cells"
            .to_owned(),
        columns: names(&Nearness::COLUMNS),
        rows,
        notes: Vec::new(),
    }
}

/// Real cells with cold sources.
pub fn cold_sources(cells: &[KnownCell<'_>]) -> Section {
    let cold = select(cells, |known| !known.is_hot() && known.is_real());
    let mut groups = vec![("all".to_owned(), cold.clone(), true)];
    for target in BenchTarget::ALL {
        let here = select(&cold, |known| known.target == target);
        groups.push((target.to_string(), here, false));
    }
    let rows = groups.into_iter().filter_map(|(what, set, is_promised)| {
        let near = Nearness::of_technique(&set, ADAPTIVE)?;
        Some(Row {
            what,
            met: is_promised.then_some(near.within_5 >= 0.90),
            found: near.columns(),
        })
    });
    Section {
        title:
            "Adaptive ÷ best by hand, real cells with cold sources. Promised: ≤ 1.05 in 90 % of \
                the cells"
                .to_owned(),
        columns: names(&Nearness::COLUMNS),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}
