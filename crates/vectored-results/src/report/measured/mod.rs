//! Results of `vectored measure` as a document.
//!
//! The answer has a sentence for each set of conditions, the body has a map for each set. The sections of the document have all
//! figures behind the sentences and maps.

mod answers;
mod charts;
mod costs;
mod crossings;
mod environment;
mod figures;
mod maps;
mod notes;
mod ranks;
mod rates;

use vectored_machine::report::machine_in_words;
use vectored_report::sort;
use vectored_report::{Block, Document, Section, Sentence, Tone, words};

use crate::model::{Cell, Conditions, Operation, Results, TechniqueName, measured_in};
use crate::report::target_names::{Titles, sections};
use crate::report::words::tally;
use crate::stats::MIN_ROUNDS;

const LEAD: &str = "\
A program that has its bytes in several buffers can send each with a call of its own (write-each), copy them together \
first (copy-then-write), or hand them all to the kernel in one call (writev). Which takes the least time depends on the \
machine, the target, the number of pieces and their size. This page shows measurements.";

const COPY_LEAD: &str = "\
A program can copy from one descriptor to another by read and write with a buffer (read-write), or have the kernel do it: \
splice, copy_file_range, sendfile, or write from a mapping (mmap-write). Which takes the least time depends on the two \
descriptors, the size and the machine. This page shows measurements, and what each technique promises.";

/// The document of a run. With a [rate](Results::rate_per_s), the answer says what the choice is worth at this rate.
pub fn document(results: &Results) -> Document {
    let groups = groups(results);
    let mut answer = Vec::new();
    let (sentences, last) = answers::answers(&groups, results);
    for (group, sentence) in std::iter::zip(&groups, sentences) {
        answer.extend(sentence);
        let rate = results.rate_per_s;
        answer.extend(rate.and_then(|rate| rates::sentence(group, results, rate)));
    }
    if groups.is_empty() {
        let text = "No cell was measured.";
        answer.push(Block::Sentence(Sentence::toned(Tone::Strong, text)));
    }
    answer.extend(last);

    let mut parts = vec![run(results)];
    parts.extend(groups.iter().map(|group| section(group, results)));
    parts.extend(costs::section(results));
    parts.extend(ranks::sections(results));
    parts.push(environment::section(results));
    let notes = notes::notes(results).into_iter();
    let notes = notes.map(|note| Block::Note(note.into())).collect();
    parts.push(Section::new("How to read this", notes));
    let (question, lead) = match notes::operation(results) {
        Operation::Copy => ("How to copy?", COPY_LEAD),
        Operation::Write | Operation::Read => ("Copy or gather?", LEAD),
    };
    Document {
        title: format!("{question} {}, {}", results.host.name, results.started_at).into(),
        lead: lead.into(),
        answer,
        warnings: warnings(results),
        body: maps::maps(&groups, results)
            .map(Block::Maps)
            .into_iter()
            .collect(),
        sections: parts,
    }
}

struct Group<'a> {
    title: String,
    conditions: &'a Conditions,
    cells: Vec<&'a Cell>,
    refined: Vec<&'a Cell>,
}

fn groups(results: &Results) -> Vec<Group<'_>> {
    let titles = Titles::among(&results.cells);
    let all = sections(&results.cells).into_iter();
    let group = all.map(|conditions| {
        let is_here = |cell: &&Cell| cell.conditions == *conditions;
        Group {
            title: titles.of(conditions),
            conditions,
            cells: results.cells.iter().filter(is_here).collect(),
            refined: results.refined_cells.iter().filter(is_here).collect(),
        }
    });
    group.collect()
}

fn columns(results: &Results) -> Vec<TechniqueName> {
    let mut columns = measured_in(&results.cells);
    sort::sort_by_key(&mut columns, |technique| {
        let place = results.rivals.iter().position(|rival| rival == technique);
        place.unwrap_or(usize::MAX)
    });
    columns
}

fn run(results: &Results) -> Section {
    let sentence = |text: String| Block::Sentence(Sentence::toned(Tone::Quiet, format!("{text}.")));
    let sentences = [machine_in_words(&results.host), extent(results)];
    Section::new("The run", sentences.map(sentence).into())
}

fn section(group: &Group<'_>, results: &Results) -> Section {
    let between = match group.refined.len() {
        0 => String::new(),
        more => format!(" (and {} between)", words::count(more, "cell")),
    };
    let tally = format!("{}{between}.", tally(&group.cells, &results.rivals));
    let mut blocks = vec![Block::Sentence(Sentence::toned(Tone::Plain, tally))];
    blocks.extend(crossings::sentences(group, results));
    blocks.push(Block::Table(figures::table(group, results)));
    blocks.extend(charts::charts(group, results).into_iter().map(Block::Chart));
    Section::new(group.title.as_str(), blocks)
}

fn extent(results: &Results) -> String {
    let between = match results.refined_cells.len() {
        0 => String::new(),
        count => format!(" and {count} between them"),
    };
    let cells = results.cells.iter();
    format!(
        "{}{between} in {:.1} s, {} each",
        words::count(cells.len(), "cell"),
        results.elapsed_s,
        words::counts(cells.map(|cell| cell.rounds as usize), "round")
    )
}

fn warnings(results: &Results) -> Vec<Block> {
    let mut texts: Vec<String> = Vec::new();
    if !results.complete {
        texts.push(format!(
            "Incomplete: the run ended before every cell had the minimum of {MIN_ROUNDS} rounds. Raise --budget, or measure fewer lists."
        ));
    }
    if !results.host.warnings.is_empty() {
        texts.push(format!("Warning: {}.", results.host.warnings.join("; ")));
    }
    let toned = |text| Block::Sentence(Sentence::toned(Tone::Warning, text));
    texts.into_iter().map(toned).collect()
}
