//! Reports of fixed advisories, and of hostile ones.

use proptest::prelude::*;
use serde_json::Value;
use vectored_advise::advisor::wording::sentences::{action, pattern};
use vectored_advise::model::{
    ADVISORY_SCHEMA, Advisory, DescriptorUse, FileCalls, Finding, FindingKey, FindingKind, Grade,
    Runtime, SiteCalls, Skipped, StallTally, Step, Tally, Uncounted, Watched,
};
use vectored_advise::report::{TOP, document};
use vectored_machine::model::{DescriptorKind, Host, Operation, Price};
use vectored_report::{TerminalOptions, csv_of, json, parse, terminal};

use crate::damage::{changed, changes, cut, texts_stay_text};

fn host() -> Host {
    let mut host = Host {
        name: "bench".to_owned(),
        system: "Linux x86_64".to_owned(),
        kernel: "6.18.0 #1 SMP".to_owned(),
        memory_bytes: 8 << 30,
        warnings: vec!["the machine is busy".to_owned()],
        ..Host::default()
    };
    host.cpu.model = "Some CPU".to_owned();
    host.cpu.allowed_cpus = vec![0, 1];
    host
}

pub(crate) fn price(target: DescriptorKind, operation: Operation, call_ns: f64) -> Price {
    Price {
        target,
        operation,
        call_ns,
        call_low_ns: call_ns * 0.9,
        call_high_ns: call_ns * 1.1,
        medium_call_ns: call_ns,
        answer_call_ns: call_ns,
        entry_ns: 0.0,
        batch_byte_ns: 0.0,
        seek_ns: 90.0,
        gather_call_ns: 20.0,
        segment_ns: 10.0,
        large_segment_ns: 30.0,
        iovec_step_ns: 40.0,
        copy_segment_ns: 3.0,
        copy_byte_ns: 0.05,
    }
}

fn key(kind: FindingKind, program: &str, target: DescriptorKind, calls: &[&str]) -> FindingKey {
    FindingKey {
        kind,
        grade: Grade::Adjacent,
        program: program.to_owned(),
        target,
        file: None,
        site: None,
        steps: calls
            .iter()
            .map(|call| Step {
                call: (*call).to_owned(),
                size_class: 4,
            })
            .collect(),
    }
}

fn tally(calls: u64, merged_calls: u64, step_bytes: &[(u64, u64)], path: &str) -> Tally {
    Tally {
        runs: merged_calls,
        calls,
        bytes: calls * 100,
        merged_calls,
        segments: calls,
        sizes: vec![(4, calls, calls * 100)],
        step_bytes: step_bytes.to_vec(),
        processes: 1,
        process: 4711,
        openings: 1,
        descriptor: 3,
        path: Some(path.to_owned()),
        ..Tally::default()
    }
}

fn finding(key: FindingKey, tally: Tally, saving_s: f64) -> Finding {
    Finding {
        pattern: pattern(&key, &tally),
        action: action(&key, &tally),
        key,
        tally,
        saving_s,
        saving_low_s: saving_s * 0.8,
        saving_high_s: saving_s * 1.25,
    }
}

/// The calls on a file; some are counted.
fn used(program: &str, calls: u64, counted: u64) -> DescriptorUse {
    DescriptorUse {
        program: program.to_owned(),
        kind: "file".to_owned(),
        operation: Operation::Write,
        path: Some("/etc/passwd".to_owned()),
        descriptor: 3,
        openings: 1,
        calls,
        bytes: 1000,
        counted,
        listed: 0,
        reason: None,
        reason_calls: 0,
        reason_before: None,
    }
}

