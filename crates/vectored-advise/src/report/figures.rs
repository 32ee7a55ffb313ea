//! Times with their intervals, and paths in words.

use vectored_report::{visible, words};

/// A time and its interval, both in the unit and the precision of the time: `1.24 s` and `[1.02, 1.48]`.
pub fn span(value_s: f64, low_s: f64, high_s: f64) -> (String, String) {
    let size = match value_s {
        0.0 => low_s.abs().max(high_s.abs()),
        _ => value_s.abs(),
    };
    if size < 5e-12 {
        return (seconds(value_s), "[0, 0]".to_owned());
    }
    let shown = words::time(size * 1e9);
    let (digits, unit) = shown.split_once(' ').unwrap_or_default();
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    let scale = match unit {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        _ => 1.0,
    };
    let set = |seconds: f64| rounded(seconds / scale, decimals);
    (
        format!("{} {unit}", set(value_s)),
        format!("[{}, {}]", set(low_s), set(high_s)),
    )
}

pub fn seconds(value_s: f64) -> String {
    let sign = if value_s < 0.0 { "-" } else { "" };
    sign.to_owned() + &words::time(value_s.abs() * 1e9)
}

fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // A value that is rounded to zero loses its sign.
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    match text.strip_prefix('-') {
        Some(positive) if is_zero => positive.to_owned(),
        _ => text,
    }
}

/// A text from outside. If the text is longer than `most` characters, its middle is cut: a path begins with the place
/// and ends with the name of the file.
pub fn shortened(text: &str, most: usize) -> String {
    let safe = visible(text);
    let length = safe.chars().count();
    if length <= most {
        return safe;
    }
    let head = most / 3;
    let tail = most.saturating_sub(head + 1);
    let begin: String = safe.chars().take(head).collect();
    let end: String = safe.chars().skip(length - tail).collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_unit_of_its_time() {
        for (value, low, high, expected) in [
            (1.2345, 1.02, 1.5, "1.23 s [1.02, 1.50]"),
            (0.812, 0.7, 1.1, "812 ms [700, 1100]"),
            (0.000_4, -0.000_000_001, 0.001, "400 µs [0, 1000]"),
            (-0.002, -0.003, 0.001, "-2.00 ms [-3.00, 1.00]"),
            (0.0, -0.003, 0.001, "0.00 ms [-3.00, 1.00]"),
            (0.0, 0.0, 0.0, "0 ns [0, 0]"),
        ] {
            let (value, interval) = span(value, low, high);
            assert_eq!(format!("{value} {interval}"), expected);
        }
        assert_eq!(shortened("/tmp/x", 10), "/tmp/x");
        let path = "/home/somebody/a/b/c/d/e/f/name.log";
        assert_eq!(shortened(path, 20), "/home/…/e/f/name.log");
    }
}
