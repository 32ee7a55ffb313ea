//! The finding of an experiment: claims, each with the ratio that decides it. Only what the intervals support.

use vectored_report::sort;
use vectored_report::words::{self, enumerated};

use crate::model::{
    ExperimentName, ExperimentRow, IovecSetup, Measure, Operation, Ratio, Reproduction,
};
use crate::report::experiments::figure::technique_in_words;
use crate::report::experiments::layout::list;
use crate::report::experiments::near_fastest;

/// Times within this ratio count as equal: so do most of the published times of Figure 3.5 beyond the block size.
const FLAT: f64 = 1.10;

struct Claim<'a> {
    text: String,
    ratio: &'a Ratio,
    /// The claim holds if the ratio lies between these.
    holds: (f64, f64),
}

/// The finding of an experiment, from its rows and ratios. Empty if too little was measured.
pub fn finding(experiment: &Reproduction) -> String {
    let rows = &experiment.rows;
    let measured = rows.iter().filter(|row| row.repeats > 0).count();
    let parts = match experiment.name {
        _ if measured == 0 => return String::new(),
        _ if measured < rows.len() => vec![format!(
            "There is no finding: {measured} of {} rows were measured",
            rows.len()
        )],
        ExperimentName::Apue35 if experiment.setting.program.is_some() => {
            vec![near_fastest::finding(experiment)]
        }
        ExperimentName::Kalinin => [in_words(experiment), crossovers(experiment)].concat(),
        ExperimentName::Apue35 => [in_words(experiment), fastest(experiment)].concat(),
        ExperimentName::Apue1428 | ExperimentName::Mincer => in_words(experiment),
    };
    let reduced = if experiment.reduced {
        "At a reduced size, so only an indication. "
    } else {
        ""
    };
    let parts = words::capital(&parts.join("; "));
    if parts.is_empty() { parts } else { format!("{reduced}{parts}.") }
}

fn claims(experiment: &Reproduction) -> Vec<Claim<'_>> {
    let beats = (1.0, f64::INFINITY);
    let row = |index: usize| &experiment.rows[index];
    let of_measure = |measure| {
        let ratios = experiment.ratios.iter();
        ratios.filter(move |ratio| ratio.measure == measure)
    };
    let claim = |text: String, holds| move |ratio| Claim { text, ratio, holds };
    match experiment.name {
        ExperimentName::Apue35 => {
            let block = experiment.setting.st_blksize;
            let at_block = |ratio: &&Ratio| row(ratio.of).key.buffer_bytes == block;
            let flat = "system time is flat from st_blksize on".to_owned();
            let flat = claim(flat, (0.0, FLAT));
            let largest =
                of_measure(Measure::Clock).max_by_key(|ratio| row(ratio.of).key.buffer_bytes);
            let ahead = "read-ahead has no further effect past 128 KiB".to_owned();
            let ahead = claim(ahead, (1.0 / FLAT, FLAT));
            let flat = of_measure(Measure::Cpu).find(at_block).map(flat);
            flat.into_iter().chain(largest.map(ahead)).collect()
        }
        ExperimentName::Apue1428 => {
            let published = of_measure(Measure::Cpu).filter(|ratio| !ratio.published.is_empty());
            let text = |ratio: &Ratio| {
                let technique = &row(ratio.of).key.technique;
                format!("copying beats {technique} at 300 B")
            };
            let all = published.map(|ratio| claim(text(ratio), beats)(ratio));
            let mut all: Vec<Claim<'_>> = all.collect();
            all.reverse();
            all
        }
        ExperimentName::Kalinin => {
            let mut ratios: Vec<&Ratio> = of_measure(Measure::Cpu).collect();
            sort::sort_by_key(&mut ratios, |ratio| row(ratio.of).key.segment_bytes);
            let ends = match ratios.as_slice() {
                [] => Vec::new(),
                [only] => vec![*only],
                [first, .., last] => vec![*first, *last],
            };
            let bytes = |ratio: &Ratio| row(ratio.of).key.segment_bytes.unwrap_or(0) as u64;
            let text =
                |bytes| format!("copying beats writev at {} an element", words::bytes(bytes));
            let ends = ends.into_iter();
            ends.map(|ratio| claim(text(bytes(ratio)), beats)(ratio))
                .collect()
        }
        ExperimentName::Mincer => {
            let written = of_measure(Measure::Clock)
                .filter(|ratio| row(ratio.of).key.operation == Some(Operation::Write));
            let text = |ratio: &Ratio| {
                let (of, over) = (row(ratio.of), row(ratio.over));
                let once = of.key.iovec_setup == Some(IovecSetup::Once);
                let array = if once { ", with the array filled once" } else { "" };
                let [over, of_name] = [over, of].map(|row| &row.key.technique);
                format!("for {}{array}, {over} beats {of_name}", list(of))
            };
            let all = written.map(|ratio| claim(text(ratio), beats)(ratio));
            all.collect()
        }
    }
}

