//! Numbers, sizes and lists in words.

/// `16 B`, `4 KiB`, `1000 B`: in binary units if these are exact.
pub fn bytes(bytes: u64) -> String {
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
pub fn memory(of: u64) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let (scale, unit) = match of {
        GIB.. => (GIB, "GiB"),
        MIB.. => (MIB, "MiB"),
        _ => return bytes(of),
    };
    let number = format!("{:.1}", of as f64 / scale as f64);
    format!("{} {unit}", number.trim_end_matches(".0"))
}

/// A size that was computed: `699 B`, `4.38 KiB`, `1.50 MiB`.
pub fn about(bytes: f64) -> String {
    let (scale, unit) = size_unit(bytes);
    format!("{} {unit}", in_unit(bytes, scale))
}

/// A computed size and its interval: `1.40 KiB [1.31, 1.52]`.
pub fn about_within(bytes: f64, low: f64, high: f64) -> String {
    let (scale, unit) = size_unit(bytes);
    let [at, low, high] = [bytes, low, high].map(|bytes| in_unit(bytes, scale));
    format!("{at} {unit} [{low}, {high}]")
}

fn size_unit(bytes: f64) -> (f64, &'static str) {
    match bytes {
        bytes if bytes < 999.5 => (1.0, "B"),
        bytes if bytes < 1023.5 * 1024.0 => (1024.0, "KiB"),
        _ => (1024.0 * 1024.0, "MiB"),
    }
}

fn in_unit(bytes: f64, scale: f64) -> String {
    if scale == 1.0 { format!("{bytes:.0}") } else { three_digits(bytes / scale) }
}

/// `2 × 16 B`, or `9 × 16 B + 1 × 4 KiB` for a mix of at most three runs.
pub fn list(runs: &[(usize, usize)]) -> String {
    let shown: Vec<String> = runs
        .iter()
        .take(3)
        .map(|&(count, size)| format!("{count} × {}", bytes(size as u64)))
        .collect();
    let more = if runs.len() > 3 { " + …" } else { "" };
    format!("{}{more}", shown.join(" + "))
}

/// `312 ns`, `8.31 µs`, `2.13 ms`: three digits and the unit that fits them.
pub fn time(ns: f64) -> String {
    match ns {
        _ if !ns.is_finite() => return NONE.to_owned(),
        0.0 => return "0 ns".to_owned(),
        _ if ns.abs() < 0.005 => return "below 0.01 ns".to_owned(),
        _ => {}
    }
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    // 999.6 ns is 1.00 µs, not 1000 ns.
    let fits = |&(_, scale): &(&str, f64)| ns / scale < 999.5;
    let (unit, scale) = units.into_iter().find(fits).unwrap_or(units[3]);
    format!("{} {unit}", three_digits(ns / scale))
}

/// `1.23`, `12.3`, `123`.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A ratio: `1.34×`, `12.3×`, `1,234×`.
pub fn ratio(ratio: f64) -> String {
    if !ratio.is_finite() {
        NONE.to_owned()
    } else if ratio >= 999.5 {
        format!("{}×", grouped(ratio.round() as u64))
    } else {
        format!("{}×", three_digits(ratio))
    }
}

/// The ends of the interval of a ratio: `[1.30, 1.38]`.
pub fn interval((low, high): (f64, f64)) -> String {
    let [low, high] = [low, high].map(|end| ratio(end).trim_end_matches('×').to_owned());
    format!("[{low}, {high}]")
}

/// A ratio and, if it is known, its interval: `1.34× [1.30, 1.38]`.
pub fn ratio_within(of: f64, ends: Option<(f64, f64)>) -> String {
    match ends {
        Some(ends) => format!("{} {}", ratio(of), interval(ends)),
        None => ratio(of),
    }
}

/// A share as `1.1 %`.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    // A negative number that is rounded to zero has no sign.
    let text = if text == "-0.0" { "0.0" } else { &text };
    format!("{text} %")
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
pub fn count(number: usize, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", grouped(number as u64))
}

/// `1 cell`, `3 to 7 cells`.
pub fn counts(numbers: impl Iterator<Item = usize> + Clone, one: &str) -> String {
    let fewest = numbers.clone().min().unwrap_or(0);
    match numbers.max().unwrap_or(0) {
        most if most == fewest => count(most, one),
        most => format!("{fewest} to {most} {one}s"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn enumerated<T: AsRef<str>>(words: &[T]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.as_ref().to_owned(),
        Some((last, others)) => {
            let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", others.join(", "), last.as_ref())
        }
    }
}

pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

pub const NONE: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_their_unit() {
        for (ns, expected) in [
            (0.0, "0 ns"),
            (0.004, "below 0.01 ns"),
            (0.006, "0.01 ns"),
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
        for (of, expected) in [
            (0.714, "0.71×"),
            (1.0, "1.00×"),
            (9.996, "10.0×"),
            (12_345.0, "12,345×"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(ratio(of), expected);
        }
        assert_eq!(ratio_within(1.34, Some((1.3, 12.0))), "1.34× [1.30, 12.0]");
        assert_eq!(percent(-0.0001), "0.0 %");
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        for (size, expected) in [
            (16, "16 B"),
            (1000, "1000 B"),
            (1024, "1 KiB"),
            (1_048_577, "1,048,577 B"),
            (64 << 20, "64 MiB"),
        ] {
            assert_eq!(bytes(size), expected);
        }
        for (size, expected) in [
            (25_232_932_864, "23.5 GiB"),
            (1 << 30, "1 GiB"),
            ((1 << 30) - 1, "1024 MiB"),
            (1 << 20, "1 MiB"),
            (4096, "4 KiB"),
            (0, "0 B"),
        ] {
            assert_eq!(memory(size), expected);
        }
        assert_eq!(about(699.2), "699 B");
        assert_eq!(
            about_within(1434.0, 1340.0, 1560.0),
            "1.40 KiB [1.31, 1.52]"
        );
    }

    #[test]
    fn lists_are_enumerated() {
        assert_eq!(enumerated::<&str>(&[]), "");
        assert_eq!(enumerated(&["a"]), "a");
        assert_eq!(enumerated(&["a", "b", "c"]), "a, b and c");
        assert_eq!(list(&[(9, 16), (1, 4096)]), "9 × 16 B + 1 × 4 KiB");
    }
}
