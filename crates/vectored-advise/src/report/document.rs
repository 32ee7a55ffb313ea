//! An advisory as a document.

use vectored_report::{Block, Choices, Document, Sentence, Tone, visible};

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
    body.extend(blocks(&selected));
    Document {
        title: format!(
            "Where would gathering help? {}",
            advisory.sources.join(", ")
        )
        .into(),
        lead: LEAD.into(),
        answer,
        body,
        ..Document::default()
    }
}

/// The findings, what is listed, and the rest.
fn blocks(selected: &Selection) -> Vec<Block> {
    let toned = |tone, text: &str| Block::Sentence(Sentence::toned(tone, text));
    let more = |text: &Option<String>| text.as_deref().map(|text| toned(Tone::Plain, text));
    let items = selected.items.iter();
    let mut blocks: Vec<Block> = items.map(|item| Block::Item(finding(item))).collect();
    blocks.extend(more(&selected.more));
    blocks.extend(listed(selected));
    let uses = selected.uses.iter().map(|one| {
        let text = format!("{}; {}", one.location, one.counted);
        Block::Sentence(Sentence::of(one.calls.as_str(), text))
    });
    blocks.extend(headed("Files and descriptors with the most calls", uses));
    blocks.extend(more(&selected.more_uses));
    blocks.extend(selected.notes.iter().map(|note| Block::Note(note.into())));
    blocks
}

/// What is not counted, one sentence each.
fn listed(selected: &Selection) -> Vec<Block> {
    let listed = selected.listed.iter().map(|one| {
        let text = format!("{}; {}", one.reason, one.location);
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

/// `saves 812 ms [700, 910]; nothing between the calls`.
fn finding(item: &Item) -> vectored_report::Item {
    let site = item.site.as_ref().map(|site| format!("called from {site}"));
    let lines = [item.location.clone()]
        .into_iter()
        .chain(site)
        .chain([item.action.clone()]);
    vectored_report::Item {
        title: item.pattern.as_str().into(),
        headline: format!("saves {} {}; {}", item.saving, item.interval, item.grade).into(),
        part: Some(item.part),
        lines: lines.map(Into::into).collect(),
        choices: item.remedy.as_ref().map(|(language, texts)| Choices {
            label: language.clone().into(),
            texts: texts.iter().map(|text| (*text).into()).collect(),
        }),
    }
}
