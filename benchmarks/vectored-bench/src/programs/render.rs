//! Figures as a table, as a page and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use crate::programs::case::Role;
use crate::programs::figures::{Cell, Summary};

/// One JSON document on one line.
pub fn json(cells: &[Cell], summary: &Summary) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        cells: &'a [Cell],
        summary: &'a Summary,
    }
    let document = Document { cells, summary };
    // Serializing fails only for maps with non-string keys and for failing writers.
    serde_json::to_string(&document).expect("figures are plain data") + "\n"
}

/// One row for each case, for the page docs/measured/programs.md, then the summary.
pub fn markdown(cells: &[Cell], summary: &Summary) -> String {
    let mut text = String::from(
        "| program | case | today, µs | best by hand | ÷ today | `segment-queue` ÷ today | ÷ best by hand | A/A |\n\
         |---|---|---:|---|---:|---:|---|---:|\n",
    );
    for case in cells.chunk_by(|one, next| (one.program, &one.case) == (next.program, &next.case)) {
        let of_role = |role: Role| case.iter().find(|cell| cell.role == role.name());
        let best = case.iter().find(|cell| cell.is_best_by_hand);
        let (Some(today), Some(best)) = (of_role(Role::Today), best) else {
            continue;
        };
        let to_today = |cell: Option<&Cell>| {
            cell.map_or_else(
                || "–".to_owned(),
                |cell| format!("{:.2}", cell.ratio_to_today),
            )
        };
        let ours = of_role(Role::Ours);
        let to_best = ours.map_or_else(
            || "–".to_owned(),
            |ours| format!("{:.2} {}", ours.ratio_to_best_by_hand, interval(ours, 2)),
        );
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {} | {} | {} | {to_best} | {} |",
            today.program,
            today.case,
            today.cpu_ns / 1e3,
            best.technique,
            to_today(Some(best)),
            to_today(ours),
            to_today(of_role(Role::Again)),
        );
    }
    let _ = write!(text, "\n```text\n{}```\n", in_words(summary));
    text
}

/// A block for each case: techniques by CPU time, then the summary.
pub fn table(cells: &[Cell], summary: &Summary) -> String {
    let mut text = String::from(
        "CPU time of the program per request; ÷ best: median over the rounds of the time ÷ that of the best\n\
         by hand (*) [95 % interval]; ÷ today: ÷ what the project does if nothing is set\n",
    );
    for case in cells.chunk_by(|one, next| (one.program, &one.case) == (next.program, &next.case)) {
        let mut here: Vec<&Cell> = case.iter().collect();
        here.sort_by(|a, b| a.cpu_ns.total_cmp(&b.cpu_ns));
        let _ = writeln!(
            text,
            "\n{:<36}{:>12}{:>9}  {:<16}{:>9}",
            format!("{} {}", case[0].program, case[0].case),
            "µs",
            "÷ best",
            "",
            "÷ today"
        );
        for cell in here {
            text += &row(cell);
        }
    }
    text.push('\n');
    text += &in_words(summary);
    text
}

fn row(cell: &Cell) -> String {
    let mark = if cell.is_best_by_hand { "*" } else { "" };
    let interval = if cell.is_best_by_hand { String::new() } else { interval(cell, 3) };
    format!(
        "  {:<34}{:>12.2}{:>9.3}  {interval:<16}{:>9.3}\n",
        format!("{}{mark}", cell.technique),
        cell.cpu_ns / 1e3,
        cell.ratio_to_best_by_hand,
        cell.ratio_to_today
    )
}

/// `[0.95, 1.05]`, or a dash.
fn interval(cell: &Cell, decimals: usize) -> String {
    match (cell.low, cell.high) {
        (Some(low), Some(high)) => format!("[{low:.decimals$}, {high:.decimals$}]"),
        _ => "–".to_owned(),
    }
}

fn in_words(summary: &Summary) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut text = format!("{} cases, {} rounds\n", summary.cases, summary.rounds);
    if let Some(share) = summary.share_within_3_percent {
        let _ = writeln!(
            text,
            "segment-queue: at most 1.03 of the best by hand in {} of the cases",
            percent(share)
        );
    }
    if let Some(worst) = &summary.worst {
        let _ = writeln!(
            text,
            "  worst: {:.3}, {} {}",
            worst.ratio, worst.program, worst.case
        );
    }
    text += "Always the same choice by hand (today's where a program lacks it):\n";
    for choice in &summary.by_hand {
        let _ = writeln!(
            text,
            "  {:<34}{:>6}",
            choice.technique,
            percent(choice.share_within_3_percent)
        );
    }
    let _ = writeln!(
        text,
        "A/A (today's technique twice): within 3 % in {} of the cases",
        percent(summary.control_within_3_percent)
    );
    text
}
