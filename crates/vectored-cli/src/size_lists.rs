//! Parsers of numbers, sizes and lists of them: `2,16,1000`, `16..16KiB`, `9x16,1x4KiB`.

use std::str::FromStr;

/// Factor between two numbers of a range.
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

/// Expected form of a list of numbers or sizes.
const LIST_FORM: &str = "expected numbers or ranges, for example 2,16 or 16..1024";

/// Expected form of a mix.
const MIX_FORM: &str = "expected COUNTxSIZE,COUNTxSIZE, for example 9x16,1x4KiB";

impl Mix {
    /// Number of segments; `usize::MAX` if there are more.
    pub fn segment_count(&self) -> usize {
        let counts = self.0.iter().map(|(count, _)| *count);
        counts.fold(0, usize::saturating_add)
    }

    /// Bytes of a call; `usize::MAX` if there are more.
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
                    "'{item}' is a range, which a mix cannot have: {MIX_FORM}"
                ));
            }
            let (times, bytes) = item.split_once(['x', '×']).unwrap_or(("1", item));
            let times = count(times.trim(), MIX_FORM)?;
            let bytes =
                size(bytes.trim(), MIX_FORM).map_err(|why| match why.ends_with(MIX_FORM) {
                    true => why,
                    false => format!("{why}; {MIX_FORM}"),
                })?;
            Ok((times, bytes))
        };
        let runs = text.split(',').map(str::trim).map(run);
        Ok(Mix(runs.collect::<Result<_, String>>()?))
    }
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Counts(list(text, |item| count(item, LIST_FORM))?))
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Sizes(list(text, |item| size(item, LIST_FORM))?))
    }
}

/// The numbers of a list, sorted and without repeats.
fn list(text: &str, number: impl Fn(&str) -> Result<usize, String>) -> Result<Vec<usize>, String> {
    let mut numbers = Vec::new();
    if text.trim().is_empty() {
        return Err(format!("the list is empty: {LIST_FORM}"));
    }
    for item in text.split(',').map(str::trim) {
        let Some((first, last)) = item.split_once("..") else {
            numbers.push(number(item)?);
            continue;
        };
        let missing = || format!("the range '{item}' needs two ends, for example 16..1024");
        if first.is_empty() || last.is_empty() {
            return Err(missing());
        }
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("the range '{item}' is decreasing: swap its ends"));
        }
        let steps = std::iter::successors(Some(first), |&at| at.checked_mul(STEP));
        numbers.extend(steps.take_while(|&at| at < last));
        numbers.push(last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// A number greater than zero. `form` is the expected form, for messages.
pub fn count(text: &str, form: &str) -> Result<usize, String> {
    positive(text, text, 1, form)
}

/// A number of bytes, with or without a unit. `4k`, `4K`, `4kB`, `4KB`, `4Ki` and `4KiB` are all 4096,
/// since buffers rarely have powers of ten. `form` is the expected form, for messages.
pub fn size(text: &str, form: &str) -> Result<usize, String> {
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
                "'{text}' is not a whole number of bytes: use a smaller unit, for example 1536 or 512KiB"
            ));
        }
        _ => {
            let unit = unit.trim_start();
            return Err(format!(
                "unknown unit '{unit}' in '{text}': use B, KiB, MiB or GiB"
            ));
        }
    };
    positive(text, digits, unit_bytes, form)
}

fn positive(text: &str, digits: &str, unit: usize, form: &str) -> Result<usize, String> {
    if text.is_empty() {
        return Err(format!("a number is missing: {form}"));
    }
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(format!(
            "'{text}' is not a whole number greater than zero: {form}"
        ));
    }
    let number = digits
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(unit));
    match number {
        Some(0) => Err(format!("'{text}' is zero: {form}")),
        Some(number) => Ok(number),
        None => Err(format!(
            "'{text}' is too large: it does not fit into 64 bits"
        )),
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
            ("", "a number is missing"),
            ("9x", "a number is missing"),
            ("x16", "a number is missing"),
            ("9x16,", "a number is missing"),
            ("0x16", "'0' is zero"),
            ("9x0", "'0' is zero"),
            ("2x16..64", "'2x16..64' is a range"),
            ("2x3x4", "unknown unit 'x4'"),
            ("-1x4", "'-1' is not a whole number"),
            ("2x4TB", "unknown unit 'TB'"),
            ("9*16", "unknown unit '*16'"),
        ] {
            let message = text.parse::<Mix>().unwrap_err();
            assert!(message.contains(culprit), "{text}: {message}");
            assert!(message.contains("for example 9x16,1x4KiB"), "{message}");
        }
    }

    #[test]
    fn malformed_lists_are_refused_with_the_culprit() {
        for (text, culprit) in [
            (
                "",
                "the list is empty: expected numbers or ranges, for example 2,16 or 16..1024",
            ),
            ("1,,2", "a number is missing"),
            ("0", "'0' is zero"),
            ("0KiB", "'0KiB' is zero"),
            ("16..", "the range '16..' needs two ends"),
            ("..16", "the range '..16' needs two ends"),
            ("..", "the range '..' needs two ends"),
            ("64..16", "the range '64..16' is decreasing"),
            ("1..2..3", "unknown unit"),
            ("-5", "'-5' is not a whole number"),
            ("1.5K", "whole number of bytes"),
            ("KiB", "'KiB' is not a whole number"),
            ("4TB", "unknown unit 'TB' in '4TB': use B, KiB, MiB or GiB"),
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
