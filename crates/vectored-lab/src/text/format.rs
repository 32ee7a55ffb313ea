//! Numbers, sizes and external texts in words.

use serde::Serialize;
use serde_json::Value;

use crate::model::{Host, Results};

/// `16 B`, `4 KiB`, `1000 B`: in binary units if these are exact.
pub fn bytes_in_words(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    const KIB: u64 = 1 << 10;
    match bytes {
        0 => "0 B".to_owned(),
        _ if bytes.is_multiple_of(MIB) => format!("{} MiB", grouped(bytes / MIB)),
        _ if bytes.is_multiple_of(KIB) => format!("{} KiB", grouped(bytes / KIB)),
        _ => format!("{} B", grouped(bytes)),
    }
}

/// A size of memory: `7.8 GiB`, `700 MiB`.
pub(crate) fn about_bytes(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let (scale, unit) = match bytes {
        GIB.. => (GIB, "GiB"),
        MIB.. => (MIB, "MiB"),
        _ => return bytes_in_words(bytes),
    };
    let number = format!("{:.1}", bytes as f64 / scale as f64);
    format!("{} {unit}", number.trim_end_matches(".0"))
}

/// `2 × 16 B`, or `9 × 16 B + 1 × 4 KiB` for a mix of at most three runs.
pub fn list_in_words(runs: &[(usize, usize)]) -> String {
    let shown: Vec<String> = runs
        .iter()
        .take(3)
        .map(|&(count, bytes)| format!("{count} × {}", bytes_in_words(bytes as u64)))
        .collect();
    let more = if runs.len() > 3 { " + …" } else { "" };
    format!("{}{more}", shown.join(" + "))
}

/// `312 ns`, `8.31 µs`, `2.13 ms`: three digits and the unit that fits them.
pub(crate) fn time(ns: f64) -> String {
    if !ns.is_finite() {
        return "–".to_owned();
    }
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    // 999.6 ns is 1.00 µs, not 1000 ns.
    let fits = |&(_, scale): &(&str, f64)| ns / scale < 999.5;
    let (unit, scale) = units.into_iter().find(fits).unwrap_or(units[3]);
    format!("{} {unit}", three_digits(ns / scale))
}

pub(crate) fn three_digits(value: f64) -> String {
    match value {
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A gather tax: `+2.4 %`, `+480 %`, and from ten times the floor on `12×`.
pub(crate) fn tax(tax: f64) -> String {
    let times = 1.0 + tax;
    if !tax.is_finite() {
        "–".to_owned()
    } else if times >= 10.0 {
        format!("{}×", grouped(times.round() as u64))
    } else if tax.abs() < 0.0995 {
        format!("{} %", signed(tax * 100.0, 1))
    } else {
        format!("{} %", signed(tax * 100.0, 0))
    }
}

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

/// A share as `1.1 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", unsigned_zero(share * 100.0, 1))
}

fn signed(value: f64, decimals: usize) -> String {
    let text = unsigned_zero(value, decimals);
    if text.starts_with('-') {
        text
    } else {
        format!("+{text}")
    }
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

/// `12,345`; four digits stay together.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 cell`, `2 cells`.
pub(crate) fn count(number: usize, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {one}{ending}")
}

/// Escapes control characters, and characters that reorder or hide others, in external text such as a
/// host name or a path, so that it cannot affect a terminal.
pub fn escape_control(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let hides = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        // U+FFFE and U+FFFF are not allowed in XML, and so not in SVG.
        let hides = hides || matches!(c, '\u{fffe}' | '\u{ffff}');
        if c.is_control() {
            safe.extend(c.escape_default());
        } else if hides {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Escapes the characters that could end a table cell in Markdown, or start a link, markup or HTML.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '|' | '`' | '<' | '[' | ']' | '*') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// A value for a spreadsheet: as in the JSON, without quotes; empty for null. A text that starts like a
/// formula gets an apostrophe in front, so that no program evaluates it.
pub(crate) fn csv_word(value: &impl Serialize) -> String {
    match serde_json::to_value(value).expect("plain data") {
        Value::Null => String::new(),
        Value::String(text) => {
            let safe = escape_control(&text);
            match safe.starts_with(['=', '+', '-', '@']) {
                true => format!("'{safe}"),
                false => safe,
            }
        }
        other => other.to_string(),
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
    fn numbers_keep_three_digits_and_their_unit() {
        for (ns, expected) in [
            (0.0, "0.00 ns"),
            (312.4, "312 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (8_312.0, "8.31 µs"),
            (83_120.0, "83.1 µs"),
            (2_130_000.0, "2.13 ms"),
            (5e12, "5000 s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(time(ns), expected);
        }
        for (share, expected) in [
            (-0.0001, "+0.0 %"),
            (-0.031, "-3.1 %"),
            (0.024, "+2.4 %"),
            (0.0997, "+10 %"),
            (4.8, "+480 %"),
            (8.99, "+899 %"),
            (9.0, "10×"),
            (12_344.0, "12,345×"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(tax(share), expected);
        }
        for (bytes, expected) in [
            (16, "16 B"),
            (1000, "1000 B"),
            (1024, "1 KiB"),
            (1_048_577, "1,048,577 B"),
            (64 << 20, "64 MiB"),
        ] {
            assert_eq!(bytes_in_words(bytes), expected);
        }
    }

    #[test]
    fn memory_is_never_rounded_away() {
        for (bytes, expected) in [
            (25_232_932_864, "23.5 GiB"),
            (1 << 30, "1 GiB"),
            ((1 << 30) - 1, "1024 MiB"),
            (700 << 20, "700 MiB"),
            (1 << 20, "1 MiB"),
            (4096, "4 KiB"),
            (0, "0 B"),
        ] {
            assert_eq!(about_bytes(bytes), expected);
        }
    }

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

    #[test]
    fn foreign_text_cannot_steer_a_terminal() {
        assert_eq!(escape_control("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(escape_control("x\u{202e}y\u{9b}"), "x\\u{202e}y\\u{9b}");
        assert_eq!(escape_control("Prüfstand ×"), "Prüfstand ×");
    }
}
