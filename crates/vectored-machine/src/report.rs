//! A machine in words, and the report of `vectored host`: what it offers, on one screen.
//!
//! A value that is unknown is shown with the reason; no line is left out.

use vectored_report::sort;
use vectored_report::{Block, Column, Document, Table, visible, words};

use crate::model::{FlagAnswer, Host, HostReport, Known};

/// The report as a document: a table without heads.
pub fn document(report: &HostReport) -> Document {
    let lines = sections(report).into_iter().flatten();
    let table = Table {
        columns: vec![Column::words(""), Column::words("")],
        rows: lines
            .map(|(label, value)| vec![label.into(), value.into()])
            .collect(),
        ..Table::default()
    };
    Document {
        title: format!("What a machine offers: {}", report.host.name).into(),
        answer: vec![Block::Table(table), Block::Note(NOTE.into())],
        ..Document::default()
    }
}

/// A machine in one sentence.
pub fn machine_in_words(host: &Host) -> String {
    let mut parts = vec![visible(&host.cpu.model)];
    parts.push(words::count(host.cpu.allowed_cpus.len(), "CPU"));
    parts.push(words::memory(host.memory_bytes));
    parts.extend(host.virtualization.as_deref().map(visible));
    parts.push(system(host));
    parts.extend(host.directory.as_ref().map(|directory| {
        let (file_system, path) = (&directory.file_system, &directory.path);
        format!("{} at {}", visible(file_system), visible(path))
    }));
    parts.join(", ")
}

/// `Linux 6.18.0 x86_64`. The kernel's build date is in the JSON only.
fn system(host: &Host) -> String {
    let release = host.kernel.split(' ').next().unwrap_or_default();
    visible(&match host.system.split_once(' ') {
        Some((system, processor)) => format!("{system} {release} {processor}"),
        None => format!("{} {release}", host.system),
    })
}

const NOTE: &str =
    "ok: a call with this flag succeeded, which does not prove that the flag has an effect.";

