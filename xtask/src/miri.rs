//! `cargo xtask miri`: the library's own tests under Miri, but for those that make system calls.

use std::process::Command;

use anyhow::{Context, Result};

use crate::fuzz::{nightly, works};

/// What Miri cannot run: tests that write to real descriptors, and tests that ask for the system's
/// limits, since Miri knows no `sysconf(_SC_IOV_MAX)`. Each word skips the tests that contain it.
const NOT_UNDER_MIRI: [&str; 22] = [
    "working_memory_is_kept",
    "a_gather_that_copies_nothing_allocates",
    "a_list_of_large_segments_allocates",
    "a_gather_can_be_used_again",
    "an_error_at_any_point",
    "many_more_small_segments",
    "small_segments_that_do_not_fit",
    "large_segments_go_by_iov_max",
    "empty_lists_make_no_call",
    "linux_takes_1024",
    "a_sink_of_one_two_three",
    "interruptions_are_retried",
    "a_call_that_takes_nothing",
    "a_call_that_reports_more",
    "lists_around_multiples",
    "empty_segments_take_no_room",
    "no_call_is_given_more",
    "every_cut_of_small_lists_lands",
    "batches_hold_iov_max",
    "a_list_with_1024_empties",
    "the_end_of_a_segment_is_the_start",
    "descriptors::",
];

/// These try some ten thousand lists, for which Miri takes half an hour.
const TOO_LONG: [&str; 1] = ["at_every_cut_of_small_lists"];

/// Runs them; false if Miri found something. Where it cannot be had, that is told and all is well.
pub fn run() -> Result<bool> {
    if !provide() {
        println!(
            "skipped miri: the component cannot be had; try: rustup +nightly component add miri rust-src"
        );
        return Ok(true);
    }
    let words = "miri test --locked --package vectored --lib --test it -- ";
    let mut command = nightly(&words.split_whitespace().collect::<Vec<_>>());
    for word in NOT_UNDER_MIRI.iter().chain(&TOO_LONG) {
        command.args(["--skip", word]);
    }
    // proptest looks for a file of failures; a handful of cases is what takes a minute.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    command.env("PROPTEST_CASES", "3");
    let status = command.status().context("cannot start Miri")?;
    Ok(status.success())
}

fn provide() -> bool {
    if works(nightly(&["miri", "--version"])) {
        return true;
    }
    let words = "+nightly component add miri rust-src";
    println!("   rustup {words}");
    let mut command = Command::new("rustup");
    command.args(words.split(' '));
    works(command)
}
