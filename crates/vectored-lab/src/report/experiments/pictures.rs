//! The plot of each experiment.

use crate::model::{ExperimentName, Measure, Operation, PublishedRow, Reproduction};
use crate::report::chart::{Curve as CurveOf, Line, bars, curves};
use crate::report::experiments::sheets::{is_one_by_one, published_of, sources};
use crate::report::plot::PlotOptions;
use crate::text::format;
use crate::text::format::{bytes_in_words, list_in_words};

/// The caption and the plot; `None` if there is nothing to show, or no room.
pub fn picture(experiment: &Reproduction, options: PlotOptions) -> Option<(&'static str, String)> {
    let (caption, drawn) = match experiment.name {
        ExperimentName::Apue35 => (COPIES, copies(experiment, options)),
        ExperimentName::Apue1428 => ("CPU time ÷ that of copying", records(experiment, options)),
        ExperimentName::Kalinin => (ELEMENTS, elements(experiment, options)),
        ExperimentName::Mincer => (
            "Time of one by one ÷ time of vectored",
            passes(experiment, options),
        ),
    };
    (!drawn.is_empty()).then_some((caption, drawn))
}

/// The curves of an experiment: caption, whether values are seconds rather than ratios, and the curves.
pub fn curves_of(experiment: &Reproduction) -> Option<(&'static str, bool, Vec<CurveOf>)> {
    match experiment.name {
        ExperimentName::Apue35 => Some((COPIES, true, copies_by_size(experiment))),
        ExperimentName::Kalinin => Some((ELEMENTS, false, elements_by_size(experiment).into())),
        ExperimentName::Apue1428 | ExperimentName::Mincer => None,
    }
}

const COPIES: &str = "Seconds a copy, by the size of the buffer";
const ELEMENTS: &str =
    "Time of writev ÷ time of copying, by the size of an element: below 1× writev wins";

fn copies(experiment: &Reproduction, options: PlotOptions) -> String {
    let along = |bytes: f64| bytes_in_words(bytes as u64);
    let all = copies_by_size(experiment);
    curves(&all, along, |s| format::time(s * 1e9), options)
}

fn copies_by_size(experiment: &Reproduction) -> Vec<CurveOf> {
    let here = |time: fn(&crate::model::ExperimentRow) -> Option<f64>| {
        let rows = experiment.rows.iter();
        rows.filter_map(|row| Some((row.buffer_bytes? as f64, time(row)?)))
            .collect()
    };
    let then = |time: fn(&PublishedRow) -> Option<f64>| {
        let rows = experiment.rows.iter().filter_map(|row| {
            let published = published_of(row, &experiment.published)?;
            Some((row.buffer_bytes? as f64, time(published)?))
        });
        rows.collect()
    };
    let mut all = vec![
        ('c', "CPU here", here(|row| row.cpu_s)),
        ('w', "wall here", here(|row| row.clock_s)),
    ];
    // Seconds of a smaller file cannot be compared with published ones.
    if !experiment.reduced {
        all.extend([
            ('C', "CPU 2005", then(|row| row.cpu_s)),
            ('W', "wall 2005", then(|row| row.clock_s)),
        ]);
    }
    let curve = |(letter, name, points): (char, &str, Vec<(f64, f64)>)| CurveOf {
        letter,
        name: name.to_owned(),
        points,
    };
    all.into_iter().map(curve).collect()
}

fn elements(experiment: &Reproduction, options: PlotOptions) -> String {
    let along = |bytes: f64| bytes_in_words(bytes as u64);
    curves(&elements_by_size(experiment), along, times, options)
}

fn elements_by_size(experiment: &Reproduction) -> [CurveOf; 3] {
    let here = |measure: Measure| -> Vec<(f64, f64)> {
        let ratios = experiment.ratios.iter().filter(|r| r.measure == measure);
        let mut points: Vec<(f64, f64)> = ratios
            .filter_map(|ratio| {
                let bytes = experiment.rows[ratio.of].segment_bytes?;
                Some((bytes as f64, ratio.ratio))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let mut then: Vec<(f64, f64)> = experiment
        .ratios
        .iter()
        .filter(|ratio| ratio.measure == Measure::Cpu)
        .filter_map(|ratio| {
            let bytes = experiment.rows[ratio.of].segment_bytes?;
            Some((bytes as f64, ratio.published.first()?.ratio))
        })
        .collect();
    then.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = [
        ('c', "CPU here", here(Measure::Cpu)),
        ('w', "wall here", here(Measure::Clock)),
        ('C', "CPU 2001", then),
    ];
    all.map(|(letter, name, points)| CurveOf {
        letter,
        name: name.to_owned(),
        points,
    })
}

fn records(experiment: &Reproduction, options: PlotOptions) -> String {
    let mut lines = Vec::new();
    for ratio in experiment
        .ratios
        .iter()
        .filter(|r| r.measure == Measure::Cpu)
    {
        let technique = &experiment.rows[ratio.of].technique;
        lines.push(line(format!("{technique} here"), ratio.ratio));
        for source in sources(&experiment.published) {
            let published = ratio.published.iter().find(|other| other.source == source);
            if let Some(published) = published
                && source.contains("Linux")
            {
                let year = source.split(',').next().unwrap_or_default();
                lines.push(line(format!("{technique} {year}"), published.ratio));
            }
        }
    }
    bars(&lines, options)
}

fn passes(experiment: &Reproduction, options: PlotOptions) -> String {
    let mut lines = Vec::new();
    for ratio in &experiment.ratios {
        let row = &experiment.rows[ratio.of];
        if !is_one_by_one(row) || row.direct {
            continue;
        }
        let list = list_in_words(&[(
            row.segment_count.unwrap_or(0),
            row.segment_bytes.unwrap_or(0),
        )]);
        let operation = row.operation.map_or("", Operation::name);
        let setup = row.iovec_setup.map_or("", |setup| setup.name());
        lines.push(line(format!("{list} {operation} {setup}"), ratio.ratio));
        let published = ratio.published.iter();
        lines.extend(published.map(|other| line("  notes".to_owned(), other.ratio)));
    }
    bars(&lines, options)
}

fn line(name: String, value: f64) -> Line {
    Line {
        name,
        value,
        words: times(value),
    }
}

fn times(ratio: f64) -> String {
    format!("{}×", format::three_digits(ratio))
}
