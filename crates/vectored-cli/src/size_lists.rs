//! Lists of numbers as they are typed: `2,16,1000`, `16..16KiB`, `9x16,1x4KiB`.

use std::str::FromStr;

/// Ranges go up by this factor.
const STEP: usize = 4;

/// Segment counts: commas and ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(pub Vec<usize>);

/// Segment sizes in bytes: commas, ranges and units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<usize>);

/// The segments of one list, as runs of `(count, bytes)`: `9x16,1x4KiB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix(pub Vec<(usize, usize)>);

impl Mix {
    /// Segments, as many as can be counted.
    pub fn segment_count(&self) -> usize {
        let counts = self.0.iter().map(|(count, _)| *count);
        counts.fold(0, usize::saturating_add)
    }

    /// Bytes of a call, as many as can be counted.
    pub fn total_bytes(&self) -> usize {
        let bytes = self
            .0
            .iter()
            .map(|(count, bytes)| count.saturating_mul(*bytes));
        bytes.fold(0, usize::saturating_add)
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let run = |item: &str| {
            if item.contains("..") {
                return Err(format!(
                    "'{item}' is a range: name every size of the list, as in 9x16,1x4KiB"
                ));
            }
            let (times, bytes) = item.split_once(['x', '×']).unwrap_or(("1", item));
            let run = count(times.trim()).and_then(|times| Ok((times, size(bytes.trim())?)));
            run.map_err(|why| format!("{why}; a mix is COUNTxSIZE,COUNTxSIZE, as in 9x16,1x4KiB"))
        };
        let runs = text.split(',').map(str::trim).map(run);
        Ok(Mix(runs.collect::<Result<_, String>>()?))
    }
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Counts(list(text, count)?))
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Sizes(list(text, size)?))
    }
}

/// Sorted and without repeats.
fn list(text: &str, number: impl Fn(&str) -> Result<usize, String>) -> Result<Vec<usize>, String> {
    let mut numbers = Vec::new();
    if text.trim().is_empty() {
        return Err(
            "the list is empty: write numbers or ranges, as in 2,16 or 16..1024".to_owned(),
        );
    }
    for item in text.split(',').map(str::trim) {
        let Some((first, last)) = item.split_once("..") else {
            numbers.push(number(item)?);
            continue;
        };
        let missing = || format!("the range '{item}' needs both ends, as in 16..1024");
        if first.is_empty() || last.is_empty() {
            return Err(missing());
        }
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("the range '{item}' goes down: swap its ends"));
        }
        let steps = std::iter::successors(Some(first), |&at| at.checked_mul(STEP));
        numbers.extend(steps.take_while(|&at| at < last));
        numbers.push(last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn count(text: &str) -> Result<usize, String> {
    positive(text, text, 1)
}

/// Bytes with or without a unit. `4k`, `4K`, `4kB`, `4KB`, `4Ki` and `4KiB` are all 4096: no size of
/// a buffer is a power of ten.
fn size(text: &str) -> Result<usize, String> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let unit_bytes = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "ki" | "kib" => 1 << 10,
        "m" | "mb" | "mi" | "mib" => 1 << 20,
        "g" | "gb" | "gi" | "gib" => 1 << 30,
        _ if digits.is_empty() => 1,
        other if other.starts_with('.') && !other.starts_with("..") => {
            return Err(format!(
                "'{text}' is not a whole number of bytes: use a smaller unit, as in 1536 or 512KiB"
            ));
        }
        _ => {
            let unit = unit.trim_start();
            return Err(format!(
                "unknown unit '{unit}' in '{text}': use B, KiB (K), MiB (M) or GiB (G)"
            ));
        }
    };
    positive(text, digits, unit_bytes)
}

