//! Compares runs of one build with runs of another: which techniques became slower or faster relative to
//! the floor?
//!
//! A difference is tested against the variance between the runs of one side. A few runs estimate that variance poorly, so
//! the variance of each cell is shrunk towards the typical variance, as if the typical variance had been observed in
//! [`PRIOR_DEGREES`] more runs (G. K. Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential
//! Expression", Statistical Applications in Genetics and Molecular Biology 3, 2004).

use vectored_machine::report::lasting_properties;
use vectored_report::sort::distinct;
use vectored_report::{Change, by_key, join};

use crate::model::{
    COMPARISON_SCHEMA, Cell, Compared, Comparison, Conditions, EnvironmentDifference, FloorChange,
    Results, TechniqueName, measured_in,
};
use crate::stats::discoveries::discoveries;
use crate::stats::series::has_helper;
use crate::stats::summary::median;
use crate::stats::t_distribution::{two_sided_p, two_sided_quantile};
use crate::stats::verdict::{FALSE_DISCOVERIES, TIE_ZONE};

/// With fewer runs on a side the variance between runs is poorly known.
pub const MIN_RUNS: usize = 3;

/// The smallest change that is reported with fewer than [`MIN_RUNS`] runs on a side.
pub const CALLED_FROM_WITH_FEW_RUNS: f64 = 0.05;

/// The lower bound on the standard deviation between runs, with few runs. Ten runs of one build on a shared virtual
/// machine differed by 0.3 to 4.7 % in the mean over a target's cells, and by 0.5 to 5 % in nine cells of ten.
const FEW_RUNS_SD: f64 = 0.05;

/// The lower bound for cells with a thread at the other end, where ten runs differed by 3 to 30 %.
const FEW_RUNS_SD_WITH_HELPER: f64 = 0.15;

/// The lower bound with enough runs.
const MIN_SD: f64 = 0.004;

/// The weight of the typical variance, in degrees of freedom.
const PRIOR_DEGREES: f64 = 4.0;

/// Compares runs. The runs of one side must be of one build on one machine. `None` if a side is empty.
pub fn compare(base: &[&Results], new: &[&Results]) -> Option<Comparison> {
    if base.is_empty() || new.is_empty() {
        return None;
    }
    let is_few = base.len().min(new.len()) < MIN_RUNS;
    let (lists, unmatched_cells) = lists(base, new);
    let mut unmatched_techniques = 0;
    let (mut alone, mut with_helper) = (Vec::new(), Vec::new());
    for list in &lists {
        let family = if has_helper(list.base[0]) { &mut with_helper } else { &mut alone };
        for technique in measured_in(list.base.iter().chain(&list.new).copied()) {
            let item = of_cell(list, technique);
            unmatched_techniques += usize::from(item.is_none());
            family.extend(item);
        }
    }
    let least = |sd: f64| if is_few { sd } else { MIN_SD };
    let (mut targets, between_runs_sd) = weighed(&of_targets(&alone), least(FEW_RUNS_SD));
    let (mut cells, _) = weighed(&alone, least(FEW_RUNS_SD));
    cells.extend(weighed(&with_helper, least(FEW_RUNS_SD_WITH_HELPER)).0);
    let called_from = if is_few { CALLED_FROM_WITH_FEW_RUNS } else { TIE_ZONE };
    // Target means and cells are two families of tests, so each gets half of the error.
    call(&mut targets, called_from, FALSE_DISCOVERIES / 2.0);
    call(&mut cells, called_from, FALSE_DISCOVERIES / 2.0);
    let began = |runs: &[&Results]| runs.iter().map(|run| run.started_at.clone()).collect();
    Some(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        base: began(base),
        new: began(new),
        environment: environment(base, new),
        called_from,
        between_runs_sd,
        limit: None,
        targets,
        cells,
        floors: floors(&lists),
        unmatched_cells,
        unmatched_techniques,
    })
}

struct List<'a> {
    base: Vec<&'a Cell>,
    new: Vec<&'a Cell>,
}

fn lists<'a>(base: &[&'a Results], new: &[&'a Results]) -> (Vec<List<'a>>, usize) {
    fn key(cell: &Cell) -> impl PartialEq + use<'_> {
        let list = (cell.segment_count, cell.segment_bytes, &cell.segment_sizes);
        (list, &cell.conditions, cell.drain)
    }
    let cells = |run: &&'a Results| run.cells.iter().map(|cell| (key(cell), cell));
    let rows = join(base.iter().chain(new).map(cells).collect());
    let all = rows.len();
    let list = |(_, runs): (_, Vec<Vec<&'a Cell>>)| {
        let first = runs.iter().map(|cells| cells.first().copied());
        let mut base_cells: Vec<&Cell> = first.collect::<Option<_>>()?;
        let new = base_cells.split_off(base.len());
        Some(List {
            base: base_cells,
            new,
        })
    };
    let lists: Vec<List<'_>> = rows.into_iter().filter_map(list).collect();
    let others = all - lists.len();
    (lists, others)
}

