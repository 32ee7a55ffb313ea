//! Cost models fitted to cells, and their regret.

use vectored::CostModel;
use vectored::cost::Observation;
use vectored::cost::TargetKind;
use vectored_report::each_once;

use crate::model::{
    Cell, Conditions, Drain, FittedModel, ModelSource, Operation, Target, TechniqueName,
};
use crate::stats::series::pair;
use crate::stats::summary::ten_thousandths;

const MIN_CELLS: usize = 6;

/// A cost model for each set of conditions with enough `cells`. The model is judged by cross-validation: in each cell by a fit
/// to the other cells.
pub fn fitted_models(cells: &[&Cell]) -> Vec<FittedModel> {
    let groups = each_once(cells.iter().map(|cell| (&cell.conditions, cell.drain)));
    let models = groups.into_iter();
    let models = models.filter_map(|(conditions, drain)| fitted_model(conditions, drain, cells));
    models.collect()
}

fn fitted_model(
    conditions: &Conditions,
    drain: Option<Drain>,
    cells: &[&Cell],
) -> Option<FittedModel> {
    let here = cells.iter().copied();
    let here = here.filter(|cell| cell.conditions == *conditions && cell.drain == drain);
    let observed = here.filter_map(|cell| Some((cell, rounds(cell)?)));
    let observed: Vec<(&Cell, Vec<Observation>)> = observed.collect();
    if observed.len() < MIN_CELLS {
        return None;
    }
    let prior = CostModel::for_target(target_kind(conditions.target));
    let fit = |without: Option<usize>| {
        let others = observed.iter().enumerate();
        let others = others.filter(|(index, _)| Some(*index) != without);
        let rounds = others.flat_map(|(_, (_, rounds))| rounds.iter().copied());
        CostModel::fit(prior, &rounds.collect::<Vec<Observation>>())
    };
    let regrets = observed.iter().enumerate();
    let regrets = regrets.filter_map(|(index, (cell, _))| regret(cell, &fit(Some(index))));
    let source = ModelSource::Cells;
    let mut fitted = FittedModel::new(conditions.clone(), drain, source, &fit(None));
    judge_by(&mut fitted, regrets.collect());
    Some(fitted)
}

/// Fills in the regret of `model` over the `cells` that were measured under its conditions. The
/// model must not have been fitted to these cells.
pub fn judge_model(model: &mut FittedModel, cells: &[&Cell]) {
    let here = |cell: &&&Cell| cell.conditions == model.conditions && cell.drain == model.drain;
    let here = cells.iter().filter(here);
    let regrets = here.filter_map(|cell| regret(cell, &model.model)).collect();
    judge_by(model, regrets);
}

fn judge_by(model: &mut FittedModel, mut regrets: Vec<f64>) {
    regrets.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        // The smallest value that is not exceeded by at least this share of the values.
        let rank = (share * regrets.len() as f64).ceil() as usize;
        regrets.get(rank.max(1) - 1).copied().map(ten_thousandths)
    };
    model.judged_cells = regrets.len();
    (model.regret_median, model.regret_p95) = (at(0.5), at(0.95));
}

/// The regret of choosing between copying and referencing by `model` in `cell`: how much longer the chosen technique takes than
/// the fastest technique, paired by round. Comparing separate medians would include changes in the machine's speed.
fn regret(cell: &Cell, model: &CostModel) -> Option<f64> {
    let [each, copied, referenced] = techniques(cell.conditions.operation)?;
    // `vectored::Gather` makes this choice for a list of equal segments.
    let [chosen, other] = if model.copies(cell.segment_count, cell.segment_bytes?) {
        [copied, referenced]
    } else {
        [referenced, copied]
    };
    let behind = |rival| Some(pair(cell, chosen, rival)?.ratio - 1.0);
    let worst = behind(other)?.max(behind(each).unwrap_or(0.0));
    Some(worst.max(0.0))
}

/// One call a segment, all copied, all referenced. `None` for copies between descriptors, which have no segments.
fn techniques(operation: Operation) -> Option<[TechniqueName; 3]> {
    Some(match operation {
        Operation::Copy => return None,
        Operation::Write => [
            TechniqueName::WRITE_EACH,
            TechniqueName::COPY_THEN_WRITE,
            TechniqueName::WRITEV,
        ],
        Operation::Read => [
            TechniqueName::READ_EACH,
            TechniqueName::READ_THEN_SPLIT,
            TechniqueName::READV,
        ],
    })
}

/// The rounds of a cell of equal segments in which copying and referencing were measured.
fn rounds(cell: &Cell) -> Option<Vec<Observation>> {
    let [_, copied, referenced] = techniques(cell.conditions.operation)?;
    let bytes = cell.segment_count as u64 * cell.segment_bytes? as u64;
    let [copied, referenced] = [cell.technique(copied)?, cell.technique(referenced)?];
    let rounds = std::iter::zip(&copied.samples_ns, &referenced.samples_ns);
    let rounds = std::iter::zip(rounds, &cell.floor_samples_ns);
    let observed = |((copied, referenced), &write_ns): ((&Option<f64>, &Option<f64>), &f64)| {
        Some(Observation {
            segment_count: cell.segment_count,
            bytes,
            write_ns,
            writev_ns: (*referenced)?,
            copy_then_write_ns: (*copied)?,
        })
    };
    let observations: Vec<Observation> = rounds.filter_map(observed).collect();
    (!observations.is_empty()).then_some(observations)
}

pub fn target_kind(target: Target) -> TargetKind {
    match target {
        Target::File => TargetKind::File,
        Target::FileOverwrite => TargetKind::FileOverwrite,
        Target::Pipe => TargetKind::Pipe,
        Target::Unix | Target::Socket => TargetKind::Unix,
        Target::Tcp | Target::Remote => TargetKind::Tcp,
        Target::Null => TargetKind::Other,
    }
}
