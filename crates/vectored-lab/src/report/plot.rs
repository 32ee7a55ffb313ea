//! Small plots for a terminal: time ÷ floor over segment size.
//!
//! A plot shows one target and segment count. Letters mark measured values; the fine lines between them
//! only guide the eye.

use crate::model::{Cell, Drain, Results, Target, Technique, Verdict};
use crate::report::canvas::{Canvas, FLOOR, GAP, Style, side_by_side};
use crate::report::plot_axes::{Horizontal, LABEL, ROWS, Vertical, points};
use crate::report::shape_text::{SIZE, shape_in_words};
use crate::report::target_names::{SectionKey, Titles};
use crate::text::wrap::wrapped;

/// Columns of the narrowest plot, and of the widest.
const NARROWEST: usize = 31;
const WIDEST: usize = 48;

/// The maximum number of rows of plots, so that they fit one screen.
const MAX_BANDS: usize = 2;

/// Marks a place where several letters have no room.
const CROWD: char = '#';

/// Options of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlotOptions {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Columns of the terminal. There is no plot if not even one fits.
    pub width: usize,
}

/// Time ÷ floor over segment size, as small plots side by side; empty if there is nothing to plot.
///
/// All segment counts (and swept mixes) of all targets are shown if they fit two rows of plots, otherwise the largest count
/// of each target. Cells of fixed mixes and of `null` are left out. The vertical axis ends at the
/// second-best technique; slower ones are shown in a row of their own above it.
pub fn plot(results: &Results, options: PlotOptions) -> String {
    if options.width < NARROWEST {
        return String::new();
    }
    let mut groups = groups(results);
    let across = (options.width + GAP) / (NARROWEST + GAP);
    let shown_all = groups.len() <= MAX_BANDS * across;
    if !shown_all {
        groups = largest_of_each(groups);
    }
    if groups.is_empty() {
        return String::new();
    }
    let across = across.min(groups.len());
    let width = ((options.width + GAP) / across - GAP).min(WIDEST);
    let signs = Signs::new(&groups);
    let mut text = String::new();
    for band in groups.chunks(across) {
        let plots: Vec<Canvas> = band
            .iter()
            .map(|group| Drawing::new(group, width, &signs).canvas)
            .collect();
        text += &side_by_side(&longer_headings(band, width), options.color);
        text += &side_by_side(&plots, options.color);
        text.push('\n');
    }
    let crowded = text.contains(CROWD);
    for line in signs.legend(results, options, shown_all, crowded) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The additional lines of headings that are longer than one line.
fn longer_headings(band: &[Group<'_>], width: usize) -> Vec<Canvas> {
    let headings: Vec<Vec<String>> = band.iter().map(|group| group.heading(width)).collect();
    let height = headings.iter().map(Vec::len).max().unwrap_or(1) - 1;
    headings
        .iter()
        .map(|lines| {
            let mut canvas = Canvas::new(width, height);
            // The last line is part of the plot.
            let above = lines.iter().rev().skip(1);
            for (row, line) in std::iter::zip((0..height).rev(), above) {
                canvas.write(row, LABEL, line, Style::Bold);
            }
            canvas
        })
        .collect()
}

/// The cells of one plot, by size.
struct Group<'a> {
    title: String,
    cells: Vec<&'a Cell>,
}

impl Group<'_> {
    /// The title and the count, in one line or more.
    fn heading(&self, width: usize) -> Vec<String> {
        let lists = shape_in_words(self.cells[0].shape());
        let heading = format!("{}, {lists}", self.title);
        // A line ends after a comma, or before a run of a mix.
        let broken = heading.replace(", ", ",\n").replace(" + ", "\n+ ");
        let parts = broken.lines().map(|part| {
            let part = part.trim_end();
            (part.to_owned(), part.chars().count())
        });
        wrapped(parts, width.saturating_sub(LABEL))
    }
}

