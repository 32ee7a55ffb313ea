//! The reference page of the axes is made of their table.

use std::fs;
use std::path::Path;

use vectored_measure::measure::unsuited;
use vectored_results::model::{
    AXES, Axis, CellSpec, Conditions, Operation, Target, TechniqueName, Values, Workload,
};

const HEAD: &str = "\
# The axes of a measurement

Each of these options of `vectored measure` is an axis: a property by which cells can differ. With several values, every
combination is measured. What does not go together is left out, and the reason is printed; a value that is left out
everywhere is an error. The JSON and the CSV have a field for each.
";

fn page() -> String {
    let sections = AXES.iter().map(section);
    HEAD.to_owned() + &sections.collect::<String>()
}

fn section(axis: &Axis) -> String {
    let code = |word: &&str| format!("`{word}`");
    let values = match axis.values {
        Values::Word(words) => format!(
            "One of {}",
            words.iter().map(code).collect::<Vec<_>>().join(", ")
        ),
        Values::Words(words) => words.iter().map(code).collect::<Vec<_>>().join(", "),
        Values::Flag => "A flag".to_owned(),
        Values::Numbers { min, max, default } => {
            let without = default.map(|default| format!("; without the option: {default}"));
            format!("Numbers from {min} to {max}{}", without.unwrap_or_default())
        }
        Values::Sizes { max, default } => format!(
            "Sizes up to {}; without the option: {default}",
            vectored_report::words::bytes(max.into())
        ),
    };
    format!(
        "\n## `--{}`\n\n{values}. In the JSON: `{}`.\n\n{}\n",
        axis.option(),
        axis.name,
        axis.about.replacen("\n\n", ".\n\n", 1)
    )
}

#[test]
fn the_reference_page_is_made_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/axes.md");
    let page = page();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
        fs::write(&path, &page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap();
    assert!(
        there == page,
        "docs/axes.md differs from the table: run INSTA_UPDATE=always cargo test -p vectored-measure axes"
    );
}

#[test]
fn an_axis_that_does_not_suit_an_operation_is_refused_with_it() {
    for axis in AXES {
        let value = match axis.values {
            Values::Word(words) | Values::Words(words) => words[words.len() - 1],
            Values::Flag => "true",
            Values::Numbers { .. } | Values::Sizes { .. } => "2",
        };
        let others = |operation: &Operation| !axis.suits.contains(operation);
        for operation in Operation::ALL.into_iter().filter(others) {
            let mut asked = Conditions::write(Target::File);
            axis.set(&mut asked, value).unwrap();
            asked.operation = operation;
            let spec = CellSpec::new(asked, Workload::uniform(2, 512));
            let why = unsuited(&spec, &[TechniqueName::WRITEV]).unwrap();
            let is_named = why.contains(&axis.option()) || axis.name == "ranks";
            assert!(is_named && why.contains("--operation"), "{why}");
        }
    }
}
