//! Small plots for a terminal: time ÷ floor over segment size.
//!
//! A plot is one target and segment count. Letters stand at what was measured;
//! the fine lines between them only lead the eye from one letter to the next.

use crate::model::{Cell, Drain, Results, Target, Technique, Verdict};
use crate::report::target_names::{SectionKey, Titles};
use crate::text::format;

/// Rows between the lowest and the highest tick of the vertical axis.
const ROWS: usize = 12;

/// Columns of the narrowest plot, and of the widest.
const NARROWEST: usize = 31;
const WIDEST: usize = 48;

/// Columns between two plots.
const GAP: usize = 3;

/// Columns of the labels of the vertical axis, with the axis.
const LABEL: usize = 6;

/// More rows of plots than this do not fit one screen.
const MAX_BANDS: usize = 2;

/// The vertical axis spans at least this ratio, or noise would look like a
/// difference.
const MIN_SPAN: f64 = 1.25;

/// Where several letters would stand and have no room.
const CROWD: char = '#';

/// How plots are to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlotOptions {
    /// With ANSI colours.
    pub color: bool,
    /// Columns of the terminal. Where not even one plot fits there is none.
    pub width: usize,
}

/// Time ÷ floor over segment size, as small plots side by side; empty where
/// there is nothing to plot.
///
/// All counts of all targets are shown where they fit two rows of plots, else
/// the largest count of each target. Cells of mixed sizes have no place on the
/// axis, and `null` has no tax. The vertical axis ends where the second best
/// technique does: what is far behind stands in a row of its own above it.
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

