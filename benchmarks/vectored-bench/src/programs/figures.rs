//! The arithmetic: from samples to figures.

use serde::Serialize;
use vectored_results::stats::{PairStats, median, paired};

use crate::programs::case::Role;
use crate::programs::measure::{CaseSamples, TechniqueSamples};

/// The figures of a technique in a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The program.
    pub program: &'static str,
    /// The kind of request, the count and the bytes: `get 16x16384`.
    pub case: String,
    /// Bytes of one value.
    pub bytes: usize,
    /// Values in a request.
    pub count: usize,
    /// The technique. Ours is `segment-queue`.
    pub technique: &'static str,
    /// `today`, `by-hand`, `ours` or `again`.
    pub role: &'static str,
    /// Whether this is the best by hand.
    pub is_best_by_hand: bool,
    /// The median CPU time of a request, in ns.
    pub cpu_ns: f64,
    /// The median over the rounds of this technique ÷ the best by hand. Other rounds choose the best: the odd rounds choose it
    /// for the even rounds, and the even rounds for the odd rounds.
    pub ratio_to_best_by_hand: f64,
    /// The lower end of its 95 % interval; `None` with fewer than six rounds.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The median over the rounds of this technique ÷ what the project does today.
    pub ratio_to_today: f64,
    /// The lower end of its 95 % interval; `None` with fewer than six rounds.
    pub today_low: Option<f64>,
    /// The upper end.
    pub today_high: Option<f64>,
}

/// The figures of all cases together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Rounds.
    pub rounds: usize,
    /// Cases.
    pub cases: usize,
    /// The share of the cases in which ours is at most 1.03 of the best by hand; `None` if ours was not measured.
    pub share_within_3_percent: Option<f64>,
    /// The largest ratio of ours to the best by hand, and its case.
    pub worst: Option<Worst>,
    /// The share of the cases in which each technique by hand is at most 1.03 of the best of them. If a case lacks a technique,
    /// today's technique counts.
    pub by_hand: Vec<OneChoice>,
    /// The share of the cases in which the A/A control is within 3 % of its twin.
    pub control_within_3_percent: f64,
}

/// The worst case of ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// The program.
    pub program: &'static str,
    /// The case.
    pub case: String,
    /// Ours ÷ the best by hand.
    pub ratio: f64,
}

/// The result of a user who always makes the same choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneChoice {
    /// The technique.
    pub technique: &'static str,
    /// The share of all cases.
    pub share_within_3_percent: f64,
}

/// The ratio up to which a technique counts as good as another.
const NEAR: f64 = 1.03;

/// The figures of all techniques of all cases. Cases without rounds have none.
pub fn cells(samples: &[CaseSamples]) -> Vec<Cell> {
    samples.iter().flat_map(cells_of).collect()
}

fn cells_of(samples: &CaseSamples) -> Vec<Cell> {
    let all = &samples.techniques;
    let Some(best) = best_by_hand(all, |_| true) else {
        return Vec::new();
    };
    let best_cpu_ns = best_cpu_ns(all, best);
    let today = all.iter().find(|one| one.role == Role::Today);
    let today = today.unwrap_or(best);
    let cell = |one: &TechniqueSamples| {
        let to_best = pair(&one.cpu_ns, &best_cpu_ns)?;
        let to_today = pair(&one.cpu_ns, &today.cpu_ns)?;
        Some(Cell {
            program: samples.case.program,
            case: samples.case.to_string(),
            bytes: samples.case.bytes,
            count: samples.case.count,
            technique: one.technique,
            role: one.role.name(),
            is_best_by_hand: one.technique == best.technique,
            cpu_ns: median(&one.cpu_ns)?,
            ratio_to_best_by_hand: to_best.ratio,
            low: to_best.interval.map(|interval| interval.0),
            high: to_best.interval.map(|interval| interval.1),
            ratio_to_today: to_today.ratio,
            today_low: to_today.interval.map(|interval| interval.0),
            today_high: to_today.interval.map(|interval| interval.1),
        })
    };
    all.iter().filter_map(cell).collect()
}

/// The technique by hand, today's among them, with the smallest median of these rounds.
fn best_by_hand(
    all: &[TechniqueSamples],
    is_counted: impl Fn(usize) -> bool,
) -> Option<&TechniqueSamples> {
    let by_hand = all
        .iter()
        .filter(|one| matches!(one.role, Role::Today | Role::ByHand));
    let with_median = by_hand.filter_map(|one| {
        let rounds = one.cpu_ns.iter().enumerate();
        let counted = rounds.filter(|(round, _)| is_counted(*round));
        let counted: Vec<f64> = counted.map(|(_, &cpu_ns)| cpu_ns).collect();
        Some((one, median(&counted)?))
    });
    let best = with_median.min_by(|one, other| one.1.total_cmp(&other.1));
    best.map(|(one, _)| one)
}

