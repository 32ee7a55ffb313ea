//! What is promised, section by section, and which cells count for it.

use vectored_lab::model::{Cache, Cell, Drain, Technique};

use super::ratio::{AgainstBest, Rounds, against_best, geometric_mean, over_floor, ratio};
use super::section::{Row, Section, factor, percent};
use crate::bench_target::BenchTarget;
use crate::grid::{List, name_of};
use crate::measure::{BY_HAND, CONTROL};
use crate::mix::Mix;
use crate::peers::{ADAPTIVES, PEERS};

const COPY: Technique = Technique::CopyThenWrite;
const ADAPTIVE: Technique = Technique::Adaptive;

/// A cell, and what it is.
#[derive(Clone, Copy)]
struct KnownCell<'a> {
    cell: &'a Cell,
    target: BenchTarget,
    list: List,
}

impl KnownCell<'_> {
    fn is_hot(&self) -> bool {
        self.cell.cache == Cache::Hot
    }

    fn has_reader(&self) -> bool {
        self.cell.drain == Some(Drain::ReaderThread)
    }

    /// Bytes are moved, by one thread.
    fn is_real(&self) -> bool {
        self.target != BenchTarget::Null && !self.has_reader()
    }

    fn uniform(&self) -> Option<(usize, usize)> {
        match self.list {
            List::Uniform { count, bytes } => Some((count, bytes)),
            List::Mixed(_) => None,
        }
    }

    fn mix(&self) -> Option<Mix> {
        match self.list {
            List::Mixed(mix) => Some(mix),
            List::Uniform { .. } => None,
        }
    }

    fn against(&self, technique: Technique) -> Option<AgainstBest> {
        against_best(self.cell, technique, &BY_HAND)
    }

    fn ratio(&self, other: Technique) -> Option<f64> {
        Some(ratio(self.cell, ADAPTIVE, other, Rounds::All)?.ratio)
    }
}

/// All sections. Cells that this crate does not measure count for none.
pub fn sections(cells: &[Cell]) -> Vec<Section> {
    let known: Vec<KnownCell<'_>> = cells
        .iter()
        .filter_map(|cell| {
            Some(KnownCell {
                cell,
                target: BenchTarget::of(cell)?,
                list: List::of(cell)?,
            })
        })
        .collect();
    vec![
        near_the_best(&known),
        apart(&known),
        tiny_segments(&known),
        mixes(&known),
        cold(&known),
        taxes(&known),
        peers(&known),
        lost_to_peers(&known),
    ]
}

/// How near to the best of some cells a technique is.
struct Nearness {
    cells: usize,
    within_3: f64,
    within_5: f64,
    surely_slower: f64,
    worst: (f64, String),
}

/// A ratio, its interval, and in which cell it was found.
type Found = (f64, Option<(f64, f64)>, String);

impl Nearness {
    /// `None` without cells.
    fn of(pairs: Vec<Found>) -> Option<Self> {
        let share = |is: &dyn Fn(&Found) -> bool| {
            pairs.iter().filter(|pair| is(pair)).count() as f64 / pairs.len() as f64
        };
        let worst = pairs
            .iter()
            .max_by(|one, other| one.0.total_cmp(&other.0))?;
        Some(Nearness {
            cells: pairs.len(),
            within_3: share(&|pair| pair.0 <= 1.03),
            within_5: share(&|pair| pair.0 <= 1.05),
            surely_slower: share(&|pair| pair.1.is_some_and(|(low, _)| low > 1.02)),
            worst: (worst.0, worst.2.clone()),
        })
    }