/// A store that writes records in pieces, a script that logs lines, a parser that reads a little at
/// a time.
pub fn fixed() -> Advisory {
    let writes = FindingKind::AdjacentWrites;
    let mut records = key(writes, "store", DescriptorKind::File, &["write", "write"]);
    records.site = Some("/usr/bin/store(append+0x1c) [0x40123c]".to_owned());
    let mut lines = key(writes, "python3.11", DescriptorKind::Pipe, &["write"]);
    lines.grade = Grade::HarmlessBetween;
    let mut many = tally(1_234_567, 900, &[(5, 90)], "pipe:[4711]");
    many.files = ["pipe:[4711]", "pipe:[4712]"]
        .map(|path| FileCalls {
            path: Some(path.to_owned()),
            descriptor: 1,
            calls: 617_283,
            bytes: 61_728_300,
        })
        .to_vec();
    many.more_files = 338;
    many.sites = ["write_line+0x2", "write_end+0x9"]
        .map(|site| SiteCalls {
            site: site.to_owned(),
            calls: 617_283,
            bytes: 61_728_300,
        })
        .to_vec();
    many.processes = 12;
    many.openings = 340;
    let reads = key(FindingKind::SmallReads, "", DescriptorKind::File, &["read"]);
    let mut answers = key(writes, "server", DescriptorKind::Tcp, &["send", "send"]);
    answers.grade = Grade::Crossing;
    let peers = "127.0.0.1:80->127.0.0.1:5";
    let answers_tally = tally(5000, 2500, &[(20, 30), (400, 900)], peers);
    let log = "/var/lib/store/log";
    let few = "/home/somebody/with/a/long/path/of/many/folders/to/the/end.csv";
    let findings = vec![
        finding(
            records,
            tally(20_466, 10_233, &[(8, 8), (4096, 4096)], log),
            0.812,
        ),
        finding(lines, many, 0.388),
        finding(reads, tally(300, 1, &[(16, 16)], few), 0.09),
    ];
    Advisory {
        stalls: 0,
        stalled_s: 0.0,
        schema: ADVISORY_SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        host: host(),
        sources: vec!["store --all".to_owned()],
        is_command: true,
        watch: None,
        complete: true,
        failed: None,
        calls: 1_300_000,
        transfers: 1_260_333,
        bytes: 133 << 20,
        processes: 14,
        skipped: vec![Skipped {
            reason: "lists of segments were cut: trace again with -s1 -v".to_owned(),
            lines: 12,
            first_line: 1007,
            first_file: Some("store.log".to_owned()),
        }],
        prices: vec![
            price(DescriptorKind::File, Operation::Write, 312.0),
            price(DescriptorKind::File, Operation::Read, 280.0),
            price(DescriptorKind::Pipe, Operation::Write, 410.0),
            price(DescriptorKind::Tcp, Operation::Write, 5100.0),
        ],
        saving_s: findings.iter().map(|one| one.saving_s).sum(),
        saving_low_s: findings.iter().map(|one| one.saving_low_s).sum(),
        saving_high_s: findings.iter().map(|one| one.saving_high_s).sum(),
        findings,
        descriptors: vec![
            DescriptorUse {
                kind: "pipe".to_owned(),
                path: None,
                descriptor: 1,
                openings: 340,
                bytes: 123_456_789,
                listed: 30,
                reason: Some("poll between them".to_owned()),
                ..used("python3.11", 1_234_600, 1_234_567)
            },
            DescriptorUse {
                bytes: 41_998_000,
                path: Some(log.to_owned()),
                ..used("store", 20_466, 20_466)
            },
            DescriptorUse {
                operation: Operation::Read,
                reason: Some("no adjacent call to merge with".to_owned()),
                ..used("", 2, 0)
            },
        ],
        more_descriptors: 4,
        uncounted: vec![Uncounted {
            pattern: pattern(&answers, &answers_tally),
            key: answers,
            at_most_s: Some(0.12),
            reason: "poll between them".to_owned(),
            tally: answers_tally,
        }],
    }
}

fn nothing() -> Advisory {
    Advisory {
        stalls: 0,
        stalled_s: 0.0,
        findings: Vec::new(),
        uncounted: Vec::new(),
        descriptors: Vec::new(),
        skipped: Vec::new(),
        saving_s: 0.0,
        saving_low_s: 0.0,
        saving_high_s: 0.0,
        ..fixed()
    }
}

