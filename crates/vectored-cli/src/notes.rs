//! Notes on standard error.

use std::io::{self, Write};

use crate::results_store::SaveOutcome;
use crate::terminal::print_message;

/// Prints notes on standard error.
#[derive(Clone, Copy)]
pub struct Notes {
    /// Print nothing.
    pub quiet: bool,
}

impl Notes {
    /// Prints a note.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            print_message(&format!("note: {text}"));
        }
    }

    /// Prints the path of a saved result. A path alone on its line is easy to use in a script.
    pub fn saved(&self, saved: &SaveOutcome) {
        match saved {
            SaveOutcome::As(path) if !self.quiet => {
                // No character is replaced. Standard error may be closed, which is no error of the run.
                let _ = io::stderr().write_all(format!("{}\n", path.display()).as_bytes());
            }
            SaveOutcome::As(_) | SaveOutcome::Unwanted => {}
            SaveOutcome::NoDirectory(why) => self.note(why),
        }
    }
}
