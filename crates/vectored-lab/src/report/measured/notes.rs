//! The legend of a run: notes on figures, verdicts, conditions, noise and omissions.

use crate::model::{
    Cache, Cell, Crossover, Drain, IovecSetup, Layout, OpenBecause, Operation, PageCache, Results,
    TechniqueName,
};
use crate::report::join_advice;
use crate::report::left_out::left_out_in_words;
use crate::report::measured::columns;
use crate::report::measured::figures::REFINED_MARK;
use crate::report::shape_text::SIZE;
use crate::report::target_names::{self, has_tax};
use crate::report::words::unsuited_in_words;
use crate::report::{asynchronous, ranks, writers};
use crate::stats::{MIN_ROUNDS, median};
use crate::text::format;

/// The legend, a paragraph each.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let is_read = |cell: &Cell| cell.conditions.operation == Operation::Read;
    let reads = !results.cells.is_empty() && results.cells.iter().all(is_read);
    let (floor, example) = match reads {
        false => ("write of the same bytes, already in one piece", "writev"),
        true => ("read of the same bytes into one piece", "readv"),
    };
    let figures = match results.cells.iter().any(has_tax) || results.cells.is_empty() {
        true => "The other figures are time ÷ floor: 1.02× is 2 % longer than the floor.",
        false => "The other figures are times per call.",
    };
    let mut notes = vec![format!("floor: one {floor}. {figures}")];
    if results.rivals.len() > 1 {
        notes.push(format!(
            "*: the winner, significantly faster than every rival. =: a tie, within ±2 % of the leader. \"{example} by \
             1.09× [1.07, 1.11]\": {example} wins, and the nearest rival takes 1.09 times as long; in brackets the 95 % \
             interval, not adjusted for the number of cells (verdicts are). \"open (budget): {example} by 1.09× [0.98, \
             1.20]\": {example} leads, but the difference is not significant."
        ));
    }
    notes.extend(why_open(results));
    if !results.refined_cells.is_empty() {
        notes.push(format!(
            "{REFINED_MARK}: an extra cell, measured to place a crossover or to fit a cost model. It is not \
             counted among wins, ties and open cells."
        ));
    }
    notes.extend(crossovers(results));
    notes.extend(states(results));
    let unranked: Vec<&str> = columns(results)
        .into_iter()
        .filter(|technique| !results.rivals.contains(technique))
        .map(TechniqueName::as_str)
        .collect();
    if !unranked.is_empty() {
        let (are, they_are, take) = match unranked.len() {
            1 => ("is", "it is", "takes"),
            _ => ("are", "they are", "take"),
        };
        notes.push(format!(
            "{} {are} unranked: {they_are} shown for comparison and {take} no part in the verdict.",
            unranked.join(" and ")
        ));
    }
    for (drain, mark, did) in [
        (Drain::ReaderThread, "r", "read"),
        (Drain::WriterThread, "w", "wrote"),
    ] {
        let mut cells = results
            .cells
            .iter()
            .filter(|cell| cell.conditions.writers.is_none());
        if cells.any(|cell| cell.drain == Some(drain)) {
            notes.push(format!(
                "{mark}: the list does not fit into the target, so a thread on another CPU {did} during the \
                 timed call."
            ));
        }
    }
    notes.extend(target_names::notes(results));
    notes.extend(asynchronous::notes(results));
    notes.extend(writers::notes(results));
    notes.extend(ranks::notes(results));
    notes.extend(noise(results));
    for sentence in unsuited_in_words(results) {
        notes.push(format!("{sentence}."));
    }
    for group in left_out_in_words(&results.left_out) {
        notes.push(format!("Not measured ({}): {}.", group.reason, group.cells));
    }
    notes.push(format!("Seed {}.", results.seed));
    notes
}

