//! Verdicts on cells from their samples.

use crate::model::{Cell, OpenBecause, TechniqueName, TechniqueResult, Verdict};
use crate::stats::discoveries::discoveries;
use crate::stats::paired::{PairStats, paired};

/// Half width of the tie zone: techniques whose ratio lies significantly within 1 ± this are a tie, and
/// no smaller difference is `faster`.
pub const TIE_ZONE: f64 = 0.02;

/// The sweeps sample a cell until the intervals of all contenders are narrower than ± this. After the sweeps, only an open cell
/// gets further rounds, up to its next look.
pub const WIDTH_TARGET: f64 = 0.005;

/// The limit of a close cell: the simplest technique that may be the fastest takes at most this share longer than the fastest.
pub(crate) const CLOSE: f64 = 0.10;

/// The share of false `faster` among all `faster` of a run, on average.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// With a p-value below this a technique is no contender.
const SURELY_BEHIND: f64 = 1e-4;

pub const MIN_ROUNDS: usize = 20;

/// The looks: numbers of rounds at which a cell is evaluated. The last look of a cell depends on the samples of the cell, so
/// each p-value is adjusted for all looks: see `look_factor`.
pub const LOOKS: [usize; 13] = [
    20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 40_960, 81_920,
];

/// The factor of the p-values of a look (weighted Bonferroni): the shares of the level, 1 ÷ factor, sum to 1. Most cells are
/// decided at one of the first seven looks, so these have seven eighths of the level.
pub(crate) fn look_factor(rounds: usize) -> f64 {
    if rounds <= LOOKS[6] { 8.0 } else { 48.0 }
}

/// The evidence from the samples of one cell, before adjustment for the other cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Index of the rival that the other techniques are compared with, see `lead`.
    pub leader: usize,
    /// Each technique against the leader, `None` for the leader itself.
    pub against_leader: Vec<Option<PairStats>>,
    /// The A/A pair: the floor against itself.
    pub noise: Option<PairStats>,
    /// The largest difference within the interval of `noise`; no smaller difference is reported.
    pub noise_floor: f64,
    /// p-value of "the leader is not faster than every rival", adjusted for the looks (Bonferroni). 1 if a rival is too close,
    /// 0 if no rival is too close in any round.
    pub p_faster: f64,
    /// Whether the leader has a rival within the tie zone, and beats or ties with all others.
    pub tie: bool,
    /// The widest interval of a contender, as half width.
    pub half_width: f64,
    /// The fewest rounds that a rival shares with the leader; rivals that are far behind are
    /// sampled rarely.
    pub fewest_rounds: usize,
    /// An estimate of the rounds at which the cell is decided, as a multiple of the present rounds.
    pub rounds_to_decide: f64,
    /// Why the cell is open, if it is. `None` if the leader has no rival.
    pub open_because: Option<OpenBecause>,
}

impl PairStats {
    /// Whether each of enough rounds has a ratio above 1 + `lead`.
    fn is_unanimous(&self, lead: f64) -> bool {
        self.rounds >= MIN_ROUNDS && self.range.0 > 1.0 + lead
    }
}

impl Evidence {
    /// Whether more rounds are useful: an interval is wider than [`WIDTH_TARGET`], or a rival has too few
    /// rounds for a verdict.
    pub fn wants_rounds(&self) -> bool {
        self.half_width > WIDTH_TARGET || self.fewest_rounds < MIN_ROUNDS
    }

    /// Whether a technique is so surely behind the leader that more of its samples decide nothing.
    pub fn is_behind(&self, technique: usize) -> bool {
        self.against_leader[technique].is_some_and(|pair| {
            let is_sure = pair.is_unanimous(TIE_ZONE) || pair.p < SURELY_BEHIND;
            pair.rounds >= MIN_ROUNDS && pair.ratio > 1.0 + TIE_ZONE && is_sure
        })
    }

    pub fn aa_separated(&self) -> bool {
        self.noise.is_some_and(|noise| noise.separated())
    }
}

pub(crate) fn noise(cell: &Cell) -> Option<PairStats> {
    let rounds = std::iter::zip(&cell.aa_samples_ns, &cell.floor_samples_ns);
    let logs = rounds.filter_map(|(again, first)| Some(((*again)? / first).ln()));
    paired(&logs.collect::<Vec<f64>>())
}