/// Groups of cells that differ in one size only.
fn groups(results: &Results) -> Vec<Group<'_>> {
    let has_place = |cell: &&Cell| {
        cell.target != Target::Null
            && cell.swept_bytes().is_some_and(|bytes| bytes > 0)
            && !points(cell).is_empty()
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    let cells = || results.cells.iter().chain(&results.refined_cells);
    let titles = Titles::among(cells());
    for cell in cells().filter(has_place) {
        match groups
            .iter_mut()
            .find(|g| belong_together(g.cells[0], cell))
        {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group {
                title: titles.of(SectionKey::of(cell)),
                cells: vec![cell],
            }),
        }
    }
    for group in &mut groups {
        group.cells.sort_by_key(|cell| cell.swept_bytes());
    }
    // A curve needs at least two points.
    groups.retain(|group| {
        let size = |cell: Option<&&Cell>| cell.and_then(|cell| cell.swept_bytes());
        size(group.cells.first()) != size(group.cells.last())
    });
    groups.sort_by_key(|group| SectionKey::of(group.cells[0]));
    groups
}

fn belong_together(one: &Cell, other: &Cell) -> bool {
    SectionKey::of(one) == SectionKey::of(other) && one.shape() == other.shape()
}

/// Keeps, of the neighbouring groups with the same title, the one with the most segments.
fn largest_of_each(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let count = |group: &Group<'_>| group.cells[0].segment_count;
    let mut largest: Vec<Group<'_>> = Vec::new();
    for group in groups {
        match largest.iter_mut().find(|other| other.title == group.title) {
            Some(other) if count(other) < count(&group) => *other = group,
            Some(_) => {}
            None => largest.push(group),
        }
    }
    largest
}

/// A letter for each technique.
struct Signs {
    letters: Vec<(Technique, char)>,
}

impl Signs {
    fn new(groups: &[Group<'_>]) -> Self {
        let cells = || groups.iter().flat_map(|group| &group.cells);
        let mut letters: Vec<(Technique, char)> = Vec::new();
        for technique in Technique::ALL {
            let is_measured = |cell: &&&Cell| cell.technique(technique).is_some();
            if !cells().any(|cell| is_measured(&cell)) {
                continue;
            }
            let is_free = |letter: &char| letters.iter().all(|(_, taken)| taken != letter);
            let preferred = match technique.name() {
                "write-each" | "read-each" => "e",
                "copy-then-write" => "c",
                "read-then-split" => "s",
                "writev" | "readv" => "v",
                _ => "",
            };
            // r and w mark a thread at the other end.
            let own = technique.name().chars().filter(|c| !"rw".contains(*c));
            let letter = (preferred.chars().chain(own))
                .filter(char::is_ascii_lowercase)
                .chain('A'..='Z')
                .find(is_free)
                .unwrap_or('?');
            letters.push((technique, letter));
        }
        Signs { letters }
    }

    fn letter(&self, technique: Technique) -> (char, Style) {
        let found = |&(name, _): &(Technique, char)| name == technique;
        match self.letters.iter().position(found) {
            Some(index) => (self.letters[index].1, Style::of(index)),
            None => ('?', Style::None),
        }
    }

    /// The legend, broken to the width.
    fn legend(
        &self,
        results: &Results,
        options: PlotOptions,
        shown_all: bool,
        crowded: bool,
    ) -> Vec<String> {
        // Parts that are coloured or must not be broken, with their lengths.
        let mut parts: Vec<(String, usize)> = Vec::new();
        for &(technique, letter) in &self.letters {
            let unranked = match results.rivals.contains(&technique) {
                true => "",
                false => " (unranked)",
            };
            let plain = format!(" {technique}{unranked} ");
            let (_, style) = self.letter(technique);
            let length = 1 + plain.chars().count();
            let sign = style.paint(letter, options.color);
            parts.push((format!("{sign}{plain}"), length));
        }
        let has_sweep = results.cells.iter().any(|cell| cell.swept_mix.is_some());
        let horizontal = if has_sweep { SIZE } else { "segment size" };
        let mut explained = format!(
            "Vertical: time ÷ floor (1 + gather tax); above: beyond the axis. Horizontal: \
             {horizontal}; r or w: a thread reads or writes. wins: the winner, = tie, ? open."
        );
        if crowded {
            explained += " #: several letters at one place.";
        }
        if !shown_all {
            explained += match has_sweep {
                true => " Only the mix with the most segments of each target is shown.",
                false => " Only the largest segment count of each target is shown.",
            };
        }
        let explained = explained
            .split(' ')
            .map(|word| (word.to_owned(), word.chars().count()));
        let mut lines = wrapped(parts, options.width);
        lines.extend(wrapped(explained, options.width));
        lines
    }
}

/// Rows of a plot: title, values above the axis, the axis, ticks, tick labels, and winners.
const TITLE_ROW: usize = 0;
const ABOVE_ROW: usize = 1;
const FIRST_ROW: usize = 2;
const TICK_ROW: usize = FIRST_ROW + ROWS;
const SIZE_ROW: usize = TICK_ROW + 1;
const WINS_ROW: usize = TICK_ROW + 2;

/// A plot being drawn on its canvas.
struct Drawing<'a> {
    group: &'a Group<'a>,
    signs: &'a Signs,
    vertical: Vertical,
    horizontal: Horizontal,
    canvas: Canvas,
}