/// The states of caches and lists.
fn states(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    for (state, words) in [
        (PageCache::Hot, "hot: the file was in the page cache."),
        (
            PageCache::Cold,
            "cold: the file was evicted from the page cache before each call, and each call was verified \
             to read from the device.",
        ),
    ] {
        if results
            .cells
            .iter()
            .any(|cell| cell.conditions.page_cache == Some(state))
        {
            notes.push(words.to_owned());
        }
    }
    let has = |is: &dyn Fn(&Cell) -> bool| results.cells.iter().any(is);
    if has(&|cell| cell.conditions.cache == Cache::Cold) {
        notes.push(
            "cache cold: the bytes of each call, the floor's too, come from memory: from a pool larger \
             than the CPU's caches."
                .to_owned(),
        );
    }
    if has(&|cell| cell.conditions.layout == Layout::Adjacent) {
        notes.push(
            "layout adjacent: the segments lie one directly after another in memory.".to_owned(),
        );
    }
    if has(&|cell| cell.conditions.iovec_setup == IovecSetup::Once) {
        notes.push(
            "iovec-setup once: the iovec array is filled once, before the timed calls.".to_owned(),
        );
    }
    notes
}

/// How the sizes in the advice are to be read.
fn crossovers(results: &Results) -> Vec<String> {
    let is_swept = |crossover: &&Crossover| crossover.swept_mix.is_some();
    let has_sweep = results.cells.iter().any(|cell| cell.swept_mix.is_some());
    let mut notes = Vec::new();
    if has_sweep {
        notes.push(format!(
            "{SIZE}: the size of a mix that was varied; the other sizes of the mix were fixed."
        ));
    }
    if results
        .crossovers
        .iter()
        .any(|crossover| is_swept(&crossover))
    {
        notes.push(format!(
            "\"from {SIZE} = 1.40 KiB [1.31, 1.52] on\": if {SIZE} is at least the crossover at 1.40 KiB; in \
             brackets its interval."
        ));
    }
    if results
        .crossovers
        .iter()
        .any(|crossover| !is_swept(&crossover))
    {
        notes.push(
            match join_advice::is_question(&results.rivals) {
                true => {
                    "\"up to 33.0 KiB [28.1, 39.0]\": for messages smaller than the crossover at 33.0 KiB; \
                     in brackets its interval."
                }
                false => {
                    "\"below 1.40 KiB [1.31, 1.52]\": for segments smaller than the crossover at 1.40 KiB; \
                     in brackets its interval."
                }
            }
            .to_owned(),
        );
    }
    notes
}

/// The meaning of each reason behind "open" that occurs.
fn why_open(results: &Results) -> Option<String> {
    let cells = || results.cells.iter().chain(&results.refined_cells);
    let meanings = [
        (
            OpenBecause::Rounds,
            format!(
                "fewer than {MIN_ROUNDS} rounds; or the interval excludes 0, but the difference is not \
                 significant after adjustment for {} (Holm), repeated looks and serial correlation. More \
                 rounds can decide it",
                format::count(cells().count(), "cell")
            ),
        ),
        (
            OpenBecause::Noise,
            "more rounds cannot decide it, since the noise floor of the cell exceeds the difference, or \
             its intervals cannot get narrower"
                .to_owned(),
        ),
        (
            OpenBecause::Budget,
            "the budget ended before the intervals were narrow, or before the noise floor of the \
             cell was below the difference"
                .to_owned(),
        ),
    ];
    let occurring: Vec<String> = meanings
        .into_iter()
        .filter(|(why, _)| cells().any(|cell| cell.open_because == Some(*why)))
        .map(|(why, meaning)| format!("\"{}\": {meaning}", why.name()))
        .collect();
    (!occurring.is_empty()).then(|| format!("Why a cell is open. {}.", occurring.join(". ")))
}

fn noise(results: &Results) -> Option<String> {
    let floors: Vec<f64> = results.cells.iter().filter_map(|c| c.noise_floor).collect();
    let typical = format::percent(median(&floors)?);
    let significant = results.cells.iter().filter(|c| c.aa_separated).count();
    Some(format!(
        "Noise floor (the floor measured twice, A/A test): {typical} in the median cell; the two differ \
         significantly in {significant} of {}. No cell reports a difference below its own noise floor.",
        format::count(floors.len(), "cell"),
    ))
}
