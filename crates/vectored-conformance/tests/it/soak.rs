//! A short soak loses nothing, and reports the losses of a defective function.

use std::process::Output;

use vectored_conformance::host::program_of_this_system;

fn soak(words: &[&str]) -> (Output, String) {
    let mut command = program_of_this_system(env!("CARGO_BIN_EXE_soak"));
    let output = command.args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default().to_owned();
    (output, last)
}

fn loses_nothing(words: &[&str]) {
    let (output, last) = soak(words);
    assert!(output.status.success(), "{output:?}");
    assert!(last.starts_with("transfers "), "{last}");
    assert!(last.ends_with(", bytes lost 0"), "{last}");
    assert!(!last.contains("faults injected 0,"), "{last}");
}

#[test]
fn a_short_soak_loses_nothing() {
    loses_nothing(&["--seconds", "2", "--seed", "3", "--backend", "plain"]);
}

#[test]
fn a_short_soak_of_transfers_in_flight_loses_nothing() {
    if !vectored_conformance::rings::ring_write_ways().is_empty() {
        loses_nothing(&["--seconds", "2", "--seed", "3", "--backend", "uring"]);
    }
}

#[test]
fn a_short_soak_of_each_form_of_a_queue_loses_nothing() {
    for form in ["blocking", "tokio"] {
        loses_nothing(&["--seconds", "1", "--seed", "3", "--form", form]);
    }
}

#[test]
fn a_soak_reports_the_losses_of_a_broken_cursor() {
    for broken in ["--broken", "--broken-read"] {
        let (output, last) = soak(&["--seconds", "2", broken]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(!last.ends_with("bytes lost 0"), "{last}");
        assert!(last.contains(", bytes lost "), "{last}");
    }
}
