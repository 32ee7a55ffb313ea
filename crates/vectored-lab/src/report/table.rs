//! The table for a terminal.

use super::costs::{COSTS, costs};
use super::plot::{PlotOptions, plot};
use super::rows::{Mark, Row, Section, columns, extent, notes, sections};
use super::words;
use crate::model::{Results, Technique, Verdict};

/// How the table is to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// With ANSI colours.
    pub color: bool,
    /// Columns of the terminal. Where it does not fit, an interval is left
    /// away, and then the name of a winner; figures never are.
    pub width: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            color: false,
            width: 100,
        }
    }
}

/// Results for people: the answer first, then one table a target, small plots
/// of them, then what is needed to read them.
pub fn table(results: &Results, options: TableOptions) -> String {
    let mut page = Page {
        text: String::new(),
        options,
    };
    page.paragraph("", &words::machine(results));
    page.paragraph("", &extent(results));
    let sections = sections(results);
    if !sections.is_empty() {
        page.line("");
    }
    let titles = sections.iter().map(|section| width(&section.title));
    let title_width = titles.max().unwrap_or(0).max(6);
    for section in &sections {
        let target = page.styled(BOLD, &format!("{:<title_width$} ", section.title));
        page.line(&format!("{target}{}", section.tally));
        for (lists, text) in &section.advice {
            page.hanging("  ", "      ", &format!("{lists}: {text}"));
        }
    }
    let columns = columns(results);
    for section in &sections {
        page.line("");
        page.section(section, &columns, &results.rivals);
    }
    let TableOptions { color, width } = options;
    let plots = plot(results, PlotOptions { color, width });
    if !plots.is_empty() {
        page.line("");
        page.text.push_str(&plots);
    }
    page.line("");
    let costs = costs(results);
    if !costs.is_empty() {
        page.paragraph("  ", COSTS);
        for cost in costs {
            page.hanging("  ", "      ", &cost);
        }
        page.line("");
    }
    for note in notes(results) {
        page.paragraph("  ", &note);
    }
    page.text
}

const BOLD: &str = "1";
const GREEN: &str = "32";
const CYAN: &str = "36";
const YELLOW: &str = "33";

struct Page {
    text: String,
    options: TableOptions,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Breaks lines between words; all but the first begin with `indent`.
    fn paragraph(&mut self, indent: &str, text: &str) {
        self.hanging("", indent, text);
    }

