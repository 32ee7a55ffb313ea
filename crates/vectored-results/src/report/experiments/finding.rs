//! The finding of an experiment: claims, each with the ratio that decides it. States only what the intervals support.

use vectored_report::{each_once, words};

use crate::model::{
    ExperimentName, ExperimentRow, IovecSetup, Measure, Operation, Ratio, Reproduction,
};
use crate::report::experiments::figure::technique_in_words;
use crate::report::experiments::layout::list;
use crate::report::experiments::near_fastest;

/// Times within this ratio of each other count as equal. Most of the published times of Figure 3.5 beyond the block size are
/// within this ratio.
const FLAT: f64 = 1.10;

/// A claim, the ratio that decides it, and the range of ratios in which it holds.
type Claim<'a> = (String, &'a Ratio, (f64, f64));

const BEATS: (f64, f64) = (1.0, f64::INFINITY);

const UNTESTED: &str = "\
the book's claims are not tested by these rows: the first needs buffers of st_blksize and of sixteen times that, the second a \
cold page cache, and buffers of 128 KiB and more";

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
        _ => in_words(experiment),
    };
    let indication = "At a reduced size, so only an indication. ";
    let reduced = if experiment.reduced { indication } else { "" };
    let parts = words::capital(&parts.join("; "));
    if parts.is_empty() { parts } else { format!("{reduced}{parts}.") }
}

fn claims(experiment: &Reproduction) -> Vec<Claim<'_>> {
    let row = |index: usize| &experiment.rows[index];
    let of_measure = |measure| {
        let ratios = experiment.ratios.iter();
        ratios.filter(move |ratio| ratio.measure == measure)
    };
    match experiment.name {
        ExperimentName::Apue35 => {
            let block = experiment.setting.st_blksize;
            let mut times = of_measure(Measure::Cpu);
            let flat = times.find(|ratio| row(ratio.of).key.buffer_bytes == block);
            let text = "system time is flat from st_blksize on".to_owned();
            let flat = flat.map(|ratio| (text, ratio, (0.0, FLAT)));
            let times = of_measure(Measure::Clock);
            let largest = times.max_by_key(|ratio| row(ratio.of).key.buffer_bytes);
            let text = "read-ahead has no further effect past 128 KiB".to_owned();
            let ahead = largest.map(|ratio| (text, ratio, (1.0 / FLAT, FLAT)));
            flat.into_iter().chain(ahead).collect()
        }
        ExperimentName::Apue1428 => {
            let published = of_measure(Measure::Cpu).rev();
            let published = published.filter(|ratio| !ratio.published.is_empty());
            let technique = |ratio: &Ratio| &row(ratio.of).key.technique;
            let text = |ratio| format!("copying beats {} at 300 B", technique(ratio));
            published.map(|ratio| (text(ratio), ratio, BEATS)).collect()
        }
        ExperimentName::Kalinin => {
            let bytes = |ratio: &Ratio| row(ratio.of).key.segment_bytes.unwrap_or(0) as u64;
            let ratios = || of_measure(Measure::Cpu);
            let smallest = ratios().min_by_key(|ratio| bytes(ratio));
            let largest = ratios().max_by_key(|ratio| bytes(ratio));
            let text = |ratio| {
                let element = words::bytes(bytes(ratio));
                format!("copying beats writev at {element} an element")
            };
            let ends = each_once([smallest, largest].into_iter().flatten());
            ends.into_iter()
                .map(|ratio| (text(ratio), ratio, BEATS))
                .collect()
        }
        ExperimentName::Mincer => {
            let is_written = |ratio: &&Ratio| row(ratio.of).key.operation == Some(Operation::Write);
            let claim = |ratio: &'_ Ratio| {
                let (of, over) = (row(ratio.of), row(ratio.over));
                let once = of.key.iovec_setup == Some(IovecSetup::Once);
                let array = if once { ", with the array filled once" } else { "" };
                let [over, of_name] = [over, of].map(|row| &row.key.technique);
                format!("for {}{array}, {over} beats {of_name}", list(of))
            };
            let written = of_measure(Measure::Clock).filter(is_written);
            written.map(|ratio| (claim(ratio), ratio, BEATS)).collect()
        }
    }
}

fn in_words(experiment: &Reproduction) -> Vec<String> {
    let claims = claims(experiment);
    if claims.is_empty() && experiment.name == ExperimentName::Apue35 {
        return vec![UNTESTED.to_owned()];
    }
    let in_words = |(text, ratio, (least, most)): Claim<'_>| {
        let interval = ratio.ratio_low.zip(ratio.ratio_high);
        let verdict = match interval {
            Some((low, high)) if low > least && high < most => "yes",
            Some((low, high)) if low > most || high < least => "no",
            _ => "not decided",
        };
        let [of, over] = [ratio.of, ratio.over].map(|index| label(&experiment.rows[index]));
        let times = words::ratio_within(ratio.ratio, interval);
        let measure = ratio.measure.in_words();
        let published = ratio.published.iter().map(|published| {
            let source = published.source.split(" (").next().unwrap_or_default();
            format!(", {} in {source}", words::ratio(published.ratio))
        });
        let published: String = published.collect();
        format!("{text}: {verdict} ({of} takes {times} the {measure} of {over}{published})")
    };
    claims.into_iter().map(in_words).collect()
}

fn label(row: &ExperimentRow) -> String {
    let technique = technique_in_words(&row.key.technique).to_owned();
    row.key.buffer_bytes.map_or(technique, words::bytes)
}

fn crossovers(experiment: &Reproduction) -> Vec<String> {
    let here = experiment.crossovers.iter();
    let here = here.filter(|crossover| crossover.measure == Measure::Cpu);
    let here = here.map(|crossover| {
        let [below, above] = [&crossover.below, &crossover.above].map(|of| technique_in_words(of));
        format!(
            "from {:.0} B on {above} takes less CPU time than {below} (the crossover lies between {:.0} and {:.0} B)",
            crossover.at_bytes, crossover.low_bytes, crossover.high_bytes,
        )
    });
    let mut ratios = experiment.ratios.iter();
    let is_beside = ratios.any(|ratio| ratio.measure == Measure::Cpu);
    let then = is_beside.then(|| "in 2001 the crossover lay between 100 and 200 B".to_owned());
    here.chain(then).collect()
}
