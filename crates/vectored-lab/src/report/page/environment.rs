//! The machine and the run, as a definition list.

use crate::model::{Host, Results};
use crate::report::page::escape::escape;
use crate::text::format::{about_bytes, bytes_in_words};

/// All known properties, most interesting first.
pub fn section(results: &Results) -> String {
    let mut text = "<h3>Environment</h3>\n<dl class=\"environment\">\n".to_owned();
    for (term, value) in host(&results.host) {
        text += &entry(term, &value);
    }
    let ruler = &results.ruler;
    text += &entry(
        "clock",
        &format!(
            "{}, a reading takes {:.1} ns, smallest step {} ns",
            ruler.clock, ruler.reading_ns, ruler.step_ns
        ),
    );
    text += &entry(
        "run",
        &format!(
            "vectored {}, {}, {:.1} s, budget {} s, seed {}",
            results.vectored_version,
            results.started_at,
            results.elapsed_s,
            results.budget_s,
            results.seed
        ),
    );
    text + "</dl>\n"
}

fn entry(term: &str, value: &str) -> String {
    format!("<dt>{}</dt><dd>{}</dd>\n", escape(term), escape(value))
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
    .filter_map(|(name, bytes)| Some(format!("{name} {}", bytes_in_words(bytes?))))
    .collect();
    let mut add = |term, value: Option<String>| list.extend(value.map(|value| (term, value)));
    add("caches", (!caches.is_empty()).then(|| caches.join(", ")));
    add("memory", Some(about_bytes(host.memory_bytes)));
    add("virtualization", host.virtualization.clone());
    add("governor", host.cpu.governor.clone());
    let mitigations = &host.cpu.mitigations;
    let names: Vec<&str> = mitigations.iter().map(|(name, _)| name.as_str()).collect();
    add("mitigations", (!names.is_empty()).then(|| names.join(", ")));
    add(
        "directory",
        host.directory.as_ref().map(|directory| {
            let options = directory.mount_options.as_deref().unwrap_or("unknown");
            format!(
                "{}, {}, mounted {options}",
                directory.path, directory.file_system
            )
        }),
    );
    add("pipe", host.pipe_bytes.map(bytes_in_words));
    let buffers = |send: Option<u64>, receive: Option<u64>| {
        let (send, receive) = send.zip(receive)?;
        Some(format!(
            "sends {}, receives {}",
            bytes_in_words(send),
            bytes_in_words(receive)
        ))
    };
    add(
        "unix socket",
        buffers(host.unix_send_buffer_bytes, host.unix_receive_buffer_bytes),
    );
    add(
        "tcp socket",
        buffers(host.tcp_send_buffer_bytes, host.tcp_receive_buffer_bytes),
    );
    add("clock source", host.clock_source.clone());
    add(
        "measured on CPU",
        host.pinned_cpu.map(|cpu| cpu.to_string()),
    );
    add(
        "load average",
        host.load_average
            .map(|load| format!("{load:.2} at the beginning")),
    );
    add(
        "stolen CPU time",
        host.steal_share
            .map(|share| format!("{:.1} %", share * 100.0)),
    );
    add(
        "involuntary context switches",
        host.involuntary_switches.map(|times| times.to_string()),
    );
    list
}
