//! Experiments as Markdown.

use crate::model::{Experiments, Reproduction};
use crate::report::experiments::sheets::{Sheet, notes, sheets, title};
use crate::text::format;
use crate::text::format::escape_markdown;

/// Experiments as Markdown: finding, tables and notes of each.
pub fn markdown(experiments: &Experiments) -> String {
    let mut text = format!(
        "{}.\n",
        escape_markdown(&format::machine_of(&experiments.host))
    );
    for experiment in &experiments.experiments {
        text += &of_one(experiment);
    }
    text.push('\n');
    for warning in &experiments.host.warnings {
        let warning = format::escape_control(warning);
        text += &format!("- Warning: {}.\n", escape_markdown(&warning));
    }
    text += &format!("- Seed {}.\n", experiments.seed);
    text
}

fn of_one(experiment: &Reproduction) -> String {
    let mut text = format!("\n### {}\n\n", escape_markdown(&title(experiment)));
    if !experiment.finding.is_empty() {
        text += &format!("**{}**\n", escape_markdown(&experiment.finding));
    }
    for sheet in sheets(experiment) {
        text.push('\n');
        text += &set(&sheet);
    }
    text.push('\n');
    for note in notes(experiment) {
        text += &format!("- {}\n", escape_markdown(&note));
    }
    text
}

fn set(sheet: &Sheet) -> String {
    let mut head = "|".to_owned();
    let mut rule = "|".to_owned();
    let mut last_group = "";
    for (index, (group, name)) in sheet.heads.iter().enumerate() {
        // Markdown has no cells that span columns, so each column names its group.
        if !group.is_empty() {
            last_group = group;
        }
        let both = format!("{last_group} {name}");
        head += &format!(" {} |", escape_markdown(both.trim()));
        rule += if index < sheet.names { "---|" } else { "---:|" };
    }
    let mut text = format!("{head}\n{rule}\n");
    for row in &sheet.rows {
        text.push('|');
        for cell in row {
            text += &format!(" {} |", escape_markdown(cell));
        }
        text.push('\n');
    }
    text
}
