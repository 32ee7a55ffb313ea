//! Numbers, sizes and external texts in words.

pub use vectored_report::visible as escape_control;
pub use vectored_report::words::{bytes as bytes_in_words, grouped, list as list_in_words};
pub(crate) use vectored_report::words::{
    count, memory as about_bytes, percent, three_digits, time,
};

use crate::model::{Host, Results};

/// How much longer the nearest rival takes, with its interval.
pub(crate) fn margin(ratio: f64, interval: Option<(f64, f64)>) -> (String, Option<String>) {
    let (low, high) = interval.unwrap_or((ratio, ratio));
    let both = |low: String, high: String| interval.map(|_| format!("[{low}, {high}]"));
    if ![ratio, low, high].iter().all(|value| value.is_finite()) {
        return ("–".to_owned(), None);
    }
    if ratio >= 10.0 {
        let times = |ratio: f64| grouped(ratio.round() as u64);
        return (format!("{}×", times(ratio)), both(times(low), times(high)));
    }
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    // All three numbers have the same precision.
    let fine = [ratio, low, high]
        .iter()
        .all(|ratio| percent(*ratio).abs() < 9.95);
    let rounded = |ratio: f64| unsigned_zero(percent(ratio), usize::from(fine));
    (
        format!("{} %", rounded(ratio)),
        both(rounded(low), rounded(high)),
    )
}

/// Drops the sign of a negative number that is rounded to zero.
fn unsigned_zero(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    match text.strip_prefix('-') {
        Some(positive) if is_zero => positive.to_owned(),
        _ => text,
    }
}

/// The machine in one sentence.
pub(crate) fn machine(results: &Results) -> String {
    machine_of(&results.host)
}

/// See [`machine`].
pub(crate) fn machine_of(host: &Host) -> String {
    let mut parts = vec![escape_control(&host.cpu.model)];
    parts.push(count(host.cpu.allowed_cpus.len(), "CPU"));
    parts.push(about_bytes(host.memory_bytes));
    parts.extend(host.virtualization.as_deref().map(escape_control));
    parts.push(system(host));
    parts.extend(host.directory.as_ref().map(|directory| {
        let (file_system, path) = (&directory.file_system, &directory.path);
        format!(
            "{} at {}",
            escape_control(file_system),
            escape_control(path)
        )
    }));
    parts.join(", ")
}

/// `Linux 6.18.0 x86_64`. The kernel's build date is in the JSON only.
pub(crate) fn system(host: &Host) -> String {
    let release = host.kernel.split(' ').next().unwrap_or_default();
    escape_control(&match host.system.split_once(' ') {
        Some((system, machine)) => format!("{system} {release} {machine}"),
        None => format!("{} {release}", host.system),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_has_one_precision() {
        let check = |ratio, interval, expected: (&str, Option<&str>)| {
            let (ratio, interval) = margin(ratio, interval);
            assert_eq!((ratio.as_str(), interval.as_deref()), expected);
        };
        check(1.09, Some((1.07, 1.11)), ("9 %", Some("[7, 11]")));
        check(1.03, Some((0.988, 1.08)), ("3.0 %", Some("[-1.2, 8.0]")));
        check(1.0, Some((0.9999, 1.001)), ("0.0 %", Some("[0.0, 0.1]")));
        check(49.8, Some((49.1, 51.0)), ("50×", Some("[49, 51]")));
        check(1.5, None, ("50 %", None));
    }
}
