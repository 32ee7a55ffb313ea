//! Tables for a document.

use crate::model::Results;
use crate::report::asynchronous;
use crate::report::costs::costs;
use crate::report::grid;
use crate::report::notes::notes;
use crate::report::table_rows::{columns, extent, sections};
use crate::report::{ranks, writers};
use crate::text::format;
use crate::text::format::escape_markdown;

/// Results as Markdown: the answer, one table a target, notes.
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line(&format!("{}.", escape_markdown(&format::machine(results))));
    line(&format!("{}.", extent(results)));
    line("");
    let sections = sections(results);
    for section in &sections {
        line(&format!(
            "- **{}**: {}",
            escape_markdown(&section.title),
            section.tally
        ));
        for (lists, text) in &section.advice {
            line(&format!("  - {lists}: {}", escape_markdown(text)));
        }
    }
    let answers = asynchronous::answers(results).into_iter();
    let answers = answers.chain(writers::answers(results));
    let answers = answers.chain(ranks::answers(results));
    for (place, text) in answers {
        line(&format!(
            "- **{}**: {}",
            escape_markdown(&place),
            escape_markdown(&text)
        ));
    }
    let columns = columns(results);
    for section in &sections {
        line("");
        line(&format!("### {}", escape_markdown(&section.title)));
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
                cells += &format!(" {}{} |", entry.tax, escape_markdown(entry.mark.sign()));
            }
            let interval = row.interval.as_deref().unwrap_or_default();
            let words = format!("{} {}", row.words, escape_markdown(interval));
            line(&format!("{cells} {} |", words.trim_end()));
        }
    }
    line("");
    if let Some(costs) = costs(results) {
        line(&grid::markdown(&costs));
    }
    for latencies in asynchronous::latencies(results) {
        line(&grid::markdown(&latencies));
    }
    for crowd in writers::tables(results)
        .iter()
        .chain(&ranks::tables(results))
    {
        line(&grid::markdown(crowd));
    }
    for note in notes(results) {
        line(&format!("- {}", escape_markdown(&note)));
    }
    text
}
