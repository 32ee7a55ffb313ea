//! The charts of experiments: curves where their rows differ in a size, otherwise bars.

use vectored_report::sort;
use vectored_report::words::{bytes, ratio, ratio_within, time};
use vectored_report::{Bar, Bars, Block, Chart, Curve, Mark, Point, Series, Unit, words};

use crate::model::{ExperimentName, ExperimentRow, Measure, PublishedRow, Ratio, Reproduction};
use crate::report::experiments::finding::smallest_near_fastest;
use crate::report::experiments::sheets::{is_of_its_own, published_of};

/// CPU time has the colour of copying, wall time that of gathering.
const CPU: Series = Series {
    hue: 2,
    is_other: false,
};
const WALL: Series = Series {
    hue: 3,
    is_other: false,
};

/// The chart of an experiment.
pub fn experiment_chart(experiment: &Reproduction) -> Block {
    match experiment.name {
        ExperimentName::Apue35 if experiment.setting.program.is_some() => {
            Block::Chart(copies_beside(experiment))
        }
        ExperimentName::Apue35 => Block::Chart(Chart {
            title: "Seconds a copy, by the size of the buffer".into(),
            along: Unit::Bytes,
            up: Unit::Nanoseconds,
            curves: copies(experiment),
            ..Chart::default()
        }),
        ExperimentName::Kalinin => Block::Chart(Chart {
            title:
                "Time of writev ÷ time of copying, by the size of an element: below 1× writev wins"
                    .into(),
            along: Unit::Bytes,
            up: Unit::Ratio,
            curves: elements(experiment),
            base: Some(1.0),
            ..Chart::default()
        }),
        ExperimentName::Apue1428 => Block::Bars(Bars {
            title: "CPU time ÷ that of copying".into(),
            unit: Unit::Ratio,
            base: Some(1.0),
            bars: records(experiment),
            ..Bars::default()
        }),
        ExperimentName::Mincer => Block::Bars(Bars {
            title: "Wall time of one call a buffer ÷ that of the vectored calls".into(),
            unit: Unit::Ratio,
            base: Some(1.0),
            bars: passes(experiment),
            ..Bars::default()
        }),
    }
}

fn copies(experiment: &Reproduction) -> Vec<Curve> {
    let here = |seconds: fn(&ExperimentRow) -> Option<f64>| {
        let rows = experiment.rows.iter();
        rows.filter_map(|row| Some((row.buffer_bytes?, seconds(row)? * 1e9)))
            .collect()
    };
    let then = |seconds: fn(&PublishedRow) -> Option<f64>| {
        let rows = experiment.rows.iter().filter_map(|row| {
            let published = published_of(row, &experiment.published)?;
            Some((row.buffer_bytes?, seconds(published)? * 1e9))
        });
        rows.collect()
    };
    let mut all = vec![
        curve("CPU here", CPU, here(|row| row.cpu_s), time),
        curve("wall here", WALL, here(|row| row.clock_s), time),
    ];
    if experiment.is_as_published() {
        all.extend([
            curve("CPU 2005", earlier(CPU), then(|row| row.cpu_s), time),
            curve("wall 2005", earlier(WALL), then(|row| row.clock_s), time),
        ]);
    }
    all
}

/// The book, vectored copy and a program of the user.
fn copies_beside(experiment: &Reproduction) -> Chart {
    let compared = experiment.compared();
    let of_book = |row: &PublishedRow| match compared {
        Measure::Cpu => row.cpu_s,
        Measure::Clock => row.clock_s,
    };
    let buffers = |technique: &str| {
        let rows = experiment.rows.iter();
        let rows = rows.filter(|row| row.technique == technique);
        rows.filter_map(|row| {
            Some((
                row.buffer_bytes?,
                experiment.copying_s(row, compared)? * 1e9,
            ))
        })
        .collect::<Vec<_>>()
    };
    let ours = buffers("read-write");
    let of_its_own = experiment.rows.iter().find(|row| is_of_its_own(row));
    let theirs = match of_its_own.and_then(|row| experiment.copying_s(row, compared)) {
        Some(s) => ours.iter().map(|(bytes, _)| (*bytes, s * 1e9)).collect(),
        None => buffers("program"),
    };
    let mut curves = vec![
        curve("vectored copy", WALL, ours, time),
        curve("program", Series::new(1), theirs, time),
    ];
    if experiment.is_as_published() {
        let book = experiment.published.iter();
        let book = book.filter_map(|row| Some((row.buffer_bytes?, of_book(row)? * 1e9)));
        curves.insert(
            0,
            curve("the book, 2005", earlier(CPU), book.collect(), time),
        );
    }
    let mark = smallest_near_fastest(experiment, "program").map(|at| Mark {
        at: at as f64,
        low: at as f64,
        high: at as f64,
        label: bytes(at).into(),
    });
    let measure = words::capital(compared.in_words());
    Chart {
        title: format!("{measure} of a copy without the start, by the size of the buffer").into(),
        along: Unit::Bytes,
        up: Unit::Nanoseconds,
        curves,
        marks: mark.into_iter().collect(),
        ..Chart::default()
    }
}

