//! Numbers, sizes and external texts in words.

pub use vectored_report::visible as escape_control;
pub use vectored_report::words::{bytes as bytes_in_words, grouped, list as list_in_words};
pub(crate) use vectored_report::words::{
    count, memory as about_bytes, percent, three_digits, time,
};

use crate::model::{Host, Results};

/// The machine in one sentence.
pub(crate) fn machine(results: &Results) -> String {
    machine_of(&results.host)
}

/// See [`machine`].
pub(crate) fn machine_of(host: &Host) -> String {
    let mut parts = vec![escape_control(&host.cpu.model)];
    parts.push(count(host.cpu.allowed_cpus.len(), "CPU"));
    parts.push(about_bytes(host.memory_bytes));
    parts.extend(host.virtualization.as_deref().map(escape_control));
    parts.push(system(host));
    parts.extend(host.directory.as_ref().map(|directory| {
        let (file_system, path) = (&directory.file_system, &directory.path);
        format!(
            "{} at {}",
            escape_control(file_system),
            escape_control(path)
        )
    }));
    parts.join(", ")
}

/// `Linux 6.18.0 x86_64`. The kernel's build date is in the JSON only.
pub(crate) fn system(host: &Host) -> String {
    let release = host.kernel.split(' ').next().unwrap_or_default();
    escape_control(&match host.system.split_once(' ') {
        Some((system, machine)) => format!("{system} {release} {machine}"),
        None => format!("{} {release}", host.system),
    })
}