fn in_words(experiment: &Reproduction) -> Vec<String> {
    let claims = claims(experiment).into_iter().map(|claim| {
        let ratio = claim.ratio;
        let (least, most) = claim.holds;
        let verdict = match ratio.ratio_low.zip(ratio.ratio_high) {
            Some((low, high)) if low > least && high < most => "yes",
            Some((low, high)) if low > most || high < least => "no",
            _ => "not decided",
        };
        let label = |index: usize| label(&experiment.rows[index]);
        let times = words::ratio_within(ratio.ratio, ratio.ratio_low.zip(ratio.ratio_high));
        let published = ratio.published.iter().map(|published| {
            let source = published.source.split(" (").next().unwrap_or_default();
            format!(", {} in {source}", words::ratio(published.ratio))
        });
        format!(
            "{}: {verdict} ({} takes {times} the {} of {}{})",
            claim.text,
            label(ratio.of),
            ratio.measure.in_words(),
            label(ratio.over),
            published.collect::<String>()
        )
    });
    let claims: Vec<String> = claims.collect();
    if claims.is_empty() && experiment.name == ExperimentName::Apue35 {
        return vec![
            "the book's claims are not tested by these rows: the first needs buffers of st_blksize and of sixteen times \
             that, the second a cold page cache, and buffers of 128 KiB and more"
                .to_owned(),
        ];
    }
    claims
}

fn label(row: &ExperimentRow) -> String {
    let technique = technique_in_words(&row.key.technique).to_owned();
    row.key.buffer_bytes.map_or(technique, words::bytes)
}

/// The sizes at which the faster technique changes, here and in the publication.
fn crossovers(experiment: &Reproduction) -> Vec<String> {
    let here = experiment.crossovers.iter();
    let here = here.filter(|crossover| crossover.measure == Measure::Cpu);
    let here = here.map(|crossover| {
        format!(
            "from {:.0} B on {} takes less CPU time than {} (the crossover lies between {:.0} and {:.0} B)",
            crossover.at_bytes,
            technique_in_words(&crossover.above),
            technique_in_words(&crossover.below),
            crossover.low_bytes,
            crossover.high_bytes,
        )
    });
    let mut then: Vec<(usize, f64)> = Vec::new();
    let ratios = experiment.ratios.iter();
    for ratio in ratios.filter(|ratio| ratio.measure == Measure::Cpu) {
        let bytes = experiment.rows[ratio.of].key.segment_bytes;
        then.extend(bytes.zip(ratio.published.first().map(|published| published.ratio)));
    }
    sort::sort_by_key(&mut then, |(bytes, _)| *bytes);
    let mut pairs = then.windows(2);
    let crossed = pairs.find(|pair| pair[0].1 >= 1.0 && pair[1].1 < 1.0);
    let then = crossed.map(|pair| {
        let (low, high) = (pair[0].0, pair[1].0);
        format!("in 2001 the crossover lay between {low} and {high} B")
    });
    here.chain(then).collect()
}

/// The fastest of several buffers by the median wall time, and the others that are close to it.
fn fastest(experiment: &Reproduction) -> Vec<String> {
    let timed = experiment.rows.iter();
    let timed = timed.filter_map(|row| Some((row.key.buffer_bytes?, row.times.clock_s?)));
    let mut timed: Vec<(u64, f64)> = timed.collect();
    sort::sort_by(&mut timed, |a, b| a.1.total_cmp(&b.1));
    let Some((&(bytes, s), others @ [_, ..])) = timed.split_first() else {
        return Vec::new();
    };
    let close = others.iter().filter(|(_, other)| *other <= s * FLAT);
    let mut close: Vec<u64> = close.map(|(bytes, _)| *bytes).collect();
    close.sort_unstable();
    let close: Vec<String> = close.into_iter().map(words::bytes).collect();
    let within = if close.is_empty() {
        "no other is within 10 %".to_owned()
    } else {
        format!("within 10 % of it: {}", enumerated(&close))
    };
    let fastest = words::bytes(bytes);
    vec![format!(
        "the fastest buffer by median wall time is {fastest}; {within}"
    )]
}
