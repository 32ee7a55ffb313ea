//! Turns runs into ratios with intervals, and applies the limits.

use vectored_report::sort::sort;
use vectored_report::words::count;
use vectored_results::stats::{LOOKS, PairStats, WIDTH_TARGET, median, paired};

use crate::model::{Calls, Change, Compared, Comparison, Range, RuledLimit, Ruling, Run, Versus};

/// The smallest number of rounds that gives a ratio an interval.
pub const LEAST_ROUNDS: usize = 6;

pub fn too_few_rounds(rounds: usize) -> String {
    format!(
        "{}, and an interval needs {LEAST_ROUNDS}: raise --budget, or give --rounds {LEAST_ROUNDS}",
        count(rounds, "round")
    )
}

type Figure = (&'static str, fn(&Run) -> f64);

type Count = (&'static str, fn(&Calls) -> Range);

/// The order is the order in tables. An unknown figure is 0.
const FIGURES: [Figure; 7] = [
    ("wall_ns", |run| run.wall_ns as f64),
    ("cpu_ns", |run| (run.user_ns + run.system_ns) as f64),
    ("user_ns", |run| run.user_ns as f64),
    ("system_ns", |run| run.system_ns as f64),
    ("peak_bytes", |run| run.peak_bytes.unwrap_or(0) as f64),
    ("switches", |run| run.switches as f64),
    ("faults", |run| run.faults as f64),
];

const COUNTS: [Count; 5] = [
    ("calls", |calls| calls.calls),
    ("reads", |calls| calls.reads),
    ("read_bytes", |calls| calls.read_bytes),
    ("writes", |calls| calls.writes),
    ("written_bytes", |calls| calls.written_bytes),
];

pub fn is_count(figure: &str) -> bool {
    COUNTS.iter().any(|(name, _)| *name == figure)
}

pub fn noise(old: &[Run], again: &[Run]) -> Vec<Compared> {
    let compared = FIGURES.map(|(name, of)| {
        let [old, again] = [old, again].map(|runs| runs.iter().map(of).collect::<Vec<f64>>());
        let logs = logs(&again, &old);
        compared(name, (&old, &again), paired(&logs), 0.0)
    });
    compared.into_iter().flatten().collect()
}

/// Compares a new command with both runs of the old command in each round.
///
/// A difference is found under two conditions. The interval of the ratio excludes 1. The ratio is farther from 1 than
/// each end of the interval of the old command against itself.
///
/// The old value of a round comes from one old run, not from the mean of both old runs. The mean has less scatter
/// than one run. For skewed figures, less scatter shifts the robust mean.
pub fn figures(old: &[Run], again: &[Run], new: &[Run]) -> Vec<Compared> {
    let compared = FIGURES.map(|(name, of)| {
        let [old, again, new] =
            [old, again, new].map(|runs| runs.iter().map(of).collect::<Vec<f64>>());
        let noise = paired(&logs(&again, &old)).and_then(|noise| noise.interval);
        let floor = noise.map_or(f64::INFINITY, |(low, high)| (-low.ln()).max(high.ln()));
        // Both rounds of a pair take the old run of the same slot, the first or the second. The rounds of a pair have
        // opposite orders, so a run that is slow because of its place in the round does not bias the sums.
        let other: Vec<f64> = (0..old.len())
            .map(|round| [&old, &again][round / 2 % 2][round])
            .collect();
        let both = [old, again].concat();
        compared(name, (&both, &new), paired(&logs(&new, &other)), floor)
    });
    compared.into_iter().flatten().collect()
}

pub fn counts(old: &Calls, new: &Calls) -> Vec<Compared> {
    COUNTS
        .map(|(name, of)| counted(name, of(old), of(new)))
        .into()
}

fn counted(figure: &str, old: Range, new: Range) -> Compared {
    let ratio = |new: u64, old: u64| (old > 0).then(|| new as f64 / old as f64);
    let middle = |range: Range| (range.low as f64 + range.high as f64) / 2.0;
    Compared {
        figure: figure.to_owned(),
        old: middle(old),
        new: middle(new),
        ratio: (old.low > 0).then(|| middle(new) / middle(old)),
        low: ratio(new.low, old.high),
        high: ratio(new.high, old.low),
        change: Change::of_ranges((old.low, old.high), (new.low, new.high)),
    }
}

/// Returns the logarithms of the ratios. The list is empty if any figure is 0, because 0 has no logarithm and may mean
/// unknown.
fn logs(new: &[f64], old: &[f64]) -> Vec<f64> {
    if new.iter().chain(old).any(|figure| *figure <= 0.0) {
        return Vec::new();
    }
    std::iter::zip(new, old)
        .map(|(new, old)| (new / old).ln())
        .collect()
}

fn compared(
    figure: &str,
    (old, new): (&[f64], &[f64]),
    pair: Option<PairStats>,
    floor: f64,
) -> Option<Compared> {
    let rounds = new.len();
    // The kernel divides the CPU time between user and kernel mode by the modes that clock ticks find. A short run
    // gets few ticks, so most runs seem to be in one mode only. Only the mean of many runs is accurate.
    if matches!(figure, "user_ns" | "system_ns") {
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let (old, new) = (mean(old), mean(new));
        let ratio = (old > 0.0 && new > 0.0 && rounds >= LEAST_ROUNDS).then(|| new / old);
        return (old.is_finite() && new.is_finite()).then(|| Compared {
            figure: figure.to_owned(),
            old,
            new,
            ratio,
            ..Compared::default()
        });
    }
    let interval = pair.and_then(|pair| pair.interval);
    let is_found = |pair: &PairStats| pair.separated() && pair.ratio.ln().abs() > floor;
    Some(Compared {
        figure: figure.to_owned(),
        old: median(old)?,
        new: median(new)?,
        ratio: pair.filter(|_| interval.is_some()).map(|pair| pair.ratio),
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        change: match pair.filter(is_found) {
            Some(pair) if pair.ratio < 1.0 => Change::Less,
            Some(_) => Change::More,
            None => Change::NotFound,
        },
    })
}

/// Returns whether the rounds are sufficient. At each number of rounds in `LOOKS`, narrow intervals of the times end
/// the rounds. At the last number, the rounds always end. To avoid bias, the decision does not use whether a
/// difference was found.
pub fn is_enough<'a>(old: &[Run], again: &[Run], new: impl IntoIterator<Item = &'a [Run]>) -> bool {
    let rounds = old.len();
    if rounds >= LOOKS[LOOKS.len() - 1] {
        return true;
    }
    let is_narrow = |compared: &Compared| match (compared.low, compared.high) {
        (Some(low), Some(high)) => (high / low).ln() / 2.0 <= WIDTH_TARGET,
        _ => false,
    };
    let times_are_narrow = |all: Vec<Compared>| {
        let times = ["wall_ns", "cpu_ns"];
        all.iter()
            .filter(|one| times.contains(&&*one.figure))
            .all(is_narrow)
    };
    LOOKS.contains(&rounds)
        && times_are_narrow(noise(old, again))
        && new
            .into_iter()
            .all(|new| times_are_narrow(figures(old, again, new)))
}

#[derive(Clone, Debug, PartialEq)]
pub struct CallLimit {
    /// `total`, `reads`, `writes` or the name of a call. `None` limits `total`, `reads` and `writes` separately.
    pub name: Option<String>,
    pub share: f64,
}

const MORE_CALLS: &str = "--fail-if-more-calls";

#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    pub slower: Option<f64>,
    pub calls: &'a [CallLimit],
    pub memory: Option<f64>,
}

