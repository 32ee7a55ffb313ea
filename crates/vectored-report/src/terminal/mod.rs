//! A document on a terminal.

mod lines;
mod map;
mod table;

use crate::document::{Block, Document, Item, Map, Role, Sentence, Tone};
use crate::terminal::lines::{BOLD, Screen, YELLOW, style_of, width};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    pub width: usize,
    pub color: bool,
    /// Whether sections are shown.
    pub details: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        TerminalOptions {
            width: 100,
            color: false,
            details: false,
        }
    }
}

/// A document for a terminal. The answer stands last, where it is in sight, after the body, and with
/// [`details`](TerminalOptions::details) after title, sections and body.
///
/// Without colours nothing is lost: roles have marks, and maps have letters.
pub fn terminal(document: &Document, options: &TerminalOptions) -> String {
    let mut screen = Screen {
        text: String::new(),
        options: *options,
    };
    if options.details {
        screen.paragraph(BOLD, "", 2, &document.title);
        for section in &document.sections {
            screen.gap();
            screen.paragraph(BOLD, "", 2, &section.title);
            screen.blocks(&section.blocks);
        }
        screen.gap();
    }
    screen.blocks(&document.body);
    let answer = document.answer_last();
    if !answer.is_empty() {
        screen.gap();
    }
    screen.blocks(&answer);
    screen.text
}

/// The kinds of blocks: neighbours of one kind stand below each other without an empty line.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sentences,
    Maps,
    Other,
}

impl Screen {
    fn blocks(&mut self, blocks: &[Block]) {
        let mut before = None;
        let (mut number, mut has_figures) = (0, false);
        let groups: Vec<&[Block]> = blocks.chunk_by(are_one_map).collect();
        for (index, group) in groups.iter().enumerate() {
            let kind = match &group[0] {
                Block::Chart(_) => continue,
                Block::Sentence(_) | Block::Note(_) => Kind::Sentences,
                Block::Map(_) => Kind::Maps,
                _ => Kind::Other,
            };
            if before.is_some_and(|before| before != kind || kind == Kind::Other) {
                self.gap();
            }
            before = Some(kind);
            match &group[0] {
                Block::Sentence(sentence) => self.sentence(sentence),
                Block::Note(text) => self.paragraph("", "", 2, text),
                Block::Item(item) => {
                    number += 1;
                    self.item(number, item);
                }
                Block::Table(of) => table::table(of, self),
                Block::Map(of) => {
                    has_figures |= map::maps(&maps_of(group), self);
                    let next = groups.get(index + 1).map(|group| &group[0]);
                    if !next.is_some_and(|next| shares_legend(of, next)) {
                        self.paragraph("", "", 2, &of.legend_in_words(has_figures));
                        has_figures = false;
                    }
                }
                Block::Chart(_) => {}
            }
        }
    }

    fn sentence(&mut self, sentence: &Sentence) {
        let style = match sentence.tone {
            Tone::Strong => BOLD,
            Tone::Warning => YELLOW,
            Tone::Plain | Tone::Quiet => "",
        };
        if sentence.subject.is_empty() {
            return self.paragraph(style, "", 2, &sentence.text);
        }
        let subject = format!("{}:", sentence.subject);
        let begin = self.text.len();
        self.paragraph(style, "", 2, &format!("{subject} {}", sentence.text));
        // A long subject may be broken.
        if style.is_empty() && self.text[begin..].starts_with(&subject) {
            let painted = self.painted(BOLD, &subject);
            self.text
                .replace_range(begin..begin + subject.len(), &painted);
        }
    }

    fn item(&mut self, number: usize, item: &Item) {
        let first = format!("{number}. ");
        let indent = width(&first);
        let begin = " ".repeat(indent);
        self.paragraph(BOLD, &first, indent, &item.title);
        if !item.headline.is_empty() {
            self.paragraph(style_of(Role::Winner), &begin, indent, &item.headline);
        }
        for line in &item.lines {
            self.paragraph("", &begin, indent, line);
        }
        let Some(choices) = &item.choices else {
            return;
        };
        if let [only] = &choices.texts[..] {
            return self.paragraph("", &begin, indent, &format!("{}: {only}", &*choices.label));
        }
        self.paragraph("", &begin, indent, &format!("{}:", &*choices.label));
        for text in &choices.texts {
            self.paragraph("", &format!("{begin}- "), indent + 2, text);
        }
    }
}

/// Whether two blocks are maps with the same columns and the same legend.
fn are_one_map(one: &Block, other: &Block) -> bool {
    match (one, other) {
        (Block::Map(of), Block::Map(next)) => of.heads == next.heads && shares_legend(of, other),
        _ => false,
    }
}

fn shares_legend(map: &Map, next: &Block) -> bool {
    matches!(next, Block::Map(next) if next.keys == map.keys && next.legend == map.legend)
}

fn maps_of(blocks: &[Block]) -> Vec<&Map> {
    let maps = blocks.iter().filter_map(|block| match block {
        Block::Map(map) => Some(map),
        _ => None,
    });
    maps.collect()
}
