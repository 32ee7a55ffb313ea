//! A short soak loses nothing, and reports the losses of a defective function.

use std::io::Read;
use std::process::Output;

use vectored_conformance::host::program_of_this_system;
use vectored_conformance::queue::records::{self, Shared};

fn soak(words: &[&str]) -> (Output, String) {
    let mut command = program_of_this_system(env!("CARGO_BIN_EXE_soak"));
    let output = command.args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default().to_owned();
    (output, last)
}

#[test]
fn a_short_soak_loses_nothing() {
    let (output, last) = soak(&["--seconds", "2", "--seed", "3", "--backend", "plain"]);
    assert!(output.status.success(), "{output:?}");
    assert!(last.starts_with("transfers "), "{last}");
    assert!(last.ends_with(", bytes lost 0"), "{last}");
    assert!(!last.contains("faults injected 0,"), "{last}");
}

#[test]
fn a_short_soak_of_transfers_in_flight_loses_nothing() {
    for technique in vectored_conformance::in_flight::techniques() {
        let backend = match technique.as_str() {
            "linux-aio" => "aio",
            _ => "uring",
        };
        let (output, last) = soak(&["--seconds", "2", "--seed", "3", "--backend", backend]);
        assert!(output.status.success(), "{output:?}");
        assert!(last.ends_with(", bytes lost 0"), "{last}");
        assert!(!last.contains("faults injected 0,"), "{last}");
    }
}

#[test]
fn a_short_soak_of_each_form_of_a_queue_loses_nothing() {
    for form in ["blocking", "tokio"] {
        let (output, last) = soak(&["--seconds", "1", "--seed", "3", "--form", form]);
        assert!(output.status.success(), "{output:?}");
        assert!(last.ends_with(", bytes lost 0"), "{last}");
        assert!(!last.contains("faults injected 0,"), "{last}");
    }
}

#[test]
fn records_of_two_processes_on_one_log_or_pipe_are_whole() {
    let (output, _) = soak(&["--records", "40000"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    let expected = [
        "log: 40000 whole records of 40000",
        "pipe: 40000 whole records of 40000",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_torn_a_repeated_and_a_missing_record_are_found() {
    let records = |process: u64, count: u64| {
        let (mut reader, writer) = std::io::pipe().unwrap();
        records::write(&writer, Shared::Pipe, process, count).unwrap();
        drop(writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        bytes
    };
    let found = |bytes: &[u8]| {
        let found = records::check(bytes).unwrap();
        (found.records, found.switches, found.torn_at_byte)
    };
    let (first, second) = (records(0, 20), records(1, 20));
    let length = first.len() as u64;
    assert_eq!(found(&[&first[..], &second].concat()), (40, 1, None));
    // A record lies within another.
    let (start, rest) = first.split_at(first.len() - 5);
    let mixed = [start, &second, rest].concat();
    let (whole, _, torn) = found(&mixed);
    assert_eq!(whole, 19);
    assert!(torn.is_some_and(|at| at < length - 5));
    assert_eq!(found(&[&first[..], &first].concat()), (20, 0, Some(length)));
    let first_bytes = usize::from(u16::from_le_bytes([second[0], second[1]]));
    assert_eq!(found(&second[first_bytes..]), (0, 0, Some(0)));
    assert_eq!(found(&second[..second.len() - 1]).0, 19);
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

#[test]
fn wrong_arguments_of_a_soak_have_status_2() {
    for words in [
        &["--seconds"][..],
        &["--seed", "x"],
        &["--backend", "warp"],
        &["--form", "x"],
    ] {
        assert_eq!(soak(words).0.status.code(), Some(2), "{words:?}");
    }
}
