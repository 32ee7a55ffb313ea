//! Watches running programs by `vectored-live`.

use std::ffi::OsString;
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

use anyhow::Context;
use vectored_live::{Refusal, Seen, Target, Watch};
use vectored_report::words::grouped;
use vectored_strace::Event;

use crate::command_signals::{CommandSignals, End};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::notes::Notes;
use crate::terminal::can_redraw;
use crate::terminal::status_line::StatusLine;

type Follow<'f> = &'f mut (dyn FnMut(&Event<'_>) + Send);

fn rate(seen: &Seen) -> String {
    let lost = match seen.lost {
        0 => String::new(),
        lost => format!(", {} lost", grouped(lost)),
    };
    let per_second = seen.calls as f64 / seen.wall.as_secs_f64();
    let calls = grouped(seen.calls);
    format!(
        "{} calls/s, {calls} calls{lost}",
        grouped(per_second as u64)
    )
}

/// The watch ends when the processes have ended, a signal arrives, or the time is over.
pub fn watch(
    target: Target<'_>,
    time: Option<Duration>,
    notes: Notes,
    follow: Follow<'_>,
) -> Result<Seen, Failure> {
    let interrupt = Interrupt::watch()?;
    aside(|| {
        let mut watch = Watch::start(target, follow).map_err(refused)?;
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let line = StatusLine::new(!notes.quiet && can_redraw());
        loop {
            let seen = watch.next(follow);
            let is_over = seen.is_over || end.is_some_and(|end| end <= Instant::now());
            if is_over || interrupt.flag().load(Ordering::Relaxed) {
                break;
            }
            line.show(false, |_| rate(&seen));
        }
        Ok(watch.finish(follow))
    })
}

/// A separate thread is needed, because a watch lowers the priority of its thread.
fn aside<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, work);
        let thread = thread.context("cannot start the thread that watches")?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Runs a command and watches its calls. The inner error is the reason why this machine allows no watch. After an
/// inner error, the command has not run.
pub fn run(
    words: &[OsString],
    signals: &CommandSignals,
    notes: Notes,
    follow: Follow<'_>,
) -> Result<Result<(Seen, End), Refusal>, Failure> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    aside(move || {
        let mut watch = match Watch::start(Target::Command(&mut command), follow) {
            Err(refusal @ Refusal::Machine(_)) => return Ok(Err(refusal)),
            watch => watch.map_err(refused)?,
        };
        let number = watch.command().expect("it has started a command");
        let running = signals.follow(number, ())?;
        while !watch.next(follow).is_over && running.goes_on(|text| notes.note(text)) {}
        let seen = watch.finish(follow);
        Ok(Ok((seen, running.ended(|text| notes.note(text))?)))
    })
}

/// The message proposes strace as the alternative.
pub fn refused(refusal: Refusal) -> Failure {
    const OTHER: &str = "; without that, use strace: vectored advise -- COMMAND, or strace -f -s1 -v -yy -ttt -T -o trace.log -p PID";
    let (code, other) = match refusal {
        Refusal::Target(_) => (2, ""),
        Refusal::Command(_) => (126, ""),
        _ => (1, OTHER),
    };
    Failure {
        error: anyhow::anyhow!("{refusal}{other}"),
        code,
    }
}
