//! Experiments as a document: one table and one list of notes for all.

use vectored_machine::report::machine_in_words;
use vectored_report::words::NONE;
use vectored_report::{
    Block, Cell, Column, Document, Section, Sentence, Table, Tone, each_once, visible, words,
};

use crate::model::{
    ExperimentName, ExperimentRow, Experiments, PUBLISHED_FILE_BYTES, PageCache, Reproduction,
    SyncMode,
};
use crate::report::experiments::chart::chart;
use crate::report::experiments::layout::{Layout, comparable};

const LEAD: &str = "\
Experiments that others have published, repeated on this machine: what they measured then, beside what is measured here.";

/// The answer has the findings of all experiments, the body has their tables. The sections say how the experiments were
/// measured.
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
        ExperimentName::Apue35 => copies_in_words(experiment),
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

fn copies_in_words(experiment: &Reproduction) -> String {
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

/// Rows of the same names share a line. Each group has columns for its figures.
fn table(experiment: &Reproduction, layout: &Layout) -> Table {
    let named = |row| (layout.names(row), (layout.group)(row), row);
    let here = experiment.rows.iter().map(named);
    let published = comparable(experiment).iter().map(named);
    let rows: Vec<(Vec<String>, String, &ExperimentRow)> = here.chain(published).collect();
    let lines = lines(experiment.rows.iter().map(|row| layout.names(row)));
    let mut columns: Vec<Column> = Vec::new();
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); lines.len()];
    for (index, (head, _)) in layout.names.iter().enumerate() {
        columns.push(Column::words(*head));
        for (line, cells) in std::iter::zip(&lines, &mut cells) {
            let is_part = |row: &ExperimentRow| row.copied_bytes.is_some_and(|bytes| bytes > 0);
            let mut of_line = rows.iter().filter(|(names, ..)| names == line);
            let mark = if index == 0 && of_line.any(|row| is_part(row.2)) { " *" } else { "" };
            cells.push(format!("{}{mark}", line[index]).into());
        }
    }
    let groups = each_once(rows.iter().map(|(_, group, _)| group));
    let of_group = |group| layout.figures.iter().map(move |figure| (group, figure));
    for (group, figure) in groups.into_iter().flat_map(of_group) {
        let text = |line| {
            let mut rows = rows.iter();
            let (.., row) = rows.find(|(names, of, _)| (names, of) == (line, group))?;
            figure.text(experiment, layout.in_seconds, row)
        };
        let texts: Vec<Option<String>> = lines.iter().map(text).collect();
        // A base has the ratio 1: a column of bases says nothing.
        if texts.iter().flatten().all(|text| text == "1") {
            continue;
        }
        columns.push(Column {
            group: format!("{group}:").into(),
            ..Column::figures(figure.head(experiment, layout.in_seconds))
        });
        for (text, cells) in std::iter::zip(texts, &mut cells) {
            cells.push(text.as_deref().unwrap_or(NONE).into());
        }
    }
    Table {
        rows: cells,
        columns,
        ..Table::default()
    }
}

/// The names of the lines, each line once. Lines that differ only in their last name stand together.
fn lines(names: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for line in names {
        let group = |other: &Vec<String>| other.split_last().map(|(_, group)| group.to_vec());
        let last = lines.iter().rposition(|other| group(other) == group(&line));
        if !lines.contains(&line) {
            lines.insert(last.map_or(lines.len(), |last| last + 1), line);
        }
    }
    lines
}

/// The notes of this run, then the legend.
fn notes(experiment: &Reproduction, layout: &Layout) -> Vec<String> {
    let mut notes: Vec<String> = experiment.notes.iter().map(|text| visible(text)).collect();
    let repeats = experiment.rows.iter().map(|row| row.repeats);
    let repeats = words::counts(repeats, "repeat");
    notes.push(format!(
        "Medians of {repeats}, whose order of rows changes. ÷: the median of the repeats' ratios, with the smallest \
         and the largest of seven, which enclose the true median with 98.4 %. Machines differ: compare ratios, not times."
    ));
    notes.extend(layout.notes.iter().map(|&note| note.to_owned()));
    if experiment.name == ExperimentName::Apue35 {
        notes.extend(notes_on_copies(experiment));
    }
    notes
}

fn notes_on_copies(experiment: &Reproduction) -> Vec<String> {
    let setting = &experiment.setting;
    let is_here = |bytes: &u64| {
        let mut rows = experiment.rows.iter();
        rows.any(|row| row.key.buffer_bytes == Some(*bytes))
    };
    let published = experiment.published.iter();
    let published = published.filter_map(|row| row.key.buffer_bytes);
    let left_out = published.filter(|bytes| !is_here(bytes)).map(words::bytes);
    let left_out: Vec<String> = left_out.collect();
    let cache = match experiment.cache {
        PageCache::Hot => {
            "The file was in the page cache before each copy. The book's was not: its wall times include a disk of \
             2005. Use --page-cache cold to evict it."
        }
        PageCache::Cold => {
            "Each row copies its own file, which is evicted before each copy. left: the greatest part that was still in the \
             page cache when a copy began; fetched: the least that a copy read from the device."
        }
    };
    let unlike = format!(
        "The book copied {} B to /dev/null, so its figures are left out. Compare how times change from one buffer size to \
         the next.",
        words::grouped(PUBLISHED_FILE_BYTES)
    );
    let block = setting.st_blksize.map(|block| {
        let ahead = setting.read_ahead_kb;
        let ahead = ahead.map_or_else(|| "unknown".to_owned(), |kb| format!("{kb} KiB"));
        format!("st_blksize {}; read-ahead {ahead}.", words::bytes(block))
    });
    let mut notes = Vec::new();
    notes.extend((!experiment.is_as_published()).then_some(unlike));
    if !left_out.is_empty() {
        notes.push(format!("Left out: buffers of {}.", left_out.join(", ")));
    }
    notes.push(cache.to_owned());
    notes.extend(block);
    notes
}
