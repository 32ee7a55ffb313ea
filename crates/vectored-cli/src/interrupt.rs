//! SIGHUP, SIGINT and SIGTERM, or Ctrl-C and the closing of the console on Windows: the first one ends the measurement, the
//! second one the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
#[cfg(unix)]
use signal_hook::flag;

/// Watches for signals from its creation on.
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Starts watching, by `SetConsoleCtrlHandler`.
    #[cfg(windows)]
    pub fn watch() -> anyhow::Result<Self> {
        /// As in shells on Unix.
        const SIGINT: i32 = 2;
        let stop = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        let (asked, number) = (Arc::clone(&stop), Arc::clone(&signal));
        ctrlc::set_handler(move || {
            number.store(SIGINT as usize, Ordering::Relaxed);
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(code(SIGINT).into());
            }
        })
        .context("cannot watch for Ctrl-C")?;
        Ok(Interrupt { stop, signal })
    }

    /// Starts watching.
    #[cfg(unix)]
    pub fn watch() -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGHUP, SIGINT, SIGTERM] {
            // The order matters: the first signal must find the flag unset, and then sets it.
            flag::register_conditional_shutdown(number, code(number).into(), Arc::clone(&stop))
                .and_then(|_| flag::register_usize(number, Arc::clone(&signal), number as usize))
                .and_then(|_| flag::register(number, Arc::clone(&stop)))
                .context("cannot watch for signals")?;
        }
        // Without a handler, a file-size limit would kill the program. With one, the write fails with
        // EFBIG.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
            .context("cannot watch for signals")?;
        Ok(Interrupt { stop, signal })
    }

    /// Set by the first signal.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// The number of the signal that arrived, here or at another rank; 0 if none did.
    pub fn signal(&self) -> u64 {
        self.signal.load(Ordering::Relaxed) as u64
    }

    /// Hears of a signal to another rank: it ends the run like one to this process.
    pub fn hear(&self, signal: u64) {
        self.signal.store(signal as usize, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The exit code for the signal, if one arrived.
    pub fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => Some(code(number as i32)),
        }
    }
}

/// 129 for SIGHUP, 130 for SIGINT and Ctrl-C, 143 for SIGTERM, as in shells.
fn code(signal: i32) -> u8 {
    128 + signal as u8
}
