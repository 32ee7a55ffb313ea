//! The machine that a run measured, and disturbances during the run.
//!
//! The figures come from `/proc`, `/sys` and a few system calls. A value that the system does not report is `None`, and
//! fails no run.

use std::fs;
use std::io;
use std::path::Path;

use vectored_report::sort;

use crate::model::{CpuInfo, DirectoryInfo, Host};
use crate::platform::descriptors::{Pair, pipe, tcp_pair, unix_pair};
use crate::platform::{cpus, descriptors, system_names};

/// Load average per CPU above which the report has a warning.
const BUSY_LOAD: f64 = 0.5;

/// Share of stolen CPU time above which the report has a warning.
const MUCH_STEAL: f64 = 0.02;

/// If the thread waits for a CPU for more than this share of its time, the report has a warning.
const LONG_CPU_WAIT: f64 = 0.1;

const CPU: &str = "/sys/devices/system/cpu/cpu0";
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

const BUSY: &str = "the machine is busy";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    #[default]
    Current,
    Cpu(usize),
    None,
}

/// Pins the calling thread. Returns the CPU of this thread, and a CPU for a reader thread: on another core if possible,
/// else on the same core.
pub fn pin_measuring_thread(pinning: Pinning) -> io::Result<(Option<usize>, Option<usize>)> {
    let allowed = cpus::allowed();
    let cpu = match pinning {
        Pinning::None => return Ok((None, None)),
        Pinning::Current if !cpus::CAN_PIN => return Ok((None, None)),
        Pinning::Current => cpus::current(),
        Pinning::Cpu(cpu) if allowed.contains(&cpu) => cpu,
        Pinning::Cpu(_) => return Err(io::ErrorKind::InvalidInput.into()),
    };
    cpus::pin(cpu)?;
    let siblings = read(&format!(
        "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    ))
    .map(|list| parse_cpu_list(&list))
    .unwrap_or_default();
    let others = || allowed.iter().copied().filter(|&other| other != cpu);
    let reader = others()
        .find(|other| !siblings.contains(other))
        .or_else(|| others().next());
    Ok((Some(cpu), reader))
}

/// The state of the machine at the beginning of a run.
pub struct Environment {
    host: Host,
    ticks: Option<[u64; 2]>,
    involuntary: Option<u64>,
    cpu_wait: Option<[u64; 2]>,
}

/// The time for which the calling thread has run, and the time for which the thread has waited for a CPU, in ns.
fn cpu_wait() -> Option<[u64; 2]> {
    let text = read("/proc/thread-self/schedstat")?;
    let mut fields = text.split(' ').map(|field| field.parse().ok());
    Some([fields.next()??, fields.next()??])
}

/// A part of a whole, rounded to four digits; `None` if the whole is 0.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e4).round() / 1e4)
}

impl Environment {
    /// Describes the machine and reads its counters. `directory` is the
    /// directory of measured files, if any.
    pub fn capture(
        directory: Option<DirectoryInfo>,
        pins: (Option<usize>, Option<usize>),
        allowed: Vec<usize>,
    ) -> Self {
        Environment {
            host: describe_host(directory, pins, allowed),
            ticks: cpu_ticks(),
            involuntary: involuntary_switches(),
            cpu_wait: cpu_wait(),
        }
    }

    pub fn so_far(&self) -> &Host {
        &self.host
    }

    pub fn finish(mut self) -> Host {
        let since = |now: Option<[u64; 2]>, before: Option<[u64; 2]>| {
            let (now, before) = (now?, before?);
            Some([0, 1].map(|index: usize| now[index].saturating_sub(before[index])))
        };
        let host = &mut self.host;
        let ticks = since(cpu_ticks(), self.ticks);
        host.steal_share = ticks.and_then(|[total, steal]| share(steal, total));
        if let Some(share) = host.steal_share.filter(|share| *share > MUCH_STEAL) {
            host.warnings.push(format!(
                "the hypervisor took {:.1} % of the CPU time during the run: measure again when the host is quieter",
                share * 100.0
            ));
        }
        if let (Some(before), Some(after)) = (self.involuntary, involuntary_switches()) {
            host.involuntary_switches = Some(after.saturating_sub(before));
        }
        let times = since(cpu_wait(), self.cpu_wait);
        host.cpu_wait_share = times.and_then(|[ran, waited]| share(waited, ran + waited));
        if let Some(share) = host.cpu_wait_share.filter(|share| *share > LONG_CPU_WAIT) {
            host.warnings.retain(|warning| !warning.starts_with(BUSY));
            host.warnings.push(format!(
                "the measuring thread had no CPU for {:.0} % of the time in which it could run: stop other programs, or raise \
                 the CPU limit (cpu.max)",
                share * 100.0
            ));
        }
        self.host
    }
}

pub(crate) fn describe_host(
    directory: Option<DirectoryInfo>,
    (pinned_cpu, reader_cpu): (Option<usize>, Option<usize>),
    allowed: Vec<usize>,
) -> Host {
    let names = system_names::names();
    let load_average =
        read("/proc/loadavg").and_then(|loads| loads.split_whitespace().next()?.parse().ok());
    let (send, receive) = buffers(unix_pair);
    let (tcp_send, tcp_receive) = buffers(tcp_pair);
    let mut host = Host {
        name: names.host,
        system: names.system,
        kernel: names.kernel,
        cpu: describe_cpu(names.cpu_model, allowed),
        memory_bytes: names.memory_bytes.unwrap_or(0),
        virtualization: virtualization(),
        iov_max: vectored::limits::iov_max(),
        pipe_bytes: pipe()
            .ok()
            .and_then(|(writer, _)| descriptors::pipe_bytes(&writer)),
        unix_send_buffer_bytes: send,
        unix_receive_buffer_bytes: receive,
        tcp_send_buffer_bytes: tcp_send,
        tcp_receive_buffer_bytes: tcp_receive,
        directory,
        clock_source: read(CLOCK_SOURCE),
        pinned_cpu,
        reader_cpu,
        load_average,
        ..Host::default()
    };
    let emulated = |emulator| format!("{emulator}: times are those of an emulation");
    host.warnings.extend(names.emulator.map(emulated));
    host.warnings
        .extend(standing_warnings(&host, online_cpus()));
    host
}

pub fn host_name() -> String {
    system_names::names().host
}

/// The number of online CPUs. `load_average` counts the load of all online CPUs, although this process may be restricted to
/// some CPUs, as a rank of MPI is.
fn online_cpus() -> Option<usize> {
    let list = read("/sys/devices/system/cpu/online")?;
    Some(parse_cpu_list(&list).len()).filter(|count| *count > 0)
}

fn standing_warnings(host: &Host, online_cpus: Option<usize>) -> Vec<String> {
    let mut warnings = Vec::new();
    let cpus = online_cpus.unwrap_or(host.cpu.allowed_cpus.len()).max(1);
    let is_much = |load: &f64| *load > BUSY_LOAD * cpus as f64;
    if let Some(load) = host.load_average.filter(is_much) {
        let unit = if cpus == 1 { "CPU" } else { "CPUs" };
        warnings.push(format!(
            "{BUSY} (load {load} on {cpus} {unit}): stop other programs, retry"
        ));
    }
    if let Some(governor) = &host.cpu.governor
        && governor != "performance"
    {
        warnings.push(format!(
            "the frequency governor is '{governor}': 'performance' gives steadier figures"
        ));
    }
    if host.cpu.allowed_cpus.len() == 1 {
        warnings.push(
            "this process may use only one CPU: a reader thread would share it with the writer"
                .to_owned(),
        );
    }
    warnings
}

fn describe_cpu(model: Option<String>, allowed_cpus: Vec<usize>) -> CpuInfo {
    let mut info = CpuInfo {
        model: model.unwrap_or_else(|| "unknown".to_owned()),
        allowed_cpus,
        governor: read(GOVERNOR),
        ..CpuInfo::default()
    };
    for (level, kind, bytes) in caches() {
        match (level, &*kind) {
            (1, "Data") => info.l1d_bytes = Some(bytes),
            (2, _) => info.l2_bytes = Some(bytes),
            (3, _) => info.l3_bytes = Some(bytes),
            _ => {}
        }
    }
    if cfg!(unix)
        && let Ok(entries) = fs::read_dir(VULNERABILITIES)
    {
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Ok(state) = fs::read_to_string(entry.path())
                && let Some(mitigation) = state.trim().strip_prefix("Mitigation: ")
            {
                info.mitigations.push((name, mitigation.to_owned()));
            }
        }
    }
    sort::sort(&mut info.mitigations);
    info
}

