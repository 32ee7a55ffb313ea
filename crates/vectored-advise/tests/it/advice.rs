//! Reports of an advisory and of changes in it, and of hostile advisories.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;
use vectored_advise::advisor::wording::sentences::{action, pattern};
use vectored_advise::model::{
    Advisory, Finding, FindingKind, Runtime, Skipped, StallTally, Tally, Uncounted, Watched,
};
use vectored_advise::report::{TOP, document};
use vectored_machine::model::Host;
use vectored_report::{TerminalOptions, csv_of, json, parse, terminal};

use crate::damage::{changed, changes};
use crate::rows::{advised_log, prices, program};

/// Four programs: a store that writes records in pieces, a script that logs lines, a parser that reads a little at a
/// time, and a server that waits after each answer.
fn programs() -> String {
    let mut log = program(
        "/home/u/store",
        "openat(AT_FDCWD, \"/srv/log\", O_RDWR|O_CREAT|O_EXCL, 0666) = 3\n",
    );
    for _ in 0..2000 {
        for bytes in [8, 4096] {
            log += &format!(
                "write(3, \"x\", {bytes}) = {bytes}\n > /home/u/store(append+0x1c) [0x40123c]\n"
            );
        }
        log += "poll([{fd=9, events=POLLIN}], 1, -1) = 1 ([{fd=9, revents=POLLIN}])\n";
    }
    log += "9 execve(\"/usr/bin/python3.11\", [\"x\"], 0x7) = 0\n9 pipe2([4, 5], 0) = 0\n";
    for line in 0..1000 {
        let (bytes, site) = (5 + line % 86, ["write_line+0x2", "write_end+0x9"][line % 2]);
        log += &format!(
            "9 write(5, \"x\", {bytes}) = {bytes}\n > /srv/log.py({site}) [0x1]\n9 brk(NULL) = 0x55\n"
        );
    }
    let path = "/home/somebody/with/a/long/path/of/many/folders/to/the/end.csv";
    log += &format!("5 openat(AT_FDCWD, \"{path}\", O_RDONLY) = 3\n");
    log += &"5 read(3, \"x\", 16) = 16\n".repeat(300);
    log += "6 execve(\"/home/u/server\", [\"x\"], 0x7) = 0\n";
    for _ in 0..500 {
        for bytes in [20, 400] {
            log += &format!(
                "6 sendto(4<TCP:[127.0.0.1:80->127.0.0.1:5]>, \"x\", {bytes}, 0, NULL, 0) = {bytes}\n\
                 6 wait4(-1, 0, 0, NULL) = 9\n"
            );
        }
    }
    log
}

fn fixed() -> Advisory {
    static FIXED: LazyLock<Advisory> = LazyLock::new(any_advisory);
    FIXED.clone()
}

fn any_advisory() -> Advisory {
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
    Advisory {
        version: "0.1.0".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        host,
        sources: vec!["store --all".to_owned()],
        is_command: true,
        complete: true,
        skipped: vec![Skipped {
            reason: "lists of segments were cut: trace again with -s1 -v".to_owned(),
            lines: 12,
            first_line: 1007,
            first_file: Some("store.log".to_owned()),
        }],
        ..advised_log(&programs(), &prices(100_000.0))
    }
}

fn nothing() -> Advisory {
    let mut advisory = fixed();
    none(&mut advisory);
    advisory.uncounted.clear();
    advisory.skipped.clear();
    advisory
}

pub(crate) fn table(advisory: &Advisory, top: usize) -> String {
    let options = TerminalOptions {
        width: 80,
        ..TerminalOptions::default()
    };
    terminal(&document(advisory, top), &options)
}

#[test]
fn the_table_and_the_lines_of_a_fixed_advisory() {
    let fixed = fixed();
    insta::assert_snapshot!(format!("{}\n{}", table(&fixed, TOP), csv_of(&[&fixed])));
    assert!(table(&fixed, 1).contains("2 more findings would save "));
}

type Case = (&'static str, fn(&mut Advisory));

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
    ("4 ms are more than 1 % of 0.33 s", |a| {
        a.findings[2].saving_s = 0.004;
    }),
    (
        "and less than 1 % of 2.33 s, where answers waited 2 s",
        |a| {
            (a.findings[2].saving_s, a.stalled_s) = (0.004, 2.0);
        },
    ),
    ("listed calls that hardly matter", |a| {
        a.uncounted[0].at_most_s = Some(0.001);
    }),
    ("30 times 2 ms", |a| more_listed(a, Some(0.002), 5000, 30)),
    ("30 times 0.2 s", |a| more_listed(a, Some(0.2), 5000, 30)),
    // The time of the listed calls is unknown, so their number counts. The largest counted finding has 4,000 calls.
    ("26 times few calls", |a| more_listed(a, None, 30, 26)),
    ("26 times many calls", |a| more_listed(a, None, 300, 26)),
];

fn more_listed(advisory: &mut Advisory, most_s: Option<f64>, calls: u64, others: usize) {
    let mut other = advisory.uncounted[0].clone();
    (other.at_most_s, other.tally.calls) = (most_s, calls);
    advisory.uncounted[0].at_most_s = Some(1.0);
    advisory.uncounted.extend(vec![other; others]);
}

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
        a.is_command = false;
    }),
];

const OTHERS: [Case; 11] = [
    ("a watch", |a| {
        a.watch = Some(Watched {
            wall_s: 20.0,
            cpu_s: 8.0,
            lost: 12_345,
        });
    }),
    ("many processes, openings and files", |a| {
        let [one, other, third] = &mut a.findings[..] else {
            panic!("three findings");
        };
        (one.tally.processes, one.tally.openings) = (12, 34);
        other.tally.files.push(one.tally.files[0].clone());
        other.tally.more_files = 338;
        (third.tally.files, third.tally.openings) = (Vec::new(), 7);
    }),
    ("a second file", |a| {
        let other = a.findings[1].tally.files[0].clone();
        a.findings[0].tally.files.push(other);
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

/// Adds a stall, counted or listed. Its waits add up to `waited_s`.
fn stall(advisory: &mut Advisory, kind: FindingKind, waited_s: f64, is_counted: bool) {
    let waited_ns = (waited_s * 1e9) as u64;
    let Uncounted { key, tally, .. } = advisory.uncounted[0].clone();
    let mut key = key;
    (key.kind, key.program) = (kind, "python3".to_owned());
    let stall = StallTally {
        stalls: 47,
        waited_ns,
        lost_ns: waited_ns,
        serves: false,
    };
    let tally = Tally {
        stall: Some(stall),
        ..tally
    };
    let pattern = pattern(&key, &tally);
    if is_counted {
        advisory.findings.push(Finding {
            action: action(&key, &tally),
            pattern,
            key,
            tally,
            saving_s: waited_s,
            saving_low_s: waited_s * 0.8,
            saving_high_s: waited_s * 1.25,
        });
        advisory.stalls += 47;
        advisory.stalled_s += waited_s;
    } else {
        advisory.uncounted.push(Uncounted {
            reason: "TCP_NODELAY may be set".to_owned(),
            at_most_s: Some(waited_s),
            pattern,
            key,
            tally,
        });
    }
}

#[test]
fn an_advisory_that_no_log_can_have_is_refused() {
    let good: Value = serde_json::from_str(&json(&fixed())).unwrap();
    for (place, value, word) in [
        ("/findings/0/grade", r#""crossing""#, "never counted"),
        ("/findings/0/saving_low_s", "9.0", "outside its interval"),
        ("/findings/0/step_bytes", "[[1, 2]]", "as many steps"),
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

proptest! {
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