    /// As [`paragraph`](Page::paragraph), and the first line begins with
    /// `first`.
    fn hanging(&mut self, first: &str, indent: &str, text: &str) {
        let mut line = first.to_owned();
        for word in text.split(' ') {
            let length = line.chars().count() + 1 + word.chars().count();
            if length > self.options.width && !line.trim().is_empty() {
                self.line(&line);
                line = format!("{indent}{word}");
            } else {
                if !line.trim().is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
        self.line(&line);
    }

    fn styled(&self, style: &str, text: &str) -> String {
        if self.options.color && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn section(&mut self, section: &Section, columns: &[Technique], rivals: &[Technique]) {
        let frame = Frame::new(section, columns, rivals);
        // A path may be longer than all there is below it.
        let is_long = width(&section.title) > width(&frame.begin("", ""));
        if is_long {
            let title = self.styled(BOLD, &section.title);
            self.line(&title);
        }
        self.head(if is_long { "" } else { &section.title }, &frame);
        for row in &section.rows {
            self.row(row, &frame);
        }
    }

    /// Names of several words stand one above the other.
    fn head(&mut self, title: &str, frame: &Frame) {
        let height = frame.heads.iter().map(Vec::len).max().unwrap_or(1);
        for level in 0..height {
            let is_first = level == 0;
            let is_last = level + 1 == height;
            let title = if is_first { title } else { "" };
            let mut line = match is_last {
                true => frame.begin(title, "floor"),
                // A long title may stand over the floor's column.
                false => format!("{title:<0$}", width(&frame.begin("", ""))),
            };
            for (words, width) in std::iter::zip(&frame.heads, &frame.entry_widths) {
                let skipped = height - words.len();
                let word = level.checked_sub(skipped).map_or("", |index| &words[index]);
                line += &format!(" {word:>width$} ");
            }
            line += if is_last { " verdict" } else { "" };
            let line = self.styled(BOLD, line.trim_end());
            self.line(&line);
        }
    }

    fn row(&mut self, row: &Row, frame: &Frame) {
        let mut line = frame.begin(&frame.label(row), &row.floor);
        let mut length = width(&line);
        for (entry, entry_width) in std::iter::zip(&row.entries, &frame.entry_widths) {
            let text = format!("{:>entry_width$}{:<1}", entry.tax, entry.mark.sign());
            length += 1 + width(&text);
            line.push(' ');
            line += &match entry.mark {
                Mark::None => text,
                Mark::Winner => self.styled(GREEN, &text),
                Mark::Tie => self.styled(CYAN, &text),
            };
        }
        let with_interval = format!(
            "{} {}",
            row.words,
            row.interval.as_deref().unwrap_or_default()
        );
        // The winner has its mark, so its name can go too.
        let without_name = match row.words.split_once(" by ") {
            Some((_, margin)) => format!("by {margin}"),
            None => row.words.split(':').next().unwrap_or_default().to_owned(),
        };
        let room = self.options.width.saturating_sub(length + 1);
        let words = [with_interval.trim_end(), &row.words]
            .into_iter()
            .find(|words| width(words) <= room)
            .unwrap_or(&without_name);
        line.push(' ');
        line += &match row.verdict {
            Verdict::Faster => words.to_owned(),
            Verdict::Tie => self.styled(CYAN, words),
            Verdict::Open => self.styled(YELLOW, words),
        };
        self.line(&line);
    }
}

/// The columns of one section. Each technique's has a place for a mark behind
/// its figures.
struct Frame {
    heads: Vec<Vec<String>>,
    count_width: usize,
    size_width: usize,
    list_width: usize,
    marks_thread: bool,
    floor_width: usize,
    entry_widths: Vec<usize>,
}

impl Frame {
    fn new(section: &Section, columns: &[Technique], rivals: &[Technique]) -> Self {
        let rows = &section.rows;
        let widest = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let is_uniform = |row: &&Row| !row.count.is_empty();
        let sizes = rows.iter().filter(is_uniform).map(|row| width(&row.size));
        let mut frame = Frame {
            heads: columns
                .iter()
                .map(|technique| head(*technique, rivals.contains(technique)))
                .collect(),
            count_width: widest(&|row| width(&row.count)),
            size_width: sizes.max().unwrap_or(0),
            list_width: 0,
            marks_thread: rows.iter().any(|row| !row.thread_mark.is_empty()),
            floor_width: widest(&|row| width(&row.floor)).max(width("floor")),
            entry_widths: Vec::new(),
        };
        frame.list_width = widest(&|row| width(&frame.list(row)));
        frame.entry_widths = std::iter::zip(0.., &frame.heads)
            .map(|(index, head): (usize, _)| {
                let head = head.iter().map(|line| width(line)).max();
                widest(&|row| width(&row.entries[index].tax)).max(head.unwrap_or(0))
            })
            .collect();
        frame
    }

    fn list(&self, row: &Row) -> String {
        let (count_width, size_width) = (self.count_width, self.size_width);
        match row.count.as_str() {
            "" => row.size.clone(),
            count => format!("{count:>count_width$} × {:>size_width$}", row.size),
        }
    }

    fn label(&self, row: &Row) -> String {
        let list_width = self.list_width;
        let label = format!("{:>list_width$} {}", self.list(row), row.thread_mark);
        label.trim_end().to_owned()
    }

    /// The columns before the techniques'.
    fn begin(&self, label: &str, floor: &str) -> String {
        let floor_width = self.floor_width;
        // With marks there is little room for a gap behind them.
        let (label_width, gap) = match self.marks_thread {
            true => (self.list_width + 2, " "),
            false => (self.list_width, "  "),
        };
        format!("{label:<label_width$}{gap}{floor:>floor_width$} ")
    }
}

/// `copy-`, `then-`, `write`: columns are as narrow as their figures. What
/// takes no part in the verdict is said to stand beside.
fn head(technique: Technique, is_rival: bool) -> Vec<String> {
    let name = technique.name();
    if is_rival {
        name.split_inclusive('-').map(str::to_owned).collect()
    } else {
        vec!["beside:".to_owned(), name.to_owned()]
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}