fn virtualization() -> Option<String> {
    let is_virtual = read("/proc/cpuinfo").is_some_and(|info| {
        info.lines()
            .find(|line| line.starts_with("flags"))
            .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
    });
    let container = cfg!(unix)
        && ["/.dockerenv", "/run/.containerenv"]
            .iter()
            .any(|mark| Path::new(mark).exists());
    match (is_virtual, container) {
        (true, true) => Some("container in a virtual machine".to_owned()),
        (true, false) => Some("virtual machine".to_owned()),
        (false, true) => Some("container".to_owned()),
        (false, false) => None,
    }
}

fn buffers(make_pair: fn() -> io::Result<Pair>) -> (Option<u64>, Option<u64>) {
    let Ok((writer, reader)) = make_pair() else {
        return (None, None);
    };
    let (send, _) = descriptors::buffer_bytes(&writer);
    let (_, receive) = descriptors::buffer_bytes(&reader);
    (send, receive)
}

/// Ticks of all CPUs since boot, and the stolen ticks among them.
fn cpu_ticks() -> Option<[u64; 2]> {
    parse_ticks(&read("/proc/stat")?)
}

/// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, then guest times, which
/// user and nice already include.
fn parse_ticks(stat: &str) -> Option<[u64; 2]> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks = line.split_whitespace().take(8);
    let ticks: Option<Vec<u64>> = ticks.map(|field| field.parse().ok()).collect();
    let ticks = ticks?;
    Some([ticks.iter().sum(), *ticks.get(7)?])
}