fn positive(text: &str, digits: &str, unit: usize) -> Result<usize, String> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(format!(
            "'{text}' is not a whole number greater than zero, as in 2,16 or 16..1024"
        ));
    }
    let number = digits
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(unit));
    match number {
        Some(0) => Err("0 moves nothing: the smallest is 1".to_owned()),
        Some(number) => Ok(number),
        None => Err(format!("'{text}' is too large: it does not fit 64 bits")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_take_commas_ranges_and_units() {
        let check = |text: &str, expected: &[usize]| {
            assert_eq!(text.parse::<Sizes>().unwrap().0, expected, "{text}");
        };
        check("16..16KiB", &[16, 64, 256, 1024, 4096, 16384]);
        check("16..1000", &[16, 64, 256, 1000]);
        check("5..5", &[5]);
        check("4K, 4KiB,4096,4096B", &[4096]);
        check("1M,1 MiB,2", &[2, 1 << 20]);
        check("1G,3 GiB", &[1 << 30, 3 << 30]);
        for (letter, bytes) in [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)] {
            for ending in ["", "b", "B", "i", "iB"] {
                for letter in [letter, &letter.to_uppercase()] {
                    check(&format!("4{letter}{ending}"), &[4 * bytes]);
                    check(&format!("4 {letter}{ending}"), &[4 * bytes]);
                }
            }
        }
        check("100,20", &[20, 100]);
        assert_eq!("2,16,1..3".parse::<Counts>().unwrap().0, [1, 2, 3, 16]);
        let all = format!("1..{}", usize::MAX);
        assert_eq!(all.parse::<Counts>().unwrap().0.len(), 33);
    }

    #[test]
    fn a_mix_is_a_list_in_its_order() {
        let check = |text: &str, runs: &[(usize, usize)]| {
            assert_eq!(text.parse::<Mix>().unwrap().0, runs, "{text}");
        };
        check("9x16,1x4096", &[(9, 16), (1, 4096)]);
        check("1 x 4KiB, 16", &[(1, 4096), (1, 16)]);
        check("3×1M", &[(3, 1 << 20)]);
        let mix: Mix = "2x16,1x4,1x16".parse().unwrap();
        assert_eq!((mix.segment_count(), mix.total_bytes()), (4, 52));
        let most = usize::MAX;
        let huge: Mix = format!("{most}x{most},{most}x1").parse().unwrap();
        assert_eq!((huge.segment_count(), huge.total_bytes()), (most, most));
    }

    #[test]
    fn malformed_mixes_are_refused_with_the_culprit() {
        for (text, culprit) in [
            ("", "'' is not a whole number"),
            ("9x", "'' is not a whole number"),
            ("x16", "'' is not a whole number"),
            ("9x16,", "'' is not a whole number"),
            ("0x16", "0 moves nothing"),
            ("9x0", "0 moves nothing"),
            ("2x16..64", "'2x16..64' is a range"),
            ("2x3x4", "unknown unit 'x4'"),
            ("-1x4", "'-1' is not a whole number"),
            ("2x4TB", "unknown unit 'TB'"),
            ("9*16", "unknown unit '*16'"),
        ] {
            let message = text.parse::<Mix>().unwrap_err();
            assert!(message.contains(culprit), "{text}: {message}");
            assert!(message.contains("as in 9x16,1x4KiB"), "{message}");
        }
    }

    #[test]
    fn malformed_lists_are_refused_with_the_culprit() {
        for (text, culprit) in [
            (
                "",
                "the list is empty: write numbers or ranges, as in 2,16 or 16..1024",
            ),
            ("1,,2", "'' is not a whole number"),
            ("0", "0 moves nothing"),
            ("0KiB", "0 moves nothing"),
            ("16..", "the range '16..' needs both ends"),
            ("..16", "the range '..16' needs both ends"),
            ("..", "the range '..' needs both ends"),
            ("64..16", "the range '64..16' goes down"),
            ("1..2..3", "unknown unit"),
            ("-5", "'-5' is not a whole number"),
            ("1.5K", "whole number of bytes"),
            ("KiB", "'KiB' is not a whole number"),
            (
                "4TB",
                "unknown unit 'TB' in '4TB': use B, KiB (K), MiB (M) or GiB (G)",
            ),
            ("4kk", "unknown unit 'kk' in '4kk'"),
            ("-5", "greater than zero"),
            ("99999999999999999999", "is too large"),
            ("99999999999999M", "is too large"),
        ] {
            let message = text.parse::<Sizes>().unwrap_err();
            assert!(message.contains(culprit), "{text}: {message}");
        }
        assert!("4KiB".parse::<Counts>().is_err());
    }
}