pub fn rulings(versus: &Versus, limits: Limits<'_>) -> Vec<RuledLimit> {
    let new = versus.new.iter();
    new.flat_map(|new| of_one(versus, new, &limits)).collect()
}

fn of_one(versus: &Versus, new: &Comparison, limits: &Limits<'_>) -> Vec<RuledLimit> {
    let mut all: Vec<(&str, String, f64)> = Vec::new();
    let of_runs = |figure, option: &str, share: Option<f64>| {
        share.map(|share| (figure, option.to_owned(), share))
    };
    all.extend(of_runs("wall_ns", "--fail-if-slower", limits.slower));
    for CallLimit { name, share } in limits.calls {
        match name.as_deref() {
            None => all.extend(
                ["calls", "reads", "writes"].map(|figure| (figure, MORE_CALLS.to_owned(), *share)),
            ),
            Some(name) => {
                let figure = if name == "total" { "calls" } else { name };
                all.push((figure, format!("{MORE_CALLS} {name}"), *share));
            }
        }
    }
    all.extend(of_runs(
        "peak_bytes",
        "--fail-if-more-memory",
        limits.memory,
    ));
    all.iter().map(|limit| ruled(versus, new, limit)).collect()
}

fn ruled(
    versus: &Versus,
    new: &Comparison,
    (figure, option, share): &(&str, String, f64),
) -> RuledLimit {
    let both = versus.old.calls.as_ref().zip(new.side.calls.as_ref());
    let both = both.filter(|_| option.starts_with(MORE_CALLS));
    let of_call = || both.map(|(old, new)| counted(figure, range(old, figure), range(new, figure)));
    let found = new.figure(figure).cloned().or_else(of_call);
    let interval = found.as_ref().filter(|found| found.low.is_some());
    let of_figure = || interval.map(|found| Ruling::of_ratio((found.low, found.high), *share));
    let of_calls = both.map(|(old, new)| ruling_of_calls(figure, old, new, *share));
    let ruling = of_calls.or_else(of_figure);
    let is_beyond = ruling == Some(Ruling::Beyond) && is_count(figure);
    let grown = both.filter(|_| is_beyond);
    RuledLimit {
        option: option.clone(),
        share: *share,
        new: new.side.name.clone(),
        figure: (*figure).to_owned(),
        ruling: ruling.unwrap_or(Ruling::Undecided),
        compared: found,
        unknown: ruling.map_or_else(|| unknown(versus, figure), |_| String::new()),
        grown: grown.map_or_else(Vec::new, |(old, new)| Calls::grown(old, new)),
    }
}

