//! The answer in a sentence for each new command.

use vectored_report::Block;
use vectored_report::words::{count, enumerated, grouped};

use crate::judge::{is_count, too_few_rounds};
use crate::model::{
    Calls, Change, Compared, Comparison, GrownCall, Phase, Range, RuledLimit, Ruling, Side, Versus,
};

const SHOWN_CALLS: usize = 4;

const SHOWN_STACKS: usize = 3;

/// The largest difference in times, as a fraction, for the word "equal".
const EQUAL_WITHIN: f64 = 0.1;

const MORE_ROUNDS: &str = "use more rounds, by --rounds or --budget";

/// For example `new takes 0.812 [0.790, 0.838] of the time of old, and makes 120 writes instead of 40,025`. If the
/// times are unusable, the counts are first.
pub fn answer(versus: &Versus, of: &Comparison) -> String {
    let (mut told, silent) = times(versus, of);
    let both = versus.old.calls.as_ref().zip(of.side.calls.as_ref());
    let both = both.filter(|_| of.figure("calls").is_some());
    if let Some((old, new)) = both {
        let equal = if told.is_empty() {
            "as many system calls as old"
        } else {
            "as many system calls"
        };
        told.push(calls(old, new, equal));
    }
    sentence(&of.side.name, &told, silent)
}

/// Joins the known parts. `silent` gives the reason why a part is missing.
pub(super) fn sentence(name: &str, told: &[String], silent: Option<String>) -> String {
    match (told.join(", and "), silent) {
        (told, None) => format!("{name} {told}"),
        (told, Some(silent)) if told.is_empty() => format!("{name}: {silent}"),
        (told, Some(silent)) => format!("{name} {told}; {silent}"),
    }
}

/// For example `takes 0.812 [0.790, 0.838] of the time of old and 0.610 [0.600, 0.620] of its CPU time`. The second
/// value gives the reason if a part is missing.
fn times(versus: &Versus, of: &Comparison) -> (Vec<String>, Option<String>) {
    if versus.is_spoiled(of) {
        let why = "no times are compared, since a run failed";
        return (Vec::new(), Some(why.to_owned()));
    }
    let Some(wall) = of.figure("wall_ns") else {
        return (Vec::new(), Some("it was not timed".to_owned()));
    };
    let Some(ratio) = ratio_in_words(wall).filter(|_| wall.low.is_some()) else {
        let why = too_few_rounds(versus.old.runs.len());
        return (Vec::new(), Some(format!("no times are compared ({why})")));
    };
    let within = |figure: &Compared| {
        let mut noise = versus.noise.iter();
        equal_within(figure, noise.find(|noise| noise.figure == figure.figure))
    };
    let cpu = of.figure("cpu_ns");
    let cpu = cpu.and_then(|cpu| Some((cpu, ratio_in_words(cpu).filter(|_| cpu.low.is_some())?)));
    let open = |what: &str, figure: &Compared, ratio: &str| {
        let why = if figure.low <= Some(1.0) && figure.high >= Some(1.0) {
            format!("the interval of the ratio, {ratio}, contains 1")
        } else {
            format!("the ratio, {ratio}, differs from 1 no more than the one of old to itself")
        };
        Some(format!(
            "no difference in {what} was shown: {why}; {MORE_ROUNDS}"
        ))
    };
    match (is_found(wall), within(wall), cpu) {
        (true, _, Some((cpu, of_cpu))) if is_found(cpu) || within(cpu).is_some() => (
            vec![format!(
                "takes {ratio} of the time of old and {of_cpu} of its CPU time"
            )],
            None,
        ),
        (true, _, cpu) => (
            vec![format!("takes {ratio} of the time of old")],
            cpu.and_then(|(cpu, of_cpu)| open("CPU time", cpu, &of_cpu)),
        ),
        (false, Some(within), Some((cpu, of_cpu))) if is_found(cpu) => (
            vec![
                format!("takes {of_cpu} of the CPU time of old"),
                format!("as long within {within} % ({ratio})"),
            ],
            None,
        ),
        (false, Some(within), _) => (
            vec![format!("takes as long as old within {within} % ({ratio})")],
            None,
        ),
        (false, None, Some((cpu, of_cpu))) if is_found(cpu) => (
            vec![format!("takes {of_cpu} of the CPU time of old")],
            open("time", wall, &ratio),
        ),
        (false, None, _) => (Vec::new(), open("time", wall, &ratio)),
    }
}

