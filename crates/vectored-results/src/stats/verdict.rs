//! Verdicts on cells from their samples.

use crate::model::{OpenBecause, Verdict};
use crate::stats::discoveries::discoveries;
use crate::stats::paired::{PairStats, paired};

/// Half width of the tie zone: techniques whose ratio lies significantly within 1 ± this are a tie, and
/// no smaller difference is `faster`.
pub const TIE_ZONE: f64 = 0.02;

/// The sweeps sample a cell until the intervals of all contenders are narrower than ± this. After the sweeps a cell gets
/// further rounds only if it is open, up to the next of a few numbers of rounds at which verdicts are looked at.
pub const WIDTH_TARGET: f64 = 0.005;

/// An open cell is close if the simplest technique that may be the fastest takes at most this share longer.
pub(crate) const CLOSE: f64 = 0.10;

/// The share of false `faster` among all `faster` of a run, on average.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// With a p-value below this a technique is no contender.
const SURELY_BEHIND: f64 = 1e-4;

/// The minimum number of rounds for a verdict.
pub const MIN_ROUNDS: usize = 20;

/// The looks: numbers of rounds at which a cell is evaluated. The last look of a cell depends on its
/// samples, so each p-value is adjusted for all of them: see `look_factor`.
pub const LOOKS: [usize; 13] = [
    20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 40_960, 81_920,
];

/// The factor of the p-values of a look (weighted Bonferroni): the shares of the level, 1 ÷ factor, sum to 1. Most cells are
/// decided at one of the first seven looks, which have seven eighths.
pub(crate) fn look_factor(rounds: usize) -> f64 {
    if rounds <= LOOKS[6] { 8.0 } else { 48.0 }
}

/// The samples of one technique in a cell, by round.
#[derive(Clone, Copy, Debug)]
pub struct TechniqueSamples<'a> {
    /// Time per call; `None` in a round that did not sample this technique.
    pub samples_ns: &'a [Option<f64>],
    /// Whether the technique takes part in the verdict.
    pub rival: bool,
    /// Whether it is sampled in every round.
    pub contender: bool,
}

/// The evidence from the samples of one cell, before adjustment for the other cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Index of the rival that the others are compared with, see [`lead`].
    pub leader: usize,
    /// Each technique against the leader, `None` for the leader itself.
    pub against_leader: Vec<Option<PairStats>>,
    /// The A/A pair: the floor against itself.
    pub noise: Option<PairStats>,
    /// The largest difference within the interval of `noise`; no smaller difference is reported.
    pub noise_floor: f64,
    /// p-value of "the leader is not faster than every rival", adjusted for the looks (Bonferroni). 1 if a rival is too close, 0
    /// if no round of any is too close.
    pub p_faster: f64,
    /// Whether the leader has a rival within the tie zone, and beats or ties with all others.
    pub tie: bool,
    /// The widest interval of a contender, as half width.
    pub half_width: f64,
    /// The fewest rounds that a rival shares with the leader; rivals that are far behind are
    /// sampled rarely.
    pub fewest_rounds: usize,
    /// An estimate of the rounds at which the cell is decided, as a multiple of those it has.
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

    /// Whether the A/A pair differs significantly.
    pub fn aa_separated(&self) -> bool {
        self.noise.is_some_and(|noise| noise.separated())
    }
}