/// The evidence in the samples of one cell. `None` before its first round.
pub fn weigh_cell(cell: &Cell, competing: &[TechniqueName]) -> Option<Evidence> {
    let techniques = &cell.techniques[..];
    let is_rival = |one: &TechniqueResult| competing.contains(&one.name);
    assert!(techniques.iter().any(is_rival), "a cell without a rival");
    let may_lead = |index: &usize| techniques[*index].contender && is_rival(&techniques[*index]);
    let candidates: Vec<usize> = (0..techniques.len()).filter(may_lead).collect();
    let samples = candidates
        .iter()
        .map(|&index| &*techniques[index].samples_ns);
    let leader = candidates[lead(&samples.collect::<Vec<_>>())?];
    let against = |(index, one): (usize, &TechniqueResult)| {
        let pair = || paired(&log_ratios(&one.samples_ns, &techniques[leader].samples_ns));
        (index != leader).then(pair).flatten()
    };
    let against_leader: Vec<Option<PairStats>> =
        techniques.iter().enumerate().map(against).collect();
    let noise = noise(cell);
    let noise_floor = noise
        .and_then(|noise| noise.interval)
        .map_or(f64::INFINITY, |(low, high)| (1.0 / low).max(high) - 1.0);

    let rounds = techniques[leader].samples_ns.iter().flatten().count();
    let rivals = || {
        let all = std::iter::zip(techniques, &against_leader).enumerate();
        all.filter(|(index, (one, _))| is_rival(one) && *index != leader)
            .map(|(_, (_, pair))| pair)
    };
    // An A/A pair that differs shows how large a difference is without a cause.
    let aa_separated = noise.is_some_and(|noise| noise.separated());
    let veto = if aa_separated { noise_floor } else { 0.0 };
    let least_lead = veto.max(TIE_ZONE);
    let beaten = |pair: &PairStats| pair.ratio > 1.0 + least_lead;
    let enough = rounds >= MIN_ROUNDS;
    let p_faster = rivals()
        .map(|pair| match pair {
            Some(pair) if enough && pair.is_unanimous(least_lead) => 0.0,
            Some(pair) if enough && beaten(pair) => (pair.p * look_factor(rounds)).min(1.0),
            _ => 1.0,
        })
        // Without a rival nothing is beaten.
        .reduce(f64::max)
        .unwrap_or(1.0);

    let within_zone = |pair: &PairStats| pair.is_within(TIE_ZONE);
    // If the A/A pair differs by more than the tie zone, this cell can resolve no such difference, and can establish no tie.
    let blind = veto > TIE_ZONE;
    let tied = rivals().flatten().any(within_zone);
    let is_won = |pair: &PairStats| beaten(pair) && pair.separated();
    let is_settled = |pair: &PairStats| within_zone(pair) || is_won(pair);
    let rest_settled = rivals().all(|pair| pair.as_ref().is_some_and(is_settled));
    let contenders = std::iter::zip(techniques, &against_leader).filter(|(one, _)| one.contender);
    let half_widths = contenders.filter_map(|(_, pair)| Some(pair.as_ref()?.half_width()));
    let half_width = half_widths.fold(0.0, f64::max);
    let shared_rounds = rivals().map(|pair| pair.map_or(0, |pair| pair.rounds));
    let shared_rounds = shared_rounds.min();

    // The A/A pair, not the number of rounds, hides the difference.
    let hidden = blind && !rivals().flatten().all(beaten);
    let is_last_look = rounds >= LOOKS[LOOKS.len() - 1];
    let open_because = shared_rounds.map(|shared| match shared {
        _ if shared < MIN_ROUNDS => OpenBecause::Rounds,
        _ if hidden || is_last_look || half_width <= WIDTH_TARGET => OpenBecause::Noise,
        // In this case, only the adjustment for the looks and the other cells keeps the cell open.
        _ if rivals().all(|pair| pair.as_ref().is_some_and(is_won)) => OpenBecause::Rounds,
        _ => OpenBecause::Budget,
    });
    let rounds_to_decide = rivals().flatten().map(rounds_to_decide).fold(0.0, f64::max);

    Some(Evidence {
        leader,
        against_leader,
        noise,
        noise_floor,
        p_faster,
        tie: enough && tied && rest_settled && !blind,
        half_width,
        fewest_rounds: shared_rounds.unwrap_or(rounds),
        rounds_to_decide,
        open_because,
    })
}