/// Canvases of one height.
pub(crate) fn side_by_side(canvases: &[Canvas], color: bool) -> String {
    let mut text = String::new();
    for row in 0..canvases[0].height {
        let mut line = String::new();
        for (index, canvas) in canvases.iter().enumerate() {
            let gap = if index == 0 { 0 } else { GAP };
            line.push_str(&" ".repeat(gap));
            canvas.print(row, color, &mut line);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What stands above plots whose headings are longer than one line.
fn longer_headings(band: &[Group<'_>], width: usize) -> Vec<Canvas> {
    let headings: Vec<Vec<String>> = band.iter().map(|group| group.heading(width)).collect();
    let height = headings.iter().map(Vec::len).max().unwrap_or(1) - 1;
    headings
        .iter()
        .map(|lines| {
            let mut canvas = Canvas::new(width, height);
            // The last line is the plot's own.
            let above = lines.iter().rev().skip(1);
            for (row, line) in std::iter::zip((0..height).rev(), above) {
                canvas.write(row, LABEL, line, Ink::Bold);
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
        let count = self.cells[0].segment_count;
        let heading = format!("{}, {count} segments", self.title);
        let parts = heading.split_inclusive(", ").map(|part| {
            let part = part.trim_end();
            (part.to_owned(), part.chars().count())
        });
        wrapped(parts, width.saturating_sub(LABEL))
    }
}

/// Cells that differ in nothing but the size of their segments.
fn groups(results: &Results) -> Vec<Group<'_>> {
    let has_place = |cell: &&Cell| {
        cell.target != Target::Null
            && cell.segment_bytes.is_some_and(|bytes| bytes > 0)
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
        group.cells.sort_by_key(|cell| cell.segment_bytes);
    }
    // A curve needs two ends.
    groups.retain(|group| {
        let size = |cell: Option<&&Cell>| cell.and_then(|cell| cell.segment_bytes);
        size(group.cells.first()) != size(group.cells.last())
    });
    groups.sort_by_key(|group| SectionKey::of(group.cells[0]));
    groups
}

fn belong_together(one: &Cell, other: &Cell) -> bool {
    fn list(cell: &Cell) -> impl PartialEq {
        (cell.segment_count, cell.queue_depth)
    }
    SectionKey::of(one) == SectionKey::of(other) && list(one) == list(other)
}

/// Of the groups with one title, which are neighbours, the one with the most
/// segments.
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

/// Technique and time ÷ floor. What makes no sense has no place on an axis.
fn points(cell: &Cell) -> Vec<(Technique, f64)> {
    let techniques = cell.techniques.iter();
    techniques
        .map(|technique| {
            // By round, as verdicts are.
            let ratio = technique.floor_ratio;
            (technique.name, ratio.unwrap_or(1.0 + technique.gather_tax))
        })
        .filter(|&(_, ratio)| ratio.is_finite() && ratio > 0.0)
        .collect()
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
            // r and w tell of a thread at the other end.
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

    fn letter(&self, technique: Technique) -> (char, Ink) {
        let found = |&(name, _): &(Technique, char)| name == technique;
        match self.letters.iter().position(found) {
            Some(index) => (self.letters[index].1, Ink::of(index)),
            None => ('?', Ink::None),
        }
    }

    /// What the letters mean, within the width.
    fn legend(
        &self,
        results: &Results,
        options: PlotOptions,
        shown_all: bool,
        crowded: bool,
    ) -> Vec<String> {
        // What has a colour or must not be broken, with its length.
        let mut parts: Vec<(String, usize)> = Vec::new();
        for &(technique, letter) in &self.letters {
            let beside = match results.rivals.contains(&technique) {
                true => "",
                false => " (beside)",
            };
            let plain = format!(" {technique}{beside} ");
            let (_, ink) = self.letter(technique);
            let length = 1 + plain.chars().count();
            let sign = ink.paint(letter, options.color);
            parts.push((format!("{sign}{plain}"), length));
        }
        let mut explained =
            "Up: time ÷ floor, which is 1 + gather tax; above: past the end of the \
             axis. Along: segment size; r or w, a thread took part. wins: the winner, = tie, \
             ? open."
                .to_owned();
        if crowded {
            explained += " #: several letters without room.";
        }
        if !shown_all {
            explained += " Shown: the largest count of each target.";
        }
        let explained = explained
            .split(' ')
            .map(|word| (word.to_owned(), word.chars().count()));
        let mut lines = wrapped(parts, options.width);
        lines.extend(wrapped(explained, options.width));
        lines
    }
}

/// Parts in lines, each broken by force if it is wider than a line.
pub(crate) fn wrapped(
    parts: impl IntoIterator<Item = (String, usize)>,
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for (part, length) in parts {
        if used > 0 && used + 1 + length > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line += &part;
        used += length;
    }
    lines.push(line);
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ink {
    None,
    Bold,
    Faint,
    /// An SGR colour.
    Color(u8),
}

impl Ink {
    pub fn of(technique: usize) -> Ink {
        const COLORS: [u8; 6] = [31, 32, 36, 35, 33, 34];
        Ink::Color(COLORS[technique % COLORS.len()])
    }

    pub fn paint(self, c: char, color: bool) -> String {
        match self {
            _ if !color => c.to_string(),
            Ink::None => c.to_string(),
            Ink::Bold => format!("\x1b[1m{c}\x1b[0m"),
            Ink::Faint => format!("\x1b[2m{c}\x1b[0m"),
            Ink::Color(code) => format!("\x1b[{code}m{c}\x1b[0m"),
        }
    }
}

/// Characters and their inks.
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    places: Vec<(char, Ink)>,
}

impl Canvas {
    pub fn new(width: usize, height: usize) -> Self {
        Canvas {
            width,
            height,
            places: vec![(' ', Ink::None); width * height],
        }
    }

    /// What lies outside is cut.
    pub fn put(&mut self, row: usize, column: usize, c: char, ink: Ink) {
        if row < self.height && column < self.width {
            self.places[row * self.width + column] = (c, ink);
        }
    }

    pub fn write(&mut self, row: usize, column: usize, text: &str, ink: Ink) {
        for (index, c) in text.chars().enumerate() {
            self.put(row, column + index, c, ink);
        }
    }

    /// Sets one of the 2 × 4 dots of a place, unless a letter is there.
    pub fn dot(&mut self, (row, column): (usize, usize), (down, right): (usize, usize), ink: Ink) {
        // The order of the dots in U+2800 and the 255 after it.
        const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if row >= self.height || column >= self.width {
            return;
        }
        let place = &mut self.places[row * self.width + column];
        let dots = match place.0 as u32 {
            dots @ 0x2800..=0x28ff => dots,
            _ if place.0 == ' ' || place.0 == FLOOR => 0x2800,
            _ => return,
        };
        if let Some(c) = char::from_u32(dots | BITS[down][right]) {
            *place = (c, ink);
        }
    }

    fn print(&self, row: usize, color: bool, line: &mut String) {
        for &(c, ink) in &self.places[row * self.width..][..self.width] {
            let ink = if c == ' ' { Ink::None } else { ink };
            line.push_str(&ink.paint(c, color));
        }
    }
}

/// The line at 1, the floor itself.
const FLOOR: char = '┈';

/// Rows of a plot: its title, what is above the axis, the axis, and below it
/// the ticks, their labels, and the winners.
const TITLE_ROW: usize = 0;
const ABOVE_ROW: usize = 1;
const FIRST_ROW: usize = 2;
const TICK_ROW: usize = FIRST_ROW + ROWS;
const SIZE_ROW: usize = TICK_ROW + 1;
const WINS_ROW: usize = TICK_ROW + 2;

/// One plot on its way to its canvas.
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
        // The letters first: dots leave them alone.
        drawing.letters();
        drawing.lines();
        drawing.wins();
        drawing
    }

    fn axes(&mut self) {
        let canvas = &mut self.canvas;
        let heading = self.group.heading(canvas.width);
        if let Some(line) = heading.last() {
            canvas.write(TITLE_ROW, LABEL, line, Ink::Bold);
        }
        for row in ABOVE_ROW..TICK_ROW {
            canvas.put(row, LABEL - 1, '│', Ink::None);
        }
        canvas.write(ABOVE_ROW, 0, "above", Ink::None);
        if let Some(row) = self.vertical.row(1.0) {
            for column in LABEL..canvas.width {
                canvas.put(FIRST_ROW + row, column, FLOOR, Ink::Faint);
            }
        }
        for (row, label) in self.vertical.ticks() {
            let label = format!("{label:>0$}┤", LABEL - 1);
            canvas.write(FIRST_ROW + row, 0, &label, Ink::None);
        }
        canvas.put(TICK_ROW, LABEL - 1, '└', Ink::None);
        for column in LABEL..canvas.width {
            canvas.put(TICK_ROW, column, '─', Ink::None);
        }
        for cell in &self.group.cells {
            let tick = match cell.drain {
                Some(Drain::ReaderThread) => 'r',
                Some(Drain::WriterThread) => 'w',
                Some(Drain::BetweenSamples | Drain::Peer) | None => '┴',
            };
            let column = LABEL + self.horizontal.column(cell);
            canvas.put(TICK_ROW, column, tick, Ink::None);
        }
        for (column, label) in self.horizontal.labels(&self.group.cells) {
            canvas.write(SIZE_ROW, LABEL + column, &label, Ink::None);
        }
    }

    /// Every value in its row: techniques that share a place stand side by
    /// side.
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
                self.canvas.put(row, LABEL + column, CROWD, Ink::Bold);
                continue;
            }
            let last = self.horizontal.columns.saturating_sub(techniques.len());
            let first = column.saturating_sub((techniques.len() - 1) / 2).min(last);
            for (index, technique) in techniques.into_iter().enumerate() {
                let (letter, ink) = self.signs.letter(technique);
                self.canvas.put(row, LABEL + first + index, letter, ink);
            }
        }
    }

    /// Straight lines between the values of neighbouring sizes, in dots, where
    /// they are within the axis.
    fn lines(&mut self) {
        for (left, right) in std::iter::zip(&self.group.cells, self.group.cells.iter().skip(1)) {
            let right_points = points(right);
            let (start, end) = (self.horizontal.column(left), self.horizontal.column(right));
            for (technique, from) in points(left) {
                let same = |point: &&(Technique, f64)| point.0 == technique;
                let Some(&(_, to)) = right_points.iter().find(same) else {
                    continue;
                };
                let (_, ink) = self.signs.letter(technique);
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
                    self.canvas.dot(place, (y % 4, x % 2), ink);
                }
            }
        }
    }

    /// Where the letter changes, so does the best technique.
    fn wins(&mut self) {
        self.canvas.write(WINS_ROW, 0, "wins", Ink::None);
        for cell in &self.group.cells {
            let (sign, ink) = match (cell.verdict, cell.winner) {
                (Verdict::Faster, Some(winner)) => self.signs.letter(winner),
                (Verdict::Tie, _) => ('=', Ink::None),
                _ => ('?', Ink::None),
            };
            let column = LABEL + self.horizontal.column(cell);
            self.canvas.put(WINS_ROW, column, sign, ink);
        }
    }
}

