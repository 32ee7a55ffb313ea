//! Experiments for a terminal.

use crate::model::{Experiments, Reproduction};
use crate::report::experiments::sheets::{Sheet, notes, sheets, title};
use crate::report::screen::{BOLD, Screen, width};
use crate::report::table::TableOptions;
use crate::text::format;

/// Experiments for people: finding, table and legend of each.
pub fn table(experiments: &Experiments, options: TableOptions) -> String {
    let mut screen = Screen::new(options);
    screen.paragraph("", "", &format::machine_of(&experiments.host));
    for experiment in &experiments.experiments {
        screen.line("");
        of_one(experiment, &mut screen);
    }
    screen.line("");
    for warning in &experiments.host.warnings {
        let warning = format!("Warning: {}.", format::escape_control(warning));
        screen.paragraph("", "", &warning);
    }
    screen.paragraph("", "", &format!("Seed {}.", experiments.seed));
    screen.text
}

fn of_one(experiment: &Reproduction, screen: &mut Screen) {
    screen.styled_paragraph(BOLD, "", "", &title(experiment));
    if !experiment.finding.is_empty() {
        screen.paragraph("", "", &experiment.finding);
    }
    for sheet in sheets(experiment) {
        set(&sheet, screen);
    }
    screen.line("");
    for note in notes(experiment) {
        screen.paragraph("", "", &note);
    }
}

/// Names are left-aligned, figures right-aligned; groups stand over their first column. A table that is
/// too wide is broken between groups, and each part repeats the names.
fn set(sheet: &Sheet, screen: &mut Screen) {
    let widths: Vec<usize> = (0..sheet.heads.len())
        .map(|column| {
            let cells = sheet.rows.iter().map(|row| width(&row[column]));
            let head = width(&sheet.heads[column].1);
            cells.chain([head]).max().unwrap_or(0)
        })
        .collect();
    for columns in parts(sheet, &widths, screen.options.width) {
        screen.line("");
        set_columns(sheet, &columns, &widths, screen);
    }
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

fn set_columns(sheet: &Sheet, columns: &[usize], widths: &[usize], screen: &mut Screen) {
    // Columns are spread if there is room.
    let is_roomy = wide(columns, widths, 2) <= screen.options.width;
    let gap = if is_roomy { 2 } else { 1 };
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
        screen.styled_line(BOLD, &groups);
    }
    let line = |cells: &[String]| {
        let set = columns.iter().map(|&column| {
            let (cell, width) = (&cells[column], widths[column]);
            match column < sheet.names {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            }
        });
        set.collect::<Vec<_>>().join(&" ".repeat(gap))
    };
    let names: Vec<String> = sheet.heads.iter().map(|(_, name)| name.clone()).collect();
    screen.styled_line(BOLD, &line(&names));
    for row in &sheet.rows {
        screen.line(&line(row));
    }
}

/// Blanks up to a column, at least one.
fn begin_of(column: usize, line: &str) -> usize {
    let length = width(line);
    match length {
        0 => column,
        _ => column.saturating_sub(length).max(1),
    }
}