/// An estimate of the rounds that decide a pair, as a multiple of its present rounds. A difference is significant at about 1.6
/// times the half width of the interval. A tie is certain at about 0.85 times the half width.
fn rounds_to_decide(pair: &PairStats) -> f64 {
    let (away, width) = (pair.ratio.ln().abs(), pair.half_width());
    let inside = (TIE_ZONE.ln_1p() - away).max(0.0);
    (1.6 * width / away).min(0.85 * width / inside).powi(2)
}

/// The verdicts of the cells of one run. On average, at most the share [`FALSE_DISCOVERIES`] of the verdicts `faster` is false.
///
/// A tie is a statement about size, not a rejected hypothesis, so a tie needs only its interval. Whether an open cell is close
/// is decided elsewhere.
pub fn decide<'a>(cells: impl IntoIterator<Item = &'a Evidence>) -> Vec<Verdict> {
    let cells: Vec<&Evidence> = cells.into_iter().collect();
    let p_values: Vec<f64> = cells.iter().map(|cell| cell.p_faster).collect();
    let are_faster = discoveries(&p_values, FALSE_DISCOVERIES);
    let verdict = |(cell, is_faster): (&Evidence, bool)| {
        let verdict = if is_faster { Verdict::Faster } else { Verdict::Open };
        if cell.tie { Verdict::Tie } else { verdict }
    };
    std::iter::zip(cells, are_faster).map(verdict).collect()
}

/// The leader: the series whose largest ratio to another series is the smallest. A series that takes less time than every other
/// series is always the leader, and no interval can put another series ahead of it.
///
/// Ratios need not be transitive (a before b, b before c, c before a). Then the leader is the series that the fewest
/// intervals put behind another series.
///
/// `None` if no series was sampled.
pub(crate) fn lead(series: &[&[Option<f64>]]) -> Option<usize> {
    let sampled = (0..series.len()).filter(|&index| series[index].iter().any(Option::is_some));
    let sampled: Vec<usize> = sampled.collect();
    let of = |index: usize| {
        let others = sampled.iter().filter(|&&other| other != index);
        let pairs: Vec<Option<PairStats>> = others
            .map(|&other| paired(&log_ratios(series[index], series[other])))
            .collect();
        // A series that shares no round with another cannot lead.
        let largest = pairs.iter().flatten().map(|pair| pair.ratio);
        let largest = largest.reduce(f64::max);
        let is_behind = |pair: &&PairStats| pair.ratio > 1.0 && pair.separated();
        let behind = pairs.iter().flatten().filter(is_behind).count();
        (index, largest.unwrap_or(f64::INFINITY), behind)
    };
    // A series that takes less time in each pair is behind none.
    let all = sampled.iter().map(|&index| of(index));
    let least = all.min_by(|a, b| {
        let by_ratio = a.1.total_cmp(&b.1);
        (a.1 > 1.0, a.2).cmp(&(b.1 > 1.0, b.2)).then(by_ratio)
    });
    least.map(|(index, ..)| index)
}