type Line = (&'static str, String);

fn sections(report: &HostReport) -> [Vec<Line>; 4] {
    [
        machine(report),
        vec![
            (
                "IOV_MAX",
                format!("{} segments per call", report.host.iov_max),
            ),
            ("io_uring", ring(report)),
            ("operations", operations(report)),
        ],
        directory(report),
        buffers(&report.host),
    ]
}

fn machine(report: &HostReport) -> Vec<Line> {
    let host = &report.host;
    let cpu = &host.cpu;
    let virtualization = host.virtualization.as_deref();
    let cache = |name: &str, bytes: Option<u64>, field| match bytes {
        Some(bytes) => format!("{name} {}", words::bytes(bytes)),
        None => format!("{name} {}", missing(report, field)),
    };
    let caches = [
        cache("L1d", cpu.l1d_bytes, "cpu.l1d_bytes"),
        cache("L2", cpu.l2_bytes, "cpu.l2_bytes"),
        cache("L3", cpu.l3_bytes, "cpu.l3_bytes"),
    ];
    let mitigations = match cpu.mitigations.as_slice() {
        [] => {
            if report.unknown.contains_key("cpu.mitigations") {
                missing(report, "cpu.mitigations")
            } else {
                "none active".to_owned()
            }
        }
        active => {
            let names: Vec<&str> = active.iter().map(|(name, _)| name.as_str()).collect();
            visible(&names.join(", "))
        }
    };
    let or_missing = |value: &Option<String>, field| match value {
        Some(value) => visible(value),
        None => missing(report, field),
    };
    let timer = &report.timer;
    let mut lines = vec![
        ("system", system(host)),
        (
            "machine",
            format!(
                "{}, {}, {}, {}",
                visible(&cpu.model),
                words::count(cpu.allowed_cpus.len(), "CPU"),
                match host.memory_bytes {
                    0 => unknown("cannot be read from /proc/meminfo"),
                    bytes => words::memory(bytes),
                },
                visible(virtualization.unwrap_or("no virtualization detected")),
            ),
        ),
        ("caches", caches.join(", ")),
        ("governor", or_missing(&cpu.governor, "cpu.governor")),
        ("mitigations", mitigations),
        (
            "clock",
            format!(
                "{}, source {}; a reading takes {}, smallest step {} ns",
                visible(&timer.clock),
                or_missing(&host.clock_source, "clock_source"),
                words::time(timer.reading_ns),
                timer.step_ns,
            ),
        ),
    ];
    for warning in &host.warnings {
        lines.push(("warning", visible(warning)));
    }
    lines
}

fn ring(report: &HostReport) -> String {
    let offer = &report.io_uring;
    let ring = match &offer.ring {
        Known::Value(true) => "available".to_owned(),
        Known::Value(false) => "not available".to_owned(),
        Known::Unknown(why) => format!("not available: {}", visible(why)),
    };
    let locked = match offer.memlock_bytes {
        Some(bytes) => format!("{} of memory may be locked", words::bytes(bytes)),
        None => "no limit on locked memory".to_owned(),
    };
    let sysctl = shown(&offer.disabled_sysctl, u64::to_string);
    format!("{ring}; kernel.io_uring_disabled {sysctl}; {locked}")
}

fn operations(report: &HostReport) -> String {
    let offer = &report.io_uring;
    if let Some(why) = &offer.operations_unknown {
        return unknown(why);
    }
    if offer.operations.is_empty() {
        return unknown("there is no io_uring to query");
    }
    let names = |wanted: bool| {
        let some = offer
            .operations
            .iter()
            .filter(|(_, there)| *there == wanted);
        let names: Vec<String> = some.map(|(name, _)| visible(name)).collect();
        names.join(", ")
    };
    match (names(true), names(false)) {
        (there, absent) if absent.is_empty() => there,
        (there, absent) if there.is_empty() => format!("missing: {absent}"),
        (there, absent) => format!("{there}; missing: {absent}"),
    }
}

fn directory(report: &HostReport) -> Vec<Line> {
    let direct = &report.direct_io;
    let mut lines = match &report.host.directory {
        None => vec![("directory", missing(report, "directory"))],
        Some(info) => vec![
            (
                "directory",
                format!(
                    "{}, {}, {} free",
                    visible(&info.path),
                    visible(&info.file_system),
                    words::memory(info.free_bytes),
                ),
            ),
            (
                "mounted",
                match &info.mount_options {
                    Some(options) => visible(options),
                    None => unknown("not found in /proc/self/mountinfo"),
                },
            ),
            (
                "st_blksize",
                format!(
                    "{}; read-ahead {}",
                    words::bytes(info.st_blksize),
                    match info.read_ahead_kb {
                        Some(kib) => words::bytes(kib.saturating_mul(1024)),
                        None => unknown("no block device with a queue in /sys/dev/block"),
                    }
                ),
            ),
        ],
    };
    let alignment = match (&direct.memory_bytes, &direct.offset_bytes) {
        (Known::Unknown(one), Known::Unknown(other)) if one == other => {
            format!("alignment {}", unknown(one))
        }
        (memory, offset) => format!(
            "memory aligned to {}, offsets and lengths to {}",
            bytes(memory),
            bytes(offset)
        ),
    };
    let opened = visible(&direct.open);
    lines.push(("O_DIRECT", format!("{opened}; {alignment}")));
    let buffered = |answer: &FlagAnswer| Some(answer.buffered.clone());
    let past_cache = |answer: &FlagAnswer| answer.direct.clone();
    if report.write_flags.is_empty() {
        lines.push(("pwritev2", missing(report, "write_flags")));
        lines.push(("preadv2", missing(report, "read_flags")));
        return lines;
    }
    lines.push(("pwritev2", answers(&report.write_flags, buffered)));
    lines.push(("… O_DIRECT", answers(&report.write_flags, past_cache)));
    lines.push(("preadv2", answers(&report.read_flags, buffered)));
    lines.push(("… O_DIRECT", answers(&report.read_flags, past_cache)));
    lines
}

/// Flags with the same answer together: `ok: DSYNC, SYNC; EOPNOTSUPP: ATOMIC`.
fn answers(flags: &[FlagAnswer], of: impl Fn(&FlagAnswer) -> Option<String>) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for flag in flags {
        let answer = of(flag).unwrap_or_else(|| unknown("no file could be opened with O_DIRECT"));
        let name = visible(&flag.flag);
        match groups.iter_mut().find(|(other, _)| *other == answer) {
            Some((_, names)) => names.push(name),
            None => groups.push((answer, vec![name])),
        }
    }
    // Flags that work come first.
    sort::sort_by_key(&mut groups, |(answer, _)| answer != "ok");
    let texts = groups
        .iter()
        .map(|(answer, names)| format!("{}: {}", visible(answer), names.join(", ")));
    texts.collect::<Vec<_>>().join("; ")
}

fn buffers(host: &Host) -> Vec<Line> {
    let made = |size: Option<u64>| match size {
        Some(size) => words::bytes(size),
        None => unknown("none could be created"),
    };
    let socket = |sends, receives| format!("sends {}, receives {}", made(sends), made(receives));
    vec![
        ("pipe", made(host.pipe_bytes)),
        (
            "unix socket",
            socket(host.unix_send_buffer_bytes, host.unix_receive_buffer_bytes),
        ),
        (
            "tcp socket",
            socket(host.tcp_send_buffer_bytes, host.tcp_receive_buffer_bytes),
        ),
    ]
}

fn bytes(size: &Known<u64>) -> String {
    shown(size, |&size| words::bytes(size))
}

fn shown<T>(known: &Known<T>, show: impl Fn(&T) -> String) -> String {
    match known {
        Known::Value(value) => show(value),
        Known::Unknown(why) => unknown(why),
    }
}

/// The reason why a field of the host is null.
fn missing(report: &HostReport, field: &str) -> String {
    match report.unknown.get(field) {
        Some(why) => unknown(why),
        None => "unknown".to_owned(),
    }
}

fn unknown(why: &str) -> String {
    format!("unknown: {}", visible(why))
}
