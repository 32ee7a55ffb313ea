//! Tables for a document.

use crate::model::Results;
use crate::report::costs::{COSTS, costs};
use crate::report::table_rows::{columns, extent, notes, sections};
use crate::text::format;

/// Results as Markdown: the answer, one table a target, notes.
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line(&format!("{}.", escape(&format::machine(results))));
    line(&format!("{}.", extent(results)));
    line("");
    let sections = sections(results);
    for section in &sections {
        line(&format!(
            "- **{}**: {}",
            escape(&section.title),
            section.tally
        ));
        for (lists, text) in &section.advice {
            line(&format!("  - {lists}: {}", escape(text)));
        }
    }
    let columns = columns(results);
    for section in &sections {
        line("");
        line(&format!("### {}", escape(&section.title)));
        line("");
        let mut head = "| segments | floor |".to_owned();
        let mut rule = "|---:|---:|".to_owned();
        for technique in &columns {
            let is_rival = results.rivals.contains(technique);
            head += &match is_rival {
                true => format!(" {technique} |"),
                false => format!(" ({technique}) |"),
            };
            rule += "---:|";
        }
        line(&format!("{head} verdict |"));
        line(&format!("{rule}---|"));
        for row in &section.rows {
            let list = match row.count.as_str() {
                "" => row.size.clone(),
                count => format!("{count} × {}", row.size),
            };
            let label = format!("{list} {}", row.marks());
            let mut cells = format!("| {} | {} |", label.trim_end(), row.floor);
            for entry in &row.entries {
                cells += &format!(" {}{} |", entry.tax, escape(entry.mark.sign()));
            }
            let interval = row.interval.as_deref().unwrap_or_default();
            let words = format!("{} {}", row.words, escape(interval));
            line(&format!("{cells} {} |", words.trim_end()));
        }
    }
    line("");
    let costs = costs(results);
    if !costs.is_empty() {
        line(COSTS);
        line("");
        for cost in costs {
            line(&format!("- {}", escape(&cost)));
        }
        line("");
    }
    for note in notes(results) {
        line(&format!("- {}", escape(&note)));
    }
    text
}

/// What could end a table's cell, or become a link, markup or HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '|' | '`' | '<' | '[' | ']' | '*') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}
