//! The report for a terminal.

use crate::model::Advisory;
use crate::report::advisory::facts::{Facts, facts};
use crate::report::advisory::rows::Item;
use crate::report::table::TableOptions;
use crate::text::wrap::wrapped;

const BOLD: &str = "1";
const GREEN: &str = "32";

/// An advisory as a table: the answer, up to `top` findings, what is not counted, the files with the
/// most calls, notes.
pub fn table(advisory: &Advisory, options: TableOptions, top: usize) -> String {
    let facts = facts(advisory, top);
    let mut page = Page {
        text: String::new(),
        options,
    };
    page.hanging("", "  ", &facts.answer, Some(BOLD));
    page.hanging("", "  ", &facts.extent, None);
    if facts.is_negligible {
        return page.text;
    }
    match &facts.sum {
        Some(sum) => {
            page.line("");
            page.hanging("", "  ", sum, None);
        }
        None => page.findings(&facts),
    }
    page.listed(&facts);
    page.uses(&facts);
    if !facts.notes.is_empty() {
        page.line("");
    }
    for note in &facts.notes {
        page.hanging("", "  ", note, None);
    }
    page.text
}

struct Page {
    text: String,
    options: TableOptions,
}

impl Page {
    fn findings(&mut self, facts: &Facts) {
        let digits = facts.items.len().to_string().len();
        let indent = " ".repeat(digits + 2);
        for (number, item) in std::iter::zip(1.., &facts.items) {
            self.line("");
            let number: usize = number;
            self.hanging(
                &format!("{number:>digits$}  "),
                &indent,
                &item.pattern,
                Some(BOLD),
            );
            self.hanging(
                &indent,
                &indent,
                &headline(item, facts.share_of),
                Some(GREEN),
            );
            self.hanging(&indent, &indent, &item.location, None);
            if let Some(site) = &item.site {
                self.hanging(&indent, &indent, &format!("called from {site}"), None);
            }
            self.hanging(&indent, &indent, &item.action, None);
            if let Some((language, text)) = item.remedy {
                self.hanging(&indent, &indent, &format!("{language}: {text}"), None);
            }
        }
        if let Some(more) = &facts.more {
            self.line("");
            self.hanging("", "  ", more, None);
        }
    }

    fn listed(&mut self, facts: &Facts) {
        if facts.listed.is_empty() {
            return;
        }
        self.line("");
        self.styled_line(
            BOLD,
            "Not counted: merging these could change what the program does",
        );
        for listed in &facts.listed {
            self.hanging(
                "  ",
                "    ",
                &format!("{}: {}", listed.pattern, listed.reason),
                None,
            );
            self.hanging("    ", "    ", &listed.location, None);
        }
        if let Some(more) = &facts.more_listed {
            self.line(&format!("  {more}"));
        }
    }

    fn uses(&mut self, facts: &Facts) {
        if facts.uses.is_empty() {
            return;
        }
        self.line("");
        self.styled_line(BOLD, "Files and descriptors with the most calls");
        for used in &facts.uses {
            self.hanging(
                "  ",
                "    ",
                &format!("{}: {}", used.calls, used.location),
                None,
            );
            self.hanging("    ", "    ", &used.counted, None);
        }
        if let Some(more) = &facts.more_uses {
            self.line(&format!("  {more}"));
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn styled_line(&mut self, style: &str, line: &str) {
        let styled = self.styled(style, line);
        self.line(&styled);
    }

    fn styled(&self, style: &str, text: &str) -> String {
        if self.options.color && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Breaks lines between words, and words that are longer than a line; the first line begins with
    /// `first`, the others with `indent`.
    fn hanging(&mut self, first: &str, indent: &str, text: &str, style: Option<&str>) {
        let room = self.options.width.saturating_sub(width(indent)).max(20);
        let parts = text.split(' ').flat_map(|word| {
            let letters: Vec<char> = word.chars().collect();
            let pieces: Vec<(String, usize)> = match letters.is_empty() {
                true => vec![(String::new(), 0)],
                false => letters
                    .chunks(room)
                    .map(|piece| (piece.iter().collect(), piece.len()))
                    .collect(),
            };
            pieces
        });
        for (index, line) in wrapped(parts, room).iter().enumerate() {
            let begin = if index == 0 { first } else { indent };
            let line = match style {
                Some(style) => self.styled(style, line),
                None => line.clone(),
            };
            self.line(&format!("{begin}{line}"));
        }
    }
}

/// `saves 812 ms [700, 910], 19 % of the wall time; nothing between the calls`.
fn headline(item: &Item, share_of: &str) -> String {
    let share = match &item.share {
        Some(share) => format!(", {share} of {share_of}"),
        None => String::new(),
    };
    let Item {
        saving,
        interval,
        grade,
        ..
    } = item;
    format!("saves {saving} {interval}{share}; {grade}")
}

fn width(text: &str) -> usize {
    text.chars().count()
}
