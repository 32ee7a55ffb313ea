//! Reports of fixed advisories, and of hostile ones.

use proptest::prelude::*;
use serde_json::Value;
use vectored_advise::advisor::wording::sentences::{action, pattern};
use vectored_advise::model::{
    ADVISORY_SCHEMA, Advisory, DescriptorUse, FileCalls, Finding, FindingKey, FindingKind, Grade,
    Runtime, SiteCalls, Skipped, StallTally, Step, Tally, Uncounted, Watched,
};
use vectored_advise::report::{TOP, answer, document};
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

fn markdown(advisory: &Advisory) -> String {
    vectored_report::markdown(&document(advisory, TOP))
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
fn a_watch_has_true_times_and_says_what_was_lost() {
    let mut watched = fixed();
    watched.watch = Some(Watched {
        wall_s: 20.0,
        cpu_s: 8.0,
        lost: 12_345,
    });
    let text = markdown(&watched);
    assert!(!text.contains("slows each call") && !text.contains("inflates the times"));
    assert!(
        text.contains("12,345 calls were lost, since they came faster than they were read."),
        "{text}"
    );
    let share = 100.0 * watched.saving_s / 20.0;
    let told = format!("The saving is {share:.1} % of the 20.0 s of the watch, and ");
    assert!(text.contains(&told), "{text}");
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

#[test]
fn where_there_is_nothing_to_gain_it_says_so() {
    let begins = |advisory: &Advisory, begin: &str| {
        let answer = answer(advisory);
        assert!(answer.starts_with(begin), "{answer}");
    };
    let mut none = nothing();
    begins(&none, "Nothing to gain: none of 1,260,333 calls");
    insta::assert_snapshot!(table(&none, TOP));
    none.uncounted = fixed().uncounted;
    begins(&none, "No certain saving, but the 5000 calls");
    none.uncounted
        .iter_mut()
        .for_each(|one| one.at_most_s = Some(30e-6));
    begins(&none, "No certain saving: of 1,260,333 calls");
    none.transfers = 0;
    begins(&none, "Nothing to gain: the log has no call");
    let mut doubtful = fixed();
    doubtful.saving_low_s = -0.1;
    begins(
        &doubtful,
        "No certain saving: merging calls would save 1.29 s [-0.10, ",
    );
    let mut little = fixed();
    little.saving_s = 99e-6;
    little.uncounted.clear();
    begins(
        &little,
        "Little to gain: merging calls would save 99.0 µs [",
    );
    little.uncounted = fixed().uncounted;
    little.uncounted[0].at_most_s = Some(9.0);
    begins(
        &little,
        "Little to gain for certain (99.0 µs), but the 5000 calls that are listed and not counted would save at most 9.00 s.",
    );
    begins(&fixed(), "Merging calls would save 1.29 s [1.03, 1.61]: ");
    let mut writes = fixed();
    writes.findings.truncate(1);
    begins(&writes, "Gathering would save ");
    let mut reads = fixed();
    reads.findings.drain(..2);
    begins(&reads, "Reading more at once would save ");
}

#[test]
fn what_is_not_shown_is_summed_up() {
    let text = table(&fixed(), 1);
    assert!(
        text.contains("2 more findings would save 478 ms in total."),
        "{text}"
    );
}

#[test]
fn what_hardly_matters_is_summed_up() {
    let mut some = fixed();
    some.findings[2].saving_s = 0.000_09;
    let text = table(&some, TOP);
    assert!(
        text.contains("\n1 more finding would save 90.0 µs."),
        "{text}"
    );
    some.findings.drain(..2);
    assert!(table(&some, TOP).contains("saves 90.0 µs"));
    // 14 ms are more than 1 % of 1.29 s, and less than 1 % of 3.29 s, where answers waited 2 s.
    let mut waiting = fixed();
    waiting.findings[2].saving_s = 0.014;
    assert!(!table(&waiting, TOP).contains("more finding"));
    waiting.stalled_s = 2.0;
    assert!(table(&waiting, TOP).contains("\n1 more finding would save 14.0 ms."));
}

#[test]
fn listed_calls_that_hardly_matter_are_summed_up() {
    let mut advisory = fixed();
    let only = advisory.uncounted[0].clone();
    // Of all savings.
    advisory.uncounted[0].at_most_s = Some(0.001);
    assert!(table(&advisory, TOP).contains("\nNot counted: 1 small finding, see the JSON."));
    for (most_s, calls, others, more) in [
        (Some(0.002), 5000, 30, 30),
        (Some(0.2), 5000, 30, 26),
        // Nothing is known of these but their number: 1.2 M others are counted.
        (None, 5000, 26, 26),
        (None, 50_000, 26, 22),
    ] {
        let mut other = only.clone();
        (other.at_most_s, other.tally.calls) = (most_s, calls);
        advisory.uncounted = vec![only.clone()];
        advisory.uncounted[0].at_most_s = Some(1.0);
        advisory.uncounted.extend(vec![other; others]);
        let text = table(&advisory, TOP);
        let said = format!("\n{more} smaller ones: see the JSON.");
        assert!(text.contains(&said), "{most_s:?} {calls} {text}");
        assert_eq!(
            text.matches("poll between them").count(),
            2 + others - more,
            "{text}"
        );
    }
}

#[test]
fn a_remedy_is_told_once_and_referred_to() {
    let mut advisory = fixed();
    advisory.findings.truncate(2);
    assert!(!table(&advisory, TOP).contains("How: "));
    advisory.findings[1] = advisory.findings[0].clone();
    let text = table(&advisory, TOP);
    assert_eq!(text.matches("How: as in finding 1.").count(), 1, "{text}");
}

#[test]
fn what_the_log_lacks_is_said_once() {
    let mut advisory = fixed();
    let lack = "the log has few kinds of calls: -e hides waits: trace again without -e";
    advisory.uncounted[0].reason = lack.to_owned();
    advisory.uncounted[0].at_most_s = Some(1.0);
    advisory.uncounted = vec![advisory.uncounted[0].clone(); 3];
    advisory.descriptors[0].reason = Some(lack.to_owned());
    assert!(advisory.is_command && !table(&advisory, TOP).contains("To trace again"));
    advisory.is_command = false;
    let text = table(&advisory, TOP);
    let times = |words: &str| text.matches(words).count();
    assert_eq!(
        (
            times("few kinds"),
            times("-e hides"),
            times("To trace again")
        ),
        (1 + 3 + 1, 1, 1),
        "{text}"
    );
}

#[test]
fn what_would_cost_is_no_part_of_the_answer() {
    let mut advisory = fixed();
    advisory.findings[2].saving_s = -0.09;
    advisory.findings[2].saving_low_s = -0.1;
    let text = table(&advisory, TOP);
    // All calls of the others, and none of its 300.
    assert!(text.contains("instead of 1,255,033."), "{text}");
    assert!(!text.contains("more finding"), "{text}");
    for finding in &mut advisory.findings {
        finding.saving_s = -1.0;
    }
    advisory.uncounted.clear();
    let text = table(&advisory, TOP);
    assert!(
        text.contains("\n\nNothing to gain: of 1,260,333 calls"),
        "{text}"
    );
}

#[test]
fn what_is_listed_and_matters_more_is_in_the_answer() {
    let mut advisory = fixed();
    let listed = "the 5000 calls that are listed and not counted would save at most 3.80 s.";
    assert!(!answer(&advisory).contains("at most"));
    advisory.uncounted[0].at_most_s = Some(3.8);
    let text = answer(&advisory);
    assert!(text.ends_with(&format!(" Besides, {listed}")), "{text}");
    advisory.findings.clear();
    (
        advisory.saving_s,
        advisory.saving_low_s,
        advisory.saving_high_s,
    ) = (0.0, 0.0, 0.0);
    let text = answer(&advisory);
    assert_eq!(text, format!("No certain saving, but {listed}"));
    // The runtime of Go moves a goroutine from thread to thread.
    advisory.uncounted[0].reason = "several threads or processes write to it: …".to_owned();
    advisory.uncounted[0].tally.runtime = Some(Runtime::Go);
    advisory.uncounted[0].tally.ends = vec![("close".to_owned(), 9), ("fsync".to_owned(), 25)];
    let text = markdown(&advisory);
    let flushed = "before it waits, before fsync (25 times), each close of the descriptor (9 times), and on every way out, saves at most 3.80 s";
    assert!(text.contains(flushed), "{text}");
    advisory.uncounted[0].key.kind = FindingKind::SmallReads;
    advisory.uncounted[0].reason =
        "several threads or processes read the stream, or may".to_owned();
    let text = markdown(&advisory);
    let reads = "if no other process and one goroutine reads it, bufio.NewReaderSize(file, 65536) saves at most";
    assert!(text.contains(reads), "{text}");
    advisory.uncounted[0].key.kind = FindingKind::AdjacentWrites;
    advisory.uncounted[0].reason = "the file is closed and opened again between them".to_owned();
    advisory.uncounted[0].tally.runtime = Some(Runtime::Shell);
    let text = markdown(&advisory);
    let remedy = r"between them (bash: \`exec {log}>>file\` once, and \`>&$log\`, not \`>> file\`; another name than log for another file; or \`exec 7>>file\` once";
    assert!(text.contains(remedy), "{text}");
    let first = "; open it where the program first opens it: earlier, that would create the file)";
    assert!(text.contains(first), "{text}");
    advisory.uncounted[0].key.program = "dash".to_owned();
    assert!(!markdown(&advisory).contains("bash"));
    // A call that could not be read may move bytes.
    (advisory.transfers, advisory.uncounted) = (0, Vec::new());
    let unread =
        "Nothing is known: 12 lines of the log could not be read, and no other call moves bytes.";
    assert_eq!(answer(&advisory), unread);
    advisory.skipped.clear();
    assert_eq!(
        answer(&advisory),
        "Nothing to gain: the log has no call that moves bytes."
    );
}

/// A finding of a stall, which waited for so long in all.
fn stall(kind: FindingKind, waited_s: f64) -> (FindingKey, Tally) {
    let stall = StallTally {
        stalls: 47,
        waited_ns: (waited_s * 1e9) as u64,
        lost_ns: (waited_s * 1e9) as u64,
        serves: false,
    };
    let tally = Tally {
        stall: Some(stall),
        ..tally(
            100,
            50,
            &[(12, 12), (300, 300)],
            "TCP:[127.0.0.1:5->127.0.0.1:80]",
        )
    };
    (
        key(kind, "python3", DescriptorKind::Tcp, &["sendto", "sendto"]),
        tally,
    )
}

#[test]
fn the_first_sentence_is_the_largest_saving_of_any_kind() {
    let with = |kind, stalled_s: f64, is_counted: bool| {
        let (mut all, (key, tally)) = (fixed(), stall(kind, stalled_s));
        if is_counted {
            all.findings.push(finding(key, tally, stalled_s));
            (all.stalls, all.stalled_s) = (47, stalled_s);
        } else {
            let pattern = pattern(&key, &tally);
            let (reason, at_most_s) = ("TCP_NODELAY may be set".to_owned(), Some(stalled_s));
            all.uncounted.push(Uncounted {
                key,
                reason,
                tally,
                pattern,
                at_most_s,
            });
        }
        answer(&all)
    };
    let own = "One write for each message over TCP, or TCP_NODELAY, would save 2.26 s: \
               47 answers waited for a delayed acknowledgement, since the message before each was written in parts.";
    assert_eq!(with(FindingKind::Stall, 2.26, true), own);
    let of_peer = "One write for each answer by the end of TCP that sends it, or TCP_NODELAY there, would save 2.26 s: ";
    assert!(with(FindingKind::PeerStall, 2.26, true).starts_with(of_peer));
    let mut both = fixed();
    for (kind, stalled_s) in [(FindingKind::Stall, 2.0), (FindingKind::PeerStall, 0.26)] {
        let (key, tally) = stall(kind, stalled_s);
        both.findings.push(finding(key, tally, stalled_s));
    }
    (both.stalls, both.stalled_s) = (94, 2.26);
    let of_both = "One write for each message over TCP, at both ends, or TCP_NODELAY there, would save 2.26 s: \
                   94 answers waited for a delayed acknowledgement, since each came in parts, or the message \
                   before it was written in parts.";
    assert_eq!(answer(&both), of_both);
    // A smaller one is not said in the same breath.
    for kind in [FindingKind::Stall, FindingKind::PeerStall] {
        assert_eq!(with(kind, 0.1, true), answer(&fixed()));
        assert_eq!(with(kind, 0.1, false), answer(&fixed()));
    }
    let besides = " Besides, 47 answers over TCP may have waited for a delayed acknowledgement, 2.26 s at most.";
    let text = with(FindingKind::Stall, 2.26, false);
    assert!(
        text.starts_with("Merging calls would save 1.29 s") && text.ends_with(besides),
        "{text}"
    );
}

#[test]
fn a_command_that_failed_is_said_to_have() {
    let failed = Advisory {
        failed: Some("exit status 2".to_owned()),
        ..fixed()
    };
    let text =
        "\n\nThe command failed: exit status 2. The figures are of what it did before.\nMerging";
    assert!(
        table(&failed, TOP).contains(text),
        "{}",
        table(&failed, TOP)
    );
    assert!(!table(&fixed(), TOP).contains("failed"));
}

#[test]
fn calls_that_are_copied_are_no_fewer() {
    let mut advisory = fixed();
    advisory.findings.truncate(1);
    advisory.findings[0].tally.merged_calls = advisory.findings[0].tally.calls;
    let text = answer(&advisory);
    assert!(text.ends_with("1.29 s [1.03, 1.61]."), "{text}");
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
            markdown(&found);
            csv_of(&[&found, &found]);
        }
    }
}