    fn of_technique(cells: &[KnownCell<'_>], technique: Technique) -> Option<Self> {
        let pairs = cells.iter().filter_map(|known| {
            let AgainstBest { best, pair } = known.against(technique)?;
            let name = format!("{} ÷ {best}", name_of(known.cell));
            Some((pair.ratio, pair.interval, name))
        });
        Nearness::of(pairs.collect())
    }

    const COLUMNS: [&str; 6] = [
        "cells",
        "≤ 1.03",
        "≤ 1.05",
        "> 1.02 surely",
        "worst",
        "where",
    ];

    fn columns(&self) -> Vec<String> {
        vec![
            self.cells.to_string(),
            percent(self.within_3),
            percent(self.within_5),
            percent(self.surely_slower),
            factor(self.worst.0),
            self.worst.1.clone(),
        ]
    }

    fn is_near(&self) -> bool {
        self.within_3 >= 0.97
            && self.within_5 >= 0.99
            && self.worst.0 <= 1.10
            && self.surely_slower <= 0.03
    }
}

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|&column| column.to_owned()).collect()
}

fn chosen<'a>(cells: &[KnownCell<'a>], is: impl Fn(&KnownCell<'a>) -> bool) -> Vec<KnownCell<'a>> {
    cells.iter().copied().filter(|known| is(known)).collect()
}

fn near_the_best(cells: &[KnownCell<'_>]) -> Section {
    let real = chosen(cells, |known| known.is_real() && known.is_hot());
    let held_out = chosen(&real, |known| known.list.is_held_out());
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
                sources. Promised where held out, with three fresh calibrations: ≤ 1.03 in 97 %, \
                ≤ 1.05 in 99 %, none above 1.10, surely above 1.02 in ≤ 3 %"
            .to_owned(),
        columns: names(&Nearness::COLUMNS),
        rows,
        notes: Vec::new(),
    }
}

/// What cannot be told from a technique that is as good as the best.
const SAME: &str = "write-each ÷ itself where it is best";

fn apart(cells: &[KnownCell<'_>]) -> Section {
    let hot = chosen(cells, KnownCell::is_hot);
    let mut groups = vec![(
        "null".to_owned(),
        chosen(&hot, |known| known.target == BenchTarget::Null),
    )];
    for target in BenchTarget::ALL
        .into_iter()
        .filter(|target| target.is_stream())
    {
        let read = chosen(&hot, |known| known.target == target && known.has_reader());
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
            let AgainstBest { best, pair } = known.against(CONTROL)?;
            let name = name_of(known.cell);
            (best == Technique::WriteEach).then_some((pair.ratio, pair.interval, name))
        });
        if let Some(noise) = Nearness::of(same.collect()) {
            rows.push(Row::plain(format!("{what}, {SAME}"), noise.columns()));
        }
    }
    Section {
        title: "The same apart: /dev/null, and streams past their capacity with a live reader. \
                Promised: ≥ 90 % within 5 %"
            .to_owned(),
        columns: names(&Nearness::COLUMNS),
        rows,
        notes: Vec::new(),
    }
}

