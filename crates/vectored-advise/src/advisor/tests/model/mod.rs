//! A model tests the advice. Random programs run on a small kernel: once unchanged, and once with the printed remedy of
//! each counted finding. The remedy must not change what a process sees.
//!
//! `VECTORED_SIMULATIONS=200000 cargo test --release -p vectored-advise model -- --nocapture`.

mod calls;
mod fix;
mod kernel;
mod program;
mod run;

use std::collections::BTreeMap;

use fix::{BUFFER_BYTES, Fix};
use program::{Op, Step, any_program};
use run::{Outcome, run};

use crate::advisor::Analysis;
use crate::advisor::findings::tallies::Tallies;
use crate::advisor::options::Options;
use vectored_strace::Reader;

fn tallies_of(outcome: &Outcome) -> Tallies {
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        buffer_bytes: BUFFER_BYTES as u64,
        ..Options::default()
    });
    analysis.begin_log();
    let mut reader = Reader::new(outcome.log.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    assert!(reader.counts().skipped().is_empty(), "{}", outcome.log);
    analysis.finish()
}

/// The most orders of the steps that are tried. If a remedy changes the order in which the steps end, the program runs
/// again in the new order, with and without the remedy. Only the last two runs are compared: the first order was an
/// accident, so a difference from that order is no fault.
const ORDERS: usize = 4;

/// The findings of a program, and a text for each counted finding whose remedy changes what a process sees.
fn check(program: &[Step]) -> (Tallies, Vec<String>) {
    let all: Vec<usize> = (0..program.len()).collect();
    let first = run(program, &all, None);
    let tallies = tallies_of(&first);
    let faults = tallies.counted().filter_map(|(key, tally)| {
        let mut fixes = Fix::all_of(key, tally, program, &first).into_iter();
        fixes.find_map(|fix| {
            let members = tally
                .members
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
            let (kind, target) = (key.kind, key.target);
            Some(format!(
                "{kind:?} {target:?} {:?}: {}\n  {what}\n{}{program:#?}",
                fix.how, fix.text, first.log
            ))
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
        // The order came from a run with the remedy, but now threads wait for ever only with the remedy. Further orders
        // would tell no more.
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
    for step in &before.order {
        let (one, other) = (before.seen.get(step), after.seen.get(step));
        if one != other && program[*step].op != Op::Seek {
            let of =
                |seen: Option<&Vec<u16>>| seen.map_or("nothing".to_owned(), |seen| in_words(seen));
            return Some(format!("step {step} saw {}, then {}", of(one), of(other)));
        }
    }
    let contents = std::iter::zip(&before.content, &after.content);
    let mut differ = contents.filter(|(one, other)| one != other);
    let differ = differ.next();
    differ.map(|(one, other)| format!("at the end: {} became {}", in_words(one), in_words(other)))
}

/// A content in words: each step, and the number of its bytes that lie in a row.
fn in_words(cells: &[u16]) -> String {
    let parts = cells.chunk_by(|one, next| one >> 8 == next >> 8);
    let words = parts.map(|part| match part[0] >> 8 {
        0 => format!("{part:?}"),
        step => format!("{}×{}", step - 1, part.len()),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The number of programs that are tried, unless `VECTORED_SIMULATIONS` gives another number.
const PROGRAMS: u64 = 3000;

#[test]
fn no_counted_finding_changes_what_any_process_sees() {
    let programs = match std::env::var("VECTORED_SIMULATIONS") {
        Ok(number) => number.parse().expect("VECTORED_SIMULATIONS is a number"),
        Err(_) => PROGRAMS,
    };
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut faults = Vec::new();
    for seed in 0..programs {
        let program = any_program(&mut fastrand::Rng::with_seed(seed));
        let (tallies, of_program) = check(&program);
        for ((key, reason), tally) in &tallies.found {
            let how = reason.as_deref().unwrap_or("counted");
            let known = found
                .entry(format!("{:?} {:?}: {how}", key.kind, key.target))
                .or_default();
            *known = (known.0 + 1, known.1 + tally.calls);
        }
        faults.extend(of_program);
    }
    let found: String = found
        .iter()
        .map(|(name, (findings, calls))| format!("{name}: {findings} of {calls} calls\n"))
        .collect();
    println!("{found}{} faults in {programs} programs", faults.len());
    faults.iter().take(10).for_each(|fault| println!("{fault}"));
    assert!(faults.is_empty(), "see above");
    // If a rule lists too many calls, these numbers show it.
    if programs == PROGRAMS {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("findings_of_random_programs", found);
        });
    }
}
