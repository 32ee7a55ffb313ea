//! The figures of any log add up. Merging the advice from single logs gives the advice from all logs at once.

use std::fmt::Write as _;
use std::ops::Range;

use proptest::prelude::*;
use vectored_machine::model::{DescriptorKind, Operation, Price};

use crate::advisor::findings::price::transfers;
use crate::advisor::tests::logs::{follow, log_in_short, read_with, tallies_of, whole};
use crate::advisor::{Analysis, advise, merge};
use crate::model::{Advisory, Finding, Skipped, Tally};

/// Transfers, some of them contradictory. Most descriptors are bare numbers: the log does not show their files.
const TRANSFERS: &str = concat!(
    r#"(write|read)\((3|4|5|6|3</srv/a>|4</srv/b>|5<pipe:\[7\]>|6<TCP:\[1\.1\.1\.1:5->2\.2\.2\.2:6\]>), "x"\.\.\., (8|5000|70000)\) = (8|8|5000|70000|0|-1 EAGAIN \(x\))"#,
    r#"|p(write|read)64\((3|4|3</srv/a>), "x"\.\.\., 8, (8|16|24|32)\) = 8"#,
    r#"|writev\([3-6], \[\{iov_base="x", iov_len=5\}, \{iov_base="x", iov_len=(6|6000)\}\], 2\) = (11|6005)"#,
    r#"|(sendto|recvfrom)\((5|6|5<socket:\[9\]>), "x", 3, 0, \{sa_family=AF_UNIX\}, 16\) = 3"#,
    r#"|sendfile\([3-6], [3-6], NULL, 9\) = 9"#,
);

const OTHERS: &str = concat!(
    r#"lseek\([34], (0|8|16), SEEK_(SET|CUR|END)\) = (0|8|16)"#,
    r#"|openat\(AT_FDCWD, "(/srv/a|/srv/b|/dev/tty|/dev/fd/3)", O_RDWR(\|O_APPEND|\|O_SYNC|\|O_CLOEXEC|\|O_CREAT)\) = [3-6]"#,
    r#"|openat\(AT_FDCWD, "/srv/a", O_RDONLY\) = (3</srv/a>|4</srv/b>|5<pipe:\[7\]>)"#,
    r#"|pipe2\(\[[34], [56]\], 0\) = 0"#,
    r#"|socket\(AF_(UNIX|INET), SOCK_(STREAM|DGRAM), 0\) = [3-6]"#,
    r#"|(fstat|flock|fsync|close)\([3-6]\) = 0"#,
    r#"|dup2\([3-6], [3-6]\) = [3-6]"#,
    r#"|close_range\(3, 5, 0\) = 0"#,
    r#"|mmap\(NULL, 9, PROT_READ, MAP_SHARED, [34], 0\) = 0x7f00"#,
    r#"|rename\("/srv/a", "/srv/b"\) = 0"#,
    r#"|clone\(flags=(SIGCHLD|CLONE_FILES\|CLONE_THREAD)\) = 965[7-9]"#,
    r#"|execve\("/bin/(one|other)", \["x"\], 0x7f\) = 0"#,
    r#"|wait4\(-1, NULL, 0, NULL\) = 965[7-9]"#,
    r#"|exit(_group)?\(0\) = \?"#,
    r#"|\+\+\+ exited with 0 \+\+\+"#,
    r#"|poll\(\[\{fd=9, events=POLLIN\}\], 1, -1\) = 1"#,
    r#"|brk\(NULL\) = 0x55"#,
);

/// A log of calls. Some calls come several times, so that there are runs, and some calls have a call site.
fn any_log() -> impl Strategy<Value = String> {
    let call = (
        prop_oneof![2 => TRANSFERS, 1 => OTHERS],
        9657..9660,
        1..4_000_u64,
    );
    let site = prop_oneof![3 => Just(""), 1 => Just(" > /bin/one(f+0x1) [0x1]\n"), 1 => Just(" > /bin/one(g+0x1) [0x2]\n")];
    let block = (prop::collection::vec((call, site), 1..4), 1..6_usize);
    prop::collection::vec(block, 0..16).prop_map(|blocks| {
        let (mut log, mut now_us) = (String::new(), 0);
        for ((call, thread, step_us), site) in blocks.iter().flat_map(|(calls, times)| {
            let calls = std::iter::repeat_n(calls, *times);
            calls.flatten()
        }) {
            now_us += step_us;
            let (took, site) =
                if call.starts_with('+') { ("", "") } else { (" <0.000005>", *site) };
            writeln!(log, "{thread}  1795312736.{now_us:06} {call}{took}").unwrap();
            log += site;
        }
        log
    })
}

