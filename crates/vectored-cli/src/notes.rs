//! What is said on standard error beside errors.

use std::io::{self, Write};
use std::path::Path;

/// Notes on standard error, for those who want them.
pub struct Notes {
    /// Nobody wants them.
    pub quiet: bool,
}

impl Notes {
    /// Something that a user should know.
    pub fn note(&self, text: &str) {
        self.line(format_args!("note: {text}"));
    }

    /// A path alone on its line is easy to use in a script.
    pub fn path(&self, path: &Path) {
        self.line(format_args!("{}", path.display()));
    }

    fn line(&self, line: std::fmt::Arguments<'_>) {
        if !self.quiet {
            // Nobody may be listening.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
