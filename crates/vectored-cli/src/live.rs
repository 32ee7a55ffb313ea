//! Watches running programs by `vectored-live`.

use std::ffi::OsString;
use std::io;
use std::panic::resume_unwind;
use std::process::{Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle, scope};
use std::time::{Duration, Instant};

use anyhow::Context;
use vectored_live::{Held, Refusal, Seen, Target, Watch};
use vectored_machine::platform::processes::wait_for;
use vectored_report::words::grouped;
use vectored_strace::Event;

use crate::command_signals::{CommandSignals, Stage};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::terminal::can_redraw;
use crate::terminal::status_line::StatusLine;

/// Time after which the wait for processes that the command left running is announced.
const ANNOUNCE_AFTER: Duration = Duration::from_secs(1);

type Follow<'f> = &'f mut (dyn FnMut(&Event<'_>) + Send);

/// A tenth of the CPU time of a program that competes for the same CPU.
const NICENESS: i32 = 10;

/// The line that shows how fast calls come.
struct Rate {
    line: StatusLine,
    /// The count at the begin of the second that is shown.
    since: (Instant, u64),
    per_second: f64,
}

impl Rate {
    fn new(notes: Notes) -> Rate {
        Rate {
            line: StatusLine::new(!notes.quiet && can_redraw()),
            since: (Instant::now(), 0),
            per_second: 0.0,
        }
    }

    fn show(&mut self, seen: &Seen) {
        let time = self.since.0.elapsed().as_secs_f64();
        if time >= 1.0 {
            self.per_second = (seen.calls - self.since.1) as f64 / time;
            self.since = (Instant::now(), seen.calls);
        }
        let lost = if seen.lost > 0 {
            format!(", {} lost", grouped(seen.lost))
        } else {
            String::new()
        };
        let words = format!(
            "{} calls/s, {} calls{lost}",
            grouped(self.per_second as u64),
            grouped(seen.calls)
        );
        self.line.show(false, |_| words);
    }
}

/// Watches running processes or a cgroup, until they end, a signal arrives or the time is over.
pub fn watch(
    target: &Target<'_>,
    time: Option<Duration>,
    notes: Notes,
    follow: Follow<'_>,
) -> Result<Seen, Failure> {
    let interrupt = Interrupt::watch()?;
    giving_way(|| {
        let mut watch = Watch::start(target, follow).map_err(refused)?;
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let mut rate = Rate::new(notes);
        loop {
            let seen = watch.next(follow);
            let is_over = seen.is_over || end.is_some_and(|end| end <= Instant::now());
            if is_over || interrupt.flag().load(Ordering::Relaxed) {
                break;
            }
            rate.show(&seen);
        }
        Ok(watch.finish(follow))
    })
}

/// Works in a thread that gives way to the programs that are watched, when they need all CPUs.
fn giving_way<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, || {
            // On Linux the calling thread alone, with the threads that it starts.
            rustix::process::nice(NICENESS).context("cannot lower the priority of a thread")?;
            work()
        });
        let thread = thread.context("cannot start the thread that watches")?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Runs a command and watches it. Returns how it ended, and whether the wait for its processes was stopped; or why it cannot be
/// watched on this machine: then it did not run.
pub fn run(
    words: &[OsString],
    signals: &CommandSignals,
    notes: Notes,
    follow: Follow<'_>,
) -> Result<Result<(Seen, ExitStatus, bool), Refusal>, Failure> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let held = Held::start(command).map_err(refused)?;
    let number = held.number();
    giving_way(move || {
        let watch = match Watch::start(&Target::Command(number), follow) {
            Err(refusal) if refusal.is_of_machine() => return Ok(Err(refusal)),
            watch => watch.map_err(refused)?,
        };
        signals.enter(Stage::Command, number);
        // It is waited for by its number.
        held.go().map_err(refused)?;
        let at_end = signals.clone();
        let waiter = Builder::new().spawn(move || {
            let outcome = wait_for(number);
            at_end.enter(Stage::LeftBehind, 0);
            outcome.map(|(status, _)| status)
        });
        let waiter = waiter.context("cannot start the thread that waits for the command")?;
        follow_until_over(watch, waiter, signals, notes, follow).map(Ok)
    })
}

fn follow_until_over(
    mut watch: Watch,
    waiter: JoinHandle<io::Result<ExitStatus>>,
    signals: &CommandSignals,
    notes: Notes,
    follow: Follow<'_>,
) -> Result<(Seen, ExitStatus, bool), Failure> {
    let mut left_since = None;
    let mut is_announced = false;
    while !watch.next(follow).is_over && signals.stopped_by().is_none() {
        if signals.is_left_behind() && !is_announced {
            is_announced = left_since.get_or_insert_with(Instant::now).elapsed() > ANNOUNCE_AFTER;
            if is_announced {
                notes.note(
                    "the command has ended; waiting for processes that it left running (Ctrl-C stops \
                     the waiting)",
                );
            }
        }
    }
    let seen = watch.finish(follow);
    let status = waiter.join().expect("waiting cannot panic");
    let status = status.context("cannot wait for the command")?;
    Ok((seen, status, signals.stopped_by().is_some()))
}

/// A refusal, with strace as the other way.
pub fn refused(refusal: Refusal) -> Failure {
    let code = match refusal {
        Refusal::NoProcess(_) | Refusal::NoCgroup(..) => 2,
        Refusal::NotStarted(_) => 126,
        _ => 1,
    };
    let other = match refusal {
        Refusal::NoProcess(_) | Refusal::NoCgroup(..) | Refusal::NotStarted(_) => "",
        _ => {
            "; without that, use strace: vectored advise -- COMMAND, or strace -f -s1 -v -yy -ttt -T -o trace.log -p PID"
        }
    };
    Failure {
        error: anyhow::anyhow!("{refusal}{other}"),
        code,
    }
}
