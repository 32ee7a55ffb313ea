//! Tests of `vectored advise` on logs and on commands.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::json as literal;

use crate::support::Bench;

mod commands;
mod comparisons;
mod costs;
mod logs;
mod outputs;
mod signals;

pub fn costs() -> String {
    let targets = ["file", "pipe", "unix", "tcp"];
    let price = |(target, operation): (&str, &str)| {
        literal!({
            "target": target, "operation": operation,
            "call_ns": 1000.0, "call_low_ns": 900.0, "call_high_ns": 1200.0,
            "medium_call_ns": 1000.0, "answer_call_ns": 1000.0, "batch_byte_ns": 0.0, "entry_ns": 0.0, "seek_ns": 0.0,
            "gather_call_ns": 10.0, "segment_ns": 5.0, "large_segment_ns": 10.0, "iovec_step_ns": 10.0,
            "copy_segment_ns": 1.0, "copy_byte_ns": 0.1
        })
    };
    let all = targets
        .iter()
        .flat_map(|target| [(*target, "write"), (*target, "read")]);
    literal!({
        "schema": "vectored-advice/1", "version": "0", "started_at": "2026-01-01T00:00:00Z",
        "host": {
            "name": "bench", "system": "Linux x86_64", "kernel": "6.18.0",
            "cpu": {"model": "Some CPU", "allowed_cpus": [0, 1], "l1d_bytes": null, "l2_bytes": null,
                    "l3_bytes": null, "governor": null, "mitigations": []},
            "memory_bytes": 8_589_934_592_u64, "virtualization": null, "iov_max": 1024,
            "pipe_bytes": null, "unix_send_buffer_bytes": null,
            "unix_receive_buffer_bytes": null, "tcp_send_buffer_bytes": null,
            "tcp_receive_buffer_bytes": null, "directory": null, "clock_source": null,
            "pinned_cpu": null, "reader_cpu": null, "load_average": null, "steal_share": null,
            "involuntary_switches": null, "warnings": []
        },
        "sources": [], "complete": true, "calls": 0, "transfers": 0, "bytes": 0, "processes": 0,
        "skipped": [], "is_command": false,
        "prices": all.map(price).collect::<Vec<_>>(),
        "findings": [], "uncounted": [],
        "stalls": 0, "stalled_s": 0.0,
        "saving_s": 0.0, "saving_low_s": 0.0, "saving_high_s": 0.0
    })
    .to_string()
}

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.work().join("costs.json"), costs()).unwrap();
    bench
}

fn advise(bench: &Bench) -> assert_cmd::Command {
    assert_cmd::Command::from_std(std_advise(bench))
}

fn under_strace(bench: &Bench) -> assert_cmd::Command {
    let mut command = advise(bench);
    command.args(["--source", "strace"]);
    command
}

fn std_advise(bench: &Bench) -> Command {
    let mut command = bench.std_vectored();
    command.args(["advise", "--costs", "costs.json"]);
    command
}

/// Each of the thousand records has a header of 8 bytes and a body of 4 KiB.
pub fn records() -> String {
    let mut log = String::from(
        "7 1795315726.000000 execve(\"/home/u/store\", [\"store\"], 0x7ffd) = 0 <0.000300>\n\
         7 1795315726.000500 set_tid_address(0x7f0000000a10) = 7 <0.000010>\n\
         7 1795315726.001000 openat(AT_FDCWD</>, \"/tmp/log\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</tmp/log> \
         <0.000020>\n",
    );
    for record in 0..1000 {
        for (call, bytes) in [8, 4096].into_iter().enumerate() {
            let micros = 2000 + record * 100 + call * 50;
            log += &format!(
                "7 1795315726.{micros:06} write(3</tmp/log>, \"x\"..., {bytes}) = {bytes} <0.000010>\n"
            );
        }
    }
    log + "7 1795315726.102100 exit_group(0) = ?\n7 1795315726.102200 +++ exited with 0 +++\n"
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn until<T>(look: impl Fn() -> Option<T>) -> T {
    for _ in 0..60_000 {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen within ten minutes");
}
