//! The result as a document.

use std::cmp::Reverse;

use vectored_report::sort;
use vectored_report::words::{NONE, capital, count, enumerated, grouped, memory, time};
use vectored_report::{
    Block, Cell, Column, ComparedRow, Document, Section, Sentence, Table, Tone, comparison_table,
    join,
};

use crate::judge::is_count;
use crate::model::{
    Calls, Comparison, Difference, File, FileUse, Range, Run, Side, Stdout, Versus,
};
use crate::report::answer::{
    answer, end_in_words, failures, limit_sentences, range, ratio_in_words, stacks_in_words,
};

const LEAD: &str = "\
Commands that should do the same are run in turn, and what they take is compared round by round. Their system calls are \
counted in runs of their own, in which their outputs are compared, too.";

/// The largest number of kinds of calls in the answer.
const SHOWN_KINDS: usize = 10;

/// The number of digits shown of a SHA-256 sum. The JSON has all 64 digits.
const SHOWN_DIGITS: usize = 12;

const SHOWN_FILES: usize = 3;

pub(super) type Row = (&'static str, &'static str, fn(f64) -> String);

pub(super) const ROWS: [Row; 12] = [
    ("wall_ns", "time", time),
    ("cpu_ns", "CPU time", cpu_time),
    ("user_ns", "  in user mode", cpu_time),
    ("system_ns", "  in the kernel", cpu_time),
    ("peak_bytes", "peak memory", |bytes| memory(bytes as u64)),
    ("switches", "context switches", whole),
    ("faults", "page faults", whole),
    ("calls", "system calls, without waits", whole),
    ("reads", "reads", whole),
    ("read_bytes", "bytes read", whole),
    ("writes", "writes", whole),
    ("written_bytes", "bytes written", whole),
];

/// The kernel reports CPU time in whole microseconds.
fn cpu_time(ns: f64) -> String {
    if ns == 0.0 { "below 1 µs".to_owned() } else { time(ns) }
}

fn whole(count: f64) -> String {
    grouped(count.round() as u64)
}

pub fn document(versus: &Versus) -> Document {
    let (mut answer, mut warnings) = (Vec::new(), Vec::new());
    let (mut body, mut sections) = (Vec::new(), Vec::new());
    answer.extend(failures_of(&versus.old));
    for comparison in &versus.new {
        answer.extend(answers(versus, comparison));
        warnings.extend(self::warnings(versus, comparison));
        body.extend(compared(versus, comparison));
        sections.extend(details(versus, comparison));
    }
    answer.extend(limit_sentences(&versus.limits, "old"));
    let stacks = versus.new.iter().filter_map(stacks_in_words);
    answer.extend(stacks.map(|text| sentence(Tone::Plain, capital(&text))));
    let notes = notes(versus).into_iter();
    body.extend(notes.map(|note| Block::Note(note.into())));
    let new = versus.new.iter().map(|one| one.side.command.as_str());
    Document {
        title: format!(
            "{} or {}?",
            versus.old.command,
            new.collect::<Vec<_>>().join(" or ")
        )
        .into(),
        lead: LEAD.into(),
        answer,
        warnings,
        body,
        sections,
    }
}

fn failures_of(side: &Side) -> Option<Block> {
    Some(sentence(Tone::Warning, capital(&failures(side)?)))
}

fn sentence(tone: Tone, text: impl Into<vectored_report::Text>) -> Block {
    Block::Sentence(Sentence::toned(tone, text))
}

/// The reasons why the comparison is less reliable.
fn warnings(versus: &Versus, of: &Comparison) -> Vec<Block> {
    let Side {
        name, ended, said, ..
    } = &of.side;
    let mut texts = Vec::new();
    if *ended == versus.old.ended && !matches!(&**ended, "" | "exit status 0") {
        let end = end_in_words(ended, said);
        texts.push(format!("Old and {name} end with {end}"));
    }
    if of.same_files {
        let what = if of.side.command == versus.old.command {
            "are the same command, and run the same files"
        } else {
            "run the same files, and differ only in their arguments or surroundings"
        };
        let files = some_of(&of.side.files);
        texts.push(format!("old and {name} {what}: {files}"));
    }
    texts
        .into_iter()
        .map(|text| sentence(Tone::Warning, text))
        .collect()
}

fn answers(versus: &Versus, of: &Comparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(failures_of(&of.side));
    let differs = |one: &Difference| {
        let text = format!("{} of {} differs: {}", one.of, of.side.name, one.how);
        sentence(Tone::Warning, capital(&text))
    };
    blocks.extend(of.differences.iter().map(differs));
    blocks.push(sentence(Tone::Strong, answer(versus, of)));
    blocks
}

