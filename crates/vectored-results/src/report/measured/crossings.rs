//! The sizes at which the fastest technique of a section changes, with their intervals, and the cost of the wrong
//! side.

use vectored_report::words::{bytes, capital, three_digits};
use vectored_report::{Block, Sentence};

use crate::model::{Cell, Crossover, Results, TechniqueName};
use crate::report::machines::place;
use crate::report::measured::Group;
use crate::report::shape_text::{SIZE, shape_in_words};
use crate::report::words::{Words, is_joining};
use crate::stats::{pair, series};

pub(super) fn sentences(group: &Group<'_>, results: &Results) -> Vec<Block> {
    let cells: Vec<&Cell> = group.cells.iter().chain(&group.refined).copied().collect();
    let said = series(&cells).into_iter().filter_map(|series| {
        let shape = series[0].shape();
        let here = results.crossovers_of(group.conditions, shape);
        let is_copy = group.conditions.from.is_some();
        // With one segment, only copies leave a choice.
        let is_list = shape.segment_count > 1 || is_copy;
        if !is_list || here.is_empty() || contradicts(&series, &here) {
            return None;
        }
        let lists = if is_copy { "one copy".to_owned() } else { shape_in_words(shape) };
        let text = text(&series, &here, &results.rivals);
        Some(Block::Sentence(Sentence::of(lists, text)))
    });
    said.collect()
}

/// Whether the winner of some size differs from the winner that these crossovers imply. This happens in the rare case that
/// one of two crossovers cannot be placed.
pub(super) fn contradicts(cells: &[&Cell], crossovers: &[&Crossover]) -> bool {
    let breaks = |pair: &[&Crossover]| pair[0].above != pair[1].below;
    let is_other = |cell: &&Cell| {
        let (Some(winner), Some(bytes)) = (cell.winner, cell.swept_bytes()) else {
            return false;
        };
        let bytes = bytes as f64;
        // Sizes within the interval of a crossover may have either winner.
        let is_within =
            |crossover: &&Crossover| (crossover.low_bytes..=crossover.high_bytes).contains(&bytes);
        let past = crossovers.partition_point(|crossover| crossover.at_bytes < bytes);
        let said = match past.checked_sub(1) {
            Some(index) => crossovers[index].above,
            None => crossovers[0].below,
        };
        winner != said && !crossovers.iter().any(is_within)
    };
    crossovers.windows(2).any(breaks) || cells.iter().any(is_other)
}

/// `Copy below 1.40 KiB [1.31, 1.52], gather above. Gathering 16 B takes 2.04 times as long, copying 16 KiB takes 1.26
/// times as long.`
fn text(cells: &[&Cell], crossovers: &[&Crossover], rivals: &[TechniqueName]) -> String {
    let words = |technique| Words::among(technique, rivals);
    let variable = match cells[0].swept_mix {
        Some(_) => format!("{SIZE} = "),
        None => String::new(),
    };
    let mut text = String::new();
    for (index, crossover) in crossovers.iter().enumerate() {
        let place = place(crossover);
        let below = words(crossover.below).verb;
        text += &match index {
            0 => format!("{} below {variable}{place}", capital(below)),
            _ => format!(", {below} to {place}"),
        };
    }
    let (first, last) = (crossovers[0], crossovers[crossovers.len() - 1]);
    text += &format!(", {} above.", words(last.above).verb);
    let is_below = |bytes| bytes < first.low_bytes;
    let is_above = |bytes| bytes > last.high_bytes;
    let wrong = |of, to, is_certain: &dyn Fn(f64) -> bool| {
        let (cell, ratio) = dearest(cells, of, to, is_certain)?;
        let size = bytes(cell.swept_bytes()? as u64);
        let at = match cell.swept_mix {
            Some(_) => "with ",
            None if is_joining(rivals) || cell.conditions.from.is_some() => "of ",
            None => "",
        };
        let (gerund, times) = (words(of).gerund, three_digits(ratio));
        Some(format!(
            "{gerund} {at}{variable}{size} takes {times} times as long"
        ))
    };
    let wrong = [
        wrong(first.above, first.below, &is_below),
        wrong(last.below, last.above, &is_above),
    ];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    if !wrong.is_empty() {
        text += &format!(" {}.", capital(&wrong.join(", ")));
    }
    text
}

/// The cell, within a range of sizes, in which `of` takes longest compared with `to`; and the ratio in this cell.
fn dearest<'a>(
    cells: &[&'a Cell],
    of: TechniqueName,
    to: TechniqueName,
    within: impl Fn(f64) -> bool,
) -> Option<(&'a Cell, f64)> {
    let is_here = |cell: &&Cell| cell.swept_bytes().is_some_and(|bytes| within(bytes as f64));
    let won = cells.iter().copied().filter(|cell| cell.winner == Some(to));
    let pairs = won
        .filter(is_here)
        .filter_map(|cell| Some((cell, pair(cell, of, to)?)));
    let sure = pairs.filter(|(_, pair)| pair.separated());
    let dearest = sure.max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio))?;
    Some((dearest.0, dearest.1.ratio))
}
