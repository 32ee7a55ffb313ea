//! A line on standard error that is drawn again and again.

use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use super::columns_of;

/// The shortest time between two drawings: a terminal takes time for each drawing, and nobody reads faster.
const EVERY: Duration = Duration::from_millis(50);

const USUAL_COLUMNS: usize = 80;

/// The line. Dropping the value clears the line.
pub struct StatusLine {
    is_shown: bool,
    drawn_at: Cell<Option<Instant>>,
    text: RefCell<String>,
}

impl StatusLine {
    /// An empty line. Without `is_shown`, the line stays empty.
    pub fn new(is_shown: bool) -> Self {
        StatusLine {
            is_shown,
            drawn_at: Cell::new(None),
            text: RefCell::default(),
        }
    }

    /// Draws what `text` returns for a number of columns. Without `at_once`, nothing is drawn shortly after the last time.
    pub fn show(&self, at_once: bool, text: impl FnOnce(usize) -> String) {
        let is_recent = self.drawn_at.get().is_some_and(|at| at.elapsed() < EVERY);
        if !self.is_shown || (is_recent && !at_once) {
            return;
        }
        let columns = match columns_of(&io::stderr()) {
            0 => USUAL_COLUMNS,
            columns => columns,
        };
        // In the last column some terminals begin the next line.
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

/// Replaces the line. A terminal that is gone is no reason to fail.
fn draw(line: &str) {
    let _ = io::stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
}