/// Returns the names of the calls above their own limit. If a limit of `total`, `reads` or `writes` is exceeded, the
/// result also has all calls that grew.
pub fn beyond(versus: &Versus, new: &Comparison, limits: &[CallLimit]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for limit in of_one(
        versus,
        new,
        &Limits {
            calls: limits,
            ..Limits::default()
        },
    ) {
        if limit.ruling != Ruling::Beyond {
            continue;
        }
        if is_count(&limit.figure) {
            names.extend(limit.grown.into_iter().map(|one| one.call));
        } else {
            names.push(limit.figure);
        }
    }
    sort(&mut names);
    names.dedup();
    names
}

fn unknown(versus: &Versus, figure: &str) -> String {
    let rounds = versus.old.runs.len();
    match figure {
        name if is_count(name) => "the calls were not counted".to_owned(),
        _ if rounds < LEAST_ROUNDS => too_few_rounds(rounds),
        "peak_bytes" => "the peak memory is not known, because it is hardly above that of vectored, which the kernel \
                         counts for all that it starts"
            .to_owned(),
        _ => "not all of its figures are known".to_owned(),
    }
}

/// `figure` is the name of a count in tables, or the name of a call.
fn range(calls: &Calls, figure: &str) -> Range {
    let of_many = COUNTS.iter().find(|(name, _)| *name == figure);
    let of_kind = || calls.kinds.get(figure).copied().unwrap_or_default();
    of_many.map_or_else(of_kind, |(_, of)| of(calls))
}

