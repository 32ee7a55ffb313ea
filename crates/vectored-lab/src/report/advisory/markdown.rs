//! The report for a document.

use crate::model::Advisory;
use crate::report::advisory::facts::facts;
use crate::text::format::escape_markdown;

/// An advisory as Markdown: the answer, a table of up to `top` findings, what is not counted, the files
/// with the most calls, notes.
pub fn markdown(advisory: &Advisory, top: usize) -> String {
    let facts = facts(advisory, top);
    let mut text = format!(
        "**{}**\n\n{}\n",
        escape_markdown(&facts.answer),
        escape_markdown(&facts.extent)
    );
    if !facts.items.is_empty() {
        text += &format!(
            "\n| saving | interval | of {} | pattern | where | what to do |\n",
            facts.share_of
        );
        text += "|---:|---|---:|---|---|---|\n";
    }
    for item in &facts.items {
        let site = match &item.site {
            Some(site) => format!(", called from {site}"),
            None => String::new(),
        };
        let idiom = match item.remedy {
            Some((language, text)) => format!(" {language}: {text}"),
            None => String::new(),
        };
        text += &row(&[
            &item.saving,
            &item.interval,
            item.share.as_deref().unwrap_or("–"),
            &format!("{} ({})", item.pattern, item.grade),
            &format!("{}{site}", item.location),
            &format!("{}{idiom}", item.action),
        ]);
    }
    if let Some(more) = &facts.more {
        text += &format!("\n{}\n", escape_markdown(more));
    }
    if !facts.listed.is_empty() {
        text += "\nNot counted: merging these could change what the program does.\n\n";
        text += "| pattern | why | where |\n|---|---|---|\n";
        for listed in &facts.listed {
            text += &row(&[&listed.pattern, &listed.reason, &listed.location]);
        }
    }
    if let Some(more) = &facts.more_listed {
        text += &format!("\n{}\n", escape_markdown(more));
    }
    if !facts.uses.is_empty() {
        text += "\nFiles and descriptors with the most calls:\n\n";
        text += "| calls | where | counted or why not |\n|---|---|---|\n";
        for used in &facts.uses {
            text += &row(&[&used.calls, &used.location, &used.counted]);
        }
    }
    if let Some(more) = &facts.more_uses {
        text += &format!("\n{}\n", escape_markdown(more));
    }
    if !facts.notes.is_empty() {
        text.push('\n');
    }
    for note in &facts.notes {
        text += &format!("- {}\n", escape_markdown(note));
    }
    text
}

fn row(cells: &[&str]) -> String {
    let mut text = "|".to_owned();
    for cell in cells {
        text += &format!(" {} |", escape_markdown(cell));
    }
    text + "\n"
}
