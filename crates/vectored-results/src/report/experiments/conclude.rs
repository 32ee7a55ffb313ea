//! What follows from the samples of an experiment: medians, rates, ratios, crossovers and the finding.

use vectored_report::sort;

use crate::model::{
    ExperimentCrossover, ExperimentName, ExperimentRow, Measure, Operation, PageCache,
    PublishedRatio, Ratio, Reproduction, RowKey, Setting, Times,
};
use crate::report::experiments::finding::finding;
use crate::report::experiments::near_fastest::other_buffer;
use crate::stats::median;

/// The fewest repeats whose range encloses the median with a probability of 95 %.
const MIN_REPEATS: usize = 6;

/// Buffer size above which the book sees no effect of read-ahead.
const READ_AHEAD_BYTES: u64 = 128 << 10;

/// Fills in all that follows from the samples of the rows. Deterministic.
pub fn conclude(experiment: &mut Reproduction) {
    let file_bytes = experiment.setting.file_bytes;
    for row in &mut experiment.rows {
        summarize(row);
        let call_bytes = row.key.segment_bytes.zip(row.key.segment_count);
        let call_bytes = call_bytes.map(|(bytes, count)| (bytes * count) as u64);
        let moved = file_bytes.or(call_bytes).zip(row.times.clock_s);
        row.bytes_per_s = moved.map(|(bytes, clock_s)| bytes as f64 / clock_s);
    }
    if let Some(file_bytes) = file_bytes {
        scale(&mut experiment.rows, file_bytes);
    }
    let note = other_buffer(experiment).filter(|note| !experiment.notes.contains(note));
    experiment.notes.splice(..0, note);
    experiment.ratios = ratios(experiment);
    // Only this experiment measures a series of sizes of one kind of list.
    if experiment.name == ExperimentName::Kalinin {
        let of = |measure| crossovers(&experiment.rows, &experiment.ratios, measure);
        experiment.crossovers = [Measure::Cpu, Measure::Clock].map(of).concat();
    }
    experiment.finding = finding(experiment);
}

fn summarize(row: &mut ExperimentRow) {
    let samples = || row.samples.iter().flatten();
    let middle = |of: fn(&Times) -> Option<f64>| {
        let sampled: Vec<f64> = samples().filter_map(|sample| of(&sample.times)).collect();
        median(&sampled)
    };
    row.times = Times::each(middle);
    let passes: Vec<f64> = samples().flat_map(|sample| sample.pass_s.clone()).collect();
    row.pass_median_s = median(&passes);
    row.repeats = samples().count();
    row.loops = samples().last().and_then(|sample| sample.loops);
}

/// Scales the times of copies of a prefix to the whole file. The start of the process, timed by a copy of 0 bytes, is not
/// scaled. A row that takes less than twice the start gets no time: the time would be scaled noise. CPU and wall time are both
/// scaled, or neither. If by chance a process waits longer in its start than in its copy, the scaled wall time may be below the
/// CPU time: then the wall time becomes the CPU time.
fn scale(rows: &mut [ExperimentRow], file_bytes: u64) {
    let starts = rows.iter().filter(|row| row.is_start());
    let starts: Vec<ExperimentRow> = starts.cloned().collect();
    for row in rows {
        let Some(bytes) = row.copied_bytes else {
            continue;
        };
        row.bytes_per_s = None;
        let mut starts = starts.iter().filter(|_| bytes > 0);
        let Some(start) = starts.find(|start| start.key.technique == row.key.technique) else {
            continue;
        };
        let factor = file_bytes as f64 / bytes as f64;
        let scaled = |of: fn(&Times) -> Option<f64>| {
            let (time, start) = (of(&row.times)?, of(&start.times)?);
            (time >= 2.0 * start).then_some(start + (time - start) * factor)
        };
        let is_on_one_cpu = |times: &Times| times.cpu_s <= times.clock_s;
        let is_on_one_cpu = is_on_one_cpu(&row.times) && is_on_one_cpu(&start.times);
        let both = scaled(|times| times.cpu_s).zip(scaled(|times| times.clock_s));
        let mut times = Times::each(|of| scaled(of).filter(|_| both.is_some()));
        if is_on_one_cpu && times.clock_s < times.cpu_s {
            times.clock_s = times.cpu_s;
        }
        row.times = times;
        row.bytes_per_s = times.clock_s.map(|clock_s| file_bytes as f64 / clock_s);
    }
}

