//! The peak memory of the programs that this process starts. The test has a process of its own: `run` waits for all
//! children.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use vectored_machine::platform::command_run::{LEFT_BEHIND_LIMIT, inherited_peak_bytes, run};
use vectored_machine::platform::processes::adopt_orphans;

const MIB: u64 = 1 << 20;

/// The peak of a shell that holds `mib` MiB in a variable.
fn peak(mib: u64) -> u64 {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "x=$(head -c $((1048576 * $0)) /dev/zero | tr '\\0' x)",
    ]);
    command.arg(mib.to_string()).stdin(Stdio::null());
    let ended = run(command, None, LEFT_BEHIND_LIMIT, || false);
    ended
        .unwrap_or_else(|error| panic!("{error}"))
        .usage
        .peak_bytes
}

fn inherited() -> u64 {
    inherited_peak_bytes(|| false).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_peak_is_true_or_no_more_than_what_was_inherited() {
    adopt_orphans().unwrap();
    // While this process has little memory, the peak of a small program is the program's own.
    let small = inherited();
    assert!(small < 8 * MIB, "{small}");
    let of_shell = peak(20);
    assert!((20 * MIB..60 * MIB).contains(&of_shell), "{of_shell}");
    // From now on the memory of this process hides the peak of the shell: `inherited` shows that.
    let grown = std::hint::black_box(vec![1_u8; 300 << 20]);
    let (large, hidden) = (inherited(), peak(20));
    assert!(
        large >= 300 * MIB && hidden >= 300 * MIB,
        "{large} {hidden}"
    );
    assert!(hidden <= large + MIB / 2, "{large} {hidden}");
    drop(grown);
    assert!(inherited() < 8 * MIB);
    assert!(peak(20).abs_diff(of_shell) < 4 * MIB);
}
