//! Cost models as a table, a row a model.

use vectored_report::words::{NONE, counts, percent, three_digits};
use vectored_report::{Block, Section, Table, by_key};

use crate::model::{Drain, FittedModel, ModelSource, Results};
use crate::report::target_names::Titles;

/// Segment counts whose copy threshold has a column. The JSON has further counts.
const THRESHOLD_COUNTS: [usize; 3] = [2, 8, 64];

const FIGURES: [&str; 10] = [
    "call",
    "gather call",
    "segment",
    "copy byte",
    "copy 2 ×",
    "copy 8 ×",
    "copy 64 ×",
    "join",
    "regret",
    "regret p95",
];

/// The models that were fitted to the cells, each followed by the calibrated model for the same conditions; and how to read the
/// models. `None` if nothing was fitted.
pub(super) fn section(results: &Results) -> Option<Section> {
    let titles = Titles::among(&results.cells);
    let all = results.cost_models.iter();
    let groups = by_key(all.map(|model| ((&model.conditions, model.drain), model)));
    let is_fitted = |model: &&FittedModel| model.source == ModelSource::Cells;
    let groups = groups.into_iter().map(|(_, models)| models);
    let models = groups
        .filter(|models| models.iter().any(is_fitted))
        .flatten();
    let models = models.filter(|model| is_fitted(model) || model.regret_median.is_some());
    let models: Vec<&FittedModel> = models.collect();
    if models.is_empty() {
        return None;
    }
    let rows = models.iter().map(|model| row(model, &titles));
    let judged = counts(models.iter().map(|model| model.judged_cells), "cell");
    let title = format!("Times in ns, copy thresholds in bytes; regret over {judged} each");
    let table = Table::new(title, ["target"], FIGURES, rows);
    let notes = legend(&models).into_iter();
    let notes = notes.map(|note| Block::Note(note.into()));
    let blocks = [Block::Table(table)].into_iter().chain(notes).collect();
    Some(Section::new("Cost models, fitted to the cells", blocks))
}

fn legend(models: &[&FittedModel]) -> Vec<String> {
    let mut notes = vec![
        "\"call\" is the time of a call, \"gather call\" the additional time of a call with a list, \"segment\" that of \
         each segment of less than 256 B, \"copy byte\" the time to copy a byte. \"copy 8 ×\": a list of 8 segments is \
         copied if each is at most this long. \"join\": messages of up to this many bytes in all are copied into one \
         call; longer ones take less time in two calls, if the program does other work between them."
            .to_owned(),
        "Regret of a model: how much longer its choice between copying and gathering takes than the fastest technique, \
         in the median cell and (p95) in the 95th percentile of the cells. A fitted model is cross-validated: its choice \
         for a cell is that of a fit to the other cells."
            .to_owned(),
    ];
    if models
        .iter()
        .any(|model| model.source == ModelSource::Calibration)
    {
        notes.push(
            "calibrated: the model that adaptive uses; it is measured before the run.".to_owned(),
        );
    }
    notes
}

fn row(model: &FittedModel, titles: &Titles) -> Vec<String> {
    let mut title = titles.of(&model.conditions);
    if model.drain.is_some_and(Drain::has_thread) {
        title += ", with a thread";
    }
    if model.source == ModelSource::Calibration {
        title += ", calibrated";
    }
    let threshold = |count| {
        let known = model.copy_below_bytes.iter().find(|known| known.0 == count);
        known.map_or(NONE.to_owned(), |(_, bytes)| bytes.to_string())
    };
    let regret = |share: Option<f64>| share.map_or(NONE.to_owned(), percent);
    let costs = &model.model;
    let mut cells = vec![title];
    cells.extend([costs.call_ns, costs.gather_call_ns, costs.segment_ns].map(three_digits));
    cells.push(format!("{:.3}", costs.copy_byte_ns));
    cells.extend(THRESHOLD_COUNTS.map(threshold));
    cells.push(model.queue_join_below_bytes.to_string());
    cells.extend([model.regret_median, model.regret_p95].map(regret));
    cells
}
