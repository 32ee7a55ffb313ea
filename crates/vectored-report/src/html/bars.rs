//! Bars with intervals, a row each.

use maud::{Markup, html};

use crate::chart::{Bar, Bars, Unit};
use crate::html::drawing::{Anchor, Drawing, series};
use crate::html::scale::Scale;

const ROW: f64 = 22.0;

/// The bars with their title; empty if none has a value.
pub(super) fn figure(bars: &Bars) -> Markup {
    let Some(across) = scale(bars) else {
        return html! {};
    };
    html! {
        figure {
            figcaption { (bars.title) }
            table.bars {
                tbody {
                    @for group in bars.bars.chunk_by(|one, other| one.group == other.group) {
                        @if !group[0].group.is_empty() {
                            tr { th.group colspan="3" scope="rowgroup" { (group[0].group) } }
                        }
                        @for bar in group {
                            tr {
                                th scope="row" { (bar.name) }
                                td.drawn-bar { (row(bar, bars, &across)) }
                                td.value { (bar.words) }
                            }
                        }
                    }
                    tr aria-hidden="true" {
                        th {}
                        td.drawn-bar { (axis(bars, &across)) }
                        td {}
                    }
                }
            }
        }
    }
}

fn is_sound(value: f64, bars: &Bars) -> bool {
    value.is_finite() && (value > 0.0 || (value == 0.0 && !bars.is_logarithmic))
}

fn scale(bars: &Bars) -> Option<Scale> {
    let with_value = bars
        .bars
        .iter()
        .filter_map(|bar| Some((bar.value?, bar.interval)));
    let mut values: Vec<f64> = with_value
        .flat_map(|(value, interval)| {
            let (low, high) = interval.unwrap_or((value, value));
            [low, value, high]
        })
        .filter(|&value| is_sound(value, bars))
        .collect();
    if values.is_empty() {
        return None;
    }
    values.extend(bars.base);
    let values = values.into_iter();
    if bars.is_logarithmic {
        Scale::logarithmic(values, (0.0, 1.0), 1.4)
    } else {
        Scale::linear(values, (0.0, 1.0))
    }
}

fn ticks(bars: &Bars, across: &Scale) -> Vec<f64> {
    match (bars.unit, bars.is_logarithmic) {
        (Unit::Bytes, true) => across.powers_of_two(),
        _ => across.ticks(),
    }
}

fn row(bar: &Bar, bars: &Bars, across: &Scale) -> Markup {
    let mut drawing = Drawing::new(ROW, (0.0, ROW));
    for value in ticks(bars, across) {
        let x = across.place(value);
        drawing.line(&[(x, 0.0), (x, ROW)], "grid");
    }
    let Some(value) = bar.value.filter(|&value| is_sound(value, bars)) else {
        return drawing.svg(&bar.words);
    };
    let class = series(bar.series);
    let (top, middle, bottom) = (4.0, ROW / 2.0, ROW - 4.0);
    let end = across.place(value);
    if !bars.is_logarithmic {
        drawing.area(
            &[(0.0, top), (end, top), (end, bottom), (0.0, bottom)],
            &format!("bar {class}"),
        );
    }
    if let Some(base) = bars.base {
        let x = across.place(base);
        drawing.line(&[(x, 0.0), (x, ROW)], "base");
    }
    let is_known = |(low, high): &(f64, f64)| is_sound(*low, bars) && is_sound(*high, bars);
    if let Some((low, high)) = bar.interval.filter(is_known) {
        let [left, right] = [low, high].map(|end| across.place(end));
        drawing.line(&[(left, middle), (right, middle)], "whisker");
        for end in [left, right] {
            drawing.line(&[(end, middle - 4.0), (end, middle + 4.0)], "whisker");
        }
    }
    drawing.point(
        (end, middle),
        &class,
        &format!("{}: {}", bar.name, bar.words),
    );
    drawing.svg(&bar.words)
}

fn axis(bars: &Bars, across: &Scale) -> Markup {
    let mut drawing = Drawing::new(ROW, (0.0, ROW));
    for value in ticks(bars, across) {
        let x = across.place(value);
        drawing.tick(x, (0.0, 4.0));
        drawing.text((x, 17.0), Anchor::Centred, &bars.unit.words(value));
    }
    drawing.svg(&bars.title)
}
