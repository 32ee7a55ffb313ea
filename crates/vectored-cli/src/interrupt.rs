//! Handles SIGHUP, SIGINT and SIGTERM, and the console events of Windows. The first signal ends the measurement. The
//! second signal ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
#[cfg(unix)]
use signal_hook::flag;
#[cfg(unix)]
use vectored_machine::platform::processes::is_ignored;

pub struct Interrupt {
    stop: Arc<AtomicBool>,
    /// Whether this process received a signal. The next signal ends the process.
    arrived: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Starts the watch by `SetConsoleCtrlHandler`.
    #[cfg(windows)]
    pub fn watch() -> anyhow::Result<Self> {
        const SIGINT: i32 = 2;
        let watch = Interrupt::none();
        let (asked, number) = (Arc::clone(&watch.stop), Arc::clone(&watch.signal));
        let arrived = Arc::clone(&watch.arrived);
        ctrlc::set_handler(move || {
            number.store(SIGINT as usize, Ordering::Relaxed);
            asked.store(true, Ordering::Relaxed);
            if arrived.swap(true, Ordering::Relaxed) {
                std::process::exit(code(SIGINT).into());
            }
        })
        .context("cannot watch for Ctrl-C")?;
        Ok(watch)
    }

    /// Starts the watch. A signal that was ignored at the start of the program stays ignored, for example by `nohup`.
    #[cfg(unix)]
    pub fn watch() -> anyhow::Result<Self> {
        let watch = Interrupt::none();
        for number in [SIGHUP, SIGINT, SIGTERM] {
            if is_ignored(number).context("cannot ask which signals are ignored")? {
                continue;
            }
            let [arrived, stop] = [&watch.arrived, &watch.stop];
            let signal = Arc::clone(&watch.signal);
            // The order matters: the first signal must find the flag unset before the next handler sets the flag.
            flag::register_conditional_shutdown(number, code(number).into(), Arc::clone(arrived))
                .and_then(|_| flag::register_usize(number, signal, number as usize))
                .and_then(|_| flag::register(number, Arc::clone(arrived)))
                .and_then(|_| flag::register(number, Arc::clone(stop)))
                .context("cannot watch for signals")?;
        }
        // The default action of SIGXFSZ kills the program. With a handler, write(2) fails with EFBIG.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
            .context("cannot watch for signals")?;
        Ok(watch)
    }

    fn none() -> Self {
        Interrupt {
            stop: Arc::default(),
            arrived: Arc::default(),
            signal: Arc::default(),
        }
    }

    /// The first signal to any rank sets the flag.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Returns the signal that any rank received. 0 means no signal.
    pub fn signal(&self) -> u64 {
        self.signal.load(Ordering::Relaxed) as u64
    }

    /// Records a signal to another rank. The signal ends the run. A launcher sends its signal to all ranks, so a
    /// signal to this process afterwards still counts as the first signal.
    pub fn hear(&self, signal: u64) {
        self.signal.store(signal as usize, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => Some(code(number as i32)),
        }
    }
}

/// The exit status of a shell: 129 for SIGHUP, 130 for SIGINT and Ctrl-C, 143 for SIGTERM.
fn code(signal: i32) -> u8 {
    128 + signal as u8
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_after_one_to_another_rank_does_not_end_the_program() {
        let interrupt = Interrupt::watch().unwrap();
        assert_eq!(interrupt.exit_code(), None);
        interrupt.hear(SIGHUP as u64);
        assert!(interrupt.flag().load(Ordering::Relaxed));
        assert_eq!(interrupt.exit_code(), Some(129));
        // A second signal would end the process of the test.
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert_eq!(interrupt.exit_code(), Some(143));
        assert!(interrupt.arrived.load(Ordering::Relaxed));
    }
}