/// The base is the largest old count: old counts that differ between runs depend on timing. The limit holds if the
/// largest new count is at most the base times 1 + `limit`, and is exceeded if the smallest new count is above this
/// number.
fn ruling_of_calls(figure: &str, old: &Calls, new: &Calls, limit: f64) -> Ruling {
    let (old, new) = (range(old, figure), range(new, figure));
    let most = old.high as f64 * (1.0 + limit);
    if new.low as f64 > most {
        Ruling::Beyond
    } else if new.high as f64 <= most {
        Ruling::Within
    } else {
        Ruling::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wall times scatter by 2 %.
    fn runs(count: u64, wall_ns: u64, seed: u64) -> Vec<Run> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count)
            .map(|_| Run {
                wall_ns: wall_ns + wall_ns * random.u64(..200) / 10_000,
                user_ns: wall_ns / 2,
                ..Run::default()
            })
            .collect()
    }

    fn wall(of: &[Compared]) -> &Compared {
        &of[0]
    }

    #[test]
    fn three_percent_are_found_and_nothing_within_the_noise() {
        let (old, again) = (runs(100, 50_000_000, 1), runs(100, 50_000_000, 2));
        let same = figures(&old, &again, &runs(100, 50_000_000, 3));
        assert_eq!(wall(&same).change, Change::NotFound);
        let slower = figures(&old, &again, &runs(100, 51_500_000, 3));
        assert_eq!(wall(&slower).change, Change::More);
        let faster = figures(&old, &again, &runs(100, 48_500_000, 3));
        assert_eq!(wall(&faster).change, Change::Less);
        let ratio = wall(&slower).ratio.unwrap();
        assert!((1.025..1.035).contains(&ratio), "{ratio}");
        // The second run of the old command is 5 % slower, to simulate a defect of the method.
        let again = runs(100, 52_500_000, 2);
        for (new_ns, change) in [(52_700_000, Change::NotFound), (60_000_000, Change::More)] {
            let found = figures(&old, &again, &runs(100, new_ns, 3));
            assert_eq!(wall(&found).change, change);
        }
    }

    #[test]
    fn a_slow_first_run_of_a_round_favours_no_command() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut below, mut above) = (0, 0);
        for _ in 0..1000 {
            // The indexes of `versus`: 0 is the old command, 1 the new command, 2 the second run of the old command.
            let (mut order, mut runs) = ([0, 1, 2], [(); 3].map(|()| Vec::new()));
            for round in 0..20 {
                if round % 2 == 0 {
                    random.shuffle(&mut order);
                } else {
                    order.reverse();
                }
                for (place, slot) in order.into_iter().enumerate() {
                    let longer = if place == 0 { 40 } else { 0 };
                    runs[slot].push(Run {
                        wall_ns: 1000 + longer + random.u64(..20),
                        ..Run::default()
                    });
                }
            }
            let all = figures(&runs[0], &runs[2], &runs[1]);
            below += u32::from(wall(&all).high < Some(1.0));
            above += u32::from(wall(&all).low > Some(1.0));
        }
        // Outside a 95 % interval, 25 cases are expected at each end.
        assert!(below <= 50 && above <= 50, "below: {below}, above: {above}");
    }

    #[test]
    fn figures_that_may_be_zero_have_medians_alone() {
        let old = runs(10, 1000, 1);
        let all = figures(&old, &old, &old);
        // Each run has most of its CPU time in one mode, because a short run gets few clock ticks.
        let mut split = old.clone();
        split[0] = Run {
            user_ns: 0,
            system_ns: 40,
            ..split[0]
        };
        let split = figures(&old, &old, &split);
        let [user, system] = ["user_ns", "system_ns"]
            .map(|name| split.iter().find(|one| one.figure == name).unwrap());
        assert_eq!((user.new, user.ratio, user.low), (450.0, Some(0.9), None));
        assert_eq!((system.old, system.new, system.ratio), (0.0, 4.0, None));
        let switches = all.iter().find(|one| one.figure == "switches").unwrap();
        assert_eq!((switches.old, switches.ratio), (0.0, None));
        let peak = all.iter().find(|one| one.figure == "peak_bytes").unwrap();
        assert_eq!(peak.low, None);
        assert_eq!(figures(&[], &[], &[]), []);
    }

    #[test]
    fn rounds_are_enough_if_all_intervals_are_narrow() {
        let narrow = |count| {
            vec![
                Run {
                    wall_ns: 1000,
                    user_ns: 10,
                    ..Run::default()
                };
                count
            ]
        };
        let mut wide = narrow(20);
        wide.iter_mut().step_by(2).for_each(|run| run.wall_ns *= 2);
        let enough = |old: &[Run], new: &[Run]| is_enough(old, old, [new]);
        assert!(enough(&narrow(20), &narrow(20)));
        assert!(!enough(&narrow(20), &wide));
        assert!(!enough(&narrow(21), &narrow(21)));
        let last = wide.repeat(LOOKS[LOOKS.len() - 1] / wide.len() + 1);
        assert!(enough(&last, &last));
        assert!(enough(&runs(1280, 1000, 1), &runs(1280, 1000, 2)));
    }

    #[test]
    fn counts_are_compared_by_their_ranges() {
        let calls = |low, high| Calls {
            writes: Range { low, high },
            ..Calls::default()
        };
        let writes = |old: &Calls, new: &Calls| {
            counts(old, new)
                .into_iter()
                .find(|one| one.figure == "writes")
                .unwrap()
        };
        for (old, new, change, ruling) in [
            ((100, 110), (10, 11), Change::Less, Ruling::Within),
            ((100, 110), (105, 111), Change::NotFound, Ruling::Within),
            ((100, 110), (105, 112), Change::NotFound, Ruling::Undecided),
            ((100, 110), (112, 112), Change::More, Ruling::Beyond),
            ((0, 0), (0, 0), Change::NotFound, Ruling::Within),
            ((0, 0), (1, 1), Change::More, Ruling::Beyond),
            (
                (1, u64::MAX),
                (1, u64::MAX),
                Change::NotFound,
                Ruling::Within,
            ),
        ] {
            let (old, new) = (calls(old.0, old.1), calls(new.0, new.1));
            assert_eq!(writes(&old, &new).change, change);
            let ruled = ruling_of_calls("writes", &old, &new, 0.01);
            assert_eq!(ruled, ruling, "{:?} {:?}", old.writes, new.writes);
        }
        let less = writes(&calls(100, 110), &calls(10, 11));
        assert_eq!(
            [less.low, less.high],
            [10.0 / 110.0, 11.0 / 100.0].map(Some)
        );
    }

    #[test]
    fn a_call_with_a_limit_of_its_own_is_judged_by_itself() {
        let calls = |total, write: u64, fsync: u64| {
            let kinds = [("write", write), ("fsync", fsync)];
            let kinds = kinds.map(|(name, count)| (name.to_owned(), Range::of(count)));
            Calls {
                calls: Range::of(total),
                kinds: kinds.into(),
                ..Calls::default()
            }
        };
        let (old, new) = (calls(1000, 10, 0), calls(1005, 14, 1));
        let mut versus = Versus::default();
        versus.new.push(Comparison {
            figures: counts(&old, &new),
            ..Comparison::default()
        });
        (versus.old.calls, versus.new[0].side.calls) = (Some(old), Some(new));
        let limit = |name: &str, share| CallLimit {
            name: Some(name.to_owned()),
            share,
        };
        let limits = [
            limit("write", 0.5),
            limit("fsync", 0.0),
            limit("total", 0.001),
            limit("dup", 0.0),
        ];
        let calls = Limits {
            calls: &limits,
            ..Limits::default()
        };
        let ruled = rulings(&versus, calls);
        let found: Vec<_> = ruled.iter().map(|one| (&*one.option, one.ruling)).collect();
        let expected = [
            ("--fail-if-more-calls write", Ruling::Within),
            ("--fail-if-more-calls fsync", Ruling::Beyond),
            ("--fail-if-more-calls total", Ruling::Beyond),
            ("--fail-if-more-calls dup", Ruling::Within),
        ];
        assert_eq!(found, expected);
        let grown = |versus: &Versus, limits: &[CallLimit]| beyond(versus, &versus.new[0], limits);
        assert_eq!(grown(&versus, &limits[..2]), ["fsync"]);
        let all = [CallLimit {
            name: None,
            share: 0.0,
        }];
        assert_eq!(grown(&versus, &all), ["fsync", "write"]);
        std::mem::swap(&mut versus.old.calls, &mut versus.new[0].side.calls);
        assert_eq!(grown(&versus, &all), [""; 0]);
    }
}
