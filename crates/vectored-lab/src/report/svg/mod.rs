//! Decision maps and charts as one SVG, for a README or a paper: no script, no embedded font, and a dark
//! version for browsers.

pub(crate) mod chart;
pub(crate) mod crossover_chart;
pub(crate) mod drawing;
pub(crate) mod map;
pub(crate) mod palette;

use crate::model::{Reproduction, Results, Saved, Technique};
use crate::report::advisory;
use crate::report::experiments::{CurveOf, curves_of, title};
use crate::report::panels::{Curves, Panel, panels};
use crate::report::shape_text::{SIZE, shape_in_words};
use crate::report::svg::chart::{Chart, Curve, Mark};
pub(crate) use crate::report::svg::crossover_chart::{Group, MachineCrossover};
use crate::report::svg::drawing::{Anchor, Drawing, escape};
use crate::report::svg::palette::Color;
use crate::report::table_rows::sections;
use crate::text::format;
use crate::text::format::{bytes_in_words, three_digits};

/// Charts beside each other.
const ACROSS: usize = 3;
const GAP: f64 = 18.0;

/// All maps and charts of these results, one below the other.
pub fn svg(saved: &[&Saved]) -> String {
    let mut sheet = Sheet::default();
    for one in saved {
        match one {
            Saved::Results(results) => sheet.run(results),
            // Advice has bars on its page; it compares no techniques.
            Saved::Advisory(advisory) => sheet.line(14.0, &advisory::answer(advisory)),
            Saved::Experiments(experiments) => {
                sheet.line(14.0, &format::machine_of(&experiments.host));
                for experiment in &experiments.experiments {
                    sheet.line(16.0, &title(experiment));
                    sheet.beside(chart_of(experiment).into_iter().collect());
                }
            }
        }
    }
    document(&sheet.drawing, &palette::style())
}

/// The chart of one experiment, for a page that defines the colours.
pub(crate) fn experiment(experiment: &Reproduction) -> Option<String> {
    chart_of(experiment).map(|drawing| document(&drawing, ""))
}

/// The crossovers by machine, for a page that defines the colours.
pub(crate) fn crossovers(groups: &[Group]) -> Option<String> {
    crossover_chart::draw(groups).map(|drawing| document(&drawing, ""))
}

fn document(drawing: &Drawing, style: &str) -> String {
    let (width, height) = (
        drawing.width.ceil() + 2.0 * GAP,
        drawing.height.ceil() + 2.0 * GAP,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"system-ui, Helvetica, Arial, sans-serif\">\n\
         <title>{}</title>\n{style}\n<rect width=\"{width}\" height=\"{height}\" {}/>\n\
         <g transform=\"translate({GAP} {GAP})\">\n{}</g>\n</svg>\n",
        escape("Which technique moves several buffers fastest"),
        Color::Page.fill(),
        drawing.shapes
    )
}

#[derive(Default)]
struct Sheet {
    drawing: Drawing,
}

impl Sheet {
    fn run(&mut self, results: &Results) {
        self.line(13.0, &format::machine(results));
        for (panel, section) in std::iter::zip(panels(results), sections(results)) {
            self.line(18.0, &panel.title);
            for (lists, advice) in &section.advice {
                self.line(12.0, &format!("{lists}: {advice}"));
            }
            self.beside(map::draw(&panel.map).into_iter().collect());
            let charts = panel.curves.iter();
            self.beside(
                charts
                    .filter_map(|curves| curves_drawn(&panel, curves))
                    .collect(),
            );
        }
    }

    fn line(&mut self, size: f64, text: &str) {
        self.drawing.height += size * 1.5;
        let y = self.drawing.height - size * 0.35;
        self.drawing
            .text(0.0, y, Anchor::Start, size, Color::Text, text);
        // Letters are about half as wide as high.
        let width = size * 0.55 * text.chars().count() as f64;
        self.drawing.width = self.drawing.width.max(width);
    }

    fn beside(&mut self, drawings: Vec<Drawing>) {
        for row in drawings.chunks(ACROSS) {
            let top = self.drawing.height + GAP / 2.0;
            let mut left = 0.0;
            for drawing in row {
                self.drawing.place(left, top, drawing);
                left += drawing.width + GAP;
            }
        }
        self.drawing.height += GAP / 2.0;
    }
}

fn curves_drawn(panel: &Panel<'_>, curves: &Curves<'_>) -> Option<Drawing> {
    let points = |technique: Technique| {
        let each = curves.cells.iter().filter_map(|cell| {
            let result = cell.technique(technique)?;
            let bytes = cell.swept_bytes()? as f64;
            Some(match panel.has_tax {
                true => {
                    let interval = result.floor_ratio_low.zip(result.floor_ratio_high);
                    (bytes, result.floor_ratio?, interval)
                }
                false => (bytes, result.median_ns, None),
            })
        });
        each.collect()
    };
    let what = match panel.has_tax {
        true => "time ÷ floor",
        false => "time per call",
    };
    let lists = shape_in_words(curves.shape);
    let size = match curves.shape.swept_mix {
        Some(_) => SIZE,
        None => "segment size",
    };
    chart::draw(&Chart {
        title: format!("{lists}: {what}, by {size}"),
        curves: curves
            .techniques
            .iter()
            .map(|&technique| Curve {
                name: technique.name().to_owned(),
                color: Color::of(technique),
                points: points(technique),
            })
            .collect(),
        marks: curves
            .crossovers
            .iter()
            .map(|crossover| Mark {
                at: crossover.at_bytes,
                low: crossover.low_bytes,
                high: crossover.high_bytes,
                label: about(crossover.at_bytes),
            })
            .collect(),
        // Refined sizes would crowd the axis.
        along: &|bytes| match panel.map.sizes.contains(&(bytes as usize)) {
            true => bytes_in_words(bytes as u64),
            false => String::new(),
        },
        up: &|value| match panel.has_tax {
            true => format!("{}×", three_digits(value)),
            false => format::time(value),
        },
    })
}

fn chart_of(experiment: &Reproduction) -> Option<Drawing> {
    let (caption, is_time, curves) = curves_of(experiment)?;
    let inks = [Color::Copy, Color::Gather, Color::Other, Color::Each];
    let drawn = |(index, curve): (usize, CurveOf)| Curve {
        name: curve.name.to_owned(),
        color: inks[index % inks.len()],
        points: curve
            .points
            .into_iter()
            .map(|(x, y)| (x, y, None))
            .collect(),
    };
    chart::draw(&Chart {
        title: caption.to_owned(),
        curves: curves.into_iter().enumerate().map(drawn).collect(),
        marks: Vec::new(),
        along: &|bytes| bytes_in_words(bytes as u64),
        up: &|value| match is_time {
            true => format::time(value * 1e9),
            false => format!("{}×", three_digits(value)),
        },
    })
}

/// `4.38 KiB`, `699 B`.
fn about(bytes: f64) -> String {
    match bytes < 1024.0 {
        true => format!("{bytes:.0} B"),
        false => format!("{} KiB", three_digits(bytes / 1024.0)),
    }
}
