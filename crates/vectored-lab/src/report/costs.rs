//! Cost models in words.

use super::places::{Kind, Titles};
use super::words::{bytes_in_words, count, percent, time};
use crate::model::{Conditions, Drain, FittedModel, ModelSource, Operation, Results};

/// What stands above them.
pub(super) const COSTS: &str = "What it costs here, fitted to the cells:";

/// What a call, a segment and a byte cost, a paragraph for each of the conditions
/// that a model was fitted to, with what it costs to choose by it.
pub(super) fn costs(results: &Results) -> Vec<String> {
    let titles = Titles::among(&results.cells);
    let models = &results.cost_models;
    let fitted = models
        .iter()
        .filter(|model| model.source == ModelSource::Cells);
    fitted
        .map(|model| {
            let calibrated = models.iter().find(|other| {
                other.source == ModelSource::Calibration && other.conditions == model.conditions
            });
            let title = title(&titles, &model.conditions);
            format!("{title}: {}", sentence(model, calibrated))
        })
        .collect()
}

fn title(titles: &Titles, conditions: &Conditions) -> String {
    let title = titles.of(Kind::of_conditions(conditions));
    match conditions.drain {
        Some(Drain::ReaderThread | Drain::WriterThread | Drain::Peer) => {
            format!("{title} with a thread at the other end")
        }
        _ => title,
    }
}

fn sentence(model: &FittedModel, calibrated: Option<&FittedModel>) -> String {
    let [listed, split] = match model.conditions.operation {
        Operation::Write => ["referenced", "copied"],
        Operation::Read => ["referenced", "split off"],
    };
    let mut text = format!(
        "a call {}, and {} more with a list; a byte {}; a segment {listed} {} ({} from 256 B on, {} less \
         where it ends with a page, and {} a call past 8 of them); a segment {split} {} and {} a byte ({} beyond {}).",
        time(model.call_ns),
        time(model.gather_call_ns),
        a_byte(model.byte_ns),
        time(model.segment_ns),
        time(model.large_segment_ns),
        time(model.page_end_ns),
        time(model.iovec_step_ns),
        time(model.copy_segment_ns),
        a_byte(model.copy_byte_ns),
        a_byte(model.copy_byte_uncached_ns),
        bytes_in_words(model.staging_bytes as u64),
    );
    if let (Some(median), Some(p95)) = (model.regret_median, model.regret_p95) {
        text += &format!(
            " To choose by it costs {} in the median of {} and {} in the 95th percentile",
            percent(median),
            count(model.judged_cells, "cell"),
            percent(p95),
        );
        let regret = calibrated.and_then(|model| Some((model.regret_median?, model.regret_p95?)));
        if let Some((median, p95)) = regret {
            text += &format!(
                ", by the calibration that adaptive ran with {} and {}",
                percent(median),
                percent(p95),
            );
        }
        text.push('.');
    }
    text
}

/// As [`time`], and of what bytes cost no digit less.
fn a_byte(ns: f64) -> String {
    if ns < 0.1 {
        format!("{ns:.3} ns")
    } else {
        time(ns)
    }
}