fn prices() -> Vec<Price> {
    use DescriptorKind::{File, Pipe, Tcp, Unix};
    let both = |target| [Operation::Write, Operation::Read].map(|operation| (target, operation));
    let price = |(target, operation)| Price {
        target,
        operation,
        call_ns: 301.7,
        call_low_ns: 290.3,
        call_high_ns: 333.1,
        medium_call_ns: 301.7,
        answer_call_ns: 301.7,
        segment_ns: 20.9,
        large_segment_ns: 61.3,
        copy_segment_ns: 3.7,
        copy_byte_ns: 0.041,
        ..Price::default()
    };
    [File, Pipe, Unix, Tcp]
        .into_iter()
        .flat_map(both)
        .map(price)
        .collect()
}

fn advised(logs: &[String]) -> Advisory {
    let mut analysis = Analysis::new(whole());
    for log in logs {
        analysis.begin_log();
        follow(&mut analysis, log);
    }
    let about = Advisory {
        complete: true,
        skipped: vec![Skipped {
            reason: "no reason".to_owned(),
            lines: logs.len() as u64,
            first_line: 7,
            first_file: None,
        }],
        ..Advisory::default()
    };
    advise(analysis.finish(), &prices(), about)
}

fn saved_and_loaded(advisory: &Advisory) -> Advisory {
    let json = serde_json::to_string(advisory).unwrap();
    serde_json::from_str(&json).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_figures_of_any_log_add_up(log in any_log()) {
        let tallies = read_with(&log, whole());
        // Each call is in one finding at most.
        let all = || tallies.counted().chain(tallies.listed());
        let calls: u64 = all().map(|(key, tally)| transfers(key, tally)).sum();
        prop_assert!(calls <= tallies.transfers);
        for (key, tally) in all().filter(|(key, _)| !key.kind.is_stall()) {
            prop_assert!(tally.merged_calls <= tally.calls, "{key:?} {tally:?}");
            prop_assert_eq!(tally.sizes.iter().map(|size| size.1).sum::<u64>(), tally.segments);
            prop_assert!(tally.sizes.iter().map(|size| size.2).sum::<u64>() <= tally.bytes);
            prop_assert!(tally.processes > 0 && tally.openings > 0, "{key:?} {tally:?}");
            prop_assert_eq!(tally.files.iter().map(|file| file.calls).sum::<u64>(), tally.calls);
            prop_assert_eq!(tally.files.iter().map(|file| file.bytes).sum::<u64>(), tally.bytes);
            let of_sites: u64 = tally.sites.iter().map(|site| site.calls).sum();
            prop_assert!(of_sites <= transfers(key, tally), "{key:?} {tally:?}");
        }
    }

    #[test]
    fn logs_one_by_one_are_all_at_once(
        logs in prop::collection::vec(any_log(), 1..5),
        split in 0_usize..5,
    ) {
        let at_once = saved_and_loaded(&advised(&logs));
        let one_by_one: Vec<Advisory> = logs
            .iter()
            .map(|log| saved_and_loaded(&advised(std::slice::from_ref(log))))
            .collect();
        prop_assert_eq!(&saved_and_loaded(&merge(&one_by_one)), &at_once);
        // The advice is merged in two steps.
        let (some, others) = one_by_one.split_at(split.min(one_by_one.len()));
        let merged = merge(&[merge(some), merge(others)].map(|step| saved_and_loaded(&step)));
        prop_assert_eq!(merged.findings, at_once.findings);
        prop_assert_eq!(merged.uncounted, at_once.uncounted);
        prop_assert_eq!(merged.saving_s, at_once.saving_s);
    }
}

