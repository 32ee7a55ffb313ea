//! Compares runs of one build with runs of another: which techniques became slower or faster relative to
//! the floor?
//!
//! A difference is tested against the variance between the runs of one side. A few runs estimate that variance poorly, so
//! the variance of each cell is shrunk towards the typical variance, as if the typical variance had been observed in
//! [`PRIOR_DEGREES`] more runs (G. K. Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential
//! Expression", Statistical Applications in Genetics and Molecular Biology 3, 2004).

use vectored_machine::report::lasting_properties;
use vectored_report::sort::sort;
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
    let mut together = of_targets(&alone);
    let least = |sd: f64| if is_few { sd } else { MIN_SD };
    let between_runs_sd = weigh(&mut together, least(FEW_RUNS_SD));
    weigh(&mut alone, least(FEW_RUNS_SD));
    weigh(&mut with_helper, least(FEW_RUNS_SD_WITH_HELPER));
    let called_from = if is_few { CALLED_FROM_WITH_FEW_RUNS } else { TIE_ZONE };
    let mut cells = alone;
    cells.append(&mut with_helper);
    // Target means and cells are two families of tests, so each gets half of the error.
    call(&mut together, called_from, FALSE_DISCOVERIES / 2.0);
    call(&mut cells, called_from, FALSE_DISCOVERIES / 2.0);
    let began = |runs: &[&Results]| runs.iter().map(|run| run.started_at.clone()).collect();
    let done = |items: Vec<Item>| items.into_iter().map(|item| item.compared).collect();
    Some(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        base: began(base),
        new: began(new),
        environment: environment(base, new),
        called_from,
        between_runs_sd,
        limit: None,
        targets: done(together),
        cells: done(cells),
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
struct Item {
    compared: Compared,
    base: Vec<f64>,
    new: Vec<f64>,
    /// The variance of each logarithm, from the interval within its run.
    within: f64,
}

impl Item {
    fn new(
        (conditions, technique): (&Conditions, TechniqueName),
        base: Vec<f64>,
        new: Vec<f64>,
        within: f64,
    ) -> Self {
        let [before, after] = [&base, &new].map(|logs| mean(logs));
        Item {
            compared: Compared {
                conditions: conditions.clone(),
                segment_sizes: None,
                cell_count: 1,
                technique,
                base_floor_ratio: before.exp(),
                new_floor_ratio: after.exp(),
                ratio: (after - before).exp(),
                ratio_low: 0.0,
                ratio_high: f64::INFINITY,
                p: 1.0,
                change: Change::NotFound,
                limit: None,
                ruling: None,
            },
            base,
            new,
            within,
        }
    }

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

fn of_cell(list: &List<'_>, technique: TechniqueName) -> Option<Item> {
    let logs = |cells: &[&Cell]| -> Option<(Vec<f64>, Vec<f64>)> {
        let runs = cells.iter().map(|cell| of_run(cell, technique));
        runs.collect()
    };
    let ((base, base_within), (new, new_within)) = (logs(&list.base)?, logs(&list.new)?);
    let within = mean(&[base_within, new_within].concat());
    let first = list.base[0];
    let mut item = Item::new((&first.conditions, technique), base, new, within);
    item.compared.segment_sizes = Some(match (first.segment_bytes, &first.segment_sizes) {
        (None, Some(runs)) => runs.clone(),
        (bytes, _) => vec![(first.segment_count, bytes.unwrap_or(0))],
    });
    Some(item)
}

/// The mean of each technique over the cells of a target. Cells with a thread at the other end are no part of the mean:
/// their variation would mask all other cells.
fn of_targets(cells: &[Item]) -> Vec<Item> {
    let key = |item: &Item| (item.compared.conditions.clone(), item.compared.technique);
    let groups = by_key(cells.iter().map(|item| (key(item), item)));
    let together = |((conditions, technique), cells): ((Conditions, _), Vec<&Item>)| {
        let over_cells = |of: fn(&Item) -> &Vec<f64>| -> Vec<f64> {
            let at = |run| mean(&cells.iter().map(|cell| of(cell)[run]).collect::<Vec<_>>());
            (0..of(cells[0]).len()).map(at).collect()
        };
        let within: Vec<f64> = cells.iter().map(|cell| cell.within).collect();
        let mut item = Item::new(
            (&conditions, technique),
            over_cells(|item| &item.base),
            over_cells(|item| &item.new),
            mean(&within) / cells.len() as f64,
        );
        item.compared.cell_count = cells.len();
        item
    };
    groups.into_iter().map(together).collect()
}

/// Fills in intervals and p-values; returns the typical standard deviation between runs.
fn weigh(items: &mut [Item], least_sd: f64) -> f64 {
    let usual = usual_variance(items).max(least_sd * least_sd);
    for item in items {
        let degrees = item.degrees();
        let own = item.variance().unwrap_or(0.0);
        let drawn = (PRIOR_DEGREES * usual + degrees * own) / (PRIOR_DEGREES + degrees);
        let variance = drawn.max(item.within);
        let sides = 1.0 / item.base.len() as f64 + 1.0 / item.new.len() as f64;
        let error = (variance * sides).sqrt();
        let degrees = PRIOR_DEGREES + degrees;
        let (difference, reach) = (item.difference(), error * two_sided_quantile(0.05, degrees));
        item.compared.p = two_sided_p(difference / error, degrees);
        item.compared.ratio_low = (difference - reach).exp();
        item.compared.ratio_high = (difference + reach).exp();
    }
    usual.sqrt()
}

/// The median variance between runs. With one run on each side it is derived from the median difference,
/// since most cells have not changed.
fn usual_variance(items: &[Item]) -> f64 {
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

fn call(items: &mut [Item], called_from: f64, error: f64) {
    let p_values: Vec<f64> = items.iter().map(|item| item.compared.p).collect();
    for (item, is_sure) in std::iter::zip(&mut *items, discoveries(&p_values, error)) {
        let ratio = item.compared.ratio;
        item.compared.change = match is_sure {
            true if ratio >= 1.0 + called_from => Change::More,
            true if ratio <= 1.0 / (1.0 + called_from) => Change::Less,
            _ => Change::NotFound,
        };
    }
}

fn floors(lists: &[List<'_>]) -> Vec<FloorChange> {
    let log = |cells: &[&Cell]| {
        mean(
            &cells
                .iter()
                .map(|cell| cell.floor_ns.ln())
                .collect::<Vec<_>>(),
        )
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
    let values = |runs: &[&Results], what: &str| -> Option<Vec<String>> {
        let of_run = |run: &&Results| {
            let mut properties = properties(run).into_iter();
            properties.find_map(|(name, value)| (name == what).then_some(value))
        };
        let mut values: Vec<String> = runs.iter().map(of_run).collect::<Option<_>>()?;
        sort(&mut values);
        values.dedup();
        Some(values)
    };
    let difference = |(what, _): (&'static str, String)| {
        let (base, new) = (values(base, what)?, values(new, what)?);
        (base != new).then(|| EnvironmentDifference {
            what: what.to_owned(),
            base,
            new,
        })
    };
    properties(base[0])
        .into_iter()
        .filter_map(difference)
        .collect()
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
