//! SIGHUP, SIGINT and SIGTERM: the first ends the measuring, the second the
//! program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// Watches for signals from its making on.
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Begins to watch.
    pub fn watch() -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGHUP, SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down and raises it.
            flag::register_conditional_shutdown(number, code(number).into(), Arc::clone(&stop))
                .and_then(|_| flag::register_usize(number, Arc::clone(&signal), number as usize))
                .and_then(|_| flag::register(number, Arc::clone(&stop)))
                .context("cannot watch for signals")?;
        }
        // Without a handler a file-size limit would end the program here; with
        // one the write fails with EFBIG and says so.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
            .context("cannot watch for signals")?;
        Ok(Interrupt { stop, signal })
    }

    /// Becomes true with the first signal.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// The exit code that tells of the signal, if one came.
    pub fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => Some(code(number as i32)),
        }
    }
}

/// 129 for SIGHUP, 130 for SIGINT, 143 for SIGTERM, as shells have it.
fn code(signal: i32) -> u8 {
    128 + signal as u8
}
