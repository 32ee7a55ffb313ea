//! A machine in words, and the report of `vectored host`: what it offers, on one screen.
//!
//! A value that is unknown is shown with the reason; no line is left out.

use vectored_report::{Block, Column, Document, Table, words};

use crate::model::{Host, HostReport, Known};

/// The report as a document: a table without heads.
pub fn document(report: &HostReport) -> Document {
    let lines = machine(report).into_iter().chain(offers(report));
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

pub fn machine_in_words(host: &Host) -> String {
    let mut parts = vec![host.cpu.model.clone()];
    parts.push(words::count(host.cpu.allowed_cpus.len(), "CPU"));
    parts.push(words::memory(host.memory_bytes));
    parts.extend(host.virtualization.clone());
    parts.push(system(host));
    let directory = host.directory.as_ref();
    parts.extend(directory.map(|of| format!("{} at {}", of.file_system, of.path)));
    parts.join(", ")
}

/// `Linux 6.18.0 x86_64`. The kernel's build date is in the JSON only.
fn system(host: &Host) -> String {
    let release = host.kernel.split(' ').next().unwrap_or_default();
    match host.system.split_once(' ') {
        Some((system, processor)) => format!("{system} {release} {processor}"),
        None => format!("{} {release}", host.system),
    }
}

/// The properties of a machine that stay through a run, the most interesting first.
pub fn lasting_properties(host: &Host) -> Vec<(&'static str, String)> {
    let cpu = &host.cpu;
    let caches = [
        ("L1d", cpu.l1d_bytes),
        ("L2", cpu.l2_bytes),
        ("L3", cpu.l3_bytes),
    ];
    let cache = |(name, size): (&str, Option<u64>)| Some(format!("{name} {}", words::bytes(size?)));
    let caches: Vec<String> = caches.into_iter().filter_map(cache).collect();
    let mitigations = cpu.mitigations.iter().map(|(name, _)| name.as_str());
    let mitigations: Vec<&str> = mitigations.collect();
    let joined = |parts: String| (!parts.is_empty()).then_some(parts);
    let socket = |sends: Option<u64>, receives: Option<u64>| {
        let [sends, receives] = [sends?, receives?].map(words::bytes);
        Some(format!("sends {sends}, receives {receives}"))
    };
    let directory = host.directory.as_ref().map(|of| {
        let options = of.mount_options.as_deref().unwrap_or("unknown");
        format!("{}, {}, mounted {options}", of.path, of.file_system)
    });
    let cpus = cpu.allowed_cpus.len();
    let tcp = (host.tcp_send_buffer_bytes, host.tcp_receive_buffer_bytes);
    let unix = (host.unix_send_buffer_bytes, host.unix_receive_buffer_bytes);
    let all = [
        ("host", Some(host.name.clone())),
        ("system", Some(host.system.clone())),
        ("kernel", Some(host.kernel.clone())),
        ("processor", Some(format!("{}, {cpus} CPUs", cpu.model))),
        ("caches", joined(caches.join(", "))),
        ("memory", Some(words::memory(host.memory_bytes))),
        ("virtualization", host.virtualization.clone()),
        ("governor", cpu.governor.clone()),
        ("mitigations", joined(mitigations.join(", "))),
        ("directory", directory),
        ("pipe", host.pipe_bytes.map(words::bytes)),
        ("unix socket", socket(unix.0, unix.1)),
        ("tcp socket", socket(tcp.0, tcp.1)),
        ("clock source", host.clock_source.clone()),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

type Line = (&'static str, String);

fn machine(report: &HostReport) -> Vec<Line> {
    let HostReport { host, timer, .. } = report;
    let cpu = &host.cpu;
    let cache =
        |name: &str, bytes, field| format!("{name} {}", size(bytes, &missing(report, field)));
    let mut active = cpu.mitigations.iter().map(|(name, _)| name.as_str());
    let mitigations = match (active.next(), report.unknown.get("cpu.mitigations")) {
        (Some(first), _) => active.fold(first.to_owned(), |all, name| all + ", " + name),
        (None, Some(why)) => unknown(why),
        (None, None) => "none active".to_owned(),
    };
    let or_missing = |value: &Option<String>, field| {
        let known = value.clone();
        known.unwrap_or_else(|| missing(report, field))
    };
    let memory = match host.memory_bytes {
        0 => unknown("cannot be read from /proc/meminfo"),
        bytes => words::memory(bytes),
    };
    let virtualization = host.virtualization.as_deref();
    let virtualization = virtualization.unwrap_or("no virtualization detected");
    let cpus = words::count(cpu.allowed_cpus.len(), "CPU");
    let caches = [
        cache("L1d", cpu.l1d_bytes, "cpu.l1d_bytes"),
        cache("L2", cpu.l2_bytes, "cpu.l2_bytes"),
        cache("L3", cpu.l3_bytes, "cpu.l3_bytes"),
    ];
    let clock = format!(
        "{}, source {}; a reading takes {}, smallest step {} ns",
        timer.clock,
        or_missing(&host.clock_source, "clock_source"),
        words::time(timer.reading_ns),
        timer.step_ns,
    );
    let machine = format!("{}, {cpus}, {memory}, {virtualization}", cpu.model);
    let mut lines = vec![
        ("system", system(host)),
        ("machine", machine),
        ("caches", caches.join(", ")),
        ("governor", or_missing(&cpu.governor, "cpu.governor")),
        ("mitigations", mitigations),
        ("clock", clock),
    ];
    let warnings = host.warnings.iter();
    lines.extend(warnings.map(|warning| ("warning", warning.clone())));
    lines
}

fn offers(report: &HostReport) -> Vec<Line> {
    let HostReport {
        host, direct_io, ..
    } = report;
    let ring = match &report.io_uring {
        Known::Value(true) => "available".to_owned(),
        Known::Value(false) => "not available".to_owned(),
        Known::Unknown(why) => format!("not available: {why}"),
    };
    let mut lines = vec![
        ("IOV_MAX", format!("{} segments per call", host.iov_max)),
        ("io_uring", ring),
    ];
    match &host.directory {
        None => lines.push(("directory", missing(report, "directory"))),
        Some(info) => {
            let free = words::memory(info.free_bytes);
            let options = info.mount_options.clone();
            let block = words::bytes(info.st_blksize);
            let ahead = info.read_ahead_kb.map(|kib| kib.saturating_mul(1024));
            let ahead = size(
                ahead,
                &unknown("no block device with a queue in /sys/dev/block"),
            );
            lines.extend([
                (
                    "directory",
                    format!("{}, {}, {free} free", info.path, info.file_system),
                ),
                (
                    "mounted",
                    options.unwrap_or_else(|| unknown("not found in /proc/self/mountinfo")),
                ),
                ("st_blksize", format!("{block}; read-ahead {ahead}")),
            ]);
        }
    }
    let known = |size: &Known<u64>| match size {
        Known::Value(size) => words::bytes(*size),
        Known::Unknown(why) => unknown(why),
    };
    let alignment = match (&direct_io.memory_bytes, &direct_io.offset_bytes) {
        (Known::Unknown(one), Known::Unknown(other)) if one == other => {
            format!("alignment {}", unknown(one))
        }
        (memory, offset) => {
            let (memory, offset) = (known(memory), known(offset));
            format!("memory aligned to {memory}, offsets and lengths to {offset}")
        }
    };
    let made = |bytes| size(bytes, &unknown("none could be created"));
    let socket = |sends, receives| format!("sends {}, receives {}", made(sends), made(receives));
    let unix = (host.unix_send_buffer_bytes, host.unix_receive_buffer_bytes);
    let tcp = (host.tcp_send_buffer_bytes, host.tcp_receive_buffer_bytes);
    lines.extend([
        ("O_DIRECT", format!("{}; {alignment}", direct_io.open)),
        ("pipe", made(host.pipe_bytes)),
        ("unix socket", socket(unix.0, unix.1)),
        ("tcp socket", socket(tcp.0, tcp.1)),
    ]);
    lines
}

fn size(bytes: Option<u64>, otherwise: &str) -> String {
    bytes.map_or_else(|| otherwise.to_owned(), words::bytes)
}

fn missing(report: &HostReport, field: &str) -> String {
    let why = report.unknown.get(field);
    why.map_or_else(|| "unknown".to_owned(), |why| unknown(why))
}

fn unknown(why: &str) -> String {
    format!("unknown: {why}")
}
