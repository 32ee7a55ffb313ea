//! Signals while a command runs: the command gets them, and this program ends afterwards.

use std::process::{self, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, Ordering};
use std::thread::Builder;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use vectored_machine::platform::processes::is_ignored;

const WATCHED: [i32; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

/// The stage of a run, which decides the effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// The command runs. `SIGTERM` and `SIGHUP` are passed on to it; a terminal sends it `SIGINT` and
    /// `SIGQUIT` itself.
    Command,
    /// The command has ended, and processes that it started still run. A signal stops the wait for them.
    LeftBehind,
    /// No command runs. A signal ends this program.
    After,
}

/// Watches for signals from its creation on. A signal that was ignored when this program started (by
/// `nohup`, or in a background job) stays ignored, here and in the command.
#[derive(Clone)]
pub struct CommandSignals(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Whether a signal has arrived and was not taken yet, for each of [`WATCHED`]. The signal handler sets it: the
    /// thread that watches may run much later, when the stage is another one.
    arrived: [Arc<AtomicBool>; WATCHED.len()],
    stage: AtomicU8,
    /// Process ID of the command; 0 for none.
    process: AtomicU32,
    /// The last signal received; 0 for none.
    last: AtomicI32,
    /// The last signal received after the command had ended; 0 for none.
    stopped_by: AtomicI32,
}

impl CommandSignals {
    /// Starts watching. To be called before the command starts, so that it misses no signal.
    pub fn watch() -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut watched = Vec::new();
        // Before the iterator, so that a signal that it returns has its mark.
        for (signal, arrived) in WATCHED.into_iter().zip(&shared.arrived) {
            if !is_ignored(signal).context("cannot ask which signals are ignored")? {
                flag::register(signal, Arc::clone(arrived)).context("cannot watch for signals")?;
                watched.push(signal);
            }
        }
        let mut signals = Signals::new(watched).context("cannot watch for signals")?;
        let seen = Arc::clone(&shared);
        let watching = Builder::new().spawn(move || {
            for _ in signals.forever() {
                seen.take_arrived();
            }
        });
        watching.context("cannot start the thread that watches for signals")?;
        Ok(CommandSignals(shared))
    }

    /// Enters a stage. `process` is the command, or 0 if none runs.
    ///
    /// A signal that arrived before has the effect of the stage that ends.
    pub fn enter(&self, stage: Stage, process: u32) {
        self.0.take_arrived();
        self.0.process.store(process, Ordering::SeqCst);
        self.0.stage.store(stage as u8, Ordering::SeqCst);
    }

    /// Whether the command has ended, but processes that it started have not.
    pub fn is_left_behind(&self) -> bool {
        self.0.stage.load(Ordering::SeqCst) == Stage::LeftBehind as u8
    }

    /// The last signal received, at any stage.
    pub fn last(&self) -> Option<i32> {
        Some(self.0.last.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// The signal that stopped the wait.
    pub fn stopped_by(&self) -> Option<i32> {
        Some(self.0.stopped_by.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }
}

impl Shared {
    /// Takes each signal that has arrived, once.
    fn take_arrived(&self) {
        for (signal, arrived) in WATCHED.into_iter().zip(&self.arrived) {
            if arrived.swap(false, Ordering::SeqCst) {
                self.take(signal);
            }
        }
    }

    fn take(&self, signal: i32) {
        self.last.store(signal, Ordering::SeqCst);
        let stage = self.stage.load(Ordering::SeqCst);
        if stage == Stage::After as u8 {
            process::exit(128 + signal);
        }
        if stage != Stage::Command as u8 {
            self.stopped_by.store(signal, Ordering::SeqCst);
        }
        let passed = match signal {
            SIGTERM => Signal::TERM,
            SIGHUP => Signal::HUP,
            _ => return,
        };
        let process = i32::try_from(self.process.load(Ordering::SeqCst)).unwrap_or(0);
        if let Some(process) = Pid::from_raw(process) {
            // The process may have ended already.
            let _ = kill_process(process, passed);
        }
    }
}
/// `exit status 0`, `signal 11 (SIGSEGV)`.
pub fn end_in_words(status: ExitStatus) -> String {
    status
        .to_string()
        .replace("exit status: ", "exit status ")
        .replace("signal: ", "signal ")
}
