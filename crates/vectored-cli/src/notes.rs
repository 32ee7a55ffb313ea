//! Notes on standard error.

use std::io::{self, Write};

use crate::results_store::{STATE_HOME, Store};
use crate::terminal::print_message;

#[derive(Clone, Copy)]
pub struct Notes {
    pub quiet: bool,
}

impl Notes {
    pub fn note(&self, text: &str) {
        if !self.quiet {
            print_message(&format!("note: {text}"));
        }
    }

    /// Prints the path of a saved result on a line of its own, so that scripts can read the path.
    pub fn saved(&self, saved: &Store) {
        match saved {
            Store::As(path) if !self.quiet => {
                // The bytes of the path are written unchanged. A closed standard error is not an error of the run.
                let _ = io::stderr().write_all(format!("{}\n", path.display()).as_bytes());
            }
            Store::NoDirectory => self.note(&format!(
                "the result is not saved, because no directory for it is known: set {STATE_HOME}, or write the JSON to a \
                 file with --format json --output FILE"
            )),
            _ => {}
        }
    }
}
