//! A model tests the advice: random programs run on a small kernel, as they are and with the printed remedy of each
//! counted finding. What any process sees may not differ.
//!
//! `VECTORED_SIMULATIONS=200000 cargo test --release -p vectored-advise model -- --nocapture`.

mod calls;
mod fix;
mod kernel;
mod program;
mod run;

use std::cell::RefCell;
use std::collections::BTreeMap;

use fix::{BUFFER_BYTES, Fix};
use program::{Op, Step, any_program};
use run::{Outcome, run};

use crate::advisor::Analysis;
use crate::advisor::findings::tallies::Tallies;
use crate::advisor::options::{Options, Seen};
use vectored_strace::Reader;

/// A counted finding whose remedy changes what a process sees.
#[derive(Clone, Debug)]
struct Fault {
    kind: String,
    text: String,
    what: String,
}

thread_local! {
    static NAMES: RefCell<Vec<(u8, usize)>> = const { RefCell::new(Vec::new()) };
}

/// What is at a path of this machine, at the time of the event.
fn look(path: &[u8]) -> Option<Seen> {
    let of_name = |&(name, file): &(u8, usize)| {
        (kernel::path_of(name).as_bytes() == path).then_some(file as u64)
    };
    let is_fifo = path == kernel::path_of(kernel::FIFO).as_bytes();
    let of_others =
        if is_fifo { Some(FIFO_INODE) } else { (path == b"/d").then_some(FOLDER_INODE) };
    let known = NAMES.with_borrow(|names| names.iter().find_map(of_name));
    let inode = (1, known.or(of_others)?);
    Some(Seen { inode, is_fifo })
}

const FIFO_INODE: u64 = 1000;
const FOLDER_INODE: u64 = 1001;

/// The tallies of a log. If the program uses names from before the log began, the analysis looks at paths with [`look`], as on
/// the machine that has the files.
fn tallies_of(program: &[Step], outcome: &Outcome) -> Tallies {
    let is_old = |name: u8| (kernel::HARD_LINK..=kernel::FIFO).contains(&name);
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        buffer_bytes: BUFFER_BYTES as u64,
        look: program.iter().any(|step| is_old(step.name)).then_some(look),
        ..Options::default()
    });
    analysis.begin_log();
    let mut reader = Reader::new(outcome.log.as_bytes());
    for names in &outcome.names {
        NAMES.replace(names.clone());
        if let Some(event) = reader.next().unwrap() {
            analysis.follow(&event);
        }
    }
    assert!(reader.counts().skipped().is_empty(), "{}", outcome.log);
    analysis.finish()
}

/// The most orders of the steps that are tried. A remedy may change the order in which the steps end. The program is
/// then run in the new order, with and without the remedy, and these two runs are compared: the first order was an
/// accident, so a difference from it is no fault.
const ORDERS: usize = 4;

/// The findings of a program, and the faults of those that are counted.
fn check(program: &[Step]) -> (Tallies, Vec<Fault>) {
    let all: Vec<usize> = (0..program.len()).collect();
    let first = run(program, &all, None);
    let tallies = tallies_of(program, &first);
    let faults = tallies.findings.iter().filter_map(|(key, tally)| {
        let mut fixes = Fix::all_of(key, tally, program, &first).into_iter();
        fixes.find_map(|fix| {
            let members = tally
                .members
                .0
                .iter()
                .flatten()
                .map(|begin| first.begins[begin]);
            let bytes = members
                .map(|step| fix::bytes_of(program, &first, step))
                .sum();
            let what = if fix.adds_up(key, tally, bytes) {
                difference(program, &first.order, &fix)?
            } else {
                format!("the figures do not add up: {tally:?}")
            };
            let kind = format!("{:?} {:?} {:?}", key.kind, key.target, fix.how);
            Some(Fault {
                kind,
                text: fix.text,
                what,
            })
        })
    });
    let faults = faults.collect();
    (tallies, faults)
}

fn difference(program: &[Step], order: &[usize], fix: &Fix) -> Option<String> {
    let mut order = order.to_vec();
    for round in 0..ORDERS {
        let before = run(program, &order, None);
        let after = run(program, &order, Some((fix, &before)));
        // The steps end in this order without the remedy. With the remedy, some of their threads wait for ever.
        let waits = round > 0 && !after.stuck.is_subset(&before.stuck);
        if before.order == after.order || waits {
            return compare(program, &before, &after);
        }
        order = after.order;
    }
    None
}

fn compare(program: &[Step], before: &Outcome, after: &Outcome) -> Option<String> {
    for thread in &after.stuck {
        if !before.stuck.contains(thread) {
            return Some(format!("thread {thread} waits for ever"));
        }
    }
    if after.is_torn {
        return Some("the kernel may split a record".to_owned());
    }
    for step in &before.order {
        let (one, other) = (before.seen.get(step), after.seen.get(step));
        let is_sync = matches!(
            program[*step].op,
            Op::Sync | Op::SyncAll | Op::SyncFileSystem
        );
        let durable = one.zip(other).filter(|_| is_sync);
        let is_alike = durable.is_some_and(|(one, other)| are_alike(program, one, other));
        if one != other && !is_alike && program[*step].op != Op::Seek {
            let of =
                |seen: Option<&Vec<u16>>| seen.map_or("nothing".to_owned(), |seen| in_words(seen));
            return Some(format!("step {step} saw {}, then {}", of(one), of(other)));
        }
    }
    let contents = std::iter::zip(&before.content, &after.content);
    let mut differ = contents.filter(|(one, other)| !are_alike(program, one, other));
    let differ = differ.next();
    differ.map(|(one, other)| format!("at the end: {} became {}", in_words(one), in_words(other)))
}

