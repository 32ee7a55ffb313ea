//! The tables: ratios by size, the crossover of each column, and what the chosen thresholds cost.

use std::io;
use std::time::Duration;

use vectored::CostModel;
use vectored::queue::QueuePolicy;

use crate::Column;
use crate::cell::{Cell, Question, State};
use crate::channel::Kind;
use crate::options::Options;

/// The time of one calibration.
const BUDGET: Duration = Duration::from_millis(50);

/// The calibrations of a target. Thresholds are medians over the calibrations.
const CALIBRATIONS: usize = 5;

pub fn print(options: &Options, cells: &[(Column, Cell)]) -> io::Result<()> {
    let mut columns: Vec<Column> = Vec::new();
    for (column, _) in cells {
        if !columns.contains(column) {
            columns.push(*column);
        }
    }
    for question in [true, false] {
        let of_table: Vec<Column> = columns
            .iter()
            .filter(|(_, asked, _)| matches!(asked, Question::Push { .. }) == question)
            .copied()
            .collect();
        print_table(options, cells, &of_table);
    }
    for kind in Kind::ALL {
        print_choices(options, cells, kind)?;
    }
    Ok(())
}

fn print_table(options: &Options, cells: &[(Column, Cell)], columns: &[Column]) {
    println!();
    print!("{:>8}", "bytes");
    for (kind, question, state) in columns {
        let (word, count) = match question {
            Question::Push { values } => ('p', values),
            Question::Join { messages } => ('j', messages),
        };
        let state = match state {
            State::Fresh => 'f',
            State::Cold => 'c',
        };
        print!(" {:>8}", format!("{}{word}{count}{state}", kind.name()));
    }
    println!();
    for &bytes in &options.sizes {
        print!("{bytes:>8}");
        for column in columns {
            let shown = find(cells, column, bytes).and_then(ratio);
            let shown = shown.map_or("-".to_owned(), |(ratio, significant)| {
                format!("{ratio:.3}{}", if significant { ' ' } else { '*' })
            });
            print!(" {shown:>8}");
        }
        println!();
    }
    print!("{:>8}", "equal at");
    for column in columns {
        print!(" {:>8}", crossover(options, cells, column));
    }
    println!();
}

/// Prints the thresholds of a target, and the time at these thresholds divided by the time of the best choice.
fn print_choices(options: &Options, cells: &[(Column, Cell)], kind: Kind) -> io::Result<()> {
    let mut calibrated = Vec::new();
    for _ in 0..CALIBRATIONS {
        let model = CostModel::calibrate(
            kind.target_kind(),
            kind.directory(&options.directory),
            BUDGET,
        )?;
        calibrated.push(QueuePolicy::from_model(&model));
    }
    let median = |of: fn(&QueuePolicy) -> usize| {
        let mut all: Vec<usize> = calibrated.iter().map(of).collect();
        all.sort_unstable();
        (all[all.len() / 2], all)
    };
    let default = QueuePolicy::for_target(kind.target_kind());
    let of_model = QueuePolicy::from_model(&CostModel::for_target(kind.target_kind()));
    println!();
    for (is_push, name, of) in [
        (
            true,
            "copy_below_bytes",
            (|policy| policy.copy_below_bytes) as fn(&QueuePolicy) -> usize,
        ),
        (false, "join_below_bytes", |policy| policy.join_below_bytes),
    ] {
        let (middle, all) = median(of);
        for (source, threshold, all) in [
            ("for_target", of(&default), vec![]),
            ("from_model(default)", of(&of_model), vec![]),
            ("from_model(calibrated)", middle, all),
        ] {
            let (mean, worst) = regret(cells, kind, is_push, threshold);
            println!(
                "{:6} {name} {source:23} {threshold:>8}: time ÷ best {mean:.3}, worst {worst:.3} {all:?}",
                kind.name()
            );
        }
    }
    Ok(())
}

fn find<'a>(cells: &'a [(Column, Cell)], column: &Column, bytes: usize) -> Option<&'a Cell> {
    let mut found = cells.iter().filter(|(of, _)| of == column);
    found
        .find(|(_, cell)| cell.bytes == bytes)
        .map(|(_, cell)| cell)
}

/// The median of copying's time ÷ referencing's, and whether the sign test is significant.
fn ratio(cell: &Cell) -> Option<(f64, bool)> {
    if !cell.fits || cell.times_ns.is_empty() {
        return None;
    }
    let mut ratios: Vec<f64> = cell
        .times_ns
        .iter()
        .map(|[copied, referenced]| copied / referenced)
        .collect();
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len() as f64;
    let below = ratios.iter().filter(|ratio| **ratio < 1.0).count() as f64;
    // The normal approximation of the binomial distribution.
    let significant = (below - n / 2.0).abs() > 1.96 * n.sqrt() / 2.0;
    Some((ratios[ratios.len() / 2], significant))
}

/// The size at which both ways take equally long. It is the threshold at which a choice by size costs least, by the sum of the
/// logarithms.
fn crossover(options: &Options, cells: &[(Column, Cell)], column: &Column) -> String {
    let logs: Vec<(usize, f64)> = options
        .sizes
        .iter()
        .filter_map(|&bytes| Some((bytes, ratio(find(cells, column, bytes)?)?.0.ln())))
        .collect();
    let cost = |threshold: usize| -> f64 {
        logs.iter()
            .map(
                |(bytes, log)| {
                    if *bytes <= threshold { log.max(0.0) } else { (-log).max(0.0) }
                },
            )
            .sum()
    };
    let ends = std::iter::once(0).chain(logs.iter().map(|(bytes, _)| *bytes));
    let best = ends.min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
    match (best, logs.last()) {
        (Some(best), Some((last, _))) if best == *last => format!(">{best}"),
        (Some(best), _) => best.to_string(),
        (None, _) => "-".to_owned(),
    }
}

/// The geometric mean and the largest ratio of the time at a threshold to the best time, over all cells of a target. Only cells
/// of two joined messages count: if there are more, a queue joins as many as fit the threshold.
fn regret(cells: &[(Column, Cell)], kind: Kind, is_push: bool, threshold: usize) -> (f64, f64) {
    let mut logs = Vec::new();
    for ((of, question, _), cell) in cells {
        let is_asked = match question {
            Question::Push { .. } => is_push,
            Question::Join { messages } => !is_push && *messages == 2,
        };
        if *of != kind || !is_asked {
            continue;
        }
        let Some((ratio, _)) = ratio(cell) else {
            continue;
        };
        logs.push(if cell.bytes <= threshold {
            ratio.ln().max(0.0)
        } else {
            (-ratio.ln()).max(0.0)
        });
    }
    let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    (
        mean.exp(),
        logs.iter().fold(0.0, |a: f64, b| a.max(*b)).exp(),
    )
}