/// The logarithmic axis of time ÷ floor.
struct Vertical {
    low: f64,
    high: f64,
}

impl Vertical {
    fn new(cells: &[&Cell]) -> Self {
        let mut low: f64 = 1.0;
        let mut high: f64 = 1.0;
        let mut highest: f64 = 1.0;
        for cell in cells {
            let mut ratios: Vec<f64> = points(cell).iter().map(|point| point.1).collect();
            ratios.sort_by(f64::total_cmp);
            let second = ratios.get(1).or(ratios.first()).copied().unwrap_or(1.0);
            low = low.min(ratios.first().copied().unwrap_or(1.0));
            high = high.max(second);
            highest = highest.max(ratios.last().copied().unwrap_or(1.0));
        }
        // Nothing is cut off to win only a little.
        high = match highest / high < 1.5 {
            true => highest,
            false => high,
        };
        Vertical {
            low,
            high: high.max(low * MIN_SPAN),
        }
    }

    /// Rows from the top, with their fraction; `None` above the axis.
    fn position(&self, ratio: f64) -> Option<f64> {
        let span = self.high.ln() - self.low.ln();
        let share = (self.high.ln() - ratio.ln()) / span;
        // The ends lie in the middle of their rows.
        let down = share * (ROWS - 1) as f64 + 0.5;
        (down >= 0.0).then(|| down.min(ROWS as f64 - 0.01))
    }

