//! Experiments as a document.

use vectored_machine::report::machine_in_words;
use vectored_report::{Block, Document, Section, Sentence, Tone};

use crate::model::{Experiments, Reproduction};
use crate::report::experiments::curves::experiment_chart;
use crate::report::experiments::sheets::{notes, sheets, title};

const LEAD: &str = "\
Experiments that others have published, repeated on this machine: what they measured then, beside what is measured here.";

/// The findings of all experiments are the answer, and their tables the body; how they were measured is in the sections.
pub fn document(experiments: &Experiments) -> Document {
    let host = &experiments.host;
    let warnings = host.warnings.iter().map(|warning| {
        Block::Sentence(Sentence::toned(
            Tone::Warning,
            format!("Warning: {warning}."),
        ))
    });
    let all = &experiments.experiments;
    let found = all.iter().filter(|one| !one.finding.is_empty());
    let findings =
        found.map(|one| Block::Sentence(Sentence::of(one.name.to_string(), one.finding.as_str())));
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
        answer: findings.collect(),
        warnings: warnings.collect(),
        body: all.iter().flat_map(body).collect(),
        sections: vec![Section {
            title: "The run".into(),
            blocks: vec![
                quiet(format!("{}.", machine_in_words(host))),
                quiet(format!("Seed {}.", experiments.seed)),
            ],
        }],
    }
}

fn body(experiment: &Reproduction) -> Vec<Block> {
    let mut blocks = vec![Block::Sentence(Sentence::toned(
        Tone::Strong,
        title(experiment),
    ))];
    blocks.push(experiment_chart(experiment));
    blocks.extend(sheets(experiment).into_iter().map(Block::Table));
    blocks.extend(
        notes(experiment)
            .into_iter()
            .map(|note| Block::Note(note.into())),
    );
    blocks
}