#[test]
fn the_parts_of_a_log_are_one_finding() {
    let part = |name: &str| format!("open 3 /{name}; 3 × write 3 20; close 3");
    for (names, expected) in [
        (
            ["app.8.log", "app.9.log", "app.10.log"],
            &[(9, 1, 3, 3)][..],
        ),
        (
            ["app.log", "app.log.1", "other.log"],
            &[(3, 1, 1, 1), (6, 1, 2, 2)],
        ),
    ] {
        let tallies = tallies_of(&names.map(part).join("; "));
        let advisory = advise(tallies, &prices(), Advisory::default());
        let of = |Finding { tally, .. }: &Finding| {
            let ends = tally.ends.iter().find(|end| end.0 == "close");
            let closes = ends.map_or(0, |end| end.1);
            (tally.calls, tally.processes, tally.files.len(), closes)
        };
        let mut found: Vec<_> = advisory.findings.iter().map(of).collect();
        found.sort();
        assert_eq!(found, expected, "{names:?}");
    }
}

#[test]
fn many_files_of_several_logs_are_one_finding() {
    let part = |name: char| format!("open 3 /{name}; 3 × write 3 20; close 3");
    for (logs, expected) in [
        (['a'..'f', 'f'..'k'], 1),
        (['a'..'j', 'j'..'k'], 1),
        (['a'..'e', 'e'..'i'], 8),
    ] {
        let log =
            |names: Range<char>| log_in_short(&names.map(part).collect::<Vec<_>>().join("; "));
        assert_eq!(advised(&logs.map(log)).findings.len(), expected);
    }
}

/// A log with as many patterns as are counted separately.
#[test]
fn a_file_without_a_place_of_its_own_counts_no_file_again() {
    let part = |name: &str| format!("open 3 /{name}; 3 × write 3 20; close 3");
    let others = (0..2048).map(|number| format!("exec /bin/p{number}; {}", part("o")));
    let others: Vec<String> = others.collect();
    let calls = [
        &format!("exec /bin/a; {}", part("a")),
        &*others.join("; "),
        "exec /bin/a",
        &*vec![part("b"); 20].join("; "),
    ];
    let tallies = tallies_of(&calls.join("; "));
    let found = tallies.counted().filter(|(key, _)| key.program == "a");
    let found: Vec<_> = found
        .map(|(key, tally)| (key.file.as_deref(), tally.calls))
        .collect();
    assert_eq!(found, [(Some("/a"), 3)]);
}

/// If a finding has many files, it names the files with the most calls.
#[test]
fn processes_openings_and_files_are_counted() {
    let of = |by: &str, path| format!("{by}open 3 {path}; 2 × {by}write 3 8; {by}close 3");
    let calls = ["fork 2", &of("", "/b"), &of("2: ", "/a"), &of("2: ", "/b")].join("; ");
    let counts = |tally: &Tally| (tally.runs, tally.processes, tally.openings, tally.process);
    let tallies = tallies_of(&calls);
    let found = tallies.counted();
    let found: Vec<_> = found
        .map(|(key, tally)| (key.file.clone().unwrap(), counts(tally)))
        .collect();
    let [a, b] = ["/a", "/b"].map(str::to_owned);
    assert_eq!(found, [(a, (1, 1, 1, 2)), (b, (2, 2, 2, 1))]);
    let file = |index: usize| {
        let calls = if index == 13 { 50 } else { 2 };
        format!("open 3 /p{index:02}; {calls} × write 3 8; close 3")
    };
    let all = |count: usize| tallies_of(&(0..count).map(file).collect::<Vec<_>>().join("; "));
    assert_eq!(all(8).found.len(), 8);
    let found: Vec<_> = all(20).found.into_values().collect();
    let [tally] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((tally.calls, tally.processes, tally.openings), (88, 1, 20));
    assert_eq!(
        (tally.path.as_deref(), tally.files[0].calls),
        (Some("/p13"), 50)
    );
    assert_eq!((tally.files.len(), tally.more_files), (16, 4));
    // The finding names the descriptor of the writes, not the descriptor of the open.
    let moved = tallies_of(
        "O; dup2(3</tmp/f>, 1</dev/pts/0>) = 1</tmp/f>; close(3</tmp/f>) = 0; 2 × write(1</tmp/f>, \"x\", 20) = 20",
    );
    let tally = moved.found.into_values().next().unwrap();
    assert_eq!((tally.descriptor, tally.processes), (1, 1));
}