/// A figure to compare: logarithms of time ÷ floor, by run.
struct Item<'a> {
    conditions: &'a Conditions,
    technique: TechniqueName,
    segment_sizes: Option<Vec<(usize, usize)>>,
    cell_count: usize,
    base: Vec<f64>,
    new: Vec<f64>,
    /// The variance of each logarithm, from the interval within its run.
    within: f64,
}

impl Item<'_> {
    fn difference(&self) -> f64 {
        mean(&self.new) - mean(&self.base)
    }

    fn degrees(&self) -> f64 {
        (self.base.len() + self.new.len() - 2) as f64
    }

    /// The pooled variance between the runs of a side; `None` with one run on each side.
    fn variance(&self) -> Option<f64> {
        let squares = |values: &[f64]| {
            let centre = mean(values);
            let squares = values.iter().map(|value| (value - centre).powi(2));
            squares.sum::<f64>()
        };
        let degrees = self.degrees();
        (degrees > 0.0).then(|| (squares(&self.base) + squares(&self.new)) / degrees)
    }
}

/// A run's logarithm of time ÷ floor, and its variance from the interval.
fn of_run(cell: &Cell, technique: TechniqueName) -> Option<(f64, f64)> {
    let result = cell.technique(technique)?;
    let log = result.floor_ratio?.ln();
    let (low, high) = result.floor_ratio_low.zip(result.floor_ratio_high)?;
    // A 95 % interval is 2 × 1.96 standard deviations wide.
    let sd = (high / low).ln() / 3.92;
    (log.is_finite() && sd.is_finite()).then_some((log, sd * sd))
}

fn of_cell<'a>(list: &List<'a>, technique: TechniqueName) -> Option<Item<'a>> {
    let logs = |cells: &[&Cell]| -> Option<(Vec<f64>, Vec<f64>)> {
        let runs = cells.iter().map(|cell| of_run(cell, technique));
        runs.collect()
    };
    let ((base, base_within), (new, new_within)) = (logs(&list.base)?, logs(&list.new)?);
    let first = list.base[0];
    Some(Item {
        conditions: &first.conditions,
        technique,
        segment_sizes: Some(match (first.segment_bytes, &first.segment_sizes) {
            (None, Some(runs)) => runs.clone(),
            (bytes, _) => vec![(first.segment_count, bytes.unwrap_or(0))],
        }),
        cell_count: 1,
        base,
        new,
        within: mean(&[base_within, new_within].concat()),
    })
}

/// The mean of each technique over the cells of a target. The mean leaves out cells with a thread at the other end: the
/// variation of such cells would mask all other cells.
fn of_targets<'a>(cells: &[Item<'a>]) -> Vec<Item<'a>> {
    let groups = by_key(
        cells
            .iter()
            .map(|item| ((item.conditions, item.technique), item)),
    );
    let together = |((conditions, technique), cells): ((&'a Conditions, _), Vec<&Item<'a>>)| {
        let over_cells = |of: for<'i> fn(&'i Item<'a>) -> &'i Vec<f64>| {
            let at = |run| mean(&cells.iter().map(|cell| of(cell)[run]).collect::<Vec<_>>());
            (0..of(cells[0]).len()).map(at).collect()
        };
        let within: Vec<f64> = cells.iter().map(|cell| cell.within).collect();
        Item {
            conditions,
            technique,
            segment_sizes: None,
            cell_count: cells.len(),
            base: over_cells(|item| &item.base),
            new: over_cells(|item| &item.new),
            within: mean(&within) / cells.len() as f64,
        }
    };
    groups.into_iter().map(together).collect()
}

