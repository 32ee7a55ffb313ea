//! Signals while a command runs: the command gets them, and this program ends afterwards.

use std::process::{self, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use vectored_machine::platform::processes::is_ignored;

const ANNOUNCE_AFTER: Duration = Duration::from_secs(1);

pub const WAITING: &str =
    "the command has ended; waiting for processes that it left running (Ctrl-C stops the waiting)";

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

#[derive(Clone)]
pub struct CommandSignals(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Whether a signal has arrived and was not taken yet, for each of [`WATCHED`]. The signal handler sets it: when the
    /// thread that watches runs, the stage may have changed. The signal handler sets it: the thread that watches may run
    /// much later, when the stage is another one.
    arrived: [Arc<AtomicBool>; WATCHED.len()],
    stage: AtomicU8,
    process: AtomicU32,
    /// The last signal received; 0 for none.
    last: AtomicI32,
    /// Whether a signal was received after the command had ended.
    is_stopped: AtomicBool,
    left_since: OnceLock<Instant>,
    is_announced: AtomicBool,
}

impl CommandSignals {
    /// Starts watching. To be called before the command starts, so that it misses no signal.
    pub fn watch() -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut watched = Vec::new();
        // Registered before the iterator, so that a signal that it returns has its mark.
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

    /// Whether the wait for processes that the command left running is to be announced now: once, after a while.
    pub fn is_to_announce(&self) -> bool {
        if self.0.stage.load(Ordering::SeqCst) != Stage::LeftBehind as u8 {
            return false;
        }
        let since = self.0.left_since.get_or_init(Instant::now);
        since.elapsed() > ANNOUNCE_AFTER && !self.0.is_announced.swap(true, Ordering::SeqCst)
    }

    pub fn last(&self) -> Option<i32> {
        Some(self.0.last.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::SeqCst)
    }
}

impl Shared {
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
            self.is_stopped.store(true, Ordering::SeqCst);
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
