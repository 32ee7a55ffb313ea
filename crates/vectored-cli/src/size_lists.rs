//! Parsers of numbers, sizes, and lists of numbers or sizes: `2,16,1000`, `16..16KiB`, `9x16,1x4KiB`.

use std::str::FromStr;

use vectored_results::model::SweptMix;

const STEP: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub Vec<usize>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Runs of equal segments: the number of segments, and the bytes of each segment.
    pub runs: Vec<(usize, usize)>,
    /// The mix that contains this list, and the size that varies within the mix.
    pub swept: Option<(SweptMix, usize)>,
}

/// A list of segments of different sizes: `9x16,1x4KiB`. In `1x150,1x16..64KiB`, one size is a range, and the mix has
/// a list for each size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix(pub Vec<List>);

const LIST_FORM: &str = "expected numbers or ranges, for example 2,16 or 16..1024";

const MIX_FORM: &str =
    "expected COUNTxSIZE,COUNTxSIZE, for example 9x16,1x4KiB or 1x150,1x16..64KiB";

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        mix(text).map_err(|why| format!("{why}; {MIX_FORM}"))
    }
}

fn mix(text: &str) -> Result<Mix, String> {
    let mut runs = Vec::new();
    let mut swept_sizes = None;
    for item in text.split(',').map(str::trim) {
        let (times, bytes) = item.split_once(['x', '×']).unwrap_or(("1", item));
        if times.contains("..") {
            return Err(format!(
                "'{item}' has a range of counts, and only a size may be a range"
            ));
        }
        let times = count(times)?;
        let Some(range) = range(bytes.trim(), size) else {
            runs.push((times, Some(size(bytes)?)));
            continue;
        };
        if swept_sizes.is_some() {
            return Err(format!(
                "'{item}' is a second range, and a mix may have one"
            ));
        }
        swept_sizes = Some(range?);
        runs.push((times, None));
    }
    let Some(sizes) = swept_sizes else {
        let fixed = |(count, bytes): (usize, Option<usize>)| Some((count, bytes?));
        return Ok(Mix(vec![List {
            runs: runs.into_iter().filter_map(fixed).collect(),
            swept: None,
        }]));
    };
    let mix = SweptMix::try_from(runs)?;
    let lists = sizes.into_iter().map(|bytes| List {
        runs: mix.at(bytes),
        swept: Some((mix.clone(), bytes)),
    });
    Ok(Mix(lists.collect()))
}

impl List {
    /// The number saturates at `usize::MAX`.
    pub fn segments(&self) -> usize {
        let counts = self.runs.iter().map(|(count, _)| *count);
        counts.fold(0, usize::saturating_add)
    }

    /// The number saturates at `usize::MAX`.
    pub fn bytes(&self) -> usize {
        let bytes = self.runs.iter();
        let bytes = bytes.map(|(count, bytes)| count.saturating_mul(*bytes));
        bytes.fold(0, usize::saturating_add)
    }
}

pub fn counts(text: &str) -> Result<Numbers, String> {
    list(text, count)
}

pub fn counts_from(min: usize, text: &str) -> Result<Numbers, String> {
    list(text, |item| match item {
        "0" if min == 0 => Ok(0),
        _ => count(item),
    })
}

pub fn sizes(text: &str) -> Result<Numbers, String> {
    list(text, size)
}

fn list(text: &str, number: impl Fn(&str) -> Result<usize, String>) -> Result<Numbers, String> {
    let item = |item: &str| range(item, &number).unwrap_or_else(|| Ok(vec![number(item)?]));
    let items: Result<Vec<_>, _> = match text.trim() {
        "" => Err("the list is empty".to_owned()),
        text => text.split(',').map(str::trim).map(item).collect(),
    };
    let mut numbers = items.map_err(|why| format!("{why}; {LIST_FORM}"))?.concat();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(Numbers(numbers))
}

/// Parses a range such as `16..1024`. Returns `None` if `item` is not a range.
fn range(
    item: &str,
    number: impl Fn(&str) -> Result<usize, String>,
) -> Option<Result<Vec<usize>, String>> {
    let (first, last) = item.split_once("..")?;
    let numbers = || {
        if first.is_empty() || last.is_empty() {
            return Err(format!("the range '{item}' needs two ends"));
        }
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("the range '{item}' is decreasing: swap its ends"));
        }
        let next = |at: usize| if at == 0 { Some(1) } else { at.checked_mul(STEP) };
        let steps = std::iter::successors(Some(first), |&at| next(at));
        Ok(steps.take_while(|&at| at < last).chain([last]).collect())
    };
    Some(numbers())
}

fn count(text: &str) -> Result<usize, String> {
    let text = text.trim();
    positive(text, text, 1)
}