impl<'a> Drawing<'a> {
    fn new(group: &'a Group<'a>, width: usize, signs: &'a Signs) -> Self {
        let mut drawing = Drawing {
            group,
            signs,
            vertical: Vertical::new(&group.cells),
            horizontal: Horizontal::new(&group.cells, width - LABEL),
            canvas: Canvas::new(width, WINS_ROW + 1),
        };
        drawing.axes();
        // Letters are drawn first: dots do not overwrite them.
        drawing.letters();
        drawing.lines();
        drawing.wins();
        drawing
    }

    fn axes(&mut self) {
        let canvas = &mut self.canvas;
        let heading = self.group.heading(canvas.width);
        if let Some(line) = heading.last() {
            canvas.write(TITLE_ROW, LABEL, line, Style::Bold);
        }
        for row in ABOVE_ROW..TICK_ROW {
            canvas.put(row, LABEL - 1, '│', Style::None);
        }
        canvas.write(ABOVE_ROW, 0, "above", Style::None);
        if let Some(row) = self.vertical.row(1.0) {
            for column in LABEL..canvas.width {
                canvas.put(FIRST_ROW + row, column, FLOOR, Style::Faint);
            }
        }
        for (row, label) in self.vertical.ticks() {
            let label = format!("{label:>0$}┤", LABEL - 1);
            canvas.write(FIRST_ROW + row, 0, &label, Style::None);
        }
        canvas.put(TICK_ROW, LABEL - 1, '└', Style::None);
        for column in LABEL..canvas.width {
            canvas.put(TICK_ROW, column, '─', Style::None);
        }
        for cell in &self.group.cells {
            let tick = match cell.drain {
                Some(Drain::ReaderThread) => 'r',
                Some(Drain::WriterThread) => 'w',
                Some(Drain::BetweenSamples | Drain::Peer) | None => '┴',
            };
            let column = LABEL + self.horizontal.column(cell);
            canvas.put(TICK_ROW, column, tick, Style::None);
        }
        for (column, label) in self.horizontal.labels(&self.group.cells) {
            canvas.write(SIZE_ROW, LABEL + column, &label, Style::None);
        }
    }

    /// Draws every value in its row; techniques at the same place stand side by side.
    fn letters(&mut self) {
        let mut places: Vec<(usize, usize, Vec<Technique>)> = Vec::new();
        for cell in &self.group.cells {
            let column = self.horizontal.column(cell);
            for (technique, ratio) in points(cell) {
                let row = self
                    .vertical
                    .row(ratio)
                    .map_or(ABOVE_ROW, |row| FIRST_ROW + row);
                let here =
                    |place: &&mut (usize, usize, Vec<_>)| (place.0, place.1) == (row, column);
                match places.iter_mut().find(here) {
                    Some((_, _, techniques)) if techniques.contains(&technique) => {}
                    Some((_, _, techniques)) => techniques.push(technique),
                    None => places.push((row, column, vec![technique])),
                }
            }
        }
        let room = self.horizontal.room;
        for (row, column, techniques) in places {
            if techniques.len() > room {
                self.canvas.put(row, LABEL + column, CROWD, Style::Bold);
                continue;
            }
            let last = self.horizontal.columns.saturating_sub(techniques.len());
            let first = column.saturating_sub((techniques.len() - 1) / 2).min(last);
            for (index, technique) in techniques.into_iter().enumerate() {
                let (letter, style) = self.signs.letter(technique);
                self.canvas.put(row, LABEL + first + index, letter, style);
            }
        }
    }