fn involuntary_switches() -> Option<u64> {
    let status = read("/proc/thread-self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with("nonvoluntary_ctxt_switches"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

fn caches() -> Vec<(u32, String, u64)> {
    let cache = |index: u32| {
        let attribute = |name| read(&format!("{CPU}/cache/index{index}/{name}"));
        let bytes = parse_cache_size(&attribute("size")?)?;
        Some((attribute("level")?.parse().ok()?, attribute("type")?, bytes))
    };
    (0..8).filter_map(cache).collect()
}

pub fn last_level_cache_bytes() -> Option<u64> {
    let last = caches().into_iter().max()?;
    Some(last.2).filter(|&bytes| bytes > 0)
}

/// Parses the size of a cache in bytes, from a text such as `1024K` or `32M`.
fn parse_cache_size(size: &str) -> Option<u64> {
    let unit = size.find(|c: char| !c.is_ascii_digit())?;
    let count: u64 = size[..unit].parse().ok()?;
    match &size[unit..] {
        "K" => Some(count << 10),
        "M" => Some(count << 20),
        _ => None,
    }
}

/// Parses a list of CPUs, such as `0-3,8`.
fn parse_cpu_list(list: &str) -> Vec<usize> {
    list.split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
        })
        .flatten()
        .collect()
}

fn read(path: &str) -> Option<String> {
    Some(system_names::kernel_text(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_texts_are_parsed() {
        assert_eq!(parse_cpu_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(parse_cpu_list("7"), [7]);
        assert_eq!(parse_cache_size("1024K"), Some(1 << 20));
        assert_eq!(parse_cache_size("32M"), Some(32 << 20));
        assert_eq!(parse_cache_size("odd"), None);
        let ticks = parse_ticks("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 …");
        assert_eq!(ticks, Some([36, 8]));
    }

    #[test]
    fn a_pinned_thread_may_use_one_cpu_only() {
        std::thread::spawn(|| {
            let cpu = cpus::allowed()[0];
            let (pinned, reader) = pin_measuring_thread(Pinning::Cpu(cpu)).unwrap();
            assert_eq!(pinned, Some(cpu));
            assert_eq!(cpus::allowed(), [cpu]);
            assert_ne!(reader, Some(cpu));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_busy_machine_has_a_warning() {
        let host = Host {
            load_average: Some(1.5),
            cpu: CpuInfo {
                allowed_cpus: vec![0, 1],
                governor: Some("powersave".to_owned()),
                ..CpuInfo::default()
            },
            ..Host::default()
        };
        let busy = |cpus: &str| {
            format!("the machine is busy (load 1.5 on {cpus}): stop other programs, retry")
        };
        let warnings = standing_warnings(&host, None);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert_eq!(warnings[0], busy("2 CPUs"));
        assert_eq!(standing_warnings(&host, Some(1))[0], busy("1 CPU"));
        // `load_average` covers all CPUs, also if this process may use only a few.
        assert_eq!(standing_warnings(&host, Some(16)).len(), 1);
        let idle = Host {
            load_average: Some(0.1),
            ..host
        };
        assert_eq!(standing_warnings(&idle, None).len(), 1);
    }
}
