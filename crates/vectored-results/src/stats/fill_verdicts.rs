//! Fills in medians, ratios and verdicts from the samples of measured cells.

use crate::model::{Cell, TechniqueName, TechniqueResult, Verdict};
use crate::stats::paired::paired;
use crate::stats::summary::{hundredths, median};
use crate::stats::verdict::{CLOSE, Evidence, MIN_ROUNDS, TIE_ZONE, decide, weigh_cell};

/// Computes medians, taxes, ratios and verdicts of all `cells` of one run from their samples. The same samples give the same
/// results, so loaded cells can be judged again.
pub fn judge(cells: &mut [Cell], rivals: &[TechniqueName]) {
    let evidence = cells.iter().map(|cell| weigh_cell(cell, rivals));
    let evidence: Vec<Option<Evidence>> = evidence.collect();
    let mut decisions = decide(evidence.iter().flatten()).into_iter();
    for (cell, evidence) in std::iter::zip(cells, &evidence) {
        summarise(cell);
        if let Some(evidence) = evidence {
            let decision = decisions.next().expect("one for each evidence");
            apply(cell, evidence, decision);
            choose(cell, rivals);
        }
    }
}

/// Rounds whose times are not positive numbers have no ratio to the floor.
fn summarise(cell: &mut Cell) {
    let floors = &cell.floor_samples_ns;
    cell.floor_ns = hundredths(median(floors).unwrap_or(0.0));
    for technique in &mut cell.techniques {
        let sampled: Vec<f64> = technique.samples_ns.iter().copied().flatten().collect();
        technique.median_ns = hundredths(median(&sampled).unwrap_or(0.0));
        technique.min_ns = sampled.into_iter().reduce(f64::min).unwrap_or(0.0);
        let is_timed = cell.floor_ns > 0.0;
        let tax = technique.median_ns / cell.floor_ns - 1.0;
        technique.gather_tax = if is_timed { tax } else { 0.0 };
        let rounds = std::iter::zip(&technique.samples_ns, floors);
        let logs = rounds.filter_map(|(time, floor)| Some(((*time)? / floor).ln()));
        let pair = paired(&logs.filter(|log| log.is_finite()).collect::<Vec<f64>>());
        let interval = pair.and_then(|pair| pair.interval);
        technique.floor_ratio = pair.map(|pair| pair.ratio);
        (technique.floor_ratio_low, technique.floor_ratio_high) = interval.unzip();
    }
}

fn apply(cell: &mut Cell, evidence: &Evidence, verdict: Verdict) {
    let leader = cell.techniques[evidence.leader].name;
    cell.leader = Some(leader);
    cell.winner = (verdict == Verdict::Faster).then_some(leader);
    cell.verdict = verdict;
    cell.open_because = evidence.open_because.filter(|_| verdict == Verdict::Open);
    cell.aa_separated = evidence.aa_separated();
    let is_known = evidence.noise.is_some_and(|noise| noise.interval.is_some());
    cell.noise_floor = is_known.then_some(evidence.noise_floor);
    for (technique, pair) in std::iter::zip(&mut cell.techniques, &evidence.against_leader) {
        technique.ratio_to_leader = pair.map_or(1.0, |pair| pair.ratio);
        let of_leader = Some((1.0, 1.0)).filter(|_| technique.name == leader);
        let interval = of_leader.or(pair.and_then(|pair| pair.interval));
        (technique.ratio_low, technique.ratio_high) = interval.unzip();
    }
}

impl Cell {
    /// Whether a technique is certainly slower than the fastest. If the verdict is `Tie` or `Close`, the difference must also
    /// exceed the tie zone.
    pub(crate) fn is_slower(&self, technique: &TechniqueResult) -> bool {
        let least = match self.verdict {
            Verdict::Tie | Verdict::Close => 1.0 + TIE_ZONE,
            _ => 1.0,
        };
        self.leader != Some(technique.name) && technique.ratio_low.is_some_and(|low| low > least)
    }

    pub(crate) fn candidates(&self, rivals: &[TechniqueName]) -> Vec<&TechniqueResult> {
        let here = self.techniques.iter();
        here.filter(|one| rivals.contains(&one.name) && !self.is_slower(one))
            .collect()
    }
}

/// Chooses the simplest candidate whose bound is at most [`CLOSE`]. If such a candidate exists, an open cell becomes
/// [`Verdict::Close`].
fn choose(cell: &mut Cell, rivals: &[TechniqueName]) {
    (cell.choice, cell.at_most) = (None, None);
    if cell.verdict == Verdict::Faster || cell.rounds < MIN_ROUNDS as u32 {
        return;
    }
    let decided = std::mem::replace(&mut cell.verdict, Verdict::Close);
    let simplest = simplest(cell, rivals);
    (cell.choice, cell.at_most) = simplest.unzip();
    if decided == Verdict::Tie || simplest.is_none() {
        cell.verdict = decided;
    }
}

fn simplest(cell: &Cell, rivals: &[TechniqueName]) -> Option<(TechniqueName, f64)> {
    let candidates = cell.candidates(rivals);
    // If the A/A pair differs, a technique may take longer by up to the noise floor, and this would not show.
    let hidden = if cell.aa_separated { cell.noise_floor.unwrap_or(0.0) } else { 0.0 };
    let bound = |one: &TechniqueResult| {
        let others = candidates.iter().filter(|other| other.name != one.name);
        let lows: Option<Vec<f64>> = others.map(|other| other.ratio_low).collect();
        let least = lows?.into_iter().reduce(f64::min)?;
        let share = (one.ratio_high? / least - 1.0).max(hidden);
        // Rounded up, so that the printed share is a bound. The share is never 0.0 %.
        Some((share * 1e3).ceil().max(1.0) / 1e3)
    };
    let close = candidates
        .iter()
        .filter_map(|one| Some((one.name, bound(one)?)))
        .filter(|(_, share)| *share <= CLOSE);
    close.min_by(|a, b| {
        let by_effort = a.0.effort().cmp(&b.0.effort());
        by_effort.then(a.1.total_cmp(&b.1))
    })
}
