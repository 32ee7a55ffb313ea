//! Copies standard input to a new file, with progress. Ctrl-C cancels the copy, even while the input is silent.
//!
//! ```text
//! ssh host cat image | cargo run -p vectored --example copy_progress -- image
//! ```

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow::{Break, Continue};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use vectored::copy::{Options, Side};

fn main() -> io::Result<()> {
    let stop = Arc::new(AtomicBool::new(false)); // any thread may set it
    signal_hook::flag::register(signal_hook::consts::SIGINT, stop.clone())?;
    let path = std::env::args_os().nth(1).expect("give the file to make");
    let bytes = copy(io::stdin(), path.as_ref(), &stop)?;
    eprintln!("all {bytes} bytes");
    Ok(())
}

/// Copies to a new file, and returns the number of bytes. After `stop` is set, the copy ends within 0.1 s.
pub fn copy(from: impl AsFd, path: &Path, stop: &AtomicBool) -> io::Result<u64> {
    let to = File::create_new(path)?;
    let copied = copy_all(&from, &to, stop);
    if copied.is_err() {
        fs::remove_file(path)?; // the library leaves the part
    }
    copied
}

fn copy_all(from: &impl AsFd, to: &File, stop: &AtomicBool) -> io::Result<u64> {
    let (mut before, mut next) = (0, 0);
    loop {
        let mut progress = |bytes: u64| {
            if before + bytes >= next {
                eprintln!("{} MB", (before + bytes) / 1_000_000);
                next = before + bytes + 10_000_000;
            }
            if stop.load(Ordering::Relaxed) { Break(()) } else { Continue(()) }
        };
        let copied = Options::new().progress(&mut progress).copy(from, to);
        let error = match copied {
            Ok(copied) => return Ok(before + copied.bytes),
            Err(error) => error,
        };
        // A non-blocking input has no bytes at the moment.
        let is_silent = error.kind() == ErrorKind::WouldBlock && error.side() == Some(Side::Input);
        if !is_silent {
            return Err(error.into());
        }
        if stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        before += error.written();
        let tenth = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        retry_on_intr(|| poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&tenth)))?;
    }
}
