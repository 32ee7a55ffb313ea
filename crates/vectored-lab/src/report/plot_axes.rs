//! The axes of a plot in a terminal: from ratios and sizes to rows, columns and labels.

use crate::model::{Cell, Technique};
use crate::text::format;

/// Rows between the lowest and the highest tick of the vertical axis.
pub(crate) const ROWS: usize = 12;

/// Columns of the labels of the vertical axis, with the axis.
pub(crate) const LABEL: usize = 6;

/// The minimum span of the vertical axis, as a ratio, so that noise does not look like a difference.
pub(crate) const MIN_SPAN: f64 = 1.25;

/// Techniques with their time ÷ floor; values that cannot be drawn are left out.
pub(crate) fn points(cell: &Cell) -> Vec<(Technique, f64)> {
    let techniques = cell.techniques.iter();
    techniques
        .map(|technique| {
            // Paired by round, as in verdicts.
            let ratio = technique.floor_ratio;
            (technique.name, ratio.unwrap_or(1.0 + technique.gather_tax))
        })
        .filter(|&(_, ratio)| ratio.is_finite() && ratio > 0.0)
        .collect()
}

/// The logarithmic axis of time ÷ floor.
pub(crate) struct Vertical {
    pub low: f64,
    pub high: f64,
}

impl Vertical {
    pub fn new(cells: &[&Cell]) -> Self {
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
        // Values are cut off only if that saves much room.
        high = match highest / high < 1.5 {
            true => highest,
            false => high,
        };
        Vertical {
            low,
            high: high.max(low * MIN_SPAN),
        }
    }

    /// Rows from the top, with a fraction; `None` above the axis.
    pub fn position(&self, ratio: f64) -> Option<f64> {
        let span = self.high.ln() - self.low.ln();
        let share = (self.high.ln() - ratio.ln()) / span;
        // The ends lie in the middle of their rows.
        let down = share * (ROWS - 1) as f64 + 0.5;
        (down >= 0.0).then(|| down.min(ROWS as f64 - 0.01))
    }

    /// The row of a value; `None` above the axis.
    pub fn row(&self, ratio: f64) -> Option<usize> {
        self.position(ratio).map(|down| down as usize)
    }

    /// Round values with their rows: 1 first, then the ends, then values between.
    pub fn ticks(&self) -> Vec<(usize, String)> {
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
pub(crate) fn tick_label(ratio: f64) -> String {
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

/// The logarithmic axis of sizes.
pub(crate) struct Horizontal {
    pub low: f64,
    pub high: f64,
    pub columns: usize,
    /// How many letters fit side by side at one size.
    pub room: usize,
}

impl Horizontal {
    pub fn new(cells: &[&Cell], columns: usize) -> Self {
        let size = |cell: Option<&&Cell>| cell.map_or(1.0, |cell| log_size(cell));
        let mut horizontal = Horizontal {
            low: size(cells.first()),
            high: size(cells.last()),
            columns,
            room: columns,
        };
        let taken: Vec<usize> = cells.iter().map(|cell| horizontal.column(cell)).collect();
        for pair in taken.windows(2) {
            // Cells in the same column share its letters.
            if pair[0] < pair[1] {
                horizontal.room = horizontal.room.min(pair[1] - pair[0] - 1).max(1);
            }
        }
        horizontal
    }

    /// One column at either end stays free for letters side by side.
    pub fn column(&self, cell: &Cell) -> usize {
        let share = (log_size(cell) - self.low) / (self.high - self.low);
        1 + (share * self.columns.saturating_sub(3) as f64).round() as usize
    }

    /// Labels of sizes, as many as fit; the ends have priority.
    pub fn labels(&self, cells: &[&Cell]) -> Vec<(usize, String)> {
        let mut labels: Vec<(usize, String)> = Vec::new();
        let last = cells.len() - 1;
        let order = [0, last].into_iter().chain(1..last);
        for cell in order.map(|index| cells[index]) {
            let text = format::bytes_in_words(cell.swept_bytes().unwrap_or(0) as u64);
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
    (cell.swept_bytes().unwrap_or(1).max(1) as f64).ln()
}