/// On a terminal of 80 columns.
pub(crate) fn table(advisory: &Advisory, top: usize) -> String {
    let options = TerminalOptions {
        width: 80,
        ..TerminalOptions::default()
    };
    terminal(&document(advisory, top), &options)
}

#[test]
fn the_table_of_a_fixed_advisory() {
    let text = table(&fixed(), TOP);
    insta::assert_snapshot!(text);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn the_lines_of_a_fixed_advisory() {
    insta::assert_snapshot!(csv_of(&[&fixed()]));
}

#[test]
fn the_page_of_a_fixed_advisory() {
    let page = vectored_report::html(&[document(&fixed(), TOP)]);
    assert!(!page.contains("<script"));
    insta::assert_snapshot!(&page[page.find("<body>").unwrap()..]);
}

/// A change of the fixed advisory, by its name.
type Case = (&'static str, fn(&mut Advisory));

/// The lines that each change of the fixed advisory brings into its table.
#[test]
fn what_is_said() {
    let cases: [&[Case]; 4] = [&ANSWERS, &SUMS, &LISTED, &OTHERS];
    let before = table(&fixed(), TOP);
    let mut said = String::new();
    for (name, change) in cases.concat() {
        let mut changed = fixed();
        change(&mut changed);
        let after = table(&changed, TOP);
        let new = after
            .lines()
            .filter(|line| before.lines().all(|known| known != *line));
        let new: Vec<&str> = new.collect();
        said += &format!("## {name}\n{}\n", new.join("\n"));
    }
    insta::assert_snapshot!(said);
}

fn none(advisory: &mut Advisory) {
    advisory.findings.clear();
    advisory.saving_s = 0.0;
    (advisory.saving_low_s, advisory.saving_high_s) = (0.0, 0.0);
}

const ANSWERS: [Case; 15] = [
    ("nothing to gain", |a| *a = nothing()),
    ("nothing but listed calls", none),
    ("nothing but listed calls that matter little", |a| {
        none(a);
        a.uncounted[0].at_most_s = Some(30e-6);
    }),
    ("nothing but listed calls that matter", |a| {
        none(a);
        a.uncounted[0].at_most_s = Some(3.8);
    }),
    ("no transfer", |a| {
        *a = nothing();
        a.transfers = 0;
    }),
    ("no transfer, and lines that could not be read", |a| {
        none(a);
        (a.transfers, a.uncounted) = (0, Vec::new());
    }),
    ("doubtful", |a| a.saving_low_s = -0.1),
    ("little", |a| {
        a.saving_s = 99e-6;
        a.uncounted.clear();
    }),
    ("little, and listed calls that matter", |a| {
        a.saving_s = 99e-6;
        a.uncounted[0].at_most_s = Some(9.0);
    }),
    ("listed calls that matter more", |a| {
        a.uncounted[0].at_most_s = Some(3.8);
    }),
    ("writes alone", |a| a.findings.truncate(1)),
    ("reads alone", |a| drop(a.findings.drain(..2))),
    ("calls that are copied are no fewer", |a| {
        a.findings.truncate(1);
        a.findings[0].tally.merged_calls = a.findings[0].tally.calls;
    }),
    ("a finding that costs", |a| {
        (a.findings[2].saving_s, a.findings[2].saving_low_s) = (-0.09, -0.1);
    }),
    ("all findings cost", |a| {
        a.findings.iter_mut().for_each(|one| one.saving_s = -1.0);
        a.uncounted.clear();
    }),
];

const SUMS: [Case; 9] = [
    ("a finding that hardly matters", |a| {
        a.findings[2].saving_s = 0.000_09;
    }),
    ("nothing but a finding that hardly matters", |a| {
        a.findings[2].saving_s = 0.000_09;
        a.findings.drain(..2);
    }),
    ("14 ms are more than 1 % of 1.29 s", |a| {
        a.findings[2].saving_s = 0.014;
    }),
    (
        "and less than 1 % of 3.29 s, where answers waited 2 s",
        |a| {
            (a.findings[2].saving_s, a.stalled_s) = (0.014, 2.0);
        },
    ),
    ("listed calls that hardly matter", |a| {
        a.uncounted[0].at_most_s = Some(0.001);
    }),
    ("30 times 2 ms", |a| more_listed(a, Some(0.002), 5000, 30)),
    ("30 times 0.2 s", |a| more_listed(a, Some(0.2), 5000, 30)),
    // Nothing is known of these but their number: 1.2 M others are counted.
    ("26 times few calls", |a| more_listed(a, None, 5000, 26)),
    ("26 times many calls", |a| more_listed(a, None, 50_000, 26)),
];

fn more_listed(advisory: &mut Advisory, most_s: Option<f64>, calls: u64, others: usize) {
    let mut other = advisory.uncounted[0].clone();
    (other.at_most_s, other.tally.calls) = (most_s, calls);
    advisory.uncounted[0].at_most_s = Some(1.0);
    advisory.uncounted.extend(vec![other; others]);
}

/// The first listed finding, for this reason, in a program of this runtime.
fn listed<'a>(advisory: &'a mut Advisory, runtime: Runtime, reason: &str) -> &'a mut Uncounted {
    let one = &mut advisory.uncounted[0];
    one.at_most_s = Some(3.8);
    one.reason = reason.to_owned();
    one.tally.runtime = Some(runtime);
    one
}