/// The items with intervals and p-values, and the typical standard deviation between runs. No change is reported yet.
fn weighed(items: &[Item<'_>], least_sd: f64) -> (Vec<Compared>, f64) {
    let usual = usual_variance(items).max(least_sd * least_sd);
    let compared = |item: &Item<'_>| {
        let (own, degrees) = (
            item.variance().unwrap_or(0.0),
            PRIOR_DEGREES + item.degrees(),
        );
        let drawn = (PRIOR_DEGREES * usual + item.degrees() * own) / degrees;
        let variance = drawn.max(item.within);
        let sides = 1.0 / item.base.len() as f64 + 1.0 / item.new.len() as f64;
        let error = (variance * sides).sqrt();
        let (difference, reach) = (item.difference(), error * two_sided_quantile(0.05, degrees));
        Compared {
            conditions: item.conditions.clone(),
            segment_sizes: item.segment_sizes.clone(),
            cell_count: item.cell_count,
            technique: item.technique,
            base_floor_ratio: mean(&item.base).exp(),
            new_floor_ratio: mean(&item.new).exp(),
            ratio: difference.exp(),
            ratio_low: (difference - reach).exp(),
            ratio_high: (difference + reach).exp(),
            p: two_sided_p(difference / error, degrees),
            change: Change::NotFound,
            limit: None,
            ruling: None,
        }
    };
    (items.iter().map(compared).collect(), usual.sqrt())
}

/// The median variance between runs. With one run on each side, the variance is derived from the median difference, since most
/// cells have not changed.
fn usual_variance(items: &[Item<'_>]) -> f64 {
    let own: Vec<f64> = items.iter().filter_map(Item::variance).collect();
    if let (Some(typical), Some(first)) = (median(&own), items.first()) {
        // The median of a χ² variate ÷ its degrees of freedom (Wilson and Hilferty, 1931).
        let degrees = first.degrees();
        return typical / (1.0 - 2.0 / (9.0 * degrees)).powi(3);
    }
    let apart: Vec<f64> = items.iter().map(|item| item.difference().abs()).collect();
    // The median absolute value of a normal variate is 0.6745 σ; a difference has the variance of two
    // runs.
    median(&apart).map_or(0.0, |apart| (apart / 0.6745).powi(2) / 2.0)
}

fn call(items: &mut [Compared], called_from: f64, error: f64) {
    let p_values: Vec<f64> = items.iter().map(|item| item.p).collect();
    for (item, is_sure) in std::iter::zip(&mut *items, discoveries(&p_values, error)) {
        item.change = match is_sure {
            true if item.ratio >= 1.0 + called_from => Change::More,
            true if item.ratio <= 1.0 / (1.0 + called_from) => Change::Less,
            _ => Change::NotFound,
        };
    }
}

fn floors(lists: &[List<'_>]) -> Vec<FloorChange> {
    let log = |cells: &[&Cell]| {
        let logs = cells.iter().map(|cell| cell.floor_ns.ln());
        mean(&logs.collect::<Vec<_>>())
    };
    let alone = lists.iter().filter(|list| !has_helper(list.base[0]));
    let changes = alone.map(|list| (&list.base[0].conditions, log(&list.new) - log(&list.base)));
    let targets = by_key(changes.filter(|(_, change)| change.is_finite()));
    let target = |(conditions, changes): (&Conditions, Vec<f64>)| FloorChange {
        conditions: conditions.clone(),
        ratio: mean(&changes).exp(),
    };
    targets.into_iter().map(target).collect()
}

/// Properties of the machine, the system and the program that differ between the sides. A property that some run does not
/// have, such as a directory when no file was measured, is not compared.
fn environment(base: &[&Results], new: &[&Results]) -> Vec<EnvironmentDifference> {
    let runs = base.iter().chain(new).map(|run| properties(run));
    let difference = |(what, values): (&str, Vec<Vec<String>>)| {
        let values = values.into_iter().map(|of_run| of_run.into_iter().next());
        let mut before: Vec<String> = values.collect::<Option<_>>()?;
        let after = before.split_off(base.len());
        let [before, after] = [before, after].map(distinct);
        (before != after).then(|| EnvironmentDifference {
            what: what.to_owned(),
            base: before,
            new: after,
        })
    };
    let properties = join(runs.collect());
    properties.into_iter().filter_map(difference).collect()
}

/// The properties that can affect timings and stay through a run.
fn properties(run: &Results) -> Vec<(&'static str, String)> {
    let host = &run.host;
    let mitigations = host.cpu.mitigations.iter();
    let mitigations = mitigations.map(|(name, how)| format!("{name}: {how}"));
    let rivals = run.rivals.iter().map(|rival| rival.as_str());
    let mut all = lasting_properties(host);
    all.retain(|(name, _)| *name != "mitigations");
    all.extend([
        ("mitigations", mitigations.collect::<Vec<_>>().join("; ")),
        ("vectored", run.vectored_version.clone()),
        (
            "techniques that compete",
            rivals.collect::<Vec<_>>().join(", "),
        ),
    ]);
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
