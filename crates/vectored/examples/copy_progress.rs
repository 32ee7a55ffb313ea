//! Copies standard input to a new file, with progress. Ctrl-C cancels the copy, also while the input is silent.
//!
//! ```text
//! ssh host cat image | cargo run -p vectored --example copy_progress -- image
//! ```

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow::{Break, Continue};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vectored::copy::Options;

fn main() -> io::Result<()> {
    let stop = Arc::new(AtomicBool::new(false)); // any thread may set it
    signal_hook::flag::register(signal_hook::consts::SIGINT, stop.clone())?;
    let path = std::env::args_os().nth(1).expect("give the file to make");
    let bytes = copy(io::stdin(), path.as_ref(), &stop)?;
    eprintln!("all {bytes} bytes");
    Ok(())
}

/// Copies to a new file, and returns the number of bytes. Setting `stop` ends the copy within 0.1 s.
pub fn copy(from: impl AsFd, path: &Path, stop: &AtomicBool) -> io::Result<u64> {
    let to = File::create_new(path)?;
    let mut next = 0;
    let mut progress = |bytes: u64| {
        if bytes >= next {
            eprintln!("{} MB", bytes / 1_000_000);
            next = bytes + 10_000_000;
        }
        if stop.load(Ordering::Relaxed) { Break(()) } else { Continue(()) }
    };
    let copied = Options::new().progress(&mut progress).copy(from, &to);
    if copied.is_err() {
        fs::remove_file(path)?; // the library leaves the part
    }
    Ok(copied?.bytes)
}
