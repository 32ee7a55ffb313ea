//! The tables for a terminal.

use super::pictures::picture;
use super::sheets::{Sheet, notes, sheets, title};
use crate::model::{Experiments, Reproduction};
use crate::report::TableOptions;
use crate::report::plot::{PlotOptions, wrapped};
use crate::report::words;

/// Experiments for people: of each the finding, the table, a plot, and what is
/// needed to read them.
pub fn table(experiments: &Experiments, options: TableOptions) -> String {
    let mut text = paragraph(&words::machine_of(&experiments.host), options.width);
    for experiment in &experiments.experiments {
        text.push('\n');
        text += &of_one(experiment, options);
    }
    text.push('\n');
    for warning in &experiments.host.warnings {
        let warning = format!("Warning: {}.", words::escape_control(warning));
        text += &paragraph(&warning, options.width);
    }
    text += &paragraph(&format!("Seed {}.", experiments.seed), options.width);
    text
}

fn of_one(experiment: &Reproduction, options: TableOptions) -> String {
    let title = title(experiment);
    let mut text = String::new();
    for line in wrapped(words_of(&title), options.width) {
        text += &styled("1", &line, options.color);
        text.push('\n');
    }
    if !experiment.finding.is_empty() {
        text += &paragraph(&experiment.finding, options.width);
    }
    for sheet in sheets(experiment) {
        text.push('\n');
        text += &set(&sheet, options);
    }
    let TableOptions { color, width } = options;
    let picture = picture(experiment, PlotOptions { color, width });
    if !picture.is_empty() {
        text.push('\n');
        text += &picture;
    }
    text.push('\n');
    for note in notes(experiment) {
        text += &paragraph(&note, options.width);
    }
    text
}

/// Names to the left, figures to the right, groups over their first column.
fn set(sheet: &Sheet, options: TableOptions) -> String {
    let widths: Vec<usize> = (0..sheet.heads.len())
        .map(|column| {
            let cells = sheet.rows.iter().map(|row| row[column].chars().count());
            cells
                .chain([sheet.heads[column].1.chars().count()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    // Columns stand apart where there is room.
    let all = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
    let gap = if all <= options.width { 2 } else { 1 };
    let mut text = String::new();
    let groups = sheet
        .heads
        .iter()
        .map(|(group, _)| group.clone())
        .collect::<Vec<_>>();
    if groups.iter().any(|group| !group.is_empty()) {
        let mut line = String::new();
        let mut begin = 0;
        for (group, width) in std::iter::zip(&groups, &widths) {
            if !group.is_empty() {
                // Never over another group.
                let blanks = begin_of(begin, &line);
                line += &" ".repeat(blanks);
                line += group;
            }
            begin += width + gap;
        }
        text += &styled("1", line.trim_end(), options.color);
        text.push('\n');
    }
    let names = sheet
        .heads
        .iter()
        .map(|(_, name)| name.clone())
        .collect::<Vec<_>>();
    text += &styled("1", &line(&names, sheet.names, &widths, gap), options.color);
    text.push('\n');
    for row in &sheet.rows {
        text += &line(row, sheet.names, &widths, gap);
        text.push('\n');
    }
    text
}

/// Blanks up to a column, at least one.
fn begin_of(column: usize, line: &str) -> usize {
    let length = line.chars().count();
    match length {
        0 => column,
        _ => column.saturating_sub(length).max(1),
    }
}

fn line(cells: &[String], names: usize, widths: &[usize], gap: usize) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in std::iter::zip(cells, widths).enumerate() {
        if index > 0 {
            line += &" ".repeat(gap);
        }
        line += &match index < names {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        };
    }
    line.trim_end().to_owned()
}

fn paragraph(text: &str, width: usize) -> String {
    let mut lines = wrapped(words_of(text), width).join("\n");
    lines.push('\n');
    lines
}

fn words_of(text: &str) -> impl Iterator<Item = (String, usize)> {
    text.split(' ')
        .map(|word| (word.to_owned(), word.chars().count()))
}

fn styled(style: &str, text: &str, color: bool) -> String {
    match color && !text.is_empty() {
        true => format!("\x1b[{style}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}
