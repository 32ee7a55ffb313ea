//! Text for a terminal, line by line.

use crate::report::table::TableOptions;

pub(crate) const BOLD: &str = "1";
pub(crate) const GREEN: &str = "32";
pub(crate) const CYAN: &str = "36";
pub(crate) const YELLOW: &str = "33";

/// The lines so far.
pub(crate) struct Screen {
    pub text: String,
    pub options: TableOptions,
}

impl Screen {
    pub fn new(options: TableOptions) -> Self {
        Screen {
            text: String::new(),
            options,
        }
    }

    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub fn styled(&self, style: &str, text: &str) -> String {
        if self.options.color && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn styled_line(&mut self, style: &str, line: &str) {
        let styled = self.styled(style, line.trim_end());
        self.line(&styled);
    }

    /// Breaks lines between words, and words that are longer than a line. The first line begins with `first`, the others
    /// with `indent`.
    pub fn paragraph(&mut self, first: &str, indent: &str, text: &str) {
        for (begin, line) in self.broken(first, indent, text) {
            self.line(&format!("{begin}{line}"));
        }
    }

    /// As [`paragraph`](Screen::paragraph); the beginnings of lines have no style.
    pub fn styled_paragraph(&mut self, style: &str, first: &str, indent: &str, text: &str) {
        for (begin, line) in self.broken(first, indent, text) {
            let line = self.styled(style, &line);
            self.line(&format!("{begin}{line}"));
        }
    }

    fn broken<'a>(&self, first: &'a str, indent: &'a str, text: &str) -> Vec<(&'a str, String)> {
        let room = self.options.width.saturating_sub(width(indent)).max(20);
        let mut lines = Vec::new();
        let (mut begin, mut line) = (first, String::new());
        for word in text.split(' ').flat_map(|word| pieces(word, room)) {
            let gap = usize::from(!line.is_empty());
            let is_blank = line.is_empty() && begin.trim().is_empty();
            let length = width(begin) + width(&line) + gap + width(&word);
            if length > self.options.width && !is_blank {
                lines.push((begin, std::mem::take(&mut line)));
                begin = indent;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push((begin, line));
        lines
    }
}

/// The word, in pieces of at most `room` letters.
fn pieces(word: &str, room: usize) -> Vec<String> {
    if width(word) <= room {
        return vec![word.to_owned()];
    }
    let letters: Vec<char> = word.chars().collect();
    let pieces = letters.chunks(room);
    pieces.map(|piece| piece.iter().collect()).collect()
}

/// The columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}
