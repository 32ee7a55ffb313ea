//! The answer in a sentence.

use vectored_report::words::{enumerated, grouped};

use crate::model::{Change, Compared, Comparison, Versus};

/// One sentence for each new command: `new takes 0.812 [0.790, 0.838] of the time of old, and makes 120 writes instead of
/// 40,025`.
pub fn answer(versus: &Versus, of: &Comparison) -> String {
    let name = &of.side.name;
    let calls = calls(of);
    match of.figure("wall_ns") {
        None if calls.is_empty() => format!("{name} was not timed"),
        None => format!("{name} makes {}; it was not timed", enumerated(&calls)),
        Some(wall) => {
            let times = times(versus, wall, of.figure("cpu_ns"));
            let calls = match &calls[..] {
                [] if of.side.calls.is_none() => String::new(),
                [] => ", and makes as many system calls".to_owned(),
                calls => format!(", and makes {}", enumerated(calls)),
            };
            format!("{name} {times}{calls}")
        }
    }
}

/// `takes 0.812 [0.790, 0.838] of the time of old and 0.610 [0.600, 0.620] of its CPU time`.
fn times(versus: &Versus, wall: &Compared, cpu: Option<&Compared>) -> String {
    let cpu = cpu.filter(|cpu| cpu.ratio.is_some());
    let (Some(of_time), true) = (ratio_in_words(wall), wall.low.is_some()) else {
        let rounds = versus.old.runs.len();
        let of_time = ratio_in_words(wall).unwrap_or_default();
        let rounds = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
        return format!(
            "takes about {of_time} of the time of old: {rounds}, and an interval needs 6"
        );
    };
    let is_found = |one: &Compared| one.change != Change::NotFound;
    let of_cpu = cpu.and_then(|cpu| Some((ratio_in_words(cpu)?, is_found(cpu))));
    match (is_found(wall), of_cpu) {
        (true, Some((of_cpu, _))) => {
            format!("takes {of_time} of the time of old and {of_cpu} of its CPU time")
        }
        (true, None) => format!("takes {of_time} of the time of old"),
        (false, Some((of_cpu, true))) => {
            format!(
                "takes {of_cpu} of the CPU time of old; no difference of the whole time was found ({of_time})"
            )
        }
        (false, _) => format!("takes as long as old: no difference was found ({of_time})"),
    }
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
