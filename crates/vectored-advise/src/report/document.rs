//! An advisory as a document.

use vectored_report::{Block, Choices, Document, Section, Sentence, Tone, visible};

use crate::model::Advisory;
use crate::report::rows::Item;
use crate::report::selection::{Selection, selection};

const LEAD: &str = "\
Each system call has a cost. This page counts the calls of a program that could be merged into one, by gathering several \
buffers or by using a larger buffer, without changing its behaviour otherwise, and estimates the time saved on this \
machine.";

/// The answer; its body has up to `top` findings, what is not counted, the files with the most calls, notes.
pub fn document(advisory: &Advisory, top: usize) -> Document {
    let selected = selection(advisory, top);
    let toned = |tone, text: &str| Block::Sentence(Sentence::toned(tone, text));
    let failed = advisory.failed.as_ref().map(|end| {
        let text = format!(
            "The command failed: {}. The figures are of what it did before.",
            visible(end)
        );
        toned(Tone::Strong, &text)
    });
    let mut answer: Vec<Block> = failed.into_iter().collect();
    answer.push(toned(Tone::Strong, &selected.answer));
    let mut body = vec![toned(Tone::Quiet, &selected.extent)];
    let mut sections = Vec::new();
    if selected.is_negligible {
        body.extend(listed(&selected, false));
        sections.push(Section {
            title: "Findings".into(),
            blocks: blocks(&selected, Vec::new()),
        });
    } else {
        body.extend(blocks(&selected, listed(&selected, true)));
    }
    Document {
        title: format!(
            "Where would gathering help? {}",
            advisory.sources.join(", ")
        )
        .into(),
        lead: LEAD.into(),
        answer,
        body,
        sections,
        ..Document::default()
    }
}

/// The findings, what is `listed`, and the rest.
fn blocks(selected: &Selection, listed: Vec<Block>) -> Vec<Block> {
    let toned = |tone, text: &str| Block::Sentence(Sentence::toned(tone, text));
    let mut blocks = Vec::new();
    let more = |text: &Option<String>| text.as_deref().map(|text| toned(Tone::Plain, text));
    match &selected.sum {
        Some(sum) => blocks.push(toned(Tone::Plain, sum)),
        None => {
            blocks.extend(
                selected
                    .items
                    .iter()
                    .map(|item| Block::Item(finding(item, selected.share_of))),
            );
            blocks.extend(more(&selected.more));
        }
    }
    blocks.extend(listed);
    let uses = selected.uses.iter().map(|one| {
        let text = format!("{}; {}", one.location, one.counted);
        Block::Sentence(Sentence::of(one.calls.as_str(), text))
    });
    blocks.extend(headed("Files and descriptors with the most calls", uses));
    blocks.extend(more(&selected.more_uses));
    blocks.extend(selected.notes.iter().map(|note| Block::Note(note.into())));
    blocks
}

/// What is not counted, one sentence each; with the place of each, or without.
fn listed(selected: &Selection, has_place: bool) -> Vec<Block> {
    let listed = selected.listed.iter().map(|one| {
        let mut text = one.reason.clone();
        if has_place {
            text += &format!("; {}", one.location);
        }
        Block::Sentence(Sentence::of(one.pattern.as_str(), text))
    });
    let title = "Not counted, each for its reason";
    let more = selected.more_listed.as_deref();
    let more = more.map(|text| Block::Sentence(Sentence::toned(Tone::Plain, text)));
    headed(title, listed).chain(more).collect()
}

/// Entries below a title; nothing without entries.
fn headed(title: &str, entries: impl Iterator<Item = Block>) -> impl Iterator<Item = Block> {
    let mut entries = entries.peekable();
    let heading = entries
        .peek()
        .map(|_| Block::Sentence(Sentence::toned(Tone::Strong, title)));
    heading.into_iter().chain(entries)
}

/// `saves 812 ms [700, 910], 19 % of the wall time; nothing between the calls`.
fn finding(item: &Item, share_of: &str) -> vectored_report::Item {
    let share = match &item.share {
        Some(share) => format!(", {share} of {share_of}"),
        None => String::new(),
    };
    let site = item.site.as_ref().map(|site| format!("called from {site}"));
    let lines = [item.location.clone()]
        .into_iter()
        .chain(site)
        .chain([item.action.clone()]);
    vectored_report::Item {
        title: item.pattern.as_str().into(),
        headline: format!(
            "saves {} {}{share}; {}",
            item.saving, item.interval, item.grade
        )
        .into(),
        part: Some(item.part),
        lines: lines.map(Into::into).collect(),
        choices: item.remedy.as_ref().map(|(language, texts)| Choices {
            label: language.clone().into(),
            texts: texts.iter().map(|text| (*text).into()).collect(),
        }),
    }
}
