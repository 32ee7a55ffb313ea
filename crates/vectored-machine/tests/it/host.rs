//! The host report of a fixed machine.

use vectored_machine::model::HostReport;
use vectored_machine::report::document;
use vectored_report::{TerminalOptions, json, terminal};

const KNOWN: &str = r#"{"schema":"vectored-host/1","vectored_version":"0.0.0","host":
{"name":"stand","system":"Linux x86_64","kernel":"6.18.0 #1 SMP","cpu":{"model":"Some Processor 3","allowed_cpus":[0,1],
"l1d_bytes":49152,"l2_bytes":2097152,"l3_bytes":37486592,"governor":"performance","mitigations":[["spectre_v1","barriers"],
["retbleed","IBRS"]]},"memory_bytes":8400000000,"virtualization":"virtual machine","iov_max":1024,"pipe_bytes":65536,
"unix_send_buffer_bytes":212992,"unix_receive_buffer_bytes":212992,"tcp_send_buffer_bytes":4194304,
"tcp_receive_buffer_bytes":6291456,"directory":{"path":"/srv/data","file_system":"ext4","mount_options":"rw,relatime",
"free_bytes":5368709120,"st_blksize":4096,"read_ahead_kb":128},"clock_source":"tsc","pinned_cpu":null,"reader_cpu":null,
"load_average":null,"steal_share":null,"cpu_wait_share":null,"involuntary_switches":null,"warnings":[]},
"timer":{"clock":"CLOCK_MONOTONIC","step_ns":20,"reading_ns":24.7,"empty_loop_ns":0.3},"io_uring":{"value":true},
"direct_io":{"open":"ok","memory_bytes":{"value":4},"offset_bytes":{"value":512}}}"#;

/// A machine that tells as little as it can.
const SECRETIVE: &str = r#"{"schema":"vectored-host/1","vectored_version":"0.0.0","host":
{"name":"","system":"Linux x86_64","kernel":"6.18.0 #1 SMP","cpu":{"model":"","allowed_cpus":[0],"mitigations":[]},
"memory_bytes":0,"iov_max":0,"directory":{"path":"/srv/data","file_system":"unknown","free_bytes":0,"st_blksize":0},
"warnings":["the machine is busy"]},"timer":{"clock":"CLOCK_MONOTONIC","step_ns":20,"reading_ns":24.7,
"empty_loop_ns":0.3},"io_uring":{"unknown":"the sysctl kernel.io_uring_disabled is 2"},"direct_io":{"open":"EINVAL",
"memory_bytes":{"unknown":"ENOSYS from statx(2)"},"offset_bytes":{"unknown":"ENOSYS from statx(2)"}}}"#;

/// The screen of a saved report, without colours.
fn screen(saved: &str) -> String {
    let report: HostReport = serde_json::from_str(saved).unwrap();
    terminal(&document(&report), &TerminalOptions::default())
}

#[test]
fn a_machine_in_one_screen() {
    let report: HostReport = serde_json::from_str(KNOWN).unwrap();
    assert_eq!(json(&report), KNOWN.replace('\n', "") + "\n");
    insta::assert_snapshot!(screen(KNOWN));
}

#[test]
fn what_is_unknown_is_told() {
    insta::assert_snapshot!(screen(SECRETIVE));
}
