//! Experiments as a document.

use vectored_machine::report::machine_in_words;
use vectored_report::{Block, Document, Section, Sentence, Tone, words};

use crate::model::{ExperimentName, Experiments, PageCache, Reproduction, SyncMode};
use crate::report::experiments::chart::chart;
use crate::report::experiments::layout::Layout;
use crate::report::experiments::notes::notes;
use crate::report::experiments::table::table;

const LEAD: &str = "\
Experiments that others have published, repeated on this machine: what they measured then, beside what is measured here.";

/// The findings of all experiments are the answer, and their tables the body; how they were measured is in the sections.
pub fn document(experiments: &Experiments) -> Document {
    let host = &experiments.host;
    let toned = |tone, text: String| Block::Sentence(Sentence::toned(tone, text));
    let warnings = host.warnings.iter();
    let warnings = warnings.map(|warning| toned(Tone::Warning, format!("Warning: {warning}.")));
    let all = &experiments.experiments;
    let found = all.iter().filter(|one| !one.finding.is_empty());
    let findings =
        found.map(|one| Block::Sentence(Sentence::of(one.name.to_string(), one.finding.as_str())));
    let programs = all.iter().filter_map(|one| one.setting.program.as_ref());
    let programs: String = programs.map(|typed| format!("'{typed}', ")).collect();
    let body = all.iter().flat_map(|one| {
        let layout = Layout::of(one);
        let title = toned(Tone::Strong, title(one));
        let chart = chart(one, &layout).map(Block::Chart);
        let notes = notes(one, &layout).into_iter();
        [title]
            .into_iter()
            .chain(chart)
            .chain([Block::Table(table(one, &layout))])
            .chain(notes.map(|note| Block::Note(note.into())))
    });
    Document {
        title: format!(
            "Published experiments, run here: {programs}{}, {}",
            host.name, experiments.started_at
        )
        .into(),
        lead: LEAD.into(),
        answer: findings.collect(),
        warnings: warnings.collect(),
        body: body.collect(),
        sections: vec![Section::new(
            "The run",
            vec![
                toned(Tone::Quiet, format!("{}.", machine_in_words(host))),
                toned(Tone::Quiet, format!("Seed {}.", experiments.seed)),
            ],
        )],
    }
}

fn title(experiment: &Reproduction) -> String {
    let calls = experiment.rows.first().and_then(|row| row.calls);
    let calls = words::grouped(calls.unwrap_or(0));
    let what = match experiment.name {
        ExperimentName::Apue35 => copies(experiment),
        ExperimentName::Apue1428 => {
            format!("a header of 100 B and data of 200 B, written {calls} times to one file")
        }
        ExperimentName::Kalinin => format!(
            "1000 elements of each size, {calls} calls of each technique in turn into one file"
        ),
        ExperimentName::Mincer => {
            format!("buffers one by one, or vectored: written, synced and read back {calls} times")
        }
    };
    let reduced = if experiment.reduced { "; REDUCED: smaller than published" } else { "" };
    let stopped = if experiment.complete { "" } else { "; incomplete: stopped before its end" };
    format!("{}: {what}{reduced}{stopped}", experiment.name)
}

fn copies(experiment: &Reproduction) -> String {
    let setting = &experiment.setting;
    let bytes = words::bytes(setting.file_bytes.unwrap_or(0));
    let to = match setting.to.as_deref() {
        Some("null") | None => "/dev/null",
        Some("file") => "a file",
        Some(_) => "a pipe",
    };
    let sync = match setting.sync {
        Some(SyncMode::None) | None => "",
        Some(SyncMode::Dsync) => ", every write durable (O_DSYNC)",
        Some(SyncMode::Sync) => ", every write durable (O_SYNC)",
        Some(SyncMode::Fsync) => ", durable at the end (fsync)",
    };
    let cache = match experiment.cache {
        PageCache::Hot => "hot page cache",
        PageCache::Cold => "cold page cache",
    };
    let program = setting.program.as_ref();
    let program = program.map_or_else(String::new, |typed| format!(", beside '{typed}'"));
    format!("copying a file of {bytes} to {to}{sync}, {cache}{program}")
}
