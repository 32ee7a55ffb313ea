//! Text from anywhere, made safe to show.

use std::fmt;
use std::ops::Deref;

/// A text without characters that steer a terminal, or that hide or reorder other characters: see [`visible`]. Each format
/// escapes the characters that have a meaning in this format.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl<T: AsRef<str>> From<T> for Text {
    fn from(text: T) -> Self {
        Text(visible(text.as_ref()))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Escapes control characters, and characters that reorder or hide others, in external text such as a host name or a
/// path. Long texts are cut, since a file may hold anything.
pub fn visible(text: &str) -> String {
    const MAX_CHARS: usize = 8000;
    let mut safe = String::with_capacity(text.len().min(MAX_CHARS));
    for (number, c) in text.chars().enumerate() {
        if number == MAX_CHARS {
            safe.push('…');
            break;
        }
        let hides = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        // U+FFFE and U+FFFF are not allowed in XML, and so not in SVG.
        let hides = hides || matches!(c, '\u{fffe}' | '\u{ffff}');
        if c.is_control() {
            safe.extend(c.escape_default());
        } else if hides {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_steer_a_terminal() {
        assert_eq!(visible("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(visible("x\u{202e}y\u{9b}"), "x\\u{202e}y\\u{9b}");
        assert_eq!(visible("Prüfstand ×"), "Prüfstand ×");
        assert_eq!(visible(&"x".repeat(8001)), "x".repeat(8000) + "…");
    }
}
