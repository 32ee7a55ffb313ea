//! Notes on standard error.

use std::io::{self, Write};

use vectored_lab::report::escape_control;

use crate::charset::to_ascii;
use crate::results_store::SaveOutcome;
use crate::terminal::messages_are_ascii;

/// Prints notes on standard error.
#[derive(Clone, Copy)]
pub struct Notes {
    /// Print nothing.
    pub quiet: bool,
}

impl Notes {
    /// Prints a note.
    pub fn note(&self, text: &str) {
        // It may hold the name of a file.
        let text = escape_control(text);
        match messages_are_ascii() {
            true => self.line(format_args!("note: {}", to_ascii(&text))),
            false => self.line(format_args!("note: {text}")),
        }
    }

    /// Prints the path of a saved result. A path alone on its line is easy to use in a script.
    pub fn saved(&self, saved: &SaveOutcome) {
        match saved {
            SaveOutcome::As(path) => self.line(format_args!("{}", path.display())),
            SaveOutcome::Unwanted => {}
            SaveOutcome::NoDirectory(why) => self.note(why),
        }
    }

    fn line(&self, line: std::fmt::Arguments<'_>) {
        if !self.quiet {
            // In one call, so that the lines of several ranks do not mix. Standard error may be closed.
            let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
        }
    }
}
