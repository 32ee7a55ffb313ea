//! The machine and the run, a property a row.

use vectored_machine::model::Host;
use vectored_report::words::{bytes, memory, percent};
use vectored_report::{Block, Cell, Column, Section, Table};

use crate::model::Results;

/// All known properties, most interesting first.
pub(super) fn section(results: &Results) -> Section {
    let mut rows = host(&results.host);
    let timer = &results.timer;
    rows.push((
        "clock",
        format!(
            "{}, a reading takes {:.1} ns, smallest step {} ns",
            timer.clock, timer.reading_ns, timer.step_ns
        ),
    ));
    rows.push((
        "run",
        format!(
            "vectored {}, {}, {:.1} s, budget {} s, seed {}",
            results.vectored_version,
            results.started_at,
            results.elapsed_s,
            results.budget_s,
            results.seed
        ),
    ));
    let row = |(name, value): (&str, String)| vec![Cell::from(name), value.into()];
    Section {
        title: "Environment".into(),
        blocks: vec![Block::Table(Table {
            columns: vec![Column::words(""), Column::words("")],
            rows: rows.into_iter().map(row).collect(),
            ..Table::default()
        })],
    }
}

fn host(host: &Host) -> Vec<(&'static str, String)> {
    let mut list = vec![
        ("host", host.name.clone()),
        ("system", host.system.clone()),
        ("kernel", host.kernel.clone()),
        (
            "processor",
            format!("{}, {} CPUs", host.cpu.model, host.cpu.allowed_cpus.len()),
        ),
    ];
    let caches: Vec<String> = [
        ("L1d", host.cpu.l1d_bytes),
        ("L2", host.cpu.l2_bytes),
        ("L3", host.cpu.l3_bytes),
    ]
    .into_iter()
    .filter_map(|(name, size)| Some(format!("{name} {}", bytes(size?))))
    .collect();
    let buffers = |send: Option<u64>, receive: Option<u64>| {
        let (send, receive) = send.zip(receive)?;
        Some(format!(
            "sends {}, receives {}",
            bytes(send),
            bytes(receive)
        ))
    };
    let mitigations: Vec<&str> = host
        .cpu
        .mitigations
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let directory = host.directory.as_ref().map(|directory| {
        let options = directory.mount_options.as_deref().unwrap_or("unknown");
        format!(
            "{}, {}, mounted {options}",
            directory.path, directory.file_system
        )
    });
    let others = [
        ("caches", (!caches.is_empty()).then(|| caches.join(", "))),
        ("memory", Some(memory(host.memory_bytes))),
        ("virtualization", host.virtualization.clone()),
        ("governor", host.cpu.governor.clone()),
        (
            "mitigations",
            (!mitigations.is_empty()).then(|| mitigations.join(", ")),
        ),
        ("directory", directory),
        ("pipe", host.pipe_bytes.map(bytes)),
        (
            "unix socket",
            buffers(host.unix_send_buffer_bytes, host.unix_receive_buffer_bytes),
        ),
        (
            "tcp socket",
            buffers(host.tcp_send_buffer_bytes, host.tcp_receive_buffer_bytes),
        ),
        ("clock source", host.clock_source.clone()),
        (
            "measured on CPU",
            host.pinned_cpu.map(|cpu| cpu.to_string()),
        ),
        (
            "load average",
            host.load_average
                .map(|load| format!("{load:.2} at the beginning")),
        ),
        ("stolen CPU time", host.steal_share.map(percent)),
        (
            "waited for a CPU",
            host.cpu_wait_share
                .map(|share| format!("{} of the time in which it could run", percent(share))),
        ),
        (
            "involuntary context switches",
            host.involuntary_switches.map(|times| times.to_string()),
        ),
    ];
    list.extend(
        others
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    list
}
