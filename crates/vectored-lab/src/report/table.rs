//! The table for a terminal.

use crate::model::{Results, Role, TechniqueName, Verdict};
use crate::report::asynchronous;
use crate::report::costs::costs;
use crate::report::grid;
use crate::report::notes::notes;
use crate::report::screen::{BOLD, CYAN, GREEN, Screen, YELLOW, width};
use crate::report::table_rows::{Mark, Row, Section, columns, extent, sections, short_name};
use crate::report::{ranks, writers};
use crate::text::format;

/// Options of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Columns of the terminal. Every row shows its verdict, with the winner or the leader of an open
    /// cell, and the interval. If that does not fit, techniques get short names and columns are dropped:
    /// first techniques that take no part in the verdict, then one call a segment, then the floor, then
    /// other rivals (but these not for open cells).
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

/// Results for people: the answer, a table for each target, cost models and a legend.
pub fn table(results: &Results, options: TableOptions) -> String {
    let mut page = Screen::new(options);
    page.paragraph("", "", &format::machine(results));
    page.paragraph("", "", &extent(results));
    let sections = sections(results);
    if !sections.is_empty() {
        page.line("");
    }
    let titles = sections.iter().map(|section| width(&section.title));
    let title_width = titles.max().unwrap_or(0).clamp(6, LONGEST_TITLE);
    for section in &sections {
        let begin = page.text.len();
        let title = format!("{:<title_width$}", section.title);
        page.paragraph(&format!("{title} "), "      ", &section.tally);
        let title = section.title.trim_end();
        let styled = page.styled(BOLD, title);
        page.text.replace_range(begin..begin + title.len(), &styled);
        for (lists, text) in &section.advice {
            page.paragraph("  ", "      ", &format!("{lists}: {text}"));
        }
    }
    for (place, text) in asynchronous::answers(results) {
        page.paragraph("", "      ", &format!("{place}: {text}"));
    }
    for (place, text) in writers::answers(results)
        .into_iter()
        .chain(ranks::answers(results))
    {
        page.paragraph("", "      ", &format!("{place}: {text}"));
    }
    let columns = columns(results);
    let mut left_out = LeftOutColumns::default();
    for section in &sections {
        page.line("");
        page.section(section, &columns, &results.rivals, &mut left_out);
    }
    let width = options.width;
    page.line("");
    if let Some(costs) = costs(results) {
        page.text.push_str(&grid::text(&costs, width));
        page.line("");
    }
    for latencies in asynchronous::latencies(results) {
        page.text.push_str(&grid::text(&latencies, width));
        page.line("");
    }
    for crowd in writers::tables(results)
        .iter()
        .chain(&ranks::tables(results))
    {
        page.text.push_str(&grid::text(crowd, width));
        page.line("");
    }
    for note in left_out.notes().into_iter().chain(notes(results)) {
        page.paragraph("", "  ", &note);
    }
    page.text
}

/// A longer title, such as one with a path, has no aligned tally.
const LONGEST_TITLE: usize = 32;

impl Screen {
    fn section(
        &mut self,
        section: &Section,
        columns: &[TechniqueName],
        rivals: &[TechniqueName],
        left_out: &mut LeftOutColumns,
    ) {
        let frame = Frame::fitting(section, columns, rivals, self.options.width);
        left_out.add(&frame, section, columns, rivals);
        // A path may be wider than the table below it.
        let is_long = width(&section.title) > width(&frame.begin("", ""));
        if is_long {
            self.styled_line(BOLD, &section.title);
        }
        self.head(if is_long { "" } else { &section.title }, &frame);
        for row in &section.rows {
            self.row(row, &frame);
        }
    }

    /// Prints the names of columns; names of several words take several lines.
    fn head(&mut self, title: &str, frame: &Frame) {
        let height = frame.heads.iter().map(Vec::len).max().unwrap_or(1);
        for level in 0..height {
            let is_first = level == 0;
            let is_last = level + 1 == height;
            let title = if is_first { title } else { "" };
            let mut line = match is_last {
                true => frame.begin(title, "floor"),
                // A long title may extend over the floor's column.
                false => format!("{title:<0$}", width(&frame.begin("", ""))),
            };
            for (words, width) in std::iter::zip(&frame.heads, &frame.entry_widths) {
                let skipped = height - words.len();
                let word = level.checked_sub(skipped).map_or("", |index| &words[index]);
                line += &format!(" {word:>width$} ");
            }
            line += if is_last { " verdict" } else { "" };
            self.styled_line(BOLD, &line);
        }
    }

