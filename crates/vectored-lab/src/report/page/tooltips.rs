//! Explanations of the table heads of the page, a sentence each.

use crate::model::TechniqueName;

/// The explanation of a column: `here, seconds: user` is the column `user` of a group. Empty for an
/// unknown head.
pub fn of(head: &str) -> String {
    if let Some(of_file) = head.strip_prefix("O_DIRECT: ") {
        let explained = of(of_file);
        return match explained.is_empty() {
            true => explained,
            false => format!("{explained} The files were open with O_DIRECT."),
        };
    }
    let (group, name) = head.rsplit_once(": ").unwrap_or(("", head));
    if let Some(known) = whole(head) {
        return known.to_owned();
    }
    if let Some(measure) = measure(group, name) {
        return format!("{measure}, {}.", source(group));
    }
    if group.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("CPU time ÷ that of copying on {name}, as published in {group}.");
    }
    if let Some(count) = head
        .strip_prefix("copy ")
        .and_then(|rest| rest.strip_suffix(" ×"))
    {
        return format!(
            "The longest segment, in bytes, at which a list of {count} segments is copied."
        );
    }
    match name.split_once(" segment") {
        Some((count, "" | "s")) if count.parse::<u64>().is_ok() => {
            let segments = if count == "1" { "segment" } else { "segments" };
            format!(
                "The segment size below which copying is faster and above which gathering is, in \
                 lists of {count} {segments}, with its 95 % interval."
            )
        }
        _ => String::new(),
    }
}

/// The explanation of the figures of a technique; `has_tax` if they are gather taxes.
pub fn of_technique(technique: TechniqueName, has_tax: bool, is_rival: bool) -> String {
    let figure = match has_tax {
        true => format!("Time of {technique} ÷ floor − 1, the median of the rounds."),
        false => format!("Median time of a call with {technique}."),
    };
    match is_rival {
        true => format!("{figure} * marks the winner, = a tie."),
        false => format!("{figure} It takes no part in the verdict."),
    }
}

/// The explanation of a column of the map.
pub fn of_size(size: &str) -> String {
    format!("Lists whose segments have {size} each.")
}

pub const COUNT: &str = "Number of segments in the list.";
pub const LIST: &str = "Number of segments in the list, and the size of each.";
pub const FLOOR: &str =
    "Median time of one call that moves the same bytes, which already lie in one piece.";
pub const VERDICT: &str = "The fastest technique, and how much longer the nearest rival takes, with \
                           the 95 % interval; or a tie; or why the cell is open.";

/// Heads with the same meaning in every table.
fn whole(head: &str) -> Option<&'static str> {
    Some(match head {
        "machine" => {
            "The host and its kernel; of several runs that have both in common, when the run began, in UTC."
        }
        "processor" => "The model of the machine's processor.",
        "call" => "Time of a system call, in ns.",
        "gather call" => "Additional time of a call with a list of segments, in ns.",
        "segment" => "Time of a segment that is referenced, not copied, in ns.",
        "byte" => "Time that the kernel takes to move a byte, in ns.",
        "copy segment" => "Time to copy a segment, apart from its bytes, in ns.",
        "copy byte" => "Time to copy a byte into the staging buffer, in ns.",
        "join" => "The most bytes of messages that are copied into one call, instead of two calls.",
        "regret" => {
            "How much longer the model's choice takes than the fastest technique, in the median cell."
        }
        "regret p95" => "The same, in the 95th percentile of the cells.",
        "target" => "Where the bytes went, or came from, and under which conditions.",
        "technique" => "How the bytes were moved.",
        "published" => "The publication, its year and its system.",
        "buffer bytes" => "The size of the buffer that a copy reads into and writes from.",
        "element" => "The size of each of the 1000 elements.",
        "buffers" => "How many buffers a pass moves, and the size of each.",
        "operation" => "Whether the buffers were written or read.",
        "array" => "Whether the array of iovec was filled within the timed call or once before it.",
        "cold: left" => "The largest part of the file that was still in memory when a copy began.",
        "cold: fetched" => "The least that a copy read from the device.",
        "CPU ÷ copying: here" => {
            "CPU time ÷ that of copying, measured here, with the interval of the median ratio."
        }
        "pattern" => "Which calls follow each other.",
        "why" => "Why these calls are not counted.",
        "where" => "The program, the descriptor and the file.",
        "calls" => "How many calls move bytes there.",
        "counted or why not" => {
            "How many of the calls are counted in a finding, and why the others are not."
        }
        _ => return None,
    })
}

/// The meaning of a column of measured or published figures.
fn measure(group: &str, name: &str) -> Option<&'static str> {
    if group == "loops" {
        return Some("Successful reads of a copy");
    }
    let is_wall = group.starts_with("wall");
    Some(match name {
        "user" => "CPU time in user mode, in seconds",
        "system" => "CPU time in the kernel, in seconds",
        "clock" => "Wall time, in seconds",
        "writev" if is_wall => "Wall time of writev",
        "writev" => "CPU time of writev",
        "copying" if is_wall => "Wall time of copying and writing",
        "copying" => "CPU time of copying and writing",
        "ratio" => "Time of writev ÷ time of copying",
        "mean" => "Mean wall time of a pass",
        "median" => "Median wall time of a pass",
        "MB/s" => "Megabytes moved in a second",
        "÷ vectored" => "Time ÷ time of the vectored calls",
        _ => return None,
    })
}

fn source(group: &str) -> String {
    match group.split(',').next().unwrap_or_default() {
        "notes" => "from the published notes".to_owned(),
        year if year.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("as published in {year}")
        }
        "loops" => "here or as published".to_owned(),
        _ => "measured here".to_owned(),
    }
}
