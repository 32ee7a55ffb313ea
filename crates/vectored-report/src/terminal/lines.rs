//! Lines for a terminal.

use unicode_width::UnicodeWidthStr;

use crate::document::Role;
use crate::terminal::TerminalOptions;

pub(super) const BOLD: &str = "1";
pub(super) const YELLOW: &str = "33";
const GREEN: &str = "32";
const CYAN: &str = "36";
const RED: &str = "31";

pub(super) struct Screen {
    pub text: String,
    pub options: TerminalOptions,
}

impl Screen {
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Adds an empty line, unless the text is empty or ends with an empty line.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    pub fn painted(&self, style: &str, text: &str) -> String {
        if self.options.color && !style.is_empty() && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn painted_line(&mut self, style: &str, line: &str) {
        let line = self.painted(style, line.trim_end());
        self.line(&line);
    }

    /// Breaks a text between words. The first line begins with `first`, the other lines begin with `hang` blanks. These
    /// beginnings have no style.
    pub fn paragraph(&mut self, style: &str, first: &str, hang: usize, text: &str) {
        let hang = " ".repeat(hang);
        let room = self.options.width;
        let lines = broken(
            text,
            room.saturating_sub(width(first)),
            room.saturating_sub(hang.len()),
        );
        for (index, line) in lines.iter().enumerate() {
            let begin = if index == 0 { first } else { &hang };
            let line = self.painted(style, line);
            self.line(&format!("{begin}{line}"));
        }
    }
}

pub(super) fn style_of(role: Role) -> &'static str {
    match role {
        Role::Plain => "",
        Role::Winner => GREEN,
        Role::Tie => CYAN,
        Role::Open => YELLOW,
        Role::Loser => RED,
    }
}

/// Breaks a text between words into lines of at most `first` and then `others` columns. A longer word has a line of its
/// own.
pub(super) fn broken(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let room = if lines.len() == 1 { first } else { others };
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            line.push_str(word);
        } else if width(line) + 1 + width(word) <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

pub(super) fn width(text: &str) -> usize {
    text.width()
}

pub(super) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", blanks(text, columns))
}

pub(super) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", blanks(text, columns))
}

fn blanks(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}
