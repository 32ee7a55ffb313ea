//! Passes signals to a command while the command runs, and ends this program after the command.

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::iter;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use vectored_machine::platform::processes::{is_ignored, wait_for};

const ANNOUNCE_AFTER: Duration = Duration::from_secs(1);

const WATCHED: [i32; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

#[derive(Clone, Default)]
pub struct CommandSignals {
    /// For each signal of [`WATCHED`]: whether the signal arrived and is not handled yet.
    arrived: [Arc<AtomicBool>; WATCHED.len()],
    /// Whether SIGINT was one of the handled signals.
    is_interrupted: Arc<AtomicBool>,
    /// Whether the command and all its processes have ended. After that, a signal ends this program.
    is_over: Arc<AtomicBool>,
}

impl CommandSignals {
    /// The caller must start the watch before the command.
    pub fn watch() -> anyhow::Result<Self> {
        let signals = CommandSignals::default();
        for (signal, arrived) in iter::zip(WATCHED, &signals.arrived) {
            if !is_ignored(signal).context("cannot ask which signals are ignored")? {
                let is_over = Arc::clone(&signals.is_over);
                flag::register_conditional_shutdown(signal, 128 + signal, is_over)
                    .and_then(|_| flag::register(signal, Arc::clone(arrived)))
                    .context("cannot watch for signals")?;
            }
        }
        Ok(signals)
    }

    /// Starts a thread that waits for the command. The thread drops `kept` at the end of the command.
    pub fn follow(&self, command: u32, kept: impl Send + 'static) -> anyhow::Result<Running> {
        let left = Arc::new(OnceLock::new());
        let (signals, at_end) = (self.clone(), Arc::clone(&left));
        let waiter = Builder::new().spawn(move || {
            let outcome = wait_for(command);
            // The signals that have arrived so far were for the command.
            signals.take().for_each(drop);
            at_end.get_or_init(Instant::now);
            drop(kept);
            outcome.map(|(status, _)| status)
        });
        Ok(Running {
            signals: self.clone(),
            command,
            left,
            waiter: waiter.context("cannot start the thread that waits for the command")?,
            is_stopped: Cell::new(false),
            is_announced: Cell::new(false),
        })
    }

    fn take(&self) -> impl Iterator<Item = i32> {
        let all = iter::zip(WATCHED, &self.arrived);
        let taken = all.filter(|(_, arrived)| arrived.swap(false, Ordering::SeqCst));
        taken.map(|(signal, _)| signal).inspect(|signal| {
            self.is_interrupted
                .fetch_or(*signal == SIGINT, Ordering::SeqCst);
        })
    }
}

/// The exit status of a command, and whether a signal stopped the wait for its remaining processes.
pub type End = (ExitStatus, bool);

/// A command that runs, or whose child processes still run.
pub struct Running {
    signals: CommandSignals,
    command: u32,
    /// The time at which the command ended.
    left: Arc<OnceLock<Instant>>,
    waiter: JoinHandle<io::Result<ExitStatus>>,
    is_stopped: Cell<bool>,
    is_announced: Cell<bool>,
}

impl Running {
    /// Forwards the signals that have arrived. If processes of a finished command still run, announces the wait.
    /// Returns false after a signal during the wait.
    pub fn goes_on(&self, announce: impl Fn(&str)) -> bool {
        let left = self.left.get();
        for signal in self.signals.take() {
            let passed = match signal {
                _ if left.is_some() => {
                    self.is_stopped.set(true);
                    continue;
                }
                SIGTERM => Signal::TERM,
                SIGHUP => Signal::HUP,
                // The terminal sends SIGINT and SIGQUIT to the command directly.
                _ => continue,
            };
            if let Some(command) = i32::try_from(self.command).ok().and_then(Pid::from_raw) {
                // The command may have ended already.
                let _ = kill_process(command, passed);
            }
        }
        let is_long = left.is_some_and(|left| left.elapsed() > ANNOUNCE_AFTER);
        if is_long && !self.is_announced.replace(true) {
            announce(
                "the command has ended; waiting for processes that it left running (Ctrl-C stops the waiting)",
            );
        }
        !self.is_stopped.get()
    }

    pub fn ended(self, announce: impl Fn(&str)) -> anyhow::Result<End> {
        while !self.waiter.is_finished() {
            self.goes_on(&announce);
            sleep(Duration::from_millis(1));
        }
        let outcome = self.waiter.join().expect("waiting cannot panic");
        if self.signals.is_interrupted.load(Ordering::SeqCst) && io::stderr().is_terminal() {
            // The terminal prints `^C` without a line break.
            eprintln!();
        }
        self.signals.is_over.store(true, Ordering::SeqCst);
        let status = outcome.context("cannot wait for the command")?;
        Ok((status, self.is_stopped.get()))
    }
}

/// For example `exit status 0` or `signal 11 (SIGSEGV)`.
pub fn end_in_words(status: ExitStatus) -> String {
    status
        .to_string()
        .replace("exit status: ", "exit status ")
        .replace("signal: ", "signal ")
}
