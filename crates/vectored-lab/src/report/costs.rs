//! Cost models in words.

use crate::model::{
    Cell, Conditions, Drain, FAST_IOVECS, FittedModel, ModelSource, Operation, Results,
};
use crate::report::target_names::{Kind, Titles};
use crate::text::format::{bytes_in_words, count, percent, time};

/// What stands above them.
pub(crate) const COSTS: &str = "Costs on this machine, fitted to the cells:";

/// What a call, a segment and a byte cost, a paragraph for each of the conditions
/// that a model was fitted to, with what it costs to choose by it.
pub(crate) fn costs(results: &Results) -> Vec<String> {
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
            let cells = results.cells.iter().chain(&results.refined_cells);
            let cells = cells.filter(|cell| cell.conditions() == model.conditions);
            let carried = Carried::by(cells, model);
            format!("{title}: {}", sentence(model, carried, calibrated))
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

/// Which numbers the cells say anything of. The others are those of the default model, or one of two
/// that could not be told apart.
#[derive(Clone, Copy)]
struct Carried {
    page_end: bool,
    iovec_step: bool,
    uncached: bool,
}

impl Carried {
    fn by<'a>(cells: impl Iterator<Item = &'a Cell>, model: &FittedModel) -> Self {
        let (mut few, mut many, mut uncached) = (0, 0, false);
        for cell in cells {
            match cell.segment_count {
                ..=FAST_IOVECS => few += 1,
                _ => many += 1,
            }
            let bytes = cell.segment_bytes.unwrap_or(0) * cell.segment_count;
            uncached |= bytes > model.staging_bytes;
        }
        Carried {
            page_end: model.page_end_ns > 0.0,
            iovec_step: few > 0 && many > 0,
            uncached,
        }
    }
}

fn sentence(model: &FittedModel, carried: Carried, calibrated: Option<&FittedModel>) -> String {
    let [listed, split] = match model.conditions.operation {
        Operation::Write => ["referenced", "copied"],
        Operation::Read => ["referenced", "split off"],
    };
    let mut segments = vec![format!("{} from 256 B on", time(model.large_segment_ns))];
    if carried.page_end {
        let less = time(model.page_end_ns);
        segments.push(format!("{less} less where it ends with a page"));
    }
    if carried.iovec_step {
        let more = time(model.iovec_step_ns);
        segments.push(format!("{more} a call past {FAST_IOVECS} of them"));
    }
    let uncached = match carried.uncached {
        true => format!(
            " ({} beyond {})",
            a_byte(model.copy_byte_uncached_ns),
            bytes_in_words(model.staging_bytes as u64)
        ),
        false => String::new(),
    };
    let mut text = format!(
        "a call {}, and {} more with a list; a byte {}; a segment {listed} {} ({}); a segment {split} {} \
         and {} a byte{uncached}.",
        time(model.call_ns),
        time(model.gather_call_ns),
        a_byte(model.byte_ns),
        time(model.segment_ns),
        segments.join(", "),
        time(model.copy_segment_ns),
        a_byte(model.copy_byte_ns),
    );
    if let (Some(median), Some(p95)) = (model.regret_median, model.regret_p95) {
        text += &format!(
            " Regret of choosing by this model: median {}, 95th percentile {} ({})",
            percent(median),
            percent(p95),
            count(model.judged_cells, "cell"),
        );
        let regret = calibrated.and_then(|model| Some((model.regret_median?, model.regret_p95?)));
        if let Some((median, p95)) = regret {
            text += &format!(
                "; by the calibration that adaptive used: median {}, 95th percentile {}",
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