/// `4k`, `4K`, `4kB`, `4KB`, `4Ki` and `4KiB` are all 4096 bytes, because few buffers have powers of ten.
pub fn size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let unit_at = text.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = text.split_at(unit_at.unwrap_or(text.len()));
    let unit = unit.trim_start();
    let unit_bytes = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "ki" | "kib" => 1 << 10,
        "m" | "mb" | "mi" | "mib" => 1 << 20,
        "g" | "gb" | "gi" | "gib" => 1 << 30,
        _ if digits.is_empty() => 1,
        _ => {
            return Err(format!(
                "unknown unit '{unit}' in '{text}': use B, KiB, MiB or GiB"
            ));
        }
    };
    positive(text, digits, unit_bytes)
}

fn positive(text: &str, digits: &str, unit: usize) -> Result<usize, String> {
    if text.is_empty() {
        return Err("a number is missing".to_owned());
    }
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("'{text}' is not a whole number greater than zero"));
    }
    let number = digits.parse::<usize>().ok();
    match number.and_then(|number| number.checked_mul(unit)) {
        Some(0) => Err(format!("'{text}' is zero")),
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
            assert_eq!(sizes(text).unwrap().0, expected, "{text}");
        };
        check("16..16KiB", &[16, 64, 256, 1024, 4096, 16384]);
        check("16..1000", &[16, 64, 256, 1000]);
        check("5..5", &[5]);
        check("100,20,4K, 4KiB,4096,4096B,4 kb", &[20, 100, 4096]);
        check("1M,1 MiB,2,3 GiB", &[2, 1 << 20, 3 << 30]);
        assert_eq!(counts("2,16,1..3").unwrap().0, [1, 2, 3, 16]);
        assert_eq!(counts_from(0, "0..9,16").unwrap().0, [0, 1, 4, 9, 16]);
        let all = format!("1..{}", usize::MAX);
        assert_eq!(counts(&all).unwrap().0.len(), 33);
    }

    #[test]
    fn a_mix_is_a_list_in_its_order_or_one_for_each_size_of_its_range() {
        let list = |runs: &[(usize, usize)]| List {
            runs: runs.to_vec(),
            swept: None,
        };
        let fixed = list(&[(2, 16), (1, 4), (3, 1 << 20)]);
        assert_eq!((fixed.segments(), fixed.bytes()), (6, (3 << 20) + 36));
        assert_eq!("2x16, 4 ,3 × 1M".parse(), Ok(Mix(vec![fixed])));
        let most = usize::MAX;
        let huge = list(&[(most, most), (most, 1)]);
        assert_eq!((huge.segments(), huge.bytes()), (most, most));
        let Mix(swept) = "1x150,2x16..100,7".parse().unwrap();
        let of = |list: &List| (list.runs[1], list.swept.as_ref().unwrap().1);
        let expected = [((2, 16), 16), ((2, 64), 64), ((2, 100), 100)];
        assert_eq!(swept.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(swept[1].runs, [(1, 150), (2, 64), (1, 7)]);
    }

    #[test]
    fn what_is_malformed_is_refused_with_the_culprit() {
        for (text, culprit) in [
            ("9x", "a number is missing"),
            ("9x16,", "a number is missing"),
            ("1x0..64", "'0' is zero"),
            ("2x16..64,16..64", "'16..64' is a second range"),
            ("2..4x16", "'2..4x16' has a range of counts"),
            ("2x64..16", "the range '64..16' is decreasing"),
            ("2x3x4", "unknown unit 'x4'"),
            ("-1x4", "'-1' is not a whole number"),
        ] {
            let message = text.parse::<Mix>().unwrap_err();
            assert!(message.contains(culprit), "{text}: {message}");
            assert!(message.ends_with(MIX_FORM), "{message}");
        }
        for (text, culprit) in [
            ("", "the list is empty"),
            ("1,,2", "a number is missing"),
            ("0KiB", "'0KiB' is zero"),
            ("16..", "the range '16..' needs two ends"),
            ("..16", "the range '..16' needs two ends"),
            ("1..2..3", "unknown unit"),
            ("-5", "'-5' is not a whole number"),
            ("KiB", "'KiB' is not a whole number"),
            ("4TB", "unknown unit 'TB' in '4TB': use B, KiB, MiB or GiB"),
            ("99999999999999999999", "is too large"),
            ("99999999999999M", "is too large"),
        ] {
            let message = sizes(text).unwrap_err();
            assert!(message.contains(culprit), "{text}: {message}");
            assert!(message.ends_with(LIST_FORM), "{message}");
        }
        assert!(counts("4KiB").is_err());
    }
}