const LACK: &str = "the log has few kinds of calls: -e hides waits: trace again without -e";

const LISTED: [Case; 6] = [
    // The runtime of Go moves a goroutine from thread to thread.
    ("several writers in Go", |a| {
        let one = listed(
            a,
            Runtime::Go,
            "several threads or processes write to it: …",
        );
        one.tally.ends = vec![("close".to_owned(), 9), ("fsync".to_owned(), 25)];
    }),
    ("several readers in Go", |a| {
        let reason = "several threads or processes read the stream, or may";
        listed(a, Runtime::Go, reason).key.kind = FindingKind::SmallReads;
    }),
    ("reopened in bash", |a| {
        let reason = "the file is closed and opened again between them";
        listed(a, Runtime::Shell, reason).key.kind = FindingKind::AdjacentWrites;
    }),
    ("reopened in dash", |a| {
        let reason = "the file is closed and opened again between them";
        listed(a, Runtime::Shell, reason).key.program = "dash".to_owned();
    }),
    ("a lack of the log of a command", |a| {
        listed(a, Runtime::C, LACK);
    }),
    ("a lack of the log is said once", |a| {
        listed(a, Runtime::C, LACK);
        a.uncounted = vec![a.uncounted[0].clone(); 3];
        a.descriptors[0].reason = Some(LACK.to_owned());
        a.is_command = false;
    }),
];

const OTHERS: [Case; 9] = [
    ("a watch", |a| {
        a.watch = Some(Watched {
            wall_s: 20.0,
            cpu_s: 8.0,
            lost: 12_345,
        });
    }),
    ("a remedy is told once", |a| {
        a.findings[1] = a.findings[0].clone();
    }),
    ("a command that failed", |a| {
        a.failed = Some("exit status 2".to_owned());
    }),
    ("stalls", |a| stall(a, FindingKind::Stall, 2.26, true)),
    ("stalls of the peer", |a| {
        stall(a, FindingKind::PeerStall, 2.26, true);
    }),
    ("stalls of both", |a| {
        stall(a, FindingKind::Stall, 2.0, true);
        stall(a, FindingKind::PeerStall, 0.26, true);
    }),
    ("short stalls", |a| stall(a, FindingKind::Stall, 0.1, true)),
    ("possible stalls", |a| {
        stall(a, FindingKind::Stall, 2.26, false);
    }),
    ("short possible stalls", |a| {
        stall(a, FindingKind::PeerStall, 0.1, false);
    }),
];