/// Evaluates the samples of one cell. `None` before its first round.
///
/// # Panics
///
/// If no technique is a rival.
pub fn weigh(
    techniques: &[TechniqueSamples<'_>],
    floor_ns: &[f64],
    floor_again_ns: &[Option<f64>],
) -> Option<Evidence> {
    let leader = leader(techniques)?;
    let against_leader: Vec<Option<PairStats>> = techniques
        .iter()
        .enumerate()
        .map(|(index, series)| {
            let pair = || {
                paired(&log_ratios(
                    series.samples_ns,
                    techniques[leader].samples_ns,
                ))
            };
            (index != leader).then(pair).flatten()
        })
        .collect();
    let aa: Vec<f64> = std::iter::zip(floor_again_ns, floor_ns)
        .filter_map(|(again, first)| Some(((*again)? / first).ln()))
        .collect();
    let noise = paired(&aa);
    let noise_floor = noise
        .and_then(|noise| noise.interval)
        .map_or(f64::INFINITY, |(low, high)| (1.0 / low).max(high) - 1.0);

    let rounds = techniques[leader].samples_ns.iter().flatten().count();
    let rivals = || {
        std::iter::zip(techniques, &against_leader)
            .enumerate()
            .filter(|(index, (series, _))| series.rival && *index != leader)
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
    // If the A/A pair differs by more than the tie zone, this cell cannot resolve such differences, and
    // so cannot establish a tie either.
    let blind = veto > TIE_ZONE;
    let tied = rivals().flatten().any(within_zone);
    let rest_settled = rivals().all(|pair| {
        pair.is_some_and(|pair| within_zone(&pair) || (beaten(&pair) && pair.separated()))
    });
    let half_width = std::iter::zip(techniques, &against_leader)
        .filter(|(series, _)| series.contender)
        .filter_map(|(_, pair)| *pair)
        .map(|pair| pair.half_width())
        .fold(0.0, f64::max);
    let shared_rounds = rivals()
        .map(|pair| pair.map_or(0, |pair| pair.rounds))
        .min();

    // The A/A pair, not the number of rounds, hides the difference.
    let hidden = blind && !rivals().flatten().all(beaten);
    let is_last_look = rounds >= LOOKS[LOOKS.len() - 1];
    // Only the adjustment for the looks and the other cells can keep the cell open then.
    let is_unadjusted_winner =
        rivals().all(|pair| pair.is_some_and(|pair| beaten(&pair) && pair.separated()));
    let open_because = if shared_rounds.is_none() {
        None
    } else if shared_rounds < Some(MIN_ROUNDS) {
        Some(OpenBecause::Rounds)
    } else if hidden || is_last_look || half_width <= WIDTH_TARGET {
        Some(OpenBecause::Noise)
    } else if is_unadjusted_winner {
        Some(OpenBecause::Rounds)
    } else {
        Some(OpenBecause::Budget)
    };

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

/// An estimate of the rounds that decide a pair, as a multiple of those it has: a difference is significant at about 1.6
/// times the half width of the interval, and a tie certain at about 0.85 times.
fn rounds_to_decide(pair: &PairStats) -> f64 {
    let (away, width) = (pair.ratio.ln().abs(), pair.half_width());
    let inside = (TIE_ZONE.ln_1p() - away).max(0.0);
    (1.6 * width / away).min(0.85 * width / inside).powi(2)
}

/// The verdicts of the cells of one run: on average at most [`FALSE_DISCOVERIES`] of its `faster` are false.
///
/// A tie is a statement about size, not a rejected hypothesis: it needs its interval only. Whether an open cell is close
/// is not looked at.
pub fn decide<'a>(cells: impl IntoIterator<Item = &'a Evidence>) -> Vec<Verdict> {
    let cells: Vec<&Evidence> = cells.into_iter().collect();
    let p_values: Vec<f64> = cells.iter().map(|cell| cell.p_faster).collect();
    std::iter::zip(cells, discoveries(&p_values, FALSE_DISCOVERIES))
        .map(|(cell, surely_faster)| {
            if cell.tie {
                Verdict::Tie
            } else if surely_faster {
                Verdict::Faster
            } else {
                Verdict::Open
            }
        })
        .collect()
}

fn leader(techniques: &[TechniqueSamples<'_>]) -> Option<usize> {
    assert!(
        techniques.iter().any(|series| series.rival),
        "a cell has at least one rival"
    );
    let candidates: Vec<usize> = techniques
        .iter()
        .enumerate()
        .filter(|(_, series)| series.rival && series.contender)
        .map(|(index, _)| index)
        .collect();
    let samples: Vec<&[Option<f64>]> = candidates
        .iter()
        .map(|&index| techniques[index].samples_ns)
        .collect();
    lead(&samples).map(|place| candidates[place])
}

/// The leader: the series whose largest ratio to another is the smallest. A series that takes less time than every other is
/// always the leader, and no interval can put another ahead of it.
///
/// Ratios need not be transitive (a before b, b before c, c before a). Then the leader is the series that the fewest
/// intervals put behind another.
///
/// `None` if no series was sampled.
pub fn lead(series: &[&[Option<f64>]]) -> Option<usize> {
    let sampled = (0..series.len()).filter(|&index| series[index].iter().any(Option::is_some));
    let sampled: Vec<usize> = sampled.collect();
    let of = |index: usize| {
        let others = sampled.iter().filter(|&&other| other != index);
        let pairs: Vec<Option<PairStats>> = others
            .map(|&other| paired(&log_ratios(series[index], series[other])))
            .collect();
        // A series that shares no round with another cannot lead.
        let largest = pairs
            .iter()
            .flatten()
            .map(|pair| pair.ratio)
            .reduce(f64::max);
        let is_behind = |pair: &&PairStats| pair.ratio > 1.0 && pair.separated();
        let behind = pairs.iter().flatten().filter(is_behind).count();
        (index, largest.unwrap_or(f64::INFINITY), behind)
    };
    let ratios: Vec<(usize, f64, usize)> = sampled.iter().map(|&index| of(index)).collect();
    let &(first, ratio, _) = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    if ratio <= 1.0 {
        return Some(first);
    }
    let least = ratios
        .iter()
        .min_by(|a, b| a.2.cmp(&b.2).then(a.1.total_cmp(&b.1)));
    least.map(|&(index, ..)| index)
}

fn log_ratios(of: &[Option<f64>], to: &[Option<f64>]) -> Vec<f64> {
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

    fn rivals<'a>(series_ns: &[&'a [Option<f64>]]) -> Vec<TechniqueSamples<'a>> {
        let rival = |&samples_ns: &&'a [Option<f64>]| TechniqueSamples {
            samples_ns,
            rival: true,
            contender: true,
        };
        series_ns.iter().map(rival).collect()
    }

    /// The samples of a floor that is measured again in every round.
    fn again(samples_ns: &[f64]) -> Vec<Option<f64>> {
        samples_ns.iter().copied().map(Some).collect()
    }

    fn evidence(series_ns: &[Vec<Option<f64>>]) -> Evidence {
        let slices: Vec<&[Option<f64>]> = series_ns.iter().map(|times| &times[..]).collect();
        let floor = vec![100.0; series_ns[0].len()];
        weigh(&rivals(&slices), &floor, &again(&floor)).unwrap()
    }

    /// Forty rounds of two rivals where the floor takes 5 % longer the second time.
    fn loud_evidence(series_ns: [&[Option<f64>]; 2]) -> Evidence {
        weigh(&rivals(&series_ns), &[100.0; 40], &[Some(105.0); 40]).unwrap()
    }

    #[test]
    fn a_small_sure_difference_is_a_tie() {
        let cell = evidence(&[series(100.0, 0.001, 40, 0), series(101.0, 0.001, 40, 1)]);
        assert_eq!(decide([&cell]), [Verdict::Tie]);
    }

    #[test]
    fn too_few_rounds_decide_nothing() {
        for (rounds, is_behind) in [(19, false), (20, true)] {
            let cell = evidence(&[150.0, 100.0].map(|ns| series(ns, 0.0, rounds, 0)));
            assert_eq!(decide([&cell]) == [Verdict::Faster], is_behind);
            assert_eq!(cell.is_behind(0), is_behind);
        }
        let cell = evidence(&[series(100.0, 0.0, 19, 0), series(100.0, 0.0, 19, 1)]);
        assert_eq!(decide([&cell]), [Verdict::Open]);
    }

    #[test]
    fn nothing_under_the_noise_floor_is_called() {
        let (a, b) = (series(104.0, 0.001, 40, 0), series(100.0, 0.001, 40, 1));
        let loud = loud_evidence([&a, &b]);
        assert!(loud.aa_separated());
        assert!((loud.noise_floor - 0.05).abs() < 1e-9);
        assert_eq!(decide([&loud]), [Verdict::Open]);
        // An A/A pair that does not differ hides nothing, however wide its interval is.
        let aa = series(100.0, 0.5, 40, 9);
        let wide = weigh(&rivals(&[&a, &b]), &[100.0; 40], &aa).unwrap();
        assert!(!wide.aa_separated() && wide.noise_floor > 0.05);
        assert_eq!(decide([&wide]), [Verdict::Faster]);
        // A tie is not called either, where floors cannot be told apart.
        assert_eq!(decide([&loud_evidence([&b, &b])]), [Verdict::Open]);
        assert_eq!(decide([&evidence(&[a, b])]), [Verdict::Faster]);
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
        let fast = series(50.0, 0.1, 40, 2);
        let a = series(150.0, 0.1, 40, 0);
        let b = series(100.0, 0.1, 40, 1);
        let of = |samples_ns, rival| TechniqueSamples {
            samples_ns,
            rival,
            contender: true,
        };
        let floor = vec![40.0; 40];
        let cell = weigh(
            &[of(&a, true), of(&b, true), of(&fast, false)],
            &floor,
            &again(&floor),
        )
        .unwrap();
        assert_eq!(cell.leader, 1);
        assert!(cell.against_leader[2].unwrap().ratio < 0.6);
        assert_eq!(decide([&cell]), [Verdict::Faster]);
    }

    /// Times for all techniques: the speed of the machine moves from round to round, and each technique is skewed in
    /// its own way.
    fn shifting(seed: u64, techniques: usize, rounds: usize) -> Vec<Vec<Option<f64>>> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let spread = 0.2 * rng.f64();
        let centres: Vec<f64> = (0..techniques).map(|_| 1.0 + 0.1 * rng.f64()).collect();
        let skews: Vec<f64> = (0..techniques).map(|_| rng.f64()).collect();
        let mut all = vec![Vec::new(); techniques];
        let mut speed = 100.0;
        for _ in 0..rounds {
            if rng.f64() < 0.2 {
                speed = 100.0 * (1.0 + 9.0 * rng.f64());
            }
            for index in 0..techniques {
                let is_slow = rng.f64() < skews[index] * 0.5;
                let factor = if is_slow { 1.5 } else { 1.0 } + spread * rng.f64();
                let sampled = rng.f64() > 0.1;
                all[index].push(sampled.then_some(speed * centres[index] * factor));
            }
        }
        all
    }

    proptest::proptest! {
        /// Checks the definition: no interval puts a rival ahead of the leader, unless intervals put a rival ahead of
        /// every technique.
        #[test]
        fn no_rival_is_ahead_of_the_leader_by_its_interval(
            seed in 0u64..u64::MAX, techniques in 2usize..6, rounds in 1usize..60,
        ) {
            let series_ns = shifting(seed, techniques, rounds);
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
            let cell = evidence(&series_ns);
            assert_eq!(cell.leader, leader);
            for pair in cell.against_leader.iter().flatten() {
                assert!(pair.interval.is_none_or(|(_, high)| high >= 1.0) || trails(leader));
            }
        }
    }

    #[test]
    fn a_slow_spell_does_not_choose_the_leader() {
        // The first takes 3 % longer in every round that has both, but was not sampled
        // while the machine was slow.
        let slow = |round: usize| if round < 12 { 3.0 } else { 1.0 };
        let a = (0..40)
            .map(|round| (round >= 12).then_some(103.0))
            .collect();
        let b = (0..40)
            .map(|round| Some(100.0 * slow(round) + 4.0 * (round % 2) as f64))
            .collect();
        let b: Vec<Option<f64>> = b;
        let cell = evidence(&[a, b.clone()]);
        assert_eq!(cell.leader, 1);
    }

    #[test]
    fn rounds_that_all_agree_decide() {
        // Ratios of 1.03 and 11, whose mean is not significant in 300 cells.
        let mut rng = fastrand::Rng::with_seed(1);
        let mut time = || Some(if rng.f64() < 0.5 { 103.0 } else { 1100.0 });
        let slower: Vec<Option<f64>> = (0..20).map(|_| time()).collect();
        let faster = vec![Some(100.0); 20];
        let of =
            |aa: f64| weigh(&rivals(&[&slower, &faster]), &[100.0; 20], &[Some(aa); 20]).unwrap();
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
            let cell = weigh(&rivals(&[&slower, &faster]), &[100.0; 40], &aa).unwrap();
            assert!(cell.against_leader[0].unwrap().is_unanimous(TIE_ZONE));
            assert_eq!(decide([&cell]), [Verdict::Open], "{first:?}");
        }
        // The mean exceeds the noise floor, but not every round does.
        let above = series(133.0, 0.2, 40, 1);
        let cell = weigh(&rivals(&[&above, &faster]), &[100.0; 40], &aa).unwrap();
        assert!(cell.p_faster > 0.0);
        assert_eq!(decide([&cell]), [Verdict::Faster]);
    }

    #[test]
    fn an_open_cell_knows_why() {
        let a = |n| series(100.0, 0.2, n, 0);
        let b = |n| series(101.0, 0.2, n, 5);
        let why = |cell: &Evidence| {
            assert_eq!(decide([cell]), [Verdict::Open]);
            cell.open_because
        };
        assert_eq!(why(&evidence(&[a(19), b(19)])), Some(OpenBecause::Rounds));
        assert_eq!(why(&evidence(&[a(40), b(40)])), Some(OpenBecause::Budget));
        // Significant by its own interval, but not after the adjustment for the looks.
        let unadjusted = evidence(&[series(100.0, 0.2, 20, 0), series(105.0, 0.2, 20, 5)]);
        assert!(unadjusted.against_leader[1].is_some_and(|pair| pair.separated()));
        assert_eq!(why(&unadjusted), Some(OpenBecause::Rounds));
        // The second rival is sampled in too few rounds.
        let mut rare = b(40);
        for (round, sample) in rare.iter_mut().enumerate() {
            if round % 4 != 0 {
                *sample = None;
            }
        }
        assert_eq!(why(&evidence(&[a(40), rare])), Some(OpenBecause::Rounds));
        // The interval is as narrow as intervals are sampled for, and lies across the edge of the tie zone.
        let edge = evidence(&[series(100.0, 0.0, 40, 0), series(101.94, 0.012, 40, 5)]);
        assert!(edge.half_width < WIDTH_TARGET);
        assert_eq!(why(&edge), Some(OpenBecause::Noise));
        // The last look has come.
        let mut rng = fastrand::Rng::with_seed(1);
        let mut scattered = || -> Vec<Option<f64>> {
            (0..LOOKS[LOOKS.len() - 1])
                .map(|_| Some(100.0 * (8.0 * rng.f64()).exp()))
                .collect()
        };
        let wide = evidence(&[scattered(), scattered()]);
        assert!(wide.half_width > WIDTH_TARGET);
        assert_eq!(why(&wide), Some(OpenBecause::Noise));
        let (first, second) = (series(100.0, 0.1, 40, 0), series(103.0, 0.1, 40, 1));
        assert_eq!(
            why(&loud_evidence([&first, &second])),
            Some(OpenBecause::Noise)
        );
        assert_eq!(why(&evidence(&[a(40)])), None);
    }
}