pub(crate) fn log_ratios(of: &[Option<f64>], to: &[Option<f64>]) -> Vec<f64> {
    std::iter::zip(of, to)
        .filter_map(|(&of, &to)| Some((of? / to?).ln()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` rounds around `centre` ns, spread by `spread`; `phase` sets series apart.
    fn series(centre: f64, spread: f64, n: usize, phase: u64) -> Vec<Option<f64>> {
        let mut rng = fastrand::Rng::with_seed(phase);
        let time = || Some(centre * (1.0 + spread * (rng.f64() - 0.5)));
        std::iter::repeat_with(time).take(n).collect()
    }

    type Samples = [Option<f64>];

    /// A cell of techniques with these samples. All techniques compete except the technique named `beside`.
    fn weigh(series_ns: &[&Samples], floor_ns: f64, again_ns: &Samples) -> Evidence {
        let names = ["a", "b", "beside", "d", "e"].map(TechniqueName::new);
        let technique = |(name, samples_ns): (TechniqueName, &&Samples)| TechniqueResult {
            name,
            contender: true,
            samples_ns: samples_ns.to_vec(),
            ..TechniqueResult::default()
        };
        let cell = Cell {
            techniques: std::iter::zip(names, series_ns).map(technique).collect(),
            floor_samples_ns: vec![floor_ns; series_ns[0].len()],
            aa_samples_ns: again_ns.to_vec(),
            ..Cell::default()
        };
        weigh_cell(&cell, &[names[0], names[1], names[3], names[4]]).unwrap()
    }

    fn evidence(series_ns: &[Vec<Option<f64>>]) -> Evidence {
        let slices: Vec<&Samples> = series_ns.iter().map(|times| &times[..]).collect();
        weigh(&slices, 100.0, &vec![Some(100.0); series_ns[0].len()])
    }

    /// The time, spread and seed of two rivals, the rounds, the floor's second time; the verdict, and why a cell is open.
    const CELLS: &str = "\
100 0.001 0 101 0.001 1 40 100 Tie
150 0 0 100 0 0 19 100 Open rounds
150 0 0 100 0 0 20 100 Faster
100 0 0 100 0 1 19 100 Open rounds
104 0.001 0 100 0.001 1 40 100 Faster
104 0.001 0 100 0.001 1 40 105 Open noise
100 0.001 1 100 0.001 1 40 105 Open noise
100 0.1 0 103 0.1 1 40 105 Open noise
100 0.2 0 101 0.2 5 19 100 Open rounds
100 0.2 0 101 0.2 5 40 100 Open budget
100 0.2 0 105 0.2 5 20 100 Open rounds
100 0 0 101.94 0.012 5 40 100 Open noise";

    #[test]
    fn verdicts_and_why_a_cell_is_open() {
        for line in CELLS.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<f64>().unwrap();
            let rounds = number(6) as usize;
            let rival =
                |at: usize| series(number(at), number(at + 1), rounds, number(at + 2) as u64);
            let again = vec![Some(number(7)); rounds];
            let cell = weigh(&[&rival(0), &rival(3)], 100.0, &again);
            let verdict = decide([&cell])[0];
            assert_eq!(format!("{verdict:?}"), words[8], "{line}");
            let why = cell.open_because.filter(|_| verdict == Verdict::Open);
            assert_eq!(why.map(OpenBecause::name), words.get(9).copied(), "{line}");
            assert_eq!(
                cell.is_behind(0),
                words[0] != "100" && rounds > 19,
                "{line}"
            );
            assert!((cell.noise_floor - (number(7) / 100.0 - 1.0)).abs() < 1e-9);
        }
        // An A/A pair that does not differ hides nothing, however wide the interval of the pair is.
        let [slow, fast] = [(104.0, 0), (100.0, 1)].map(|(ns, seed)| series(ns, 0.001, 40, seed));
        let wide = series(100.0, 0.5, 40, 9);
        let wide = weigh(&[&slow, &fast], 100.0, &wide);
        assert!(!wide.aa_separated() && wide.noise_floor > 0.05);
        assert_eq!(decide([&wide]), [Verdict::Faster]);
    }

    #[test]
    fn more_cells_ask_for_more_certainty() {
        let cell = evidence(&[series(113.0, 0.2, 20, 0), series(100.0, 0.2, 20, 1)]);
        assert_eq!(decide([&cell]), [Verdict::Faster]);
        let undecided = evidence(&[series(100.0, 0.2, 20, 0), series(101.0, 0.2, 20, 5)]);
        let mut run = vec![undecided; 300];
        run.push(cell);
        assert_eq!(decide(&run).last(), Some(&Verdict::Open));
    }

    #[test]
    fn the_looks_share_the_level() {
        let shares = LOOKS.iter().map(|&rounds| 1.0 / look_factor(rounds));
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_technique_beside_takes_no_part() {
        let [a, b, fast] = [150.0, 100.0, 50.0].map(|ns| series(ns, 0.1, 40, 0));
        let cell = evidence(&[a, b, fast]);
        assert_eq!(cell.leader, 1);
        assert!(cell.against_leader[2].unwrap().ratio < 0.6);
        assert_eq!(decide([&cell]), [Verdict::Faster]);
    }

    /// Times for all techniques, each skewed in its own way.
    fn skewed(seed: u64, techniques: usize, rounds: usize) -> Vec<Vec<Option<f64>>> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let spread = 0.2 * rng.f64();
        let one = |_| -> Vec<Option<f64>> {
            let (centre, skew) = (1.0 + 0.1 * rng.f64(), 0.5 * rng.f64());
            let time = |_| {
                let slow = if rng.f64() < skew { 1.5 } else { 1.0 };
                (rng.f64() > 0.1).then(|| centre * (slow + spread * rng.f64()))
            };
            (0..rounds).map(time).collect()
        };
        (0..techniques).map(one).collect()
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1000))]

        /// Checks the definition: no interval puts a rival ahead of the leader, unless intervals put a rival ahead of
        /// every technique.
        #[test]
        fn no_rival_is_ahead_of_the_leader_by_its_interval(
            seed in 0u64..u64::MAX, techniques in 2usize..6, rounds in 1usize..60,
        ) {
            let series_ns = skewed(seed, techniques, rounds);
            let slices: Vec<&[Option<f64>]> = series_ns.iter().map(|times| &times[..]).collect();
            let Some(leader) = lead(&slices) else {
                assert!(series_ns.iter().flatten().all(Option::is_none));
                return Ok(());
            };
            let trails = |of: usize| {
                (0..techniques).filter(|&rival| rival != of).any(|rival| {
                    let logs = log_ratios(&series_ns[rival], &series_ns[of]);
                    let pair = paired(&logs).and_then(|pair| pair.interval);
                    pair.is_some_and(|(_, high)| high < 1.0)
                })
            };
            assert!(!trails(leader) || (0..techniques).all(trails));
        }
    }

    #[test]
    fn rounds_that_all_agree_decide() {
        // Ratios of 1.03 and 11, whose mean is not significant in 300 cells.
        let mut rng = fastrand::Rng::with_seed(1);
        let mut time = || Some(if rng.f64() < 0.5 { 103.0 } else { 1100.0 });
        let slower: Vec<Option<f64>> = (0..20).map(|_| time()).collect();
        let faster = vec![Some(100.0); 20];
        let of = |aa: f64| weigh(&[&slower, &faster], 100.0, &[Some(aa); 20]);
        let others = vec![evidence(&[series(100.0, 0.2, 40, 0), series(101.0, 0.2, 40, 5)]); 300];
        for (aa, decision) in [
            (100.0, Verdict::Faster),
            (101.9, Verdict::Faster),
            (900.0, Verdict::Open),
        ] {
            let cells = others.iter().cloned().chain([of(aa)]);
            assert_eq!(
                decide(&cells.collect::<Vec<_>>()).last(),
                Some(&decision),
                "{aa}"
            );
        }
    }

    #[test]
    fn one_round_of_a_loud_aa_pair_decides_nothing() {
        let slower = series(106.0, 0.07, 40, 1);
        let faster = vec![Some(100.0); 40];
        let mut aa = series(126.0, 0.15, 40, 2);
        for first in [aa[0], Some(101.9)] {
            aa[0] = first;
            let cell = weigh(&[&slower, &faster], 100.0, &aa);
            assert!(cell.against_leader[0].unwrap().is_unanimous(TIE_ZONE));
            assert_eq!(decide([&cell]), [Verdict::Open], "{first:?}");
        }
        // The mean exceeds the noise floor, but not every round does.
        let above = series(133.0, 0.2, 40, 1);
        let cell = weigh(&[&above, &faster], 100.0, &aa);
        assert!(cell.p_faster > 0.0);
        assert_eq!(decide([&cell]), [Verdict::Faster]);
    }

    #[test]
    fn rounds_that_are_rare_or_the_last_are_why_a_cell_is_open() {
        let [a, mut b] = [series(100.0, 0.2, 40, 0), series(101.0, 0.2, 40, 5)];
        assert_eq!(evidence(std::slice::from_ref(&a)).open_because, None);
        for sample in b.iter_mut().skip(1).step_by(2) {
            *sample = None;
        }
        b.truncate(38);
        assert_eq!(evidence(&[a, b]).open_because, Some(OpenBecause::Rounds));
        let mut rng = fastrand::Rng::with_seed(1);
        let mut scattered = || -> Vec<Option<f64>> {
            (0..LOOKS[LOOKS.len() - 1])
                .map(|_| Some(100.0 * (8.0 * rng.f64()).exp()))
                .collect()
        };
        let wide = evidence(&[scattered(), scattered()]);
        assert!(wide.half_width > WIDTH_TARGET);
        assert_eq!(wide.open_because, Some(OpenBecause::Noise));
    }
}
