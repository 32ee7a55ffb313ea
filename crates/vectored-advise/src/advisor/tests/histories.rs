//! Processes that fork, run programs and pass descriptors on: the counts must add up.

use proptest::prelude::*;

use crate::advisor::merge;
use crate::advisor::tests::events::*;
use crate::advisor::tests::merging::{advised, saved_and_loaded};
use crate::model::{FindingKey, FindingKind, Tally};
use vectored_strace::event::{Action, Descriptor, Form, OpenFlags, SocketKind};

/// Texts that the log shows of a descriptor: mostly none.
fn shown(number: i32, text: u8) -> Descriptor<'static> {
    let text: Option<&'static [u8]> = match text {
        0 => Some(b"/a"),
        1 => Some(b"pipe:[7]"),
        2 => Some(b"socket:[9]"),
        3 => Some(b"TCP:[1.1.1.1:5->2.2.2.2:6]"),
        _ => None,
    };
    Descriptor {
        leads_to: text,
        ..fd(number)
    }
}

fn flags(append: bool, close_on_exec: bool, creates: bool) -> OpenFlags {
    let mut flags = OpenFlags::default();
    (flags.append, flags.close_on_exec, flags.creates) = (append, close_on_exec, creates);
    flags
}

fn any_call() -> impl Strategy<Value = Line> {
    let number = || -1_i32..7;
    let text = || prop_oneof![4 => Just(9_u8), 1 => 0_u8..4];
    let size = || prop_oneof![6 => Just(8_u64), 2 => Just(5000), 1 => Just(70_000)];
    let child = || 1_u32..5;
    let transfers = prop_oneof![
        8 => (number(), size(), text()).prop_map(|(number, bytes, text)| {
            write(number, bytes).but(|of| of.descriptor = shown(number, text))
        }),
        8 => (number(), size(), text()).prop_map(|(number, bytes, text)| {
            read(number, bytes).but(|of| of.descriptor = shown(number, text))
        }),
        2 => (number(), number(), text()).prop_map(|(from, to, text)| write(to, 9).but(|of| {
            of.from = Some(shown(from, text));
            of.form = Form::Opaque;
            of.segment_bytes = None;
        })),
        1 => number().prop_map(|number| write(number, 3).but(|of| of.addressed = true)),
        1 => number().prop_map(|number| read(number, 3).but(|of| of.addressed = true)),
        1 => number().prop_map(|number| writev(number, &[5, 6, 7])),
        1 => (number(), 0_u64..4).prop_map(|(number, at)| pwrite(number, 8, at * 8)),
        1 => (number(), 0_u64..4).prop_map(|(number, at)| pread(number, 8, at * 8)),
    ];
    let path = prop_oneof![Just("/a"), Just("/b"), Just("/dev/tty"), Just("/dev/fd/3")];
    let openings = prop_oneof![
        4 => (number(), path, text(), any::<(bool, bool, bool)>()).prop_map(
            |(number, path, text, (append, close, creates))| line("openat", Action::Open {
                descriptor: shown(number, text),
                path: path.as_bytes(),
                folder: None,
                flags: flags(append, close, creates),
            })),
        1 => (number(), number()).prop_map(|(read, write)| line("pipe2", Action::Pipe {
            read: shown(read, 1),
            write: shown(write, 1),
            packets: false,
            close_on_exec: false,
        })),
        1 => number().prop_map(|number| socket(number, SocketKind::UnixStream)),
        1 => number().prop_map(|number| socket(number, SocketKind::Datagram)),
        2 => (number(), number()).prop_map(|(from, to)| dup(from, to)),
        2 => number().prop_map(close),
        1 => (0_i32..5).prop_map(|first| line("close_range", Action::Close {
            first,
            last: first + 2,
            leads_to: None,
        })),
    ];
    let processes = prop_oneof![
        3 => child().prop_map(fork),
        1 => child().prop_map(thread),
        2 => Just(execve("/bin/one")),
        1 => Just(execve("/bin/other")),
        2 => Just(exit()),
        1 => Just(line("exit", Action::Exit { process_ended: false })),
        2 => child().prop_map(|child| line("wait4", Action::Wait { child })),
    ];
    let others = prop_oneof![
        2 => (number(), 0_u64..3).prop_map(|(number, at)| seek(number, at * 8)),
        1 => number().prop_map(fsync),
        1 => number().prop_map(map),
        1 => number().prop_map(|number| call_on("fstat", number)),
        1 => number().prop_map(|number| call_on("flock", number)),
        1 => Just(call("poll")),
        1 => Just(rename("/a", "/b")),
    ];
    let site = prop_oneof![3 => Just(None), 1 => Just(Some("one")), 1 => Just(Some("two"))];
    let what = prop_oneof![12 => transfers, 5 => openings, 4 => processes, 2 => others];
    (what, 1_u32..5, site).prop_map(|(line, thread, site)| match site {
        Some(site) => line.by(thread).at_site(site),
        None => line.by(thread),
    })
}

