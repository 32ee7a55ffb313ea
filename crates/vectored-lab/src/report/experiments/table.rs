//! Experiments for a terminal.

use crate::model::{Experiments, Reproduction};
use crate::report::experiments::sheets::{Sheet, notes, sheets, title};
use crate::report::table::TableOptions;
use crate::text::format;
use crate::text::wrap::wrapped;

/// Experiments for people: finding, table and legend of each.
pub fn table(experiments: &Experiments, options: TableOptions) -> String {
    let mut text = paragraph(&format::machine_of(&experiments.host), options.width);
    for experiment in &experiments.experiments {
        text.push('\n');
        text += &of_one(experiment, options);
    }
    text.push('\n');
    for warning in &experiments.host.warnings {
        let warning = format!("Warning: {}.", format::escape_control(warning));
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
    text.push('\n');
    for note in notes(experiment) {
        text += &paragraph(&note, options.width);
    }
    text
}

/// Names are left-aligned, figures right-aligned; groups stand over their first column. A table that is
/// too wide is broken between groups, and each part repeats the names.
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
    let parts = parts(sheet, &widths, options.width).into_iter();
    let set = parts.map(|columns| set_columns(sheet, &columns, &widths, options));
    set.collect::<Vec<_>>().join("\n")
}

/// The columns of each part of a table that has to fit into `width`.
fn parts(sheet: &Sheet, widths: &[usize], width: usize) -> Vec<Vec<usize>> {
    let keys: Vec<usize> = (0..sheet.keys()).collect();
    let is_wide = |columns: &[usize]| wide(columns, widths, 1) > width;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for column in sheet.keys()..sheet.heads.len() {
        match groups.last_mut() {
            Some(group) if sheet.heads[column].0.is_empty() => group.push(column),
            _ => groups.push(vec![column]),
        }
    }
    // A group that is too wide is broken between its columns.
    let groups =
        groups
            .into_iter()
            .flat_map(|group| match is_wide(&[keys.as_slice(), &group].concat()) {
                false => vec![group],
                true => group.into_iter().map(|column| vec![column]).collect(),
            });
    let mut parts = vec![keys.clone()];
    for group in groups {
        let last = parts.last_mut().expect("there is one from the beginning");
        let joined = [last.as_slice(), &group].concat();
        if last.len() == keys.len() || !is_wide(&joined) {
            *last = joined;
        } else {
            parts.push([keys.as_slice(), &group].concat());
        }
    }
    parts
}

fn wide(columns: &[usize], widths: &[usize], gap: usize) -> usize {
    let all: usize = columns.iter().map(|&column| widths[column]).sum();
    all + gap * columns.len().saturating_sub(1)
}

fn set_columns(
    sheet: &Sheet,
    columns: &[usize],
    widths: &[usize],
    options: TableOptions,
) -> String {
    // Columns are spread if there is room.
    let is_roomy = wide(columns, widths, 2) <= options.width;
    let gap = if is_roomy { 2 } else { 1 };
    let mut text = String::new();
    let mut groups = String::new();
    let mut begin = 0;
    for &column in columns {
        let group = &sheet.heads[column].0;
        if !group.is_empty() {
            // Never over another group.
            groups += &" ".repeat(begin_of(begin, &groups));
            groups += group;
        }
        begin += widths[column] + gap;
    }
    if !groups.is_empty() {
        text += &styled("1", &groups, options.color);
        text.push('\n');
    }
    let line = |cells: &[String]| {
        let set = columns.iter().map(|&column| {
            let (cell, width) = (&cells[column], widths[column]);
            match column < sheet.names {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            }
        });
        let line = set.collect::<Vec<_>>().join(&" ".repeat(gap));
        line.trim_end().to_owned()
    };
    let names: Vec<String> = sheet.heads.iter().map(|(_, name)| name.clone()).collect();
    text += &styled("1", &line(&names), options.color);
    text.push('\n');
    for row in &sheet.rows {
        text += &line(row);
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
