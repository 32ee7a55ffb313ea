//! The progress of a copy on a terminal.

use std::time::{Duration, Instant};

use vectored_report::words;

use crate::terminal::can_redraw;
use crate::terminal::status_line::StatusLine;

/// The progress is shown after this time.
const FIRST_AFTER: Duration = Duration::from_secs(1);

pub fn is_shown(quiet: bool) -> bool {
    !quiet && can_redraw()
}

/// The line has the copied bytes, the rate, and the remaining time. If the input is silent, words about the silence
/// replace the remaining time.
pub struct CopyProgress {
    began: Instant,
    bytes: Option<u64>,
    last: (u64, Instant),
    line: StatusLine,
}

impl CopyProgress {
    pub fn new(bytes: Option<u64>) -> Self {
        let began = Instant::now();
        CopyProgress {
            began,
            bytes,
            last: (0, began),
            line: StatusLine::new(true),
        }
    }

    /// Updates the line. Without new bytes for some time, the line says that the input is silent.
    pub fn hear(&mut self, copied: u64) {
        if copied != self.last.0 {
            self.last = (copied, Instant::now());
        }
        let elapsed = self.began.elapsed();
        if elapsed >= FIRST_AFTER {
            let is_silent = self.last.1.elapsed() >= FIRST_AFTER;
            self.line.show(false, |_| {
                in_words(copied, self.bytes.filter(|_| !is_silent), elapsed)
                    + if is_silent { ", waiting for input" } else { "" }
            });
        }
    }
}

/// For example `1.2 GiB of 4 GiB, 830 MiB/s, 4 s left`.
fn in_words(copied: u64, all: Option<u64>, elapsed: Duration) -> String {
    let rate = copied as f64 / elapsed.as_secs_f64();
    let (so_far, per_second) = (words::memory(copied), words::memory(rate as u64));
    match all {
        // The file may have grown during the copy.
        Some(all) if all >= copied && rate > 0.0 => {
            let left_s = ((all - copied) as f64 / rate).ceil();
            let all = words::memory(all);
            format!("{so_far} of {all}, {per_second}/s, {left_s} s left")
        }
        _ => format!("{so_far}, {per_second}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_the_rate_and_the_time_left_if_the_size_is_known() {
        let two_seconds = Duration::from_secs(2);
        let said = in_words(1 << 30, Some(4 << 30), two_seconds);
        assert_eq!(said, "1 GiB of 4 GiB, 512 MiB/s, 6 s left");
        for all in [None, Some(10)] {
            let said = in_words(3 << 20, all, two_seconds);
            assert_eq!(said, "3 MiB, 1.5 MiB/s");
        }
    }
}