    /// Draws straight lines of dots between the values of neighbouring sizes, within the axis.
    fn lines(&mut self) {
        for (left, right) in std::iter::zip(&self.group.cells, self.group.cells.iter().skip(1)) {
            let right_points = points(right);
            let (start, end) = (self.horizontal.column(left), self.horizontal.column(right));
            for (technique, from) in points(left) {
                let same = |point: &&(Technique, f64)| point.0 == technique;
                let Some(&(_, to)) = right_points.iter().find(same) else {
                    continue;
                };
                let (_, style) = self.signs.letter(technique);
                let steps = (end - start) * 2 * ROWS;
                for step in 1..steps {
                    let share = step as f64 / steps as f64;
                    // Two dots a column, four a row.
                    let x = start as f64 * 2.0 + share * (end - start) as f64 * 2.0 + 0.5;
                    let ratio = (from.ln() + share * (to.ln() - from.ln())).exp();
                    let Some(down) = self.vertical.position(ratio) else {
                        continue;
                    };
                    let (x, y) = (x as usize, (down * 4.0) as usize);
                    let place = (FIRST_ROW + y / 4, LABEL + x / 2);
                    self.canvas.dot(place, (y % 4, x % 2), style);
                }
            }
        }
    }

    /// Colours the lines by the best technique.
    fn wins(&mut self) {
        self.canvas.write(WINS_ROW, 0, "wins", Style::None);
        for cell in &self.group.cells {
            let (sign, style) = match (cell.verdict, cell.winner) {
                (Verdict::Faster, Some(winner)) => self.signs.letter(winner),
                (Verdict::Tie, _) => ('=', Style::None),
                _ => ('?', Style::None),
            };
            let column = LABEL + self.horizontal.column(cell);
            self.canvas.put(WINS_ROW, column, sign, style);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{SyncMode, TechniqueResult};
    use crate::report::plot_axes::tick_label;

    fn technique(name: Technique, gather_tax: f64) -> TechniqueResult {
        TechniqueResult {
            name,
            contender: true,
            calls_per_sample: 1,
            median_ns: 1.0,
            min_ns: 1.0,
            cpu_median_ns: 1.0,
            gather_tax,
            ratio_to_leader: 1.0,
            ratio_low: None,
            ratio_high: None,
            floor_ratio: None,
            floor_ratio_low: None,
            floor_ratio_high: None,
            samples_ns: Vec::new(),
            latency: Default::default(),
            writers: None,
            ranks: None,
            zerocopy: None,
        }
    }

    fn cell(bytes: usize, techniques: Vec<TechniqueResult>) -> Cell {
        Cell {
            target: Target::Pipe,
            path: None,
            operation: Default::default(),
            segment_count: 16,
            segment_bytes: Some(bytes),
            segment_sizes: None,
            swept_mix: None,
            layout: Default::default(),
            cache: Default::default(),
            page_cache: None,
            iovec_setup: Default::default(),
            sync: SyncMode::None,
            direct: None,
            file_system: None,
            span_bytes: None,
            queue_depth: 1,
            writers: None,
            ranks: None,
            drain: None,
            rounds: 40,
            floor_ns: 1.0,
            floor_samples_ns: Vec::new(),
            aa_samples_ns: Vec::new(),
            verdict: Verdict::Open,
            winner: None,
            leader: None,
            noise_floor: None,
            open_because: None,
            aa_separated: false,
            proof_calls: 1,
            techniques,
        }
    }

    fn results(cells: Vec<Cell>) -> Results {
        Results {
            schema: String::new(),
            complete: true,
            vectored_version: String::new(),
            started_at: String::new(),
            elapsed_s: 1.0,
            budget_s: 1.0,
            seed: 1,
            rivals: vec![Technique::Writev],
            host: Default::default(),
            ruler: Default::default(),
            cells,
            refined_cells: Vec::new(),
            crossovers: Vec::new(),
            cost_models: Vec::new(),
            advice: Vec::new(),
            asynchronous: Vec::new(),
            writer_advice: Vec::new(),
            ranks: Vec::new(),
            coordination: None,
            rank_advice: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Realistic taxes, and arbitrary numbers.
    fn taxes() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -0.5..3.0f64,
            1 => 0.0..1000.0f64,
            1 => any::<f64>().prop_filter("finite", |tax| tax.is_finite()),
        ]
    }

    fn cells() -> impl Strategy<Value = Vec<Cell>> {
        let size = prop_oneof![3 => 1usize..70_000, 1 => any::<usize>()];
        let techniques =
            proptest::sample::subsequence(Technique::of(Default::default()).to_vec(), 0..=4);
        let one = (size, techniques, proptest::array::uniform4(taxes()));
        let cells = proptest::collection::vec(one, 0..9);
        cells.prop_map(|cells| {
            cells
                .into_iter()
                .map(|(bytes, names, taxes)| {
                    let pairs = std::iter::zip(names, taxes);
                    cell(
                        bytes,
                        pairs.map(|(name, tax)| technique(name, tax)).collect(),
                    )
                })
                .collect()
        })
    }

    /// The row of a value and the letters near the column of its size, found independently of the drawing
    /// code.
    fn expected_row(low: f64, high: f64, ratio: f64) -> usize {
        // The ratio of the two may overflow.
        let row_height = (high.ln() - low.ln()) / 11.0;
        let rows_below_top = (high.ln() - ratio.ln()) / row_height;
        if rows_below_top < -0.5 {
            return 1;
        }
        2 + (rows_below_top + 0.5).floor() as usize
    }

    proptest! {
        #[test]
        fn any_figures_are_plotted_in_their_rows_within_the_width(
            cells in cells(),
            width in 0usize..140,
        ) {
            let results = results(cells);
            let options = PlotOptions { color: false, width };
            let text = plot(&results, options);
            for line in text.lines() {
                prop_assert!(line.chars().count() <= width, "{line}");
            }
            let groups = groups(&results);
            prop_assert_eq!(text.is_empty(), groups.is_empty() || width < NARROWEST);
            let [group] = &groups[..] else { return Ok(()) };
            if text.is_empty() {
                return Ok(());
            }
            let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
            let vertical = Vertical::new(&group.cells);
            let horizontal = Horizontal::new(&group.cells, width.min(WIDEST) - LABEL);
            for cell in &group.cells {
                let column = LABEL + horizontal.column(cell);
                for (name, ratio) in points(cell) {
                    let letter = match name {
                        Technique::WriteEach => 'e',
                        Technique::CopyThenWrite => 'c',
                        Technique::Writev => 'v',
                        _ => 'a',
                    };
                    let exact = expected_row(vertical.low, vertical.high, ratio);
                    // Rounding may move a value that lies between two rows.
                    let rows = [0.999_999, 1.0, 1.000_001]
                        .map(|near| expected_row(vertical.low, vertical.high, ratio * near));
                    let is_there = rows.iter().any(|&row| {
                        let begin = column.saturating_sub(4).min(lines[row].len());
                        let end = (column + 5).min(lines[row].len());
                        let near = &lines[row][begin..end];
                        near.contains(&letter) || near.contains(&CROWD)
                    });
                    prop_assert!(is_there, "{name} {ratio} not in row {exact} of\n{text}");
                }
            }
        }

        #[test]
        fn ticks_say_where_they_stand(low in 1e-3..1.0f64, span in 1.25..1e5f64) {
            let vertical = Vertical { low, high: (low * span).max(1.25) };
            let ticks = vertical.ticks();
            prop_assert!(ticks.iter().any(|(_, label)| label == "1×"));
            for (row, label) in ticks {
                let value: f64 = label.trim_end_matches('×').parse().unwrap();
                prop_assert_eq!(vertical.row(value), Some(row), "{}", label);
                prop_assert!(label.chars().count() < LABEL);
            }
        }
    }

    #[test]
    fn tick_labels_are_short() {
        let labels = [0.5, 1.0, 1.05, 2.5, 20.0, 5000.0, 1e5, 1e-5].map(tick_label);
        let expected = [
            "0.5×", "1×", "1.05×", "2.5×", "20×", "5000×", "1e5×", "1e-5×",
        ];
        assert_eq!(labels, expected);
    }

    #[test]
    fn techniques_of_one_place_stand_side_by_side_where_there_is_room() {
        let all = |bytes| {
            let names = Technique::of(Default::default());
            cell(bytes, names.map(|name| technique(name, 0.5)).into())
        };
        let options = PlotOptions {
            color: false,
            width: 48,
        };
        let roomy = plot(&results(vec![all(16), all(4096)]), options);
        assert_eq!(roomy.matches("ecva").count(), 2, "{roomy}");
        assert!(!roomy.contains('#'), "{roomy}");
        let sizes = (0..16).map(|step| all(16 << step)).collect();
        let crowded = plot(&results(sizes), options);
        let line = crowded.lines().find(|line| line.contains('#')).unwrap();
        assert_eq!(line.matches('#').count(), 16, "{crowded}");
        assert!(crowded.contains("several letters"), "{crowded}");
    }
}
