//! Explanations of the heads of tables, a sentence each.

/// The explanation of a column: `here, seconds: user` is the column `user` of a group. Empty for an
/// unknown head.
pub fn of(head: &str) -> String {
    if let Some(of_file) = head.strip_prefix("O_DIRECT: ") {
        let explained = of(of_file);
        return if explained.is_empty() {
            explained
        } else {
            format!("{explained} The files were open with O_DIRECT.")
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
    String::new()
}

/// Heads with the same meaning in every table.
fn whole(head: &str) -> Option<&'static str> {
    Some(match head {
        "technique" => "How the bytes were moved.",
        "published" => "The publication, its year and its system.",
        "buffer bytes" => "The size of the buffer that a copy reads into and writes from.",
        "element" => "The size of each of the 1000 elements.",
        "buffers" => "How many buffers a pass moves, and the size of each.",
        "operation" => "Whether the buffers were written or read.",
        "array" => "Whether the array of iovec was filled within the timed call or once before it.",
        "program: ÷ ours" => {
            "Time ÷ that of vectored copy with the same buffer, both without the start of the process, with the interval of the \
             median ratio."
        }
        "cold: left" => "The largest part of the file that was still in memory when a copy began.",
        "cold: fetched" => "The least that a copy read from the device.",
        "CPU ÷ copying: here" => {
            "CPU time ÷ that of copying, measured here, with the interval of the median ratio."
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
        "CPU" => "User and system time, in seconds",
        "reads" => "Calls that read, as the kernel counted them",
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