    fn row(&mut self, row: &Row, frame: &Frame) {
        let mut line = frame.begin(&frame.label(row), &row.floor);
        for (&index, entry_width) in std::iter::zip(&frame.shown, &frame.entry_widths) {
            let entry = &row.entries[index];
            let text = format!("{:>entry_width$}{:<1}", entry.tax, entry.mark.sign());
            line.push(' ');
            line += &match entry.mark {
                Mark::None => text,
                Mark::Winner => self.styled(GREEN, &text),
                Mark::Tie => self.styled(CYAN, &text),
            };
        }
        let words = frame.verdict(row, self.options.width);
        line.push(' ');
        line += &match row.verdict {
            Verdict::Faster => words,
            Verdict::Tie => self.styled(CYAN, &words),
            Verdict::Open => self.styled(YELLOW, &words),
        };
        self.line(&line);
    }
}

/// Columns and names that were shortened in any section.
#[derive(Default)]
struct LeftOutColumns {
    floor: bool,
    techniques: Vec<TechniqueName>,
    short_names: Vec<TechniqueName>,
}

impl LeftOutColumns {
    fn add(
        &mut self,
        frame: &Frame,
        section: &Section,
        columns: &[TechniqueName],
        rivals: &[TechniqueName],
    ) {
        self.floor |= !frame.shows_floor;
        for (index, technique) in columns.iter().enumerate() {
            if !frame.shown.contains(&index) && !self.techniques.contains(technique) {
                self.techniques.push(*technique);
            }
        }
        let is_named = |row: &Row| row.words != row.short_words;
        if frame.short_names && section.rows.iter().any(is_named) {
            for technique in rivals {
                let is_short = short_name(*technique) != technique.as_str();
                if is_short && !self.short_names.contains(technique) {
                    self.short_names.push(*technique);
                }
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let floor = self.floor.then_some("floor");
        let techniques = self.techniques.iter().map(|technique| technique.as_str());
        let columns: Vec<&str> = floor.into_iter().chain(techniques).collect();
        if !columns.is_empty() {
            notes.push(format!(
                "Columns left out, since the terminal is too narrow: {}.",
                columns.join(", ")
            ));
        }
        let names = self.short_names.iter();
        let names: Vec<String> = names
            .map(|technique| format!("\"{}\" is {technique}", short_name(*technique)))
            .collect();
        if !names.is_empty() {
            notes.push(format!("Short names: {}.", names.join(", ")));
        }
        notes
    }
}

/// The columns of one section. Each column of a technique has room for a mark behind its figures.
struct Frame {
    /// Indices of the techniques that have a column.
    shown: Vec<usize>,
    shows_floor: bool,
    short_names: bool,
    /// How many runs of a mix of sizes are named.
    runs: usize,
    heads: Vec<Vec<String>>,
    count_width: usize,
    size_width: usize,
    list_width: usize,
    mark_width: usize,
    floor_width: usize,
    entry_widths: Vec<usize>,
}

impl Frame {
    /// The widest frame that fits: see [`TableOptions::width`].
    fn fitting(
        section: &Section,
        columns: &[TechniqueName],
        rivals: &[TechniqueName],
        width: usize,
    ) -> Self {
        let all: Vec<usize> = (0..columns.len()).collect();
        let competing: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&index| rivals.contains(&columns[index]))
            .collect();
        let mut choices: Vec<(&[usize], bool, bool, usize)> = Vec::new();
        // One call a segment is rarely near the fastest; the floor is the only time in a row.
        let near: Vec<usize> = competing
            .iter()
            .copied()
            .filter(|&index| !is_each(columns[index]))
            .collect();
        let steps = [
            (&all, true),
            (&competing, true),
            (&near, true),
            (&competing, false),
            (&near, false),
        ];
        let whole_choices = 2 * steps.len();
        for (shown, shows_floor) in steps {
            for short_names in [false, true] {
                choices.push((shown, shows_floor, short_names, ALL_RUNS));
            }
        }
        for count in (0..near.len()).rev() {
            choices.push((&near[..count], false, true, ALL_RUNS));
        }
        for runs in (1..ALL_RUNS).rev() {
            choices.push((&[], false, true, runs));
        }
        let mut frames: Vec<Frame> = choices
            .into_iter()
            .map(|choice| Frame::new(section, columns, rivals, choice))
            .collect();
        let fits = |frame: &Frame, open_is_whole: bool| {
            let is_within =
                |row: &Row| frame.length() + frame.least_verdict(row, open_is_whole) <= width;
            section.rows.iter().all(is_within)
        };
        // No other rival is dropped for the interval of an open cell.
        let place = (0..whole_choices)
            .find(|&place| fits(&frames[place], true))
            .or_else(|| (0..frames.len()).find(|&place| fits(&frames[place], false)))
            .unwrap_or(frames.len() - 1);
        frames.swap_remove(place)
    }

    fn new(
        section: &Section,
        columns: &[TechniqueName],
        rivals: &[TechniqueName],
        (shown, shows_floor, short_names, runs): (&[usize], bool, bool, usize),
    ) -> Self {
        let rows = &section.rows;
        let widest = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let is_uniform = |row: &&Row| !row.count.is_empty();
        let sizes = rows.iter().filter(is_uniform).map(|row| width(&row.size));
        let mut frame = Frame {
            shown: shown.to_vec(),
            shows_floor,
            short_names,
            runs,
            heads: shown
                .iter()
                .map(|&index| head(columns[index], rivals.contains(&columns[index])))
                .collect(),
            count_width: widest(&|row| width(&row.count)),
            size_width: sizes.max().unwrap_or(0),
            list_width: 0,
            mark_width: widest(&|row| width(&row.marks())),
            floor_width: widest(&|row| width(&row.floor)).max(width("floor")),
            entry_widths: Vec::new(),
        };
        frame.list_width = widest(&|row| width(&frame.list(row)));
        frame.entry_widths = std::iter::zip(shown, &frame.heads)
            .map(|(&index, head)| {
                let head = head.iter().map(|line| width(line)).max();
                widest(&|row| width(&row.entries[index].tax)).max(head.unwrap_or(0))
            })
            .collect();
        frame
    }

    /// Width of the columns before the verdict.
    fn length(&self) -> usize {
        let entries: usize = self.entry_widths.iter().map(|width| width + 2).sum();
        width(&self.begin("", "")) + entries + 1
    }

    /// Width that a verdict needs: winner and interval; for an open cell that may be cut, the reason why
    /// it is open.
    fn least_verdict(&self, row: &Row, open_is_whole: bool) -> usize {
        match row.verdict {
            Verdict::Open if !open_is_whole => width(state(row)),
            Verdict::Open | Verdict::Faster | Verdict::Tie => width(&self.full_verdict(row)),
        }
        .max(width("verdict"))
    }

    fn full_verdict(&self, row: &Row) -> String {
        let words = self.words(row);
        match &row.interval {
            Some(interval) => format!("{words} {interval}"),
            None => words.to_owned(),
        }
    }

    fn words<'a>(&self, row: &'a Row) -> &'a str {
        match self.short_names {
            true => &row.short_words,
            false => &row.words,
        }
    }

    /// The longest form of a verdict that fits.
    fn verdict(&self, row: &Row, width_of_table: usize) -> String {
        let room = width_of_table.saturating_sub(self.length());
        let with_interval = self.full_verdict(row);
        [&with_interval, self.words(row), &row.short_words]
            .into_iter()
            .find(|words| width(words) <= room || row.verdict != Verdict::Open)
            .unwrap_or(state(row))
            .to_owned()
    }

    fn list(&self, row: &Row) -> String {
        let (count_width, size_width) = (self.count_width, self.size_width);
        match row.count.as_str() {
            "" => first_runs(&row.size, row.swept_run.as_deref(), self.runs),
            count => format!("{count:>count_width$} × {:>size_width$}", row.size),
        }
    }

    fn label(&self, row: &Row) -> String {
        let list_width = self.list_width;
        let label = format!("{:>list_width$} {}", self.list(row), row.marks());
        label.trim_end().to_owned()
    }

    /// The columns before those of the techniques.
    fn begin(&self, label: &str, floor: &str) -> String {
        // Marks leave little room for a gap after them.
        let (label_width, gap) = match self.mark_width {
            0 => (self.list_width, "  "),
            marks => (self.list_width + 1 + marks, " "),
        };
        if !self.shows_floor {
            return format!("{label:<label_width$} ");
        }
        let floor_width = self.floor_width;
        format!("{label:<label_width$}{gap}{floor:>floor_width$} ")
    }
}