    /// The row of a value; `None` above the axis.
    fn row(&self, ratio: f64) -> Option<usize> {
        self.position(ratio).map(|down| down as usize)
    }

    /// Round values, each in the row in which such a value stands: 1 and the
    /// two ends before those between.
    fn ticks(&self) -> Vec<(usize, String)> {
        let mut ticks: Vec<(usize, String)> = Vec::new();
        let mut add = |ratio: f64| {
            let Some(row) = self.row(ratio) else { return };
            let is_far = |&(other, _): &(usize, String)| row.abs_diff(other) > 1;
            let label = tick_label(ratio);
            if ticks.iter().all(is_far) && label.chars().count() < LABEL {
                ticks.push((row, label));
            }
        };
        add(1.0);
        let decades = self.low.log10().floor() as i32..=self.high.log10().floor() as i32;
        for steps in [
            &[1.0][..],
            &[2.0, 5.0],
            &[1.5, 3.0],
            &[1.2, 4.0, 7.0, 8.0],
            &[1.1, 1.3, 2.5, 6.0, 9.0],
            &[1.05, 1.15],
        ] {
            for decade in decades.clone() {
                for step in steps {
                    let ratio = step * 10f64.powi(decade);
                    if ratio >= self.low && ratio <= self.high {
                        add(ratio);
                    }
                }
            }
        }
        ticks
    }
}

/// `0.5×`, `1×`, `1.05×`, `20×`, `1e5×`.
fn tick_label(ratio: f64) -> String {
    let text = match ratio {
        _ if !(0.095..9999.5).contains(&ratio) => return format!("{ratio:e}×"),
        _ if ratio >= 9.5 => format!("{ratio:.0}"),
        _ => format!("{ratio:.2}"),
    };
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}×")
}

/// The logarithmic axis of segment sizes.
struct Horizontal {
    low: f64,
    high: f64,
    columns: usize,
    /// Letters that may stand side by side at one size.
    room: usize,
}

impl Horizontal {
    fn new(cells: &[&Cell], columns: usize) -> Self {
        let size = |cell: Option<&&Cell>| cell.map_or(1.0, |cell| log_size(cell));
        let mut horizontal = Horizontal {
            low: size(cells.first()),
            high: size(cells.last()),
            columns,
            room: columns,
        };
        let taken: Vec<usize> = cells.iter().map(|cell| horizontal.column(cell)).collect();
        for pair in taken.windows(2) {
            // Cells of one place share its letters.
            if pair[0] < pair[1] {
                horizontal.room = horizontal.room.min(pair[1] - pair[0] - 1).max(1);
            }
        }
        horizontal
    }

    /// One column is left free at either end, for letters side by side.
    fn column(&self, cell: &Cell) -> usize {
        let share = (log_size(cell) - self.low) / (self.high - self.low);
        1 + (share * self.columns.saturating_sub(3) as f64).round() as usize
    }

    /// Sizes under their ticks, as many as have room: the ends first.
    fn labels(&self, cells: &[&Cell]) -> Vec<(usize, String)> {
        let mut labels: Vec<(usize, String)> = Vec::new();
        let last = cells.len() - 1;
        let order = [0, last].into_iter().chain(1..last);
        for cell in order.map(|index| cells[index]) {
            let text = format::bytes_in_words(cell.segment_bytes.unwrap_or(0) as u64);
            let length = text.chars().count();
            let begin = self.column(cell).saturating_sub(length / 2);
            let begin = begin.min(self.columns.saturating_sub(length));
            let is_clear = |(other, text): &(usize, String)| {
                begin > other + text.chars().count() || *other > begin + length
            };
            if labels.iter().all(is_clear) {
                labels.push((begin, text));
            }
        }
        labels
    }
}

fn log_size(cell: &Cell) -> f64 {
    (cell.segment_bytes.unwrap_or(1).max(1) as f64).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{SyncMode, TechniqueResult};

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
            layout: Default::default(),
            cache: Default::default(),
            page_cache: None,
            iovec_setup: Default::default(),
            sync: SyncMode::None,
            file_system: None,
            span_bytes: None,
            queue_depth: None,
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
            left_out: Vec::new(),
        }
    }

    /// Taxes as they are measured, and any number at all.
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

    /// The line of a value and the letters near the place of its size, found
    /// without the code that draws.
    fn expected_row(low: f64, high: f64, ratio: f64) -> usize {
        // A ratio of the two may be more than a number can hold.
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
                    // Rounding may move what lies on the border of two rows.
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
