//! Crossovers of several machines, a row each, on one logarithmic axis.

use crate::report::page::escape::escape;
use crate::report::svg::about;
use crate::report::svg::drawing::{Anchor, Drawing};
use crate::report::svg::scale::Scale;
use crate::text::format::bytes_in_words;

/// The crossover of one machine from copying to gathering.
pub struct MachineCrossover {
    pub machine: String,
    /// Size, lower and upper end of the interval, in bytes; or the text to show if there is none.
    pub at: Result<(f64, f64, f64), String>,
}

/// The machines of one segment count.
pub struct Group {
    pub title: String,
    pub machines: Vec<MachineCrossover>,
}

const ROW: f64 = 22.0;

/// A table with a drawing in each row; `None` if no machine has a crossover.
pub fn table(groups: &[Group]) -> Option<String> {
    let all = groups.iter().flat_map(|group| &group.machines);
    let found = all.filter_map(|crossover| crossover.at.as_ref().ok());
    let ends = found.flat_map(|&(_, low, high)| [low, high]);
    let across = Scale::of(ends, (0.0, 1.0), 1.4)?;
    let mut text = "<table class=\"crossovers\"><tbody>\n".to_owned();
    for group in groups {
        let title = escape(&group.title);
        text += &format!("<tr><th colspan=\"2\" class=\"group\">{title}</th></tr>\n");
        for crossover in &group.machines {
            let cell = match &crossover.at {
                Ok(found) => row(*found, &across),
                Err(words) => escape(words),
            };
            let machine = escape(&crossover.machine);
            text += &format!("<tr><th scope=\"row\">{machine}</th><td>{cell}</td></tr>\n");
        }
    }
    Some(
        text + &format!(
            "<tr><td></td><td>{}</td></tr>\n</tbody></table>",
            axis(&across)
        ),
    )
}

fn row((at, low, high): (f64, f64, f64), across: &Scale) -> String {
    let mut drawing = Drawing::new(ROW);
    for power in across.powers_of_two() {
        let x = across.place(power);
        drawing.line(&[(x, 0.0), (x, ROW)], "grid");
    }
    let middle = ROW / 2.0;
    let [left, right] = [low, high].map(|bytes| across.place(bytes));
    drawing.line(&[(left, middle), (right, middle)], "t-writev");
    for end in [left, right] {
        drawing.line(&[(end, middle - 4.0), (end, middle + 4.0)], "t-writev");
    }
    let words = format!("{} [{}, {}]", about(at), about(low), about(high));
    drawing.point((across.place(at), middle), "t-writev", &words);
    drawing.svg(&words)
}

fn axis(across: &Scale) -> String {
    let mut drawing = Drawing::new(ROW);
    for power in across.powers_of_two() {
        // A malformed file may claim a size beyond all memory.
        let words = bytes_in_words(power.min(2f64.powi(62)) as u64);
        let x = across.place(power);
        drawing.line(&[(x, 0.0), (x, 4.0)], "grid");
        drawing.text((x, 17.0), Anchor::Centred, &words);
    }
    drawing.svg("Segment size")
}