fn any_history() -> impl Strategy<Value = Vec<Line>> {
    let block = (prop::collection::vec(any_call(), 1..4), 1_usize..6);
    let repeat = |(lines, times): (Vec<Line>, usize)| vec![lines; times].concat();
    prop::collection::vec(block.prop_map(repeat), 0..24).prop_map(|blocks| blocks.concat())
}

/// The calls of a finding that move bytes.
fn transfers(key: &FindingKey, tally: &Tally) -> u64 {
    match key.kind {
        FindingKind::SeekThenTransfer => tally.merged_calls,
        _ => tally.calls,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_figures_of_any_history_add_up(lines in any_history()) {
        let moved = lines.iter().filter(|line| matches!(line.action, Action::Transfer(_))).count();
        let tallies = analysed(&lines);
        for one in tallies.uses.values() {
            prop_assert!(one.counted + one.listed <= one.calls, "{one:?}");
            prop_assert_eq!(one.reason.is_none(), one.counted == one.calls, "{:?}", one);
        }
        let uses = || tallies.uses.values();
        prop_assert!(uses().map(|one| one.calls).sum::<u64>() <= moved as u64);
        let counted: u64 = tallies.findings.iter().map(|(key, tally)| transfers(key, tally)).sum();
        let listed = tallies.uncounted.iter().map(|((key, _), tally)| transfers(key, tally));
        prop_assert_eq!(uses().map(|one| one.counted).sum::<u64>(), counted);
        prop_assert_eq!(uses().map(|one| one.listed).sum::<u64>(), listed.sum::<u64>());
        let listed = tallies.uncounted.iter().map(|((key, _), tally)| (key, tally));
        for (key, tally) in tallies.findings.iter().chain(listed) {
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
    fn histories_one_by_one_are_all_at_once(
        logs in prop::collection::vec(any_history(), 1..4),
    ) {
        let one_by_one: Vec<_> = logs
            .iter()
            .map(|log| saved_and_loaded(&advised(std::slice::from_ref(log))))
            .collect();
        let merged = merge(&one_by_one);
        prop_assert_eq!(saved_and_loaded(&merged), advised(&logs));
    }
}

/// Two processes make one run of reads, and the file is renamed before the run ends.
#[test]
fn a_run_is_listed_by_the_name_under_which_its_calls_are_counted() {
    let tallies = analysed(&[
        read(3, 8).but(|of| of.descriptor = shown(3, 0)).by(2),
        fork(3).by(2),
        read(3, 8).by(3),
        rename("/a", "/b").by(1),
    ]);
    let uses = tallies.uses.values();
    let counts: Vec<_> = uses.map(|one| (one.calls, one.listed)).collect();
    assert_eq!(counts, [(2, 2)]);
}

/// A stream is named by no path, even if a descriptor opened by its path has the same text as its name.
#[test]
fn a_stream_is_listed_under_one_name_if_it_is_also_opened_by_its_path() {
    let socket = |thread| write(3, 8).but(|of| of.descriptor = shown(3, 2)).by(thread);
    let tallies = analysed(&[
        socket(2),
        thread(1).by(2),
        socket(3),
        open_at(5, "/dev/fd/3"),
        fork(3),
        write(5, 8).by(3),
        exit().by(3),
    ]);
    let uses = tallies.uses.values();
    let counts: Vec<_> = uses.map(|one| (one.calls, one.listed)).collect();
    assert_eq!(counts, [(1, 0), (2, 2)]);
}

/// A process writes to a pipe and reads from it, so its writes are listed, until a child writes to the pipe.
#[test]
fn a_finding_whose_first_calls_were_listed_has_an_opening() {
    let own = write(4, 8).to("pipe:[7]");
    let lines = [own.clone(), own, fork(2), execve("/bin/one"), read(4, 8)];
    let child = [write(4, 8).by(2), write(4, 8).by(2)];
    let tallies = analysed(&[&lines[..], &child].concat());
    let found = tallies.findings.values();
    let counts: Vec<_> = found.map(|one| (one.calls, one.openings)).collect();
    assert_eq!(counts, [(2, 1)]);
}
