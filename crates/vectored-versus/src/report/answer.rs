//! The answer in a sentence.

use vectored_report::words::{count, enumerated, grouped};
use vectored_report::{Block, Sentence, Tone};

use crate::judge::{LEAST_ROUNDS, is_count};
use crate::model::{Change, Compared, Comparison, Phase, RuledLimit, Ruling, Side, Versus};

/// Rounds in which a command failed and that are named.
const SHOWN_ROUNDS: usize = 5;

/// The logarithm of the distance of two ratios from which on a reader notices it.
const SHOWN_DISTANCE: f64 = 0.01;

/// One sentence for each new command: `new takes 0.812 [0.790, 0.838] of the time of old, and makes 120 writes instead of
/// 40,025`. Counts lead where times say nothing.
pub fn answer(versus: &Versus, of: &Comparison) -> String {
    let name = &of.side.name;
    let counted = of.figure("calls").map(|_| match &calls(of)[..] {
        [] => "makes as many system calls".to_owned(),
        calls => format!("makes {}", enumerated(calls)),
    });
    let wall = of.figure("wall_ns");
    match (
        wall.and_then(|wall| times(wall, of.figure("cpu_ns"))),
        counted,
    ) {
        (Some(times), Some(counted)) => format!("{name} {times}, and {counted}"),
        (Some(times), None) => format!("{name} {times}"),
        (None, counted) => {
            let why = match wall {
                _ if versus.is_spoiled(of) => {
                    "no times are compared, since a run failed".to_owned()
                }
                None => "it was not timed".to_owned(),
                Some(_) => format!(
                    "no times are compared ({}; an interval needs {LEAST_ROUNDS})",
                    count(versus.old.runs.len(), "round")
                ),
            };
            match counted {
                Some(counted) if counted.contains(" as many ") => {
                    format!("{name} {counted} as old; {why}")
                }
                Some(counted) => format!("{name} {counted}; {why}"),
                None => format!("{name}: {why}"),
            }
        }
    }
}

/// `takes 0.812 [0.790, 0.838] of the time of old and 0.610 [0.600, 0.620] of its CPU time`; `None` without an interval.
fn times(wall: &Compared, cpu: Option<&Compared>) -> Option<String> {
    let of_time = ratio_in_words(wall).filter(|_| wall.low.is_some())?;
    // The reader divides the columns of the table.
    let by_rounds = if quotient_of_columns(wall).is_some() { ", round by round" } else { "" };
    let is_found = |one: &Compared| one.change != Change::NotFound;
    let of_cpu = cpu.and_then(|cpu| Some((ratio_in_words(cpu)?, is_found(cpu))));
    Some(match (is_found(wall), of_cpu) {
        (true, Some((of_cpu, _))) => {
            format!("takes {of_time} of the time of old{by_rounds} and {of_cpu} of its CPU time")
        }
        (true, None) => format!("takes {of_time} of the time of old{by_rounds}"),
        (false, Some((of_cpu, true))) => {
            format!(
                "takes {of_cpu} of the CPU time of old; no difference of the whole time was found ({of_time})"
            )
        }
        (false, _) => format!("takes as long as old: no difference was found ({of_time})"),
    })
}

/// The quotient of the medians in the columns of a timed figure, if it is not the ratio, the mean of the ratios of the rounds:
/// of times if readers who divide notice it, of smaller numbers if it is outside the interval.
pub(super) fn quotient_of_columns(of: &Compared) -> Option<f64> {
    let (ratio, low, high) = (of.ratio?, of.low?, of.high?);
    let quotient = of.new / of.old;
    let is_other = match &*of.figure {
        name if is_count(name) || !quotient.is_finite() => false,
        "wall_ns" | "cpu_ns" => (quotient / ratio).ln().abs() > SHOWN_DISTANCE,
        _ => !(low..=high).contains(&quotient),
    };
    is_other.then_some(quotient)
}

/// Which runs failed: `old failed in 3 of 60 timed runs (rounds 5, 15 and 25): exit status 2, 'failing'`.
pub fn failures(side: &Side, timed: usize) -> Option<String> {
    let first = side.failed.first()?;
    let in_phase = |phase: Phase| -> Vec<u64> {
        let runs = side.failed.iter().filter(|run| run.phase == phase);
        runs.map(|run| run.number).collect()
    };
    let mut places = Vec::new();
    for (phase, what) in [
        (Phase::WarmUp, "warm-up run"),
        (Phase::Counted, "counted run"),
    ] {
        let runs = in_phase(phase).len();
        if runs > 0 {
            places.push(count(runs, what));
        }
    }
    let mut rounds = in_phase(Phase::Timed);
    if !rounds.is_empty() {
        let failed = rounds.len();
        rounds.dedup();
        let more = rounds.split_off(rounds.len().min(SHOWN_ROUNDS)).len();
        let mut named: Vec<String> = rounds.iter().map(u64::to_string).collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        let noun = if named.len() == 1 { "round" } else { "rounds" };
        places.push(format!(
            "{failed} of {} ({noun} {})",
            count(timed, "timed run"),
            enumerated(&named)
        ));
    }
    let first_of = if side.failed.iter().any(|run| run.ended != first.ended) {
        "first with "
    } else {
        ""
    };
    Some(format!(
        "{} failed in {}: {first_of}{}",
        side.name,
        enumerated(&places),
        end_in_words(&first.ended, &first.said)
    ))
}