fn ratios(experiment: &Reproduction) -> Vec<Ratio> {
    let measures: &[Measure] = match experiment.name {
        ExperimentName::Apue35 if experiment.setting.program.is_some() => &[experiment.compared()],
        // With the file in memory, wall time adds nothing to CPU time.
        ExperimentName::Apue35 if experiment.cache == PageCache::Hot => &[Measure::Cpu],
        ExperimentName::Mincer => &[Measure::Clock],
        _ => &[Measure::Cpu, Measure::Clock],
    };
    let rows = &experiment.rows;
    let whole = |row: &ExperimentRow| row.copied_bytes.is_none();
    let of_measure = |&measure: &Measure| {
        let compared = rows.iter().enumerate().filter(move |(_, row)| whole(row));
        compared.filter_map(move |(of, row)| {
            let base = base_of(experiment, &row.key, measure)?;
            let over = rows.iter().position(|row| whole(row) && row.key == base)?;
            (over != of).then(|| ratio(experiment, (of, over), measure))?
        })
    };
    measures.iter().flat_map(of_measure).collect()
}

/// The key of the row that a row is compared with.
fn base_of(experiment: &Reproduction, key: &RowKey, measure: Measure) -> Option<RowKey> {
    let Setting {
        program,
        st_blksize,
        ..
    } = &experiment.setting;
    let (technique, buffer_bytes) = match (experiment.name, measure) {
        (ExperimentName::Apue35, _) if program.is_some() => {
            let is_told = key.technique == "program";
            ("read-write", Some(key.buffer_bytes.filter(|_| is_told)?))
        }
        // This size was chosen before the run, and stands for all buffers larger than a block.
        (ExperimentName::Apue35, Measure::Cpu) => ("read-write", Some(16 * (*st_blksize)?)),
        (ExperimentName::Apue35, Measure::Clock) => ("read-write", Some(READ_AHEAD_BYTES)),
        (ExperimentName::Apue1428 | ExperimentName::Kalinin, _) => ("copy-then-write", None),
        (ExperimentName::Mincer, _) => match key.operation {
            Some(Operation::Read) => ("readv", None),
            _ => ("writev", None),
        },
    };
    Some(RowKey {
        technique: technique.to_owned(),
        buffer_bytes,
        ..key.clone()
    })
}

/// The ratio of two rows; `None` if no repeat has both. Beside a program of the user, the start of the process is subtracted
/// from each copy, and the rest must exceed the noise of the starts.
fn ratio(experiment: &Reproduction, (of, over): (usize, usize), measure: Measure) -> Option<Ratio> {
    let is_beside = experiment.setting.program.is_some();
    let samples = |row: &ExperimentRow| -> Option<Vec<Option<f64>>> {
        let of = |row: &ExperimentRow| -> Vec<Option<f64>> {
            let samples = row.samples.iter();
            let times = samples.map(|sample| sample.as_ref()?.times.of(measure));
            times.collect()
        };
        if !is_beside {
            return Some(of(row));
        }
        experiment.copying_s(row, measure)?;
        let start = of(experiment.start_of(&row.key.technique)?);
        let pairs = std::iter::zip(of(row), start);
        Some(pairs.map(|(whole, start)| Some(whole? - start?)).collect())
    };
    let (above, below) = (&experiment.rows[of], &experiment.rows[over]);
    let logs: Vec<f64> = std::iter::zip(samples(above)?, samples(below)?)
        .filter_map(|(above, below)| Some((above? / below?).ln()))
        // A coarse clock may measure 0, which has no ratio.
        .filter(|log| log.is_finite())
        .collect();
    let range = |of: fn(f64, f64) -> f64| logs.iter().copied().reduce(of).map(f64::exp);
    let range = |of| range(of).filter(|_| logs.len() >= MIN_REPEATS);
    Some(Ratio {
        of,
        over,
        measure,
        repeats: logs.len(),
        ratio: median(&logs)?.exp(),
        ratio_low: range(f64::min),
        ratio_high: range(f64::max),
        published: published_ratios(&experiment.published, (&above.key, &below.key), measure),
    })
}

