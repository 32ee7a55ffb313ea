//! Several logs analysed at once, and one by one and then merged.

use proptest::prelude::*;
use vectored_machine::model::{DescriptorKind, Operation, Price};

use crate::advisor::findings::advise::About;
use crate::advisor::tests::events::*;
use crate::advisor::tests::logs::{log_of, tallies_of};
use crate::advisor::{Analysis, Options};
use crate::advisor::{advise, merge};
use crate::model::{Advisory, Finding, Skipped};
use vectored_strace::event::SocketKind;

pub(super) fn prices() -> Vec<Price> {
    let targets = [
        DescriptorKind::File,
        DescriptorKind::Pipe,
        DescriptorKind::Unix,
        DescriptorKind::Tcp,
    ];
    let both = |target| [Operation::Write, Operation::Read].map(|operation| (target, operation));
    let price = |(target, operation)| Price {
        target,
        operation,
        call_ns: 301.7,
        call_low_ns: 290.3,
        call_high_ns: 333.1,
        medium_call_ns: 301.7,
        answer_call_ns: 301.7,
        batch_byte_ns: 0.01,
        entry_ns: 90.1,
        seek_ns: 101.3,
        gather_call_ns: 60.1,
        segment_ns: 20.9,
        large_segment_ns: 61.3,
        iovec_step_ns: 100.7,
        copy_segment_ns: 3.7,
        copy_byte_ns: 0.041,
    };
    targets.into_iter().flat_map(both).map(price).collect()
}

fn preamble(program: &'static str) -> Vec<Line> {
    vec![
        execve(program),
        open(3),
        open(4),
        pipe(7, 5),
        socket(6, SocketKind::Tcp),
        fork(2),
    ]
}

pub(super) fn advised(logs: &[Vec<Line>]) -> Advisory {
    let mut analysis = Analysis::new(Options::default());
    for log in logs {
        analysis.begin_log();
        feed(&mut analysis, log);
    }
    let about = About {
        complete: true,
        skipped: vec![Skipped {
            reason: "no reason".to_owned(),
            lines: logs.len() as u64,
            first_line: 7,
            first_file: None,
        }],
        ..About::default()
    };
    advise(analysis.finish(), &prices(), about)
}

pub(super) fn saved_and_loaded(advisory: &Advisory) -> Advisory {
    let json = serde_json::to_string(advisory).unwrap();
    serde_json::from_str(&json).unwrap()
}

/// Any call of a program with two files, a pipe and a socket.
fn any_line() -> impl Strategy<Value = Line> {
    let number = || prop_oneof![3 => Just(3), 1 => Just(4), 1 => Just(5), 1 => Just(6)];
    let file = || prop_oneof![3 => Just(3), 1 => Just(4)];
    let size = || prop_oneof![6 => Just(8_u64), 2 => Just(5000), 1 => Just(70_000)];
    let what = prop_oneof![
        12 => (number(), size()).prop_map(|(number, bytes)| write(number, bytes)),
        6 => (file(), size()).prop_map(|(number, bytes)| read(number, bytes)),
        1 => (Just(6), size()).prop_map(|(number, bytes)| read(number, bytes)),
        1 => number().prop_map(|number| write(number, 8).but(|of| of.result = Ok(3))),
        1 => file().prop_map(|number| read_part(number, 8, 0)),
        1 => number().prop_map(|number| write(number, 8).but(|of| of.result = Err(b"EAGAIN"))),
        3 => (file(), 0_u64..4).prop_map(|(number, at)| pwrite(number, 8, at * 8)),
        2 => (file(), 0_u64..4).prop_map(|(number, at)| pread(number, 8, at * 8)),
        2 => number().prop_map(|number| writev(number, &[5, 6, 7])),
        1 => number().prop_map(|number| writev(number, &[5, 6000])),
        1 => number().prop_map(|number| writev(number, &[100; 1024])),
        4 => (file(), 0_u64..3).prop_map(|(number, at)| seek(number, at * 8)),
        1 => number().prop_map(fsync),
        1 => (file(), 0_u64..3).prop_map(|(number, at)| seek_end(number, at * 8)),
        1 => (file(), 0_u64..3).prop_map(|(number, at)| tell(number, at * 8)),
        1 => file().prop_map(|number| call_on("fstat", number)),
        1 => number().prop_map(|number| call_on("ioctl", number)),
        2 => Just(call("poll")),
        3 => Just(brk()),
    ];
    let thread = prop_oneof![19 => Just(1), 1 => Just(2)];
    let after_ns = prop_oneof![12 => Just(1000), 2 => Just(4_000_000), 1 => Just(20_000_000)];
    (what, thread, after_ns).prop_map(|(line, thread, after_ns)| line.by(thread).after(after_ns))
}

/// Lines, some of them several times, so that there are runs.
fn any_lines() -> impl Strategy<Value = Vec<Line>> {
    let block = (prop::collection::vec(any_line(), 1..4), 1_usize..6);
    let repeat = |(lines, times): (Vec<Line>, usize)| vec![lines; times].concat();
    prop::collection::vec(block.prop_map(repeat), 0..8).prop_map(|blocks| blocks.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn merging_gives_what_all_logs_at_once_give(
        logs in prop::collection::vec((any_lines(), any::<bool>()), 1..5),
        split in 0_usize..5,
    ) {
        let log = |(lines, first): (Vec<Line>, bool)| {
            [preamble(if first { "/bin/first" } else { "/bin/second" }), lines].concat()
        };
        let logs: Vec<Vec<Line>> = logs.into_iter().map(log).collect();
        let at_once = advised(&logs);
        let one_by_one: Vec<Advisory> = logs
            .iter()
            .map(|log| saved_and_loaded(&advised(std::slice::from_ref(log))))
            .collect();
        prop_assert_eq!(&saved_and_loaded(&merge(&one_by_one)), &at_once);
        // In two steps.
        let (some, others) = one_by_one.split_at(split.min(one_by_one.len()));
        let steps = [merge(some), merge(others)];
        let steps: Vec<Advisory> = steps.iter().map(saved_and_loaded).collect();
        let merged = merge(&steps);
        prop_assert_eq!(merged.findings, at_once.findings);
        prop_assert_eq!(merged.uncounted, at_once.uncounted);
        prop_assert_eq!(merged.saving_s, at_once.saving_s);
    }
}

#[test]
fn the_parts_of_a_log_are_one_finding() {
    let write = r#"write(3, "x"..., 20) = 20"#;
    let part = |name: &str| {
        let open =
            format!(r#"openat(AT_FDCWD</>, "/{name}", O_WRONLY|O_CREAT, 0666) = 3</{name}>"#);
        let shown = write.replace("3,", &format!("3</{name}>,"));
        let close = format!("close(3</{name}>) = 0");
        log_of(&[&open, &shown, &shown, &shown, &close])
    };
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
        let tallies = tallies_of(&names.map(part).concat());
        let advisory = advise(tallies, &prices(), About::default());
        let of = |finding: &Finding| {
            let tally = &finding.tally;
            let closes: u64 = tally
                .ends
                .iter()
                .filter(|end| end.0 == "close")
                .map(|end| end.1)
                .sum();
            (tally.calls, tally.processes, tally.files.len(), closes)
        };
        let mut found: Vec<_> = advisory.findings.iter().map(of).collect();
        found.sort();
        assert_eq!(found, expected, "{names:?}");
    }
}