/// Geometric means by place, and over all places but null.
fn by_target(
    cells: &[KnownCell<'_>],
    value: impl Fn(&KnownCell<'_>) -> Option<f64>,
) -> (Vec<String>, Option<f64>) {
    let mean = |set: &[KnownCell<'_>]| geometric_mean(set.iter().filter_map(&value));
    let mut found: Vec<String> = BenchTarget::ALL
        .into_iter()
        .map(|target| mean(&chosen(cells, |known| known.target == target)))
        .map(|mean| mean.map_or_else(|| "–".to_owned(), factor))
        .collect();
    let real = mean(&chosen(cells, KnownCell::is_real));
    found.push(real.map_or_else(|| "–".to_owned(), factor));
    (found, real)
}

fn target_columns(last: &str) -> Vec<String> {
    let targets = BenchTarget::ALL.iter().map(BenchTarget::to_string);
    targets.chain([last.to_owned()]).collect()
}

fn tiny_segments(cells: &[KnownCell<'_>]) -> Section {
    let is_tiny = |known: &KnownCell<'_>| {
        let bytes = known.uniform().map(|(_, bytes)| bytes);
        known.is_hot() && !known.has_reader() && bytes.is_some_and(|bytes| bytes <= 50)
    };
    let tiny = chosen(cells, is_tiny);
    let mut rows = Vec::new();
    for (what, counts, most) in [
        ("counts ≥ 64", 64..=usize::MAX, 0.88),
        ("counts ≤ 8", 0..=8, 1.02),
    ] {
        let set = chosen(&tiny, |known| {
            known
                .uniform()
                .is_some_and(|(count, _)| counts.contains(&count))
        });
        let (found, real) = by_target(&set, |known| known.ratio(COPY));
        if let Some(real) = real {
            rows.push(Row {
                what: what.to_owned(),
                found,
                met: Some(real <= most),
            });
        }
    }
    Section {
        title: "Adaptive ÷ copy-then-write, segments up to 50 B, geometric mean. Promised over \
                real cells: counts ≥ 64 ≤ 0.88 with AVX2 or better (≤ 0.92 with SSE2 only), \
                counts ≤ 8 ≤ 1.02"
            .to_owned(),
        columns: target_columns("real"),
        rows,
        notes: Vec::new(),
    }
}

fn mixes(cells: &[KnownCell<'_>]) -> Section {
    let better = |known: &KnownCell<'_>| {
        let pair = against_best(known.cell, ADAPTIVE, &[COPY, Technique::Writev])?.pair;
        Some(pair.ratio)
    };
    let mixed = chosen(cells, |known| known.is_hot() && known.mix().is_some());
    let real = chosen(&mixed, KnownCell::is_real);
    let mut rows: Vec<Row> = Mix::ALL
        .into_iter()
        .map(|mix| chosen(&mixed, |known| known.mix() == Some(mix)))
        .filter(|set| !set.is_empty())
        .map(|set| Row::plain(set[0].list.name(), by_target(&set, better).0))
        .collect();
    let promised = |what: &str, set: &[KnownCell<'_>], most: f64| {
        let (found, mean) = by_target(set, better);
        mean.map(|mean| Row {
            what: what.to_owned(),
            found,
            met: Some(mean <= most),
        })
    };
    rows.extend(promised(
        "all mixes, without reader threads: ≤ 0.93",
        &real,
        0.93,
    ));
    let small = chosen(&real, |known| {
        known.target.is_stream() && known.mix().is_some_and(Mix::is_of_small_records)
    });
    rows.extend(promised(
        "log lines, replies, wal-100 on streams: ≤ 0.85",
        &small,
        0.85,
    ));
    let worst = real
        .iter()
        .filter_map(|known| Some((better(known)?, name_of(known.cell))))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    if let Some((worst, name)) = worst {
        rows.push(Row {
            what: format!("the worst: ≤ 1.06: {name}"),
            found: [
                vec![String::new(); BenchTarget::ALL.len()],
                vec![factor(worst)],
            ]
            .concat(),
            met: Some(worst <= 1.06),
        });
    }
    Section {
        title: "Adaptive ÷ better of copy-then-write and writev, mixes, geometric mean".to_owned(),
        columns: target_columns("real"),
        rows,
        notes: marked_readers(&mixed),
    }
}

/// Which of the mixes had a reader thread: they count for a place, not for real
/// cells.
fn marked_readers(mixed: &[KnownCell<'_>]) -> Vec<String> {
    let read: Vec<String> = mixed
        .iter()
        .filter(|known| known.has_reader())
        .map(|known| format!("{} {}", known.target, known.list.name()))
        .collect();
    match read.is_empty() {
        true => Vec::new(),
        false => vec![format!("With a reader thread: {}", read.join(", "))],
    }
}

fn cold(cells: &[KnownCell<'_>]) -> Section {
    let cold = chosen(cells, |known| !known.is_hot() && known.is_real());
    let mut groups = vec![("all".to_owned(), cold.clone(), true)];
    for target in BenchTarget::ALL {
        let here = chosen(&cold, |known| known.target == target);
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
        title: "Adaptive ÷ best by hand with cold sources, real cells. Promised: ≥ 90 % within 5 %"
            .to_owned(),
        columns: names(&Nearness::COLUMNS),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The most gather tax that is promised for `adaptive`.
fn most_tax(target: BenchTarget) -> Option<f64> {
    match target {
        BenchTarget::FileOverwrite | BenchTarget::Tcp => Some(0.13),
        BenchTarget::Tmpfs => Some(0.16),
        BenchTarget::Pipe => Some(0.25),
        BenchTarget::Unix => Some(0.23),
        BenchTarget::File | BenchTarget::Null => None,
    }
}

fn taxes(cells: &[KnownCell<'_>]) -> Section {
    let techniques = [&BY_HAND[..], &[ADAPTIVE], &PEERS].concat();
    let plain = chosen(cells, |known| {
        known.is_hot() && !known.has_reader() && known.list.is_plain()
    });
    let measured: Vec<Technique> = techniques
        .into_iter()
        .filter(|&technique| {
            plain
                .iter()
                .any(|known| known.cell.technique(technique).is_some())
        })
        .collect();
    let tax = |target: BenchTarget, technique: Technique| {
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
            what: match most_tax(target) {
                Some(most) => format!("{target}: adaptive < {:.0} %", most * 100.0),
                None => target.to_string(),
            },
            found: found.collect(),
            met: most_tax(target).map(|most| own < most),
        })
    });
    Section {
        title: "Gather tax, geometric mean of time ÷ floor, less 1, over counts 2 to 1000, sizes \
                3 B to 16 KiB and mixes, without reader threads"
            .to_owned(),
        columns: measured.iter().map(Technique::to_string).collect(),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// Those that adaptive is held against, and whether each is to be beaten or
/// only matched.
fn rivals() -> impl Iterator<Item = (Technique, bool)> {
    let by_hand = BY_HAND.iter().map(|&technique| (technique, false));
    by_hand.chain(PEERS.iter().map(|&technique| (technique, true)))
}

/// Cells in which peers took part.
fn contested<'a>(cells: &[KnownCell<'a>]) -> Vec<KnownCell<'a>> {
    chosen(cells, |known| known.is_hot() && known.list.is_plain())
}

fn peers(cells: &[KnownCell<'_>]) -> Section {
    let cells = contested(cells);
    let rows = rivals().filter_map(|(rival, is_peer)| {
        let means: Vec<Option<f64>> = BenchTarget::ALL
            .into_iter()
            .map(|target| {
                let here = cells.iter().filter(|known| known.target == target);
                geometric_mean(here.filter_map(|known| known.ratio(rival)))
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
            found: means
                .iter()
                .map(|mean| mean.map_or_else(|| "–".to_owned(), factor))
                .collect(),
            met: Some(met),
        })
    });
    Section {
        title: "Adaptive ÷ each peer, geometric mean of hot cells. Promised but on null: faster \
                than peers, not slower than techniques by hand"
            .to_owned(),
        columns: BenchTarget::ALL
            .iter()
            .map(BenchTarget::to_string)
            .collect(),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// Most lines of lost cells of one peer.
const MAX_LOST: usize = 8;

fn lost_to_peers(cells: &[KnownCell<'_>]) -> Section {
    let cells = chosen(&contested(cells), |known| known.target != BenchTarget::Null);
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
        if lost.len() > MAX_LOST {
            notes.push(format!(
                "{peer}: {} more, nearer to 1",
                lost.len() - MAX_LOST
            ));
        }
        rows.extend(lost.into_iter().take(MAX_LOST).map(|(ratio, low, name)| {
            Row::plain(format!("{peer}: {name}"), vec![factor(ratio), factor(low)])
        }));
    }
    Section {
        title: "Cells that a peer wins: adaptive ÷ peer surely above 1".to_owned(),
        columns: names(&["ratio", "at least"]),
        rows,
        notes,
    }
}