/// `exit status 2, 'no such file'`.
pub(super) fn end_in_words(ended: &str, said: &str) -> String {
    if said.is_empty() { ended.to_owned() } else { format!("{ended}, '{said}'") }
}

/// A sentence for each limit of each command, against `base`.
pub fn limits_in_words(all: &[RuledLimit], base: &str) -> Vec<(Ruling, String)> {
    let of_one = all.chunk_by(|one, other| (&one.new, &one.option) == (&other.new, &other.option));
    let sentence = |limits: &[RuledLimit]| {
        let has = |ruling| limits.iter().any(|limit| limit.ruling == ruling);
        let worst = [Ruling::Beyond, Ruling::Undecided];
        let worst = worst.into_iter().find(|ruling| has(*ruling));
        let worst = worst.unwrap_or(Ruling::Within);
        let RuledLimit {
            new, option, share, ..
        } = &limits[0];
        let limit = format!("{option} {}% against {base}", (share * 1e4).round() / 100.0);
        let shown = limits.iter().filter(|limit| limit.ruling == worst);
        let shown = shown.map(|limit| {
            let figure = match &*limit.figure {
                "wall_ns" => "time",
                "calls" => "system calls",
                "peak_bytes" => "peak memory",
                figure => figure,
            };
            match (limit.compared.as_ref().and_then(ratio_in_words), worst) {
                (Some(ratio), _) => format!("{ratio} times the {figure}"),
                (None, Ruling::Beyond) => format!("{figure} instead of none"),
                (None, _) => format!(
                    "no interval of the {figure} is known, which needs {LEAST_ROUNDS} rounds"
                ),
            }
        });
        let shown = enumerated(&shown.collect::<Vec<_>>());
        let text = match worst {
            Ruling::Within => format!("{new} is within the limit of {limit}"),
            Ruling::Beyond => format!("{new} is beyond the limit of {limit}: {shown}"),
            Ruling::Undecided => {
                format!("{new} may be within the limit of {limit} or beyond it: {shown}")
            }
        };
        (worst, text)
    };
    of_one.map(sentence).collect()
}

/// Limits in the answer.
pub(super) fn limit_sentences(all: &[RuledLimit], base: &str) -> impl Iterator<Item = Block> {
    let said = limits_in_words(all, base).into_iter();
    said.map(|(ruling, text)| {
        let tone = if ruling == Ruling::Within { Tone::Plain } else { Tone::Warning };
        Block::Sentence(Sentence::toned(tone, text))
    })
}

/// `120 writes instead of 40,025`, for each count that differs.
pub(super) fn calls(of: &Comparison) -> Vec<String> {
    let changed = |figure: &str, one: &str, many: &str| {
        let found = of
            .figure(figure)
            .filter(|one| one.change != Change::NotFound)?;
        let [old, new] = [found.old, found.new].map(|count| count.round() as u64);
        let calls = if new == 1 { one } else { many };
        Some(format!(
            "{} {calls} instead of {}",
            grouped(new),
            grouped(old)
        ))
    };
    let transfers: Vec<String> = [
        changed("writes", "write", "writes"),
        changed("reads", "read", "reads"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if transfers.is_empty() {
        changed("calls", "system call", "system calls")
            .into_iter()
            .collect()
    } else {
        transfers
    }
}

/// The ratio and its interval: `0.812 [0.790, 0.838]`.
pub fn ratio_in_words(of: &Compared) -> Option<String> {
    let ratio = number(of.ratio?);
    Some(match (of.low, of.high) {
        (Some(low), Some(high)) if low != high => {
            format!("{ratio} [{}, {}]", number(low), number(high))
        }
        _ => ratio,
    })
}

/// A ratio with the digits that differences of a percent need.
fn number(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.95 => grouped(ratio.round() as u64),
        ratio if ratio >= 9.995 => format!("{ratio:.1}"),
        ratio if ratio >= 0.1 => format!("{ratio:.3}"),
        ratio if ratio >= 0.01 => format!("{ratio:.4}"),
        ratio => format!("{ratio:.5}"),
    }
}