fn compared(versus: &Versus, of: &Comparison) -> Vec<Block> {
    let is_typed =
        |side: &Side| Block::Sentence(Sentence::of(side.name.as_str(), side.command.as_str()));
    let mut blocks = vec![is_typed(&versus.old), is_typed(&of.side)];
    if let Some(files) = own_files(&versus.old, &of.side).filter(|_| !of.same_files) {
        blocks.push(Block::Sentence(Sentence::of("files", files)));
    }
    if !of.figures.is_empty() {
        blocks.push(Block::Table(figures(versus, of)));
    }
    let mut changed = kinds(&versus.old, &of.side, true);
    changed.rows.truncate(SHOWN_KINDS);
    blocks.extend((!changed.rows.is_empty()).then_some(Block::Table(changed)));
    blocks
}

/// Returns some programs and scripts. Libraries are excluded.
fn some_of<'a>(files: impl IntoIterator<Item = &'a File>) -> String {
    let files = files.into_iter();
    let mut own: Vec<&File> = files
        .filter(|file| file.as_what != FileUse::Mapped)
        .collect();
    sort::sort_by_key(&mut own, |file| file.as_what);
    let shown = own.iter().take(SHOWN_FILES).map(|file| file.path.clone());
    let others = own.len().saturating_sub(SHOWN_FILES);
    let others = (others > 0).then(|| count(others, "other"));
    enumerated(&shown.chain(others).collect::<Vec<_>>())
}

/// Returns the files of `of` whose content is unknown, or was not run by `other`.
fn alone<'a>(of: &'a Side, other: &Side) -> Vec<&'a File> {
    let is_alone = |file: &&File| {
        let mut others = other.files.iter();
        file.sha256.is_none() || !others.any(|other| other.sha256 == file.sha256)
    };
    of.files.iter().filter(is_alone).collect()
}

/// For example `only old ran ./prog.old; only new ran ./prog`. Files with unknown contents
/// are omitted.
fn own_files(old: &Side, new: &Side) -> Option<String> {
    let ran = |(of, other): (&Side, &Side)| {
        let known = alone(of, other)
            .into_iter()
            .filter(|file| file.sha256.is_some());
        let files = some_of(known);
        (!files.is_empty()).then(|| format!("only {} ran {files}", of.name))
    };
    let both = [(old, new), (new, old)].into_iter().filter_map(ran);
    let both: Vec<String> = both.collect();
    (!both.is_empty()).then(|| both.join("; "))
}

fn figures(versus: &Versus, of: &Comparison) -> Table {
    let shown = ROWS
        .iter()
        .filter(|(name, ..)| is_count(name) || !is_of_counts_alone(versus));
    let rows = shown.filter_map(|(name, words, write)| {
        let figure = of.figure(name)?;
        let shown = |value: f64| {
            if *name == "peak_bytes" && value == 0.0 {
                NONE.to_owned()
            } else {
                write(value)
            }
        };
        Some(ComparedRow {
            names: vec![(*words).into()],
            sides: [figure.old, figure.new].map(|value| shown(value).into()),
            ratio: ratio_in_words(figure),
            change: figure.change.cell(),
        })
    });
    let sides = ["old", &of.side.name];
    comparison_table("", &[""], sides, rows.collect())
}