fn earlier(series: Series) -> Series {
    Series {
        is_other: true,
        ..series
    }
}

fn elements(experiment: &Reproduction) -> Vec<Curve> {
    let here = |measure: Measure| {
        let ratios = experiment.ratios.iter().filter(|r| r.measure == measure);
        let points = ratios.filter_map(|ratio| {
            let size = experiment.rows[ratio.of].segment_bytes?;
            Some((size as u64, ratio.ratio))
        });
        points.collect()
    };
    let then = experiment
        .ratios
        .iter()
        .filter(|ratio| ratio.measure == Measure::Cpu)
        .filter_map(|ratio| {
            let size = experiment.rows[ratio.of].segment_bytes?;
            Some((size as u64, ratio.published.first()?.ratio))
        });
    vec![
        curve("CPU here", CPU, here(Measure::Cpu), ratio),
        curve("wall here", WALL, here(Measure::Clock), ratio),
        curve("CPU 2001", earlier(CPU), then.collect(), ratio),
    ]
}

/// A line runs along the axis, also where the file's rows do not.
fn curve(
    name: &str,
    series: Series,
    mut points: Vec<(u64, f64)>,
    words: fn(f64) -> String,
) -> Curve {
    sort::sort_by_key(&mut points, |point| point.0);
    let point = |(size, value): (u64, f64)| Point {
        at: size as f64,
        value,
        interval: None,
        words: format!("{name}, {}: {}", bytes(size), words(value)).into(),
    };
    Curve {
        name: name.into(),
        series,
        points: points.into_iter().map(point).collect(),
    }
}

/// The measured ratios, then those of each publication.
fn records(experiment: &Reproduction) -> Vec<Bar> {
    let of_cpu = || {
        experiment
            .ratios
            .iter()
            .filter(|ratio| ratio.measure == Measure::Cpu)
    };
    let name = |ratio: &Ratio| experiment.rows[ratio.of].technique.as_str();
    let here = of_cpu().map(|ratio| measured("here", name(ratio).to_owned(), ratio));
    let then = of_cpu().flat_map(|of| {
        of.published.iter().map(move |published| Bar {
            group: published.source.as_str().into(),
            name: name(of).into(),
            series: earlier(CPU),
            value: Some(published.ratio),
            interval: None,
            words: ratio(published.ratio).into(),
        })
    });
    let mut then: Vec<Bar> = then.collect();
    // Each publication is a group of neighbours.
    let mut groups: Vec<_> = then.iter().map(|bar| bar.group.clone()).collect();
    groups.dedup();
    sort::sort_by_key(&mut then, |bar| {
        groups.iter().position(|group| *group == bar.group)
    });
    here.chain(then).collect()
}

fn passes(experiment: &Reproduction) -> Vec<Bar> {
    let bars = experiment.ratios.iter().map(|ratio| {
        let row = &experiment.rows[ratio.of];
        let list = words::list(&[(
            row.segment_count.unwrap_or(0),
            row.segment_bytes.unwrap_or(0),
        )]);
        let operation = row.operation.map_or("", |operation| operation.name());
        let array = row.iovec_setup.map_or("", |setup| setup.name());
        let direct = if row.direct { ", O_DIRECT" } else { "" };
        let group = format!("{list}, {operation}{direct}");
        measured(&group, format!("{} ({array})", row.technique), ratio)
    });
    bars.collect()
}

fn measured(group: &str, name: String, ratio: &Ratio) -> Bar {
    let interval = ratio.ratio_low.zip(ratio.ratio_high);
    Bar {
        group: group.into(),
        name: name.into(),
        series: CPU,
        value: Some(ratio.ratio),
        interval,
        words: ratio_within(ratio.ratio, interval).into(),
    }
}
