//! The output.

use crate::cell::Cell;
use crate::techniques::{TECHNIQUES, Technique};

/// Bootstrap resamples of the rounds for an interval.
const RESAMPLES: usize = 400;

/// Prints the medians of each cell, and a summary of the ratios.
pub fn print_table(pause_us: f64, cells: &[Cell], round_count: usize) {
    print!("\npause {pause_us} µs\n{:>11}", "list");
    for (_, name) in TECHNIQUES {
        print!(" {name:>9}");
    }
    println!(" adaptive ÷ best");
    let rounds: Vec<usize> = (0..round_count).collect();
    for cell in cells {
        print!("{:>11}", cell.name);
        for (technique, _) in TECHNIQUES {
            print!(" {:>9.1}", cell.median(technique, &rounds) / 1e3);
        }
        let ratio = cell.ratio_to_best(Technique::Adaptive, &rounds);
        println!(" {ratio:>15.2}");
    }
    let (adaptive, again) = (Technique::Adaptive, Technique::WritevByChunksAgain);
    let chunks = Technique::WritevByChunks;
    summarize("adaptive ÷ best", cells, round_count, |cell, rounds| {
        cell.ratio_to_best(adaptive, rounds)
    });
    summarize("A/A", cells, round_count, |cell, rounds| {
        cell.ratio(again, chunks, rounds)
    });
    summarize("writev/8K ÷ writev", cells, round_count, |cell, rounds| {
        cell.ratio(chunks, Technique::Writev, rounds)
    });
}

/// Prints the geometric mean of a ratio over all cells, its 95 % interval and the largest ratio.
///
/// The interval is a bootstrap over the rounds.
fn summarize(
    what: &str,
    cells: &[Cell],
    round_count: usize,
    ratio: impl Fn(&Cell, &[usize]) -> f64,
) {
    let mean = |rounds: &[usize]| {
        let logs = cells.iter().map(|cell| ratio(cell, rounds).ln());
        (logs.sum::<f64>() / cells.len() as f64).exp()
    };
    let rounds: Vec<usize> = (0..round_count).collect();
    let mut random = fastrand::Rng::with_seed(1);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let resampled = rounds.iter().map(|_| random.usize(0..round_count));
            mean(&resampled.collect::<Vec<_>>())
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let [low, high] = [RESAMPLES / 40, RESAMPLES - 1 - RESAMPLES / 40].map(|index| means[index]);
    let ratios = cells
        .iter()
        .map(|cell| (ratio(cell, &rounds), &cell.name[..]));
    let worst = ratios.max_by(|a, b| a.0.total_cmp(&b.0));
    let (worst, name) = worst.expect("there is a cell");
    let mean = mean(&rounds);
    println!("{what}: geometric mean {mean:.3} [{low:.3}, {high:.3}], worst {worst:.2} ({name})");
}
