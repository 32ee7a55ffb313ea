//! A line on standard error that is redrawn in place.

use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use super::columns_of;

/// The shortest interval between two drawings. Each drawing takes time in the terminal.
const EVERY: Duration = Duration::from_millis(50);

const USUAL_COLUMNS: usize = 80;

/// Dropping the value clears the line.
pub struct StatusLine {
    is_shown: bool,
    drawn_at: Cell<Option<Instant>>,
    text: RefCell<String>,
}

impl StatusLine {
    /// If `is_shown` is false, the line stays empty.
    pub fn new(is_shown: bool) -> Self {
        StatusLine {
            is_shown,
            drawn_at: Cell::new(None),
            text: RefCell::default(),
        }
    }

    /// `text` gets the number of columns. Without `at_once`, nothing is drawn within `EVERY` after the last
    /// drawing.
    pub fn show(&self, at_once: bool, text: impl FnOnce(usize) -> String) {
        let is_recent = self.drawn_at.get().is_some_and(|at| at.elapsed() < EVERY);
        if !self.is_shown || (is_recent && !at_once) {
            return;
        }
        let columns = match columns_of(&io::stderr()) {
            0 => USUAL_COLUMNS,
            columns => columns,
        };
        // Some terminals wrap the line after the last column is filled.
        let columns = columns - 1;
        let line: String = text(columns).chars().take(columns).collect();
        draw(&line);
        self.drawn_at.set(Some(Instant::now()));
        self.text.replace(line);
    }

    /// Clears the line while `write` prints to standard error.
    pub fn aside(&self, write: impl FnOnce()) {
        let is_drawn = self.drawn_at.get().is_some();
        if is_drawn {
            draw("");
        }
        write();
        if is_drawn {
            draw(&self.text.borrow());
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.drawn_at.get().is_some() {
            draw("");
        }
    }
}

/// Errors are ignored, because the terminal may be closed.
fn draw(line: &str) {
    let _ = io::stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
}
