//! A document on a terminal.

mod lines;
mod map;
mod table;

use crate::document::{Block, Document, Item, Role, Sentence, Tone};
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

/// A document for a terminal. The answer stands last, where it is in sight, after the body. With
/// [`details`](TerminalOptions::details), title and sections stand before the body.
///
/// Nothing is lost without colours: roles have marks, and maps have letters.
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

impl Screen {
    /// Neighbouring sentences stand below each other without an empty line.
    fn blocks(&mut self, blocks: &[Block]) {
        let (mut before, mut number) = (None, 0);
        for block in blocks {
            let is_sentence = matches!(block, Block::Sentence(_) | Block::Note(_));
            if matches!(block, Block::Chart(_)) {
                continue;
            }
            if before.is_some_and(|before| !(before && is_sentence)) {
                self.gap();
            }
            before = Some(is_sentence);
            match block {
                Block::Sentence(sentence) => self.sentence(sentence),
                Block::Note(text) => self.paragraph("", "", 2, text),
                Block::Item(item) => {
                    number += 1;
                    self.item(number, item);
                }
                Block::Table(of) => table::table(of, self),
                Block::Maps(of) => {
                    let mut has_figures = false;
                    for maps in of.maps.chunk_by(|one, other| one.heads == other.heads) {
                        has_figures |= map::maps(maps, self);
                    }
                    self.paragraph("", "", 2, &of.legend_in_words(has_figures));
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