/// Adds a stall, counted or listed, which waited for so long in all.
fn stall(advisory: &mut Advisory, kind: FindingKind, waited_s: f64, is_counted: bool) {
    let waited_ns = (waited_s * 1e9) as u64;
    let stall = StallTally {
        stalls: 47,
        waited_ns,
        lost_ns: waited_ns,
        serves: false,
    };
    let peers = "TCP:[127.0.0.1:5->127.0.0.1:80]";
    let tally = Tally {
        stall: Some(stall),
        ..tally(100, 50, &[(12, 12), (300, 300)], peers)
    };
    let key = key(kind, "python3", DescriptorKind::Tcp, &["sendto", "sendto"]);
    if is_counted {
        advisory.findings.push(finding(key, tally, waited_s));
        advisory.stalls += 47;
        advisory.stalled_s += waited_s;
    } else {
        advisory.uncounted.push(Uncounted {
            pattern: pattern(&key, &tally),
            reason: "TCP_NODELAY may be set".to_owned(),
            at_most_s: Some(waited_s),
            key,
            tally,
        });
    }
}

#[test]
fn of_many_findings_some_are_shown() {
    let text = table(&fixed(), 1);
    assert!(
        text.contains("2 more findings would save 478 ms in total."),
        "{text}"
    );
}

#[test]
fn an_advisory_comes_back_as_it_was_saved() {
    for advisory in [fixed(), nothing()] {
        assert_eq!(parse::<Advisory>(&json(&advisory)).unwrap(), advisory);
    }
}

#[test]
fn an_advisory_that_no_log_can_have_is_refused() {
    let good: Value = serde_json::from_str(&json(&fixed())).unwrap();
    for (place, value, word) in [
        ("/findings/0/grade", r#""crossing""#, "never counted"),
        ("/findings/0/saving_low_s", "9.0", "is not a number"),
        ("/findings/0/step_bytes", "[[1, 2]]", "has 2 steps"),
        ("/uncounted/0/step_bytes", "[[3, 2], [1, 1]]", "least"),
        ("/findings/0/sizes", "[[65, 1, 1]]", "classes of sizes"),
        ("/findings/0/sizes", "[[5, 1, 1], [4, 1, 1]]", "classes"),
        ("/saving_high_s", "0.0", "outside its interval"),
        ("/prices/0/call_low_ns", "1e9", "a price"),
        ("/saving_s", "null", "damaged results"),
    ] {
        let mut wrong = good.clone();
        *wrong.pointer_mut(place).unwrap() = serde_json::from_str(value).unwrap();
        let error = parse::<Advisory>(&wrong.to_string())
            .unwrap_err()
            .to_string();
        assert!(error.contains(word), "{place}: {error}");
    }
}

#[test]
fn every_text_of_advice_stays_text() {
    let count = texts_stay_text(&json(&fixed()), |text| {
        let found = parse::<Advisory>(text).ok()?;
        Some((document(&found, TOP), csv_of(&[&found])))
    });
    assert!(count > 10, "{count}");
}

proptest! {
    #[test]
    fn a_truncated_file_is_an_error_and_no_panic(share in 0.0..1.0f64) {
        let text = json(&fixed());
        prop_assert!(cut(&text, share).is_none_or(|cut| parse::<Advisory>(cut).is_err()));
    }

    #[test]
    fn a_hostile_file_is_an_error_or_shown_and_no_panic(changes in changes()) {
        if let Ok(found) = parse::<Advisory>(&changed(&json(&fixed()), &changes)) {
            vectored_report::html(&[document(&found, TOP), document(&found, TOP)]);
            table(&found, TOP);
            vectored_report::markdown(&document(&found, TOP));
            csv_of(&[&found, &found]);
        }
    }
}