/// For each round the time of the technique that is the best in the rounds of the other parity.
///
/// The smallest of several noisy medians is smaller than the time of each technique. So if the same rounds chose the best
/// and compared with it, a technique as good as the best would get a ratio above 1.
fn best_cpu_ns(all: &[TechniqueSamples], best: &TechniqueSamples) -> Vec<f64> {
    let best_of = |parity: usize| best_by_hand(all, move |round| round % 2 == parity);
    // With a single round there are no other rounds.
    let references = [1, 0].map(|parity| best_of(parity).unwrap_or(best));
    let rounds = 0..best.cpu_ns.len();
    rounds
        .map(|round| references[round % 2].cpu_ns[round])
        .collect()
}

fn pair(of: &[f64], to: &[f64]) -> Option<PairStats> {
    let logs = std::iter::zip(of, to).map(|(of, to)| (of / to).ln());
    paired(&logs.collect::<Vec<_>>())
}

/// Summarizes all cells.
pub fn summary(cells: &[Cell], rounds: usize) -> Summary {
    let of_role = |role: Role| cells.iter().filter(move |cell| cell.role == role.name());
    let ours: Vec<&Cell> = of_role(Role::Ours).collect();
    let worst = ours
        .iter()
        .max_by(|a, b| a.ratio_to_best_by_hand.total_cmp(&b.ratio_to_best_by_hand));
    let controls = of_role(Role::Again);
    Summary {
        rounds,
        cases: of_role(Role::Today).count(),
        share_within_3_percent: share(ours.iter().map(|cell| cell.ratio_to_best_by_hand <= NEAR)),
        worst: worst.map(|cell| Worst {
            program: cell.program,
            case: cell.case.clone(),
            ratio: cell.ratio_to_best_by_hand,
        }),
        by_hand: by_hand(cells),
        control_within_3_percent: share(
            controls.map(|cell| (1.0 / NEAR..=NEAR).contains(&cell.ratio_to_today)),
        )
        .unwrap_or(1.0),
    }
}

fn by_hand(cells: &[Cell]) -> Vec<OneChoice> {
    let mut choices: Vec<&'static str> = Vec::new();
    for cell in cells {
        let is_choice = matches!(cell.role, "today" | "by-hand");
        if is_choice && !choices.contains(&cell.technique) {
            choices.push(cell.technique);
        }
    }
    let todays: Vec<&Cell> = cells.iter().filter(|cell| cell.role == "today").collect();
    let choice = |technique: &'static str| {
        let ratios = todays.iter().map(|today| {
            let here = cells.iter().find(|cell| {
                (cell.program, &cell.case, cell.technique)
                    == (today.program, &today.case, technique)
            });
            here.unwrap_or(today).ratio_to_best_by_hand <= NEAR
        });
        OneChoice {
            technique,
            share_within_3_percent: share(ratios).unwrap_or(0.0),
        }
    };
    choices.into_iter().map(choice).collect()
}

/// The share of `true`; `None` without values.
fn share(all: impl Iterator<Item = bool>) -> Option<f64> {
    let all: Vec<bool> = all.collect();
    let yes = all.iter().filter(|&&one| one).count();
    (!all.is_empty()).then(|| yes as f64 / all.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn technique(technique: &'static str, role: Role, cpu_ns: Vec<f64>) -> TechniqueSamples {
        TechniqueSamples {
            technique,
            role,
            cpu_ns,
        }
    }

    #[test]
    fn the_best_is_chosen_by_the_other_rounds() {
        let today = technique("today", Role::Today, vec![10.0, 31.0, 11.0, 32.0]);
        let by_hand = technique("by-hand", Role::ByHand, vec![20.0, 21.0, 22.0, 23.0]);
        let all = [today, by_hand];
        let best = best_by_hand(&all, |_| true).unwrap();
        // Today's technique is the best in the even rounds, so the odd rounds are compared with it, and the other way round.
        assert_eq!(best_cpu_ns(&all, best), [20.0, 31.0, 22.0, 32.0]);
        let one_round = [technique("today", Role::Today, vec![10.0])];
        assert_eq!(best_cpu_ns(&one_round, &one_round[0]), [10.0]);
    }

    /// Six equal techniques; five are by hand. If the best were chosen by all rounds, the mean would be 1.007.
    #[test]
    fn a_technique_as_good_as_the_best_by_hand_gets_a_ratio_of_one_on_average() {
        let mut random = fastrand::Rng::with_seed(1);
        let cases = 2000;
        let mut logs = 0.0;
        for _ in 0..cases {
            let mut noise = || {
                (0..24)
                    .map(|_| (random.f64() * 0.1).exp())
                    .collect::<Vec<f64>>()
            };
            let mut all = vec![technique("today", Role::Today, noise())];
            for name in ["a", "b", "c", "d"] {
                all.push(technique(name, Role::ByHand, noise()));
            }
            let ours = noise();
            let best = best_by_hand(&all, |_| true).unwrap();
            logs += pair(&ours, &best_cpu_ns(&all, best)).unwrap().ratio.ln();
        }
        let mean = (logs / f64::from(cases)).exp();
        assert!((0.999..1.001).contains(&mean), "{mean}");
    }
}
