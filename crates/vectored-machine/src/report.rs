//! A machine in words, and the report of `vectored host`: what the machine offers, on one screen.
//!
//! A value that is unknown is shown as such; no line is left out.

use vectored_report::{Block, Column, Document, Table, words};

use crate::model::{Host, HostReport, Known};

/// The report as a document: a table without heads.
pub fn document(report: &HostReport) -> Document {
    let lines = properties(&report.host).into_iter();
    let lines = lines.chain(offers(report)).map(|(label, value)| {
        let value = value.unwrap_or_else(|| "unknown or none".to_owned());
        vec![label.into(), value.into()]
    });
    let warnings = report.host.warnings.iter();
    let warnings = warnings.map(|warning| vec!["warning".into(), warning.as_str().into()]);
    let table = Table {
        columns: vec![Column::words(""), Column::words("")],
        rows: lines.chain(warnings).collect(),
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
    parts.extend(memory(host));
    parts.extend(host.virtualization.clone());
    parts.push(system(host));
    let directory = host.directory.as_ref();
    parts.extend(directory.map(|of| format!("{} at {}", of.file_system, of.path)));
    parts.join(", ")
}

/// A size of 0 is unknown.
fn memory(host: &Host) -> Option<String> {
    (host.memory_bytes > 0).then(|| words::memory(host.memory_bytes))
}

/// `Linux 6.18.0 x86_64`. The kernel's build date is in the JSON only.
fn system(host: &Host) -> String {
    let release = host.kernel.split(' ').next().unwrap_or_default();
    match host.system.split_once(' ') {
        Some((system, processor)) => format!("{system} {release} {processor}"),
        None => format!("{} {release}", host.system),
    }
}

/// The known properties of a machine that do not change in a run, the most interesting first.
pub fn lasting_properties(host: &Host) -> Vec<(&'static str, String)> {
    let known = properties(host).into_iter();
    known
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

type Line = (&'static str, Option<String>);

fn properties(host: &Host) -> Vec<Line> {
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
    let cpus = words::count(cpu.allowed_cpus.len(), "CPU");
    let tcp = (host.tcp_send_buffer_bytes, host.tcp_receive_buffer_bytes);
    let unix = (host.unix_send_buffer_bytes, host.unix_receive_buffer_bytes);
    vec![
        ("host", Some(host.name.clone())),
        ("system", Some(host.system.clone())),
        ("kernel", Some(host.kernel.clone())),
        ("processor", Some(format!("{}, {cpus}", cpu.model))),
        ("caches", joined(caches.join(", "))),
        ("memory", memory(host)),
        ("virtualization", host.virtualization.clone()),
        ("governor", cpu.governor.clone()),
        ("mitigations", joined(mitigations.join(", "))),
        ("directory", directory),
        ("pipe", host.pipe_bytes.map(words::bytes)),
        ("unix socket", socket(unix.0, unix.1)),
        ("tcp socket", socket(tcp.0, tcp.1)),
        ("clock source", host.clock_source.clone()),
    ]
}

/// What the probe tried or asked for: results of a run lack these properties.
fn offers(report: &HostReport) -> [Line; 5] {
    let (timer, direct) = (&report.timer, &report.direct_io);
    let reading = words::time(timer.reading_ns);
    let (clock, step_ns) = (&timer.clock, timer.step_ns);
    let ring = match &report.io_uring {
        Known::Value(true) => "available".to_owned(),
        Known::Value(false) => "not available".to_owned(),
        Known::Unknown(why) => format!("not available: {why}"),
    };
    let alignment = match (&direct.memory_bytes, &direct.offset_bytes) {
        (Known::Value(memory), Known::Value(offset)) => {
            let [memory, offset] = [*memory, *offset].map(words::bytes);
            format!("memory aligned to {memory}, offsets and lengths to {offset}")
        }
        (Known::Unknown(why), _) | (_, Known::Unknown(why)) => format!("alignment unknown: {why}"),
    };
    let space = report.host.directory.as_ref().map(|of| {
        let (free, block) = (words::memory(of.free_bytes), words::bytes(of.st_blksize));
        let ahead = of.read_ahead_kb.map(|kib| kib.saturating_mul(1024));
        let ahead = ahead.map_or_else(|| "unknown".to_owned(), words::bytes);
        format!("{free} free, st_blksize {block}, read-ahead {ahead}")
    });
    let clock = format!("{clock}; a reading takes {reading}, smallest step {step_ns} ns");
    let segments = format!("{} segments per call", report.host.iov_max);
    [
        ("clock", Some(clock)),
        ("IOV_MAX", Some(segments)),
        ("io_uring", Some(ring)),
        ("O_DIRECT", Some(format!("{}; {alignment}", direct.open))),
        ("files", space),
    ]
}
