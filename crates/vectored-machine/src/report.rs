//! A machine in words, and the report of `vectored host`: what it offers, on one screen.
//!
//! A value that is unknown is shown with the reason; no line is left out.

use vectored_report::{Block, Column, Document, Table, visible, words};

use crate::model::{Host, HostReport, Known};

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
        answer: vec![Block::Table(table)],
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

type Line = (&'static str, String);

fn sections(report: &HostReport) -> [Vec<Line>; 4] {
    [
        machine(report),
        vec![
            (
                "IOV_MAX",
                format!("{} segments per call", report.host.iov_max),
            ),
            ("io_uring", ring(&report.io_uring)),
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

fn ring(offer: &Known<bool>) -> String {
    match offer {
        Known::Value(true) => "available".to_owned(),
        Known::Value(false) => "not available".to_owned(),
        Known::Unknown(why) => format!("not available: {}", visible(why)),
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
    lines
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
    match size {
        Known::Value(size) => words::bytes(*size),
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
