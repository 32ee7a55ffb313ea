//! Sends without a copy under a limit on locked memory.

use std::process::Command;

use crate::support::{Bench, VECTORED, json, skip};

/// Measures a list of 64 KiB with this limit of locked memory, without `CAP_IPC_LOCK`. Returns standard output, or the message of the
/// failure.
fn measured(limit_kib: u32) -> Result<String, String> {
    let bench = Bench::new();
    let mut command = bench.program("sh");
    let script = format!(
        "ulimit -l {limit_kib} && exec setpriv --bounding-set=-ipc_lock \"$@\" measure --target tcp --technique writev,send-zerocopy \
         --segments 4 --sizes 16KiB --budget 300ms --format json"
    );
    command.args(["-c", &script, "sh", VECTORED]);
    let output = command.output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn sends_without_a_copy_wait_for_locked_memory_and_name_its_limit() {
    if !rustix::process::geteuid().is_root() {
        return skip("only processes of root have a limit of their own");
    }
    let setpriv = Command::new("setpriv")
        .args(["--bounding-set=-ipc_lock", "true"])
        .status();
    if !setpriv.is_ok_and(|status| status.success()) {
        return skip("setpriv cannot drop CAP_IPC_LOCK here");
    }
    // Segments of 64 KiB lie on more than 64 KiB of pages.
    let message = measured(64).unwrap_err();
    for words in [
        "send-zerocopy",
        "limit on locked memory is 64 KiB",
        "`ulimit -l`",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // A few lists fit, so the next ones wait for the notifications of those before.
    let text = measured(256).unwrap_or_else(|message| panic!("{message}"));
    let results = json(&text);
    let techniques = results["cells"][0]["techniques"].as_array().unwrap();
    let zerocopy = techniques.iter().find(|one| one["name"] == "send-zerocopy");
    let counts = &zerocopy.unwrap()["zerocopy"];
    // Loopback copies all; sends that failed for want of memory are not counted.
    assert!(counts["sends"].as_u64() > Some(0), "{counts}");
    assert_eq!(counts["sends"], counts["copied"]);
}
