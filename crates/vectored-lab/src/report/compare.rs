//! A comparison of two sets of runs as text: differences of the environment first, then reported
//! changes, then all figures.

use crate::model::{Change, Compared, Comparison};
use crate::report::grid;
use crate::report::grid::Grid;
use crate::report::target_names::conditions_in_words;
use crate::stats::MIN_RUNS;
use crate::text::format;
use crate::text::format::{escape_control, escape_markdown, list_in_words, three_digits};

/// For a terminal of `width` columns.
pub fn comparison_table(comparison: &Comparison, width: usize) -> String {
    let mut text = String::new();
    for paragraph in before(comparison) {
        text += &grid::paragraph(&paragraph, 2, width);
    }
    text.push('\n');
    text += &grid::texts(&grids(comparison), width);
    text.push('\n');
    for note in notes(comparison) {
        text += &grid::paragraph(&note, 2, width);
    }
    text
}

/// For a document.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = String::new();
    for paragraph in before(comparison) {
        text += &format!("{}\n\n", escape_markdown(&paragraph));
    }
    text += &grid::markdowns(&grids(comparison));
    text.push('\n');
    for note in notes(comparison) {
        text += &format!("- {}\n", escape_markdown(&note));
    }
    text
}

/// For programs.
pub fn comparison_json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string(comparison).expect("plain data");
    text.push('\n');
    text
}

/// One line a cell and technique; lines without `segment_sizes` are of all cells
/// of a target.
pub fn comparison_csv(comparison: &Comparison) -> String {
    // Writing to memory, with as many fields in each line, cannot fail.
    const SOUND: &str = "a line as long as the head, into memory";
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let head = [
        "target",
        "path",
        "operation",
        "layout",
        "cache",
        "page_cache",
        "iovec_setup",
        "sync",
        "segment_sizes",
        "cell_count",
        "technique",
        "base_floor_ratio",
        "new_floor_ratio",
        "ratio",
        "ratio_low",
        "ratio_high",
        "p",
        "change",
        "queue_depth",
        "writers",
        "direct",
    ];
    writer.write_record(head).expect(SOUND);
    for compared in comparison.targets.iter().chain(&comparison.cells) {
        let value = serde_json::to_value(compared).expect("plain data");
        let line = head.map(|name| format::csv_word(&value[name]));
        writer.write_record(line).expect(SOUND);
    }
    let bytes = writer.into_inner().expect(SOUND);
    String::from_utf8(bytes).expect("text in, text out")
}

fn before(comparison: &Comparison) -> Vec<String> {
    let mut text = Vec::new();
    for difference in &comparison.environment {
        let side = |values: &[String]| {
            let values: Vec<String> = values.iter().map(|value| escape_control(value)).collect();
            values.join(" | ")
        };
        text.push(format!(
            "Different {}: {} in the base runs, {} in the new runs.",
            difference.what,
            side(&difference.base),
            side(&difference.new)
        ));
    }
    if text.is_empty() {
        text.push("The environment is the same.".to_owned());
    }
    if comparison.cells.is_empty() {
        text.push(
            "Nothing was compared: no cell was measured under the same conditions in every run."
                .to_owned(),
        );
        return text;
    }
    let reported = |change: Change| {
        let all = comparison.targets.iter().chain(&comparison.cells);
        all.filter(|compared| compared.change == change).count()
    };
    let (slower, faster) = (reported(Change::Slower), reported(Change::Faster));
    text.push(format!(
        "{} against {}: {slower} slower and {faster} faster among {} and {}; the others changed by \
         less than {:.0} %, or not significantly.",
        format::count(comparison.base.len(), "base run"),
        format::count(comparison.new.len(), "new run"),
        format::count(comparison.targets.len(), "target mean"),
        format::count(comparison.cells.len(), "cell result"),
        comparison.called_from * 100.0,
    ));
    text
}

fn grids(comparison: &Comparison) -> Vec<Grid> {
    let mut grids = Vec::new();
    if !comparison.targets.is_empty() {
        grids.push(grid_of(
            "Target means: time ÷ floor, over the cells of a target",
            &comparison.targets.iter().collect::<Vec<_>>(),
        ));
    }
    let changed: Vec<&Compared> = comparison
        .cells
        .iter()
        .filter(|compared| compared.change != Change::None)
        .collect();
    if !changed.is_empty() {
        grids.push(grid_of("Cell results with a reported change", &changed));
    }
    grids
}

fn grid_of(title: &str, all: &[&Compared]) -> Grid {
    let heads = [
        "target",
        "list",
        "technique",
        "base",
        "new",
        "new ÷ base",
        "95 %",
        "",
    ];
    Grid {
        title: title.to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        names: 3,
        rows: all.iter().map(|compared| row(compared)).collect(),
    }
}

fn row(compared: &Compared) -> Vec<String> {
    let list = match &compared.segment_sizes {
        Some(runs) => list_in_words(runs),
        None => format::count(compared.cell_count, "cell"),
    };
    let (change, interval) = format::margin(
        compared.ratio,
        Some((compared.ratio_low, compared.ratio_high)),
    );
    vec![
        conditions_in_words(&compared.conditions),
        list,
        compared.technique.to_string(),
        format!("{}×", three_digits(compared.base_floor_ratio)),
        format!("{}×", three_digits(compared.new_floor_ratio)),
        // `12×` is no addition.
        match change.starts_with(['-', '–']) || change.ends_with('×') {
            true => change,
            false => format!("+{change}"),
        },
        interval.unwrap_or_default(),
        change_in_words(compared.change).to_owned(),
    ]
}

fn change_in_words(change: Change) -> &'static str {
    match change {
        Change::Slower => "SLOWER",
        Change::Faster => "faster",
        Change::None => "",
    }
}

/// The legend, a paragraph each.
fn notes(comparison: &Comparison) -> Vec<String> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut notes = vec![format!(
        "Figures are time ÷ floor in the same round, so a change in the speed of the whole machine \
         cancels out. Intervals include the run-to-run variation (standard deviation of a target mean: {0}). \
         A change is reported if it is at least {1} and significant at 5 %, adjusted over all cells.",
        format::percent(comparison.between_runs_sd),
        percent(comparison.called_from)
    )];
    if comparison.base.len().min(comparison.new.len()) < MIN_RUNS {
        notes.push(format!(
            "With fewer than {MIN_RUNS} runs on a side the run-to-run variation is poorly known, so no change \
             under {} is reported. Measure each side at least {MIN_RUNS} times, alternating base and new.",
            percent(comparison.called_from)
        ));
    }
    let floors = comparison.floors.iter().map(|floor| {
        let (change, _) = format::margin(floor.ratio, None);
        let sign = if change.starts_with('-') { "" } else { "+" };
        format!("{} {sign}{change}", conditions_in_words(&floor.conditions))
    });
    let floors = floors.collect::<Vec<_>>().join("; ");
    if !floors.is_empty() {
        notes.push(format!(
            "Changes of the floors: {floors}. These are not tested, since load on the machine can cause as much."
        ));
    }
    if comparison.unmatched_techniques > 0 {
        notes.push(format!(
            "Not compared: {}, with too few rounds in at least one run.",
            format::count(comparison.unmatched_techniques, "cell result")
        ));
    }
    if comparison.unmatched_cells > 0 {
        notes.push(format!(
            "Not compared: {}, not measured under the same conditions in every run.",
            format::count(comparison.unmatched_cells, "cell")
        ));
    }
    notes
}