fn is_found(of: &Compared) -> bool {
    of.change != Change::NotFound
}

/// Returns a bound on the difference in per cent, if no difference was found. The bound covers the interval of the
/// figure and the interval of the old command against itself. `None` if the bound is above `EQUAL_WITHIN`.
fn equal_within(of: &Compared, noise: Option<&Compared>) -> Option<u64> {
    let most = |of: &Compared| Some((of.high? - 1.0).max(1.0 - of.low?));
    let most = most(of)?.max(noise.and_then(most).unwrap_or(0.0));
    (most <= EQUAL_WITHIN).then(|| ((most * 100.0).ceil() as u64).max(1))
}

/// For example `old failed in 3 runs, first in round 5: exit status 2, 'failing'`.
pub fn failures(side: &Side) -> Option<String> {
    let first = side.failed.first()?;
    let place = match first.phase {
        Phase::WarmUp => "warm-up run",
        Phase::Counted => "counted run",
        Phase::Timed => "round",
    };
    Some(format!(
        "{} failed in {}, first in {place} {}: {}",
        side.name,
        count(side.failed.len(), "run"),
        first.number,
        end_in_words(&first.ended, &first.said)
    ))
}

/// For example `exit status 2, 'no such file'`.
pub(super) fn end_in_words(ended: &str, said: &str) -> String {
    if said.is_empty() { ended.to_owned() } else { format!("{ended}, '{said}'") }
}

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
        let sign = if option.contains(' ') { '=' } else { ' ' };
        let limit = format!(
            "{option}{sign}{}% against {base}",
            (share * 1e4).round() / 100.0
        );
        let shown = limits.iter().filter(|limit| limit.ruling == worst);
        let shown = shown.map(|limit| {
            let figure = match &*limit.figure {
                "wall_ns" => "time",
                "calls" => "system calls",
                "peak_bytes" => "peak memory",
                figure => figure,
            };
            if let (Some(of), true) = (
                &limit.compared,
                limit.option.ends_with(&format!(" {figure}")),
            ) {
                return format!("{} instead of {}", whole(of.new), whole(of.old));
            }
            let ratio = limit.compared.as_ref().and_then(ratio_in_words);
            match (ratio, worst, &*limit.unknown) {
                (_, Ruling::Undecided, unknown) if !unknown.is_empty() => unknown.to_owned(),
                (Some(ratio), ..) => format!("{ratio} times the {figure}"),
                (None, ..) => format!("{figure} instead of none"),
            }
        });
        let shown = enumerated(&shown.collect::<Vec<_>>());
        let is_wide = |limit: &RuledLimit| {
            limit.ruling == Ruling::Undecided
                && limit.unknown.is_empty()
                && !is_count(&limit.figure)
        };
        let text = match worst {
            Ruling::Within => format!("{new} is within the limit of {limit}"),
            Ruling::Beyond => {
                let grown = limits.iter().map(|limit| grown_in_words(&limit.grown));
                let grown = grown.max_by_key(String::len).unwrap_or_default();
                format!("{new} is beyond the limit of {limit}: {shown}{grown}")
            }
            Ruling::Undecided => {
                let remedy = if limits.iter().any(is_wide) {
                    format!("; {MORE_ROUNDS}")
                } else {
                    String::new()
                };
                format!("{new} may be within the limit of {limit} or beyond it: {shown}{remedy}")
            }
        };
        (worst, text)
    };
    of_one.map(sentence).collect()
}