fn published_ratios(
    published: &[ExperimentRow],
    (above, below): (&RowKey, &RowKey),
    measure: Measure,
) -> Vec<PublishedRatio> {
    let above = published.iter().filter(|row| row.key == *above);
    let ratio = |above: &ExperimentRow| {
        let mut rows = published.iter();
        let below = rows.find(|row| row.key == *below && row.source == above.source)?;
        let ratio = above.times.of(measure)? / below.times.of(measure)?;
        ratio.is_finite().then(|| PublishedRatio {
            source: above.source.clone(),
            ratio,
        })
    };
    above.filter_map(ratio).collect()
}

/// The crossovers in `ratios`. All these ratios are of one technique over another, at several sizes.
///
/// A crossover lies between a size at which one technique is significantly
/// faster (the interval of its ratio excludes 1) and the next size at which the
/// other is. These two sizes are its interval, since the cost may change by a
/// step anywhere between them. The estimate is where the line through the
/// medians, over the logarithm of the size, passes 1.
fn crossovers<'a>(
    rows: &[ExperimentRow],
    ratios: &'a [Ratio],
    measure: Measure,
) -> Vec<ExperimentCrossover> {
    let ratios = ratios.iter().filter(|ratio| ratio.measure == measure);
    let point = |ratio: &'a Ratio| Some((rows[ratio.of].key.segment_bytes? as f64, ratio));
    let mut points: Vec<(f64, &Ratio)> = ratios.filter_map(point).collect();
    sort::sort_by(&mut points, |a, b| a.0.total_cmp(&b.0));
    // The technique that is significantly faster, if one is.
    let faster = |(_, ratio): &(f64, &Ratio)| match (ratio.ratio_low, ratio.ratio_high) {
        (Some(low), _) if low > 1.0 => Some(&rows[ratio.over].key.technique),
        (_, Some(high)) if high < 1.0 => Some(&rows[ratio.of].key.technique),
        _ => None,
    };
    let significant: Vec<usize> = (0..points.len())
        .filter(|&index| faster(&points[index]).is_some())
        .collect();
    let pairs = significant.windows(2).filter_map(|pair| {
        let between = &points[pair[0]..=pair[1]];
        let (first, last) = (between.first()?, between.last()?);
        let (below, above) = (faster(first)?, faster(last)?);
        (below != above).then(|| ExperimentCrossover {
            measure,
            below: below.clone(),
            above: above.clone(),
            at_bytes: crossing(between),
            low_bytes: first.0,
            high_bytes: last.0,
        })
    });
    pairs.collect()
}

/// The size at which the logarithm of the median ratio changes its sign. If there are several, the geometric mean of the
/// first and the last.
fn crossing(points: &[(f64, &Ratio)]) -> f64 {
    let crossings: Vec<f64> = points
        .windows(2)
        .map(|pair| [0, 1].map(|end| (pair[end].0.ln(), pair[end].1.ratio.ln())))
        .filter(|[first, second]| (first.1 > 0.0) != (second.1 > 0.0))
        .map(|[first, second]| first.0 + first.1 / (first.1 - second.1) * (second.0 - first.0))
        .collect();
    // The ends differ in sign, so there is at least one.
    let ends = crossings.first().zip(crossings.last());
    let (first, last) = ends.unwrap_or((&0.0, &0.0));
    ((first + last) / 2.0).exp()
}
