//! What is said on standard error beside errors.

use std::io::{self, Write};

use crate::charset::to_ascii;
use crate::results_store::SaveOutcome;
use crate::terminal::messages_are_ascii;

/// Notes on standard error, for those who want them.
pub struct Notes {
    /// Nobody wants them.
    pub quiet: bool,
}

impl Notes {
    /// Something that a user should know.
    pub fn note(&self, text: &str) {
        match messages_are_ascii() {
            true => self.line(format_args!("note: {}", to_ascii(text))),
            false => self.line(format_args!("note: {text}")),
        }
    }

    /// Where a result is saved: a path alone on its line is easy to use in a script.
    pub fn saved(&self, saved: &SaveOutcome) {
        match saved {
            SaveOutcome::As(path) => self.line(format_args!("{}", path.display())),
            SaveOutcome::Unwanted => {}
            SaveOutcome::NoDirectory(why) => self.note(why),
        }
    }

    fn line(&self, line: std::fmt::Arguments<'_>) {
        if !self.quiet {
            // Nobody may be listening.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