/// The largest differences are first. With `only_changed`, equal calls are omitted.
fn kinds(old: &Side, new: &Side, only_changed: bool) -> Table {
    let kinds = |side: &Side| side.calls.clone().unwrap_or_default().kinds;
    let row = |(name, sides): (String, Vec<Vec<Range>>)| {
        let [old, new] = [0, 1].map(|side| sides[side].first().copied().unwrap_or_default());
        let more = new.low.saturating_sub(old.high);
        let apart = more.max(old.low.saturating_sub(new.high));
        (Reverse(apart), name, [old, new])
    };
    let rows = join(vec![kinds(old), kinds(new)]).into_iter().map(row);
    let rows = rows.filter(|(apart, ..)| apart.0 > 0 || !only_changed);
    let mut rows: Vec<(Reverse<u64>, String, [Range; 2])> = rows.collect();
    sort::sort_by(&mut rows, |a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let rows = rows.into_iter().map(|(_, name, sides)| {
        let wait = if Calls::is_wait(&name) { " (wait)" } else { "" };
        let [old, new] = sides.map(range);
        [name + wait, old, new].map(Cell::from).into()
    });
    let names = [Column::words("call"), Column::figures("old")];
    Table {
        title: if only_changed { "Calls that differ" } else { "Calls" }.into(),
        columns: names
            .into_iter()
            .chain([Column::figures(&*new.name)])
            .collect(),
        rows: rows.collect(),
    }
}

fn details(versus: &Versus, of: &Comparison) -> Vec<Section> {
    let all = kinds(&versus.old, &of.side, false);
    let calls = (!all.rows.is_empty()).then(|| Section {
        title: format!("System calls of old and {}", of.side.name).into(),
        blocks: vec![Block::Table(all)],
    });
    calls
        .into_iter()
        .chain(files(&versus.old, &of.side))
        .collect()
}

fn files(old: &Side, new: &Side) -> Option<Section> {
    let rows = |of: &Side, other: &Side| -> Vec<Vec<Cell>> {
        let row = |file: &File| {
            let how = match file.as_what {
                FileUse::Executed => "executed",
                FileUse::Mapped => "mapped",
                FileUse::Script => "read as a script",
            };
            let sum = file.sha256.as_deref().unwrap_or("could not be read");
            let sum = sum.get(..SHOWN_DIGITS).unwrap_or(sum);
            [&*of.name, &*file.path, how, sum].map(Cell::from).into()
        };
        alone(of, other).into_iter().map(row).collect()
    };
    let of_old = rows(old, new);
    let both = count(old.files.len() - of_old.len(), "file");
    let columns = ["command", "file", "use", "SHA-256, first digits"];
    let table = Table {
        columns: columns.map(Column::words).to_vec(),
        rows: [of_old, rows(new, old)].concat(),
        ..Table::default()
    };
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    let both = Sentence::of("both", format!("ran {both} of the same content"));
    (!old.files.is_empty()).then(|| Section {
        title: format!("Files that old and {} ran", new.name).into(),
        blocks: table.into_iter().chain([Block::Sentence(both)]).collect(),
    })
}

/// Returns whether calls were counted and only one round was timed. One round gives no interval.
fn is_of_counts_alone(versus: &Versus) -> bool {
    versus.old.runs.len() == 1 && versus.old.calls.is_some()
}

fn notes(versus: &Versus) -> Vec<String> {
    let mut notes = Vec::new();
    let rounds = versus.old.runs.len();
    if is_of_counts_alone(versus) {
        notes.push(
            "One round tells nothing of times and memory: only the JSON has them.".to_owned(),
        );
    } else if rounds > 0 {
        let noise = versus
            .noise
            .iter()
            .find(|one| one.figure == "wall_ns" && one.low.is_some())
            .and_then(ratio_in_words);
        let noise = noise.map_or(String::new(), |noise| {
            format!(
                " Old against itself took {noise} of the time, and no smaller difference is reported."
            )
        });
        let sessions = match versus.added.len() {
            0 => String::new(),
            others => format!(" of {} sessions", others + 1),
        };
        let stdout = match versus.options.stdout {
            Stdout::Null => "/dev/null",
            Stdout::File => "a temporary file",
            Stdout::Pipe => "a pipe",
        };
        notes.push(format!(
            "{}{sessions}; each ran all commands, and old twice, in a random order that is balanced over two rounds. Standard output \
             of timed runs went to {stdout}. Figures are medians, but the times in user mode and in the kernel are means. A ratio is the robust mean of \
             the ratios within each round.{noise}",
            capital(&count(rounds, "round"))
        ));
    }
    let is_unknown = |run: &Run| run.peak_bytes.is_none();
    if !is_of_counts_alone(versus) && versus.sides().any(|side| side.runs.iter().any(is_unknown)) {
        notes.push(
            "A peak of the memory that is hardly above that of vectored is not known: the kernel counts the memory of a \
             program for all that it starts."
                .to_owned(),
        );
    }
    if let Some(why) = &versus.not_counted {
        notes.push(format!("No calls were counted: {why}"));
    }
    if !versus.not_compared.is_empty() {
        notes.push(format!(
            "Two runs of old differ in {}: not compared.",
            enumerated(&versus.not_compared)
        ));
    }
    for side in versus.sides() {
        let name = &side.name;
        if side.left_behind > 0 {
            let processes = match side.left_behind {
                1 => "1 process".to_owned(),
                many => format!("{many} processes"),
            };
            notes.push(format!(
                "{} left {processes} running when it ended. The next run waited for their end, and their time is in no figure.",
                capital(name)
            ));
        }
        let Some(calls) = &side.calls else { continue };
        if calls.writes.low != calls.writes.high {
            notes.push(format!(
                "Two counted runs of {name} differ in their writes: {}.",
                range(calls.writes)
            ));
        }
        if calls.submits {
            notes.push(format!(
                "{} uses io_uring or Linux AIO: what it transfers by them is not counted.",
                capital(name)
            ));
        }
        if calls.skipped_lines > 0 {
            let lines = count(calls.skipped_lines as usize, "line");
            notes.push(format!(
                "{lines} of the log of {name} could not be used: its counts may be too small."
            ));
        }
    }
    notes
}