/// For example `; more are write (1,012 instead of 12) and fsync (3 instead of 2)`.
fn grown_in_words(grown: &[GrownCall]) -> String {
    let named = grown.iter().take(SHOWN_CALLS);
    let named = named.map(|one| {
        format!(
            "{} ({} instead of {})",
            one.call,
            range(one.new),
            range(one.old)
        )
    });
    let mut named: Vec<String> = named.collect();
    if grown.len() > SHOWN_CALLS {
        named.push(count(grown.len() - SHOWN_CALLS, "other call"));
    }
    if named.is_empty() {
        String::new()
    } else {
        format!("; more are {}", enumerated(&named))
    }
}

/// For example `more calls of new: 1,000 of write from main > save > flush`.
pub fn stacks_in_words(of: &Comparison) -> Option<String> {
    let name = &of.side.name;
    if !of.no_stacks.is_empty() {
        return Some(format!(
            "what makes the calls of {name} that grew is not known: {}",
            of.no_stacks
        ));
    }
    let shown = of.stacks.iter().take(SHOWN_STACKS).map(|one| {
        let more = grouped(one.new.saturating_sub(one.old));
        format!("{more} of {} from {}", one.call, one.frames.join(" > "))
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| format!("more calls of {name}: {}", enumerated(&shown)))
}

pub(super) fn limit_sentences(all: &[RuledLimit], base: &str) -> impl Iterator<Item = Block> {
    let said = limits_in_words(all, base).into_iter();
    said.map(|(ruling, text)| ruling.sentence(text))
}

/// For example `makes 120 writes instead of 40,025`. If no count of transfers differs, returns the count of all
/// calls, or `equal` if the counts of all calls are equal.
pub(super) fn calls(old: &Calls, new: &Calls, equal: &str) -> String {
    let changed = |noun: &str, of: fn(&Calls) -> Range| {
        let (old, new) = (of(old), of(new));
        let nouns = if new == (Range { low: 1, high: 1 }) { "" } else { "s" };
        let is_apart = new.high < old.low || new.low > old.high;
        is_apart.then(|| format!("{} {noun}{nouns} instead of {}", range(new), range(old)))
    };
    let transfers = [
        changed("write", |calls| calls.writes),
        changed("read", |calls| calls.reads),
    ];
    let mut all: Vec<String> = transfers.into_iter().flatten().collect();
    if all.is_empty() {
        all.extend(changed("system call", |calls| calls.calls));
    }
    let (of_old, of_new) = (old.calls, new.calls);
    if !all.is_empty() {
        format!("makes {}", enumerated(&all))
    } else if of_old == of_new && of_old.low == of_old.high {
        format!("makes {equal}")
    } else {
        format!(
            "makes {} system calls instead of {}",
            range(of_new),
            range(of_old)
        )
    }
}

pub(super) fn range(of: Range) -> String {
    if of.low == of.high {
        grouped(of.low)
    } else {
        format!("{} to {}", grouped(of.low), grouped(of.high))
    }
}

fn whole(count: f64) -> String {
    grouped(count.round() as u64)
}

/// For example `0.812 [0.790, 0.838]`.
pub fn ratio_in_words(of: &Compared) -> Option<String> {
    let ratio = number(of.ratio?);
    Some(match (of.low, of.high) {
        (Some(low), Some(high)) if low != high => {
            format!("{ratio} [{}, {}]", number(low), number(high))
        }
        _ => ratio,
    })
}

/// The digits are sufficient to show a difference of one per cent.
fn number(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.95 => grouped(ratio.round() as u64),
        ratio if ratio >= 9.995 => format!("{ratio:.1}"),
        ratio if ratio >= 0.1 => format!("{ratio:.3}"),
        ratio if ratio >= 0.01 => format!("{ratio:.4}"),
        ratio => format!("{ratio:.5}"),
    }
}
