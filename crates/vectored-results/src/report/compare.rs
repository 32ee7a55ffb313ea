//! A comparison of two sets of runs as a document: differences of the environment first, then reported
//! changes, then all figures.

use vectored_report::words::{ratio, ratio_within};
use vectored_report::{
    Block, Change, ComparedRow, Document, Ruling, Sentence, Table, Tone, comparison_table,
    csv_of_values, value_of, words,
};

use crate::model::{Compared, Comparison, EnvironmentDifference};
use crate::report::target_names::conditions_in_words;
use crate::stats::MIN_RUNS;

pub fn comparison_document(comparison: &Comparison) -> Document {
    let sentence = |text| Block::Sentence(Sentence::toned(Tone::Plain, text));
    let beyond = limits_in_words(comparison).into_iter();
    let beyond = beyond.map(|(ruling, text)| ruling.sentence(words::capital(&text)));
    let notes = notes(comparison)
        .into_iter()
        .map(|note| Block::Note(note.into()));
    let [new, base] = [(&comparison.new, "new run"), (&comparison.base, "base run")]
        .map(|(runs, one)| words::count(runs.len(), one));
    Document {
        title: format!("Faster or slower? {new} against {base}").into(),
        lead: LEAD.into(),
        answer: [sentence(summary(comparison))]
            .into_iter()
            .chain(beyond)
            .collect(),
        warnings: environment(comparison).into_iter().map(sentence).collect(),
        body: tables(comparison).map(Block::Table).chain(notes).collect(),
        ..Document::default()
    }
}

const LEAD: &str = "\
Two versions of a program or of a system, compared by the times of the same cells. The figure is the time of a technique \
divided by that of the floor in the same round, so that a slower or busier machine does not look like a change.";

/// One line for each cell and technique. A line without `segment_sizes` is about all cells of a target.
pub fn comparison_csv(comparison: &Comparison) -> String {
    let rows = comparison
        .rows()
        .map(|row| value_of(row).expect("plain data"));
    csv_of_values(rows.collect())
}

fn environment(comparison: &Comparison) -> Vec<String> {
    if comparison.environment.is_empty() {
        return vec!["The environment is the same.".to_owned()];
    }
    let sentence = |of: &EnvironmentDifference| {
        let [base, new] = [&of.base, &of.new].map(|values| values.join(" | "));
        format!(
            "Different {}: {base} in the base runs, {new} in the new runs.",
            of.what
        )
    };
    comparison.environment.iter().map(sentence).collect()
}

fn summary(comparison: &Comparison) -> String {
    if comparison.cells.is_empty() {
        return "Nothing was compared: no cell was measured under the same conditions in every run."
            .to_owned();
    }
    let reported = |change: Change| {
        let all = comparison.rows();
        all.filter(|compared| compared.change == change).count()
    };
    let (slower, faster) = (reported(Change::More), reported(Change::Less));
    format!(
        "{} against {}: {slower} slower and {faster} faster among {} and {}; the others changed by \
         less than {:.0} %, or not significantly.",
        words::count(comparison.base.len(), "base run"),
        words::count(comparison.new.len(), "new run"),
        words::count(comparison.targets.len(), "target mean"),
        words::count(comparison.cells.len(), "cell result"),
        comparison.called_from * 100.0,
    )
}

fn tables(comparison: &Comparison) -> impl Iterator<Item = Table> {
    let targets: Vec<&Compared> = comparison.targets.iter().collect();
    let cells = comparison.cells.iter();
    let changed = cells.filter(|compared| compared.change != Change::NotFound);
    let all = [
        (
            "Target means: time ÷ floor, over the cells of a target",
            targets,
        ),
        ("Cell results with a reported change", changed.collect()),
    ];
    let table = |(title, all): (&str, Vec<&Compared>)| {
        let names = ["target", "list", "technique"];
        comparison_table(
            title,
            &names,
            ["base", "new"],
            all.into_iter().map(row).collect(),
        )
    };
    all.into_iter()
        .filter(|(_, all)| !all.is_empty())
        .map(table)
}

fn row(compared: &Compared) -> ComparedRow {
    let list = match &compared.segment_sizes {
        Some(runs) => words::list(runs),
        None => words::count(compared.cell_count, "cell"),
    };
    let ends = (compared.ratio_low, compared.ratio_high);
    ComparedRow {
        names: vec![
            conditions_in_words(&compared.conditions).into(),
            list.into(),
            compared.technique.to_string().into(),
        ],
        sides: [compared.base_floor_ratio, compared.new_floor_ratio].map(|of| ratio(of).into()),
        ratio: Some(ratio_within(compared.ratio, Some(ends))),
        change: compared.change.cell(),
    }
}

const UNDECIDED: &str = "\
the limit cannot be decided, because the two sides have no cells in common: measure the same lists on the same targets in every \
run";

/// A sentence for each row beyond the limit, or one sentence if the limit cannot be decided. Empty if all rows are within the
/// limit, or no limit was set.
pub fn limits_in_words(comparison: &Comparison) -> Vec<(Ruling, String)> {
    let rows = comparison.rows();
    let beyond = rows.filter(|compared| compared.ruling == Some(Ruling::Beyond));
    let sentence = |compared: &Compared| {
        let list = match &compared.segment_sizes {
            Some(runs) => words::list(runs),
            None => format!("mean of {} cells", compared.cell_count),
        };
        let text = format!(
            "{} takes {:.1} % longer on {}, {list}",
            compared.technique,
            (compared.ratio - 1.0) * 100.0,
            conditions_in_words(&compared.conditions)
        );
        (Ruling::Beyond, text)
    };
    let is_undecided = comparison.limit.is_some() && comparison.cells.is_empty();
    let undecided = is_undecided.then(|| (Ruling::Undecided, UNDECIDED.to_owned()));
    beyond.map(sentence).chain(undecided).collect()
}

fn notes(comparison: &Comparison) -> Vec<String> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut notes = vec![format!(
        "Figures are time ÷ floor in the same round, so a change in the speed of the whole machine \
         cancels out. Intervals include the run-to-run variation (standard deviation of a target mean: {0}). \
         A change is reported if it is at least {1} and significant at 5 %, adjusted over all cells.",
        words::percent(comparison.between_runs_sd),
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
        let conditions = conditions_in_words(&floor.conditions);
        format!("{conditions} {}", ratio(floor.ratio))
    });
    let floors = floors.collect::<Vec<_>>().join("; ");
    if !floors.is_empty() {
        notes.push(format!(
            "Changes of the floors: {floors}. These are not tested, since load on the machine can cause as much."
        ));
    }
    if comparison.unmatched_techniques > 0 {
        notes.push(format!(
            "Not compared: {}, not measured in at least one run, or in too few rounds.",
            words::count(comparison.unmatched_techniques, "cell result")
        ));
    }
    if comparison.unmatched_cells > 0 {
        notes.push(format!(
            "Not compared: {}, not measured under the same conditions in every run.",
            words::count(comparison.unmatched_cells, "cell")
        ));
    }
    notes
}