/// Whether two contents differ only in where a process outside of the log wrote. The bytes of that process may split no
/// more records in `other` than in `one`.
fn are_alike(program: &[Step], one: &[u16], other: &[u16]) -> bool {
    let is_foreign = |cell: &u16| {
        let step = program.get(usize::from(cell >> 8).wrapping_sub(1));
        step.is_some_and(|step| step.thread == kernel::FOREIGN)
    };
    let of = |cells: &[u16], foreign: bool| -> Vec<u16> {
        cells
            .iter()
            .copied()
            .filter(|cell| is_foreign(cell) == foreign)
            .collect()
    };
    let parts = |cells: &[u16]| cells.chunk_by(|one, next| one >> 8 == next >> 8).count();
    one == other
        || [true, false]
            .iter()
            .all(|&foreign| of(one, foreign) == of(other, foreign))
            && parts(one) >= parts(other)
}

/// A content in words: each step, and how many of its bytes lie in a row.
fn in_words(cells: &[u16]) -> String {
    let parts = cells.chunk_by(|one, next| one >> 8 == next >> 8);
    let words = parts.map(|part| match part[0] >> 8 {
        0 => format!("{part:?}"),
        step => format!("{}×{}", step - 1, part.len()),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Leaves steps out as long as the fault stays.
fn shrink(mut program: Vec<Step>, is_faulty: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut size = program.len();
    while size > 0 {
        let mut at = 0;
        while at < program.len() {
            let end = program.len().min(at + size);
            let less = [&program[..at], &program[end..]].concat();
            if is_faulty(&less) {
                program = less;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    program
}

/// Shrinks a program as long as it has a fault of the same kind. Returns the signature and the report of the shrunk
/// program.
fn least(program: &[Step], fault: &Fault) -> (String, String) {
    let alike = |program: &[Step]| {
        check(program)
            .1
            .into_iter()
            .find(|one| one.kind == fault.kind)
    };
    let program = shrink(program.to_vec(), |less| alike(less).is_some());
    let fault = alike(&program).unwrap_or_else(|| fault.clone());
    (signature(&program, &fault), report(&program, &fault))
}

fn report(program: &[Step], fault: &Fault) -> String {
    let all: Vec<usize> = (0..program.len()).collect();
    let log = run(program, &all, None).log;
    // The steps are listed too, since some leave no line in the log.
    let steps: String = program.iter().map(|step| format!("  {step:?}\n")).collect();
    format!(
        "{}: {}\n  {}\n{log}{steps}",
        fault.kind, fault.text, fault.what
    )
}

/// The kind of a fault, and the calls of its program without their arguments.
fn signature(program: &[Step], fault: &Fault) -> String {
    let names: Vec<Op> = program.iter().map(|step| step.op).collect();
    format!("{} {names:?}", fault.kind)
}

/// Programs that are tried; `VECTORED_SIMULATIONS` gives another number.
const PROGRAMS: u64 = 3000;

#[test]
fn no_counted_finding_changes_what_any_process_sees() {
    let programs = match std::env::var("VECTORED_SIMULATIONS") {
        Ok(number) => number.parse().expect("VECTORED_SIMULATIONS is a number"),
        Err(_) => PROGRAMS,
    };
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut faults: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut fault_count = 0;
    for seed in 0..programs {
        let program = any_program(&mut fastrand::Rng::with_seed(seed));
        let (tallies, of_program) = check(&program);
        let counted = tallies
            .findings
            .iter()
            .map(|(key, tally)| (key, "counted", tally));
        let listed = tallies
            .uncounted
            .iter()
            .map(|((key, reason), tally)| (key, &reason[..], tally));
        for (key, how, tally) in counted.chain(listed) {
            let known = found
                .entry(format!("{:?} {:?}: {how}", key.kind, key.target))
                .or_default();
            *known = (known.0 + 1, known.1 + tally.calls);
        }
        for fault in of_program {
            fault_count += 1;
            if fault_count < FAULTS_SHRUNK {
                let (signature, report) = least(&program, &fault);
                let known = faults.entry(signature).or_insert((0, report));
                known.0 += 1;
            }
        }
    }
    let found: String = found
        .iter()
        .map(|(name, (findings, calls))| format!("{name}: {findings} of {calls} calls\n"))
        .collect();
    println!("{found}{fault_count} faults in {programs} programs");
    let mut faults: Vec<(u64, String)> = faults.into_values().collect();
    faults.sort_by_key(|fault| std::cmp::Reverse(fault.0));
    for (times, text) in &faults {
        println!("{times} × {text}");
    }
    assert!(faults.is_empty(), "see above");
    // If a rule lists too many calls, these numbers show it.
    if programs == PROGRAMS {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("findings_of_random_programs", found);
        });
    }
}

/// The faults from this one on are counted, but their programs are not shrunk: that takes time.
const FAULTS_SHRUNK: u64 = 40;
