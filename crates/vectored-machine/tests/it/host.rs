//! The host report of a fixed machine.

use std::collections::BTreeMap;

use vectored_machine::model::{
    CpuInfo, DirectOffer, DirectoryInfo, HOST_SCHEMA, Host, HostReport, Known, Timer,
};
use vectored_machine::report::document;
use vectored_report::{Document, TerminalOptions, json, terminal};

/// The report on a terminal of this width, without colours.
fn text(document: &Document, width: usize) -> String {
    let options = TerminalOptions {
        width,
        ..TerminalOptions::default()
    };
    terminal(document, &options)
}

fn report() -> HostReport {
    HostReport {
        schema: HOST_SCHEMA.to_owned(),
        vectored_version: "0.0.0".to_owned(),
        host: Host {
            name: "stand".to_owned(),
            system: "Linux x86_64".to_owned(),
            kernel: "6.18.0 #1 SMP".to_owned(),
            cpu: CpuInfo {
                model: "Some Processor 3".to_owned(),
                allowed_cpus: vec![0, 1],
                l1d_bytes: Some(48 << 10),
                l2_bytes: Some(2 << 20),
                l3_bytes: Some(36_608 << 10),
                governor: Some("performance".to_owned()),
                mitigations: [("spectre_v1", "barriers"), ("retbleed", "IBRS")]
                    .map(|(name, how)| (name.to_owned(), how.to_owned()))
                    .into(),
            },
            memory_bytes: 8_400_000_000,
            virtualization: Some("virtual machine".to_owned()),
            iov_max: 1024,
            pipe_bytes: Some(65_536),
            unix_send_buffer_bytes: Some(212_992),
            unix_receive_buffer_bytes: Some(212_992),
            tcp_send_buffer_bytes: Some(4 << 20),
            tcp_receive_buffer_bytes: Some(6 << 20),
            directory: Some(DirectoryInfo {
                path: "/srv/data".to_owned(),
                file_system: "ext4".to_owned(),
                mount_options: Some("rw,relatime".to_owned()),
                free_bytes: 5 << 30,
                st_blksize: 4096,
                read_ahead_kb: Some(128),
            }),
            clock_source: Some("tsc".to_owned()),
            ..Host::default()
        },
        unknown: BTreeMap::new(),
        timer: Timer {
            clock: "CLOCK_MONOTONIC".to_owned(),
            step_ns: 20,
            reading_ns: 24.7,
            empty_loop_ns: 0.3,
        },
        io_uring: Known::Value(true),
        direct_io: DirectOffer {
            open: "ok".to_owned(),
            memory_bytes: Known::Value(4),
            offset_bytes: Known::Value(512),
        },
    }
}

/// A machine that tells as little as it can.
fn secretive() -> HostReport {
    let denied = |path: &str| format!("permission denied reading {path}");
    let known = report();
    HostReport {
        host: Host {
            system: known.host.system.clone(),
            kernel: known.host.kernel.clone(),
            directory: Some(DirectoryInfo {
                path: "/srv/data".to_owned(),
                file_system: "unknown".to_owned(),
                ..DirectoryInfo::default()
            }),
            warnings: vec!["the machine is busy".to_owned()],
            ..Host::default()
        },
        unknown: [
            "cpu.governor",
            "cpu.l1d_bytes",
            "cpu.l3_bytes",
            "cpu.mitigations",
            "clock_source",
        ]
        .map(|field| (field.to_owned(), denied("/sys/devices/system/…")))
        .into(),
        io_uring: Known::Unknown("the sysctl kernel.io_uring_disabled is 2".to_owned()),
        direct_io: DirectOffer {
            open: "EINVAL".to_owned(),
            memory_bytes: Known::Unknown("ENOSYS from statx(2)".to_owned()),
            offset_bytes: Known::Unknown("ENOSYS from statx(2)".to_owned()),
        },
        ..known
    }
}

#[test]
fn a_machine_in_one_screen() {
    let text = text(&document(&report()), 100);
    assert!(text.lines().count() <= 40);
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_unknown_is_told_with_its_reason() {
    let text = text(&document(&secretive()), 100);
    assert!(text.lines().count() <= 40);
    insta::assert_snapshot!(text);
}

#[test]
fn no_line_is_left_out_for_want_of_an_answer() {
    let labels = |report: &HostReport| -> Vec<String> {
        let text = vectored_report::markdown(&document(report));
        let lines = text.lines().filter_map(|line| line.strip_prefix("| "));
        let labels = lines.filter_map(|line| line.split(" |").next());
        // Warnings are no answers.
        labels
            .filter(|label| *label != "warning")
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(labels(&secretive()), labels(&report()));
    assert!(labels(&report()).len() > 12);
}

#[test]
fn the_report_in_a_document() {
    insta::assert_snapshot!(vectored_report::markdown(&document(&report())));
}

#[test]
fn the_json_is_read_back_as_it_was_written() {
    for report in [report(), secretive()] {
        let text = json(&report);
        assert_eq!(serde_json::from_str::<HostReport>(&text).unwrap(), report);
    }
}