/// The maximum number of runs in the text of a list.
const ALL_RUNS: usize = 3;

/// `9 × 16 B + …` of `9 × 16 B + 1 × 4 KiB`; of a swept mix, whose other runs are the same in each list, the
/// swept run.
fn first_runs(list: &str, swept_run: Option<&str>, most: usize) -> String {
    let runs: Vec<&str> = list.split(" + ").collect();
    match swept_run {
        _ if most >= ALL_RUNS || most >= runs.len() => list.to_owned(),
        Some(swept) => format!("… + {swept}"),
        None => format!("{} + …", runs[..most].join(" + ")),
    }
}

fn is_each(technique: TechniqueName) -> bool {
    technique.role() == Role::Each
}

/// `open (noise)`, without a leader.
fn state(row: &Row) -> &str {
    row.words.split(':').next().unwrap_or_default()
}

/// `copy-`, `then-`, `write`: names are broken, so that columns are as narrow as their figures. A
/// technique that takes no part in the verdict is marked `unranked`.
fn head(technique: TechniqueName, is_rival: bool) -> Vec<String> {
    let name = technique.as_str();
    if is_rival {
        name.split_inclusive('-').map(str::to_owned).collect()
    } else {
        vec!["unranked".to_owned(), name.to_owned()]
    }
}
