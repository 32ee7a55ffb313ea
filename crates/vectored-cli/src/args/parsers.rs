//! Parsers of option values that several subcommands use.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use vectored_machine::host::Pinning;
use vectored_versus::judge::CallLimit;

use crate::size_lists::size;

/// Parses the name of a value. The error lists all names.
pub fn one_of<T, const N: usize>(
    values: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(values.map(name)).map(move |typed| {
        let mut values = values.into_iter();
        values
            .find(|value| name(*value) == typed)
            .expect("one of the possible values")
    })
}

pub fn one_size(text: &str) -> Result<u64, String> {
    match size(text) {
        Ok(bytes) => Ok(bytes as u64),
        Err(why) => Err(format!(
            "{why}; expected one size, for example 4096 or 64KiB"
        )),
    }
}

/// The limit is 1 GiB. A larger buffer uses more memory and saves no time.
pub fn buffer_size(text: &str) -> Result<u64, String> {
    match one_size(text)? {
        bytes if bytes > 1 << 30 => Err("it is too large: it must be at most 1GiB".to_owned()),
        bytes => Ok(bytes),
    }
}

/// A longer budget is probably a typing error. A run of minutes has intervals of one percent.
const MAX_BUDGET: Duration = Duration::from_secs(24 * 60 * 60);

pub fn budget(text: &str) -> Result<Duration, String> {
    match time(text, "500ms, 18s or 2m")? {
        Duration::ZERO => Err("budget must be greater than zero, for example 18s".to_owned()),
        budget if budget > MAX_BUDGET => Err("budget must be at most 24h".to_owned()),
        budget => Ok(budget),
    }
}

/// The error message shows `examples`.
pub fn time(text: &str, examples: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) => Ok(time),
        Err(humantime::DurationError::NumberOverflow) => Err(format!(
            "the time is too long, or finer than a nanosecond: write, for example, {examples}"
        )),
        Err(_) => Err(format!(
            "expected a number with its unit, for example {examples}"
        )),
    }
}

/// A larger share is probably a typing error.
const MAX_SHARE: f64 = 10.0;

/// Parses a number of lists per second: `50000/s` or `50000`.
pub fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim_end();
    let rate = number
        .parse()
        .ok()
        .filter(|rate: &f64| *rate > 0.0 && rate.is_finite());
    rate.ok_or_else(|| format!("'{text}' is no rate: expected lists a second, for example 50000/s"))
}

/// Parses `5%` or `0.05`. A number of 1 or more is refused, because the percent sign is probably missing. Taken
/// as 500 %, `5` would hide every smaller change.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale, limit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0, MAX_SHARE),
        None => (text, 1.0, 1.0),
    };
    let share = number.parse().ok().map(|value: f64| value / scale);
    share
        .filter(|share| (0.0..limit).contains(share))
        .ok_or_else(|| {
            "expected a share of 0 % or more, below 1000 %, for example 5% or 0.05; one of 100 % or more needs its percent \
             sign"
                .to_owned()
        })
}

pub fn pinning(text: &str) -> Result<Pinning, String> {
    match text {
        "none" => Ok(Pinning::None),
        _ => match text.parse() {
            Ok(cpu) => Ok(Pinning::Cpu(cpu)),
            Err(_) => Err("expected the number of a CPU, for example 0, or 'none'".to_owned()),
        },
    }
}

/// Words of strace that name a class of calls.
const CLASSES: [&str; 9] = [
    "all", "desc", "file", "ipc", "memory", "network", "none", "process", "signal",
];

/// Parses `1%`, `total=1%` or `fsync=0`.
pub fn call_limit(text: &str) -> Result<CallLimit, String> {
    let (name, of_name) = match text.split_once('=') {
        Some((name, of_name)) => (Some(name.trim()), of_name.trim()),
        None => (None, text),
    };
    let is_name = |name: &str| {
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !name.is_empty() && name.chars().all(is_of_name) && !CLASSES.contains(&name)
    };
    if let Some(name) = name.filter(|name| !is_name(name)) {
        return Err(format!(
            "'{name}' is no name of a call: write, for example, write=0,fsync=0,total=1%"
        ));
    }
    let share = share(of_name)?;
    Ok(CallLimit {
        name: name.map(str::to_owned),
        share,
    })
}
