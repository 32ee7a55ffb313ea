//! The report for a terminal.

use crate::model::Advisory;
use crate::report::advisory::facts::{Facts, facts};
use crate::report::advisory::rows::Item;
use crate::report::screen::{BOLD, GREEN, Screen};
use crate::report::table::TableOptions;

/// An advisory as a table: the answer, up to `top` findings, what is not counted, the files with the
/// most calls, notes.
pub fn table(advisory: &Advisory, options: TableOptions, top: usize) -> String {
    let facts = facts(advisory, top);
    let mut page = Screen::new(options);
    page.styled_paragraph(BOLD, "", "  ", &facts.answer);
    page.paragraph("", "  ", &facts.extent);
    if facts.is_negligible {
        return page.text;
    }
    match &facts.sum {
        Some(sum) => {
            page.line("");
            page.paragraph("", "  ", sum);
        }
        None => page.findings(&facts),
    }
    page.listed(&facts);
    page.uses(&facts);
    if !facts.notes.is_empty() {
        page.line("");
    }
    for note in &facts.notes {
        page.paragraph("", "  ", note);
    }
    page.text
}

impl Screen {
    fn findings(&mut self, facts: &Facts) {
        let digits = facts.items.len().to_string().len();
        let indent = " ".repeat(digits + 2);
        for (number, item) in std::iter::zip(1.., &facts.items) {
            self.line("");
            let number: usize = number;
            self.styled_paragraph(
                BOLD,
                &format!("{number:>digits$}  "),
                &indent,
                &item.pattern,
            );
            self.styled_paragraph(GREEN, &indent, &indent, &headline(item, facts.share_of));
            self.paragraph(&indent, &indent, &item.location);
            if let Some(site) = &item.site {
                self.paragraph(&indent, &indent, &format!("called from {site}"));
            }
            self.paragraph(&indent, &indent, &item.action);
            if let Some((language, text)) = item.remedy {
                self.paragraph(&indent, &indent, &format!("{language}: {text}"));
            }
        }
        if let Some(more) = &facts.more {
            self.line("");
            self.paragraph("", "  ", more);
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
            self.paragraph(
                "  ",
                "    ",
                &format!("{}: {}", listed.pattern, listed.reason),
            );
            self.paragraph("    ", "    ", &listed.location);
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
            self.paragraph("  ", "    ", &format!("{}: {}", used.calls, used.location));
            self.paragraph("    ", "    ", &used.counted);
        }
        if let Some(more) = &facts.more_uses {
            self.line(&format!("  {more}"));
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
