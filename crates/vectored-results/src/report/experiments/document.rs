//! Experiments as a document.

use vectored_machine::report::machine_in_words;
use vectored_report::{Block, Document, Section, Sentence, Tone};

use crate::model::{Experiments, Reproduction};
use crate::report::experiments::curves::experiment_chart;
use crate::report::experiments::sheets::{notes, sheets, title};

const LEAD: &str = "\
Experiments that others have published, repeated on this machine: what they measured then, beside what is measured here.";

/// Findings and tables of all experiments are the answer; how they were measured is in the sections.
pub fn document(experiments: &Experiments) -> Document {
    let host = &experiments.host;
    let warnings = host.warnings.iter().map(|warning| {
        Block::Sentence(Sentence::toned(
            Tone::Warning,
            format!("Warning: {warning}."),
        ))
    });
    let of_each = experiments.experiments.iter().flat_map(answer);
    let quiet = |text: String| Block::Sentence(Sentence::toned(Tone::Quiet, text));
    let programs = experiments.experiments.iter();
    let programs = programs.filter_map(|experiment| experiment.setting.program.as_ref());
    let programs: String = programs.map(|typed| format!("'{typed}', ")).collect();
    Document {
        title: format!(
            "Published experiments, run here: {programs}{}, {}",
            host.name, experiments.started_at
        )
        .into(),
        lead: LEAD.into(),
        answer: warnings.chain(of_each).collect(),
        sections: vec![Section {
            title: "The run".into(),
            blocks: vec![
                quiet(format!("{}.", machine_in_words(host))),
                quiet(format!("Seed {}.", experiments.seed)),
            ],
        }],
    }
}

fn answer(experiment: &Reproduction) -> Vec<Block> {
    let mut blocks = vec![Block::Sentence(Sentence::toned(
        Tone::Strong,
        title(experiment),
    ))];
    if !experiment.finding.is_empty() {
        blocks.push(Block::Sentence(Sentence::toned(
            Tone::Plain,
            experiment.finding.as_str(),
        )));
    }
    blocks.push(experiment_chart(experiment));
    blocks.extend(sheets(experiment).into_iter().map(Block::Table));
    blocks.extend(
        notes(experiment)
            .into_iter()
            .map(|note| Block::Note(note.into())),
    );
    blocks
}
