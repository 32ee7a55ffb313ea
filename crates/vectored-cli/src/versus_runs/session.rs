//! All runs of a comparison: warm-up, counted runs, and rounds of timed runs.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use vectored_machine::platform::command_run::{
    Ended, LEFT_BEHIND_LIMIT, RunError, inherited_peak_bytes, run,
};
use vectored_machine::platform::processes::give_back_free_memory;
use vectored_versus::ends::{RunEnd, failed, usual};
use vectored_versus::model::{
    Calls, Comparison, Difference, EXIT_STATUS, FailedRun, FileUse, Phase, Run, Side, Versus,
};
use vectored_versus::{Counter, Stacks, Varying, grown_stacks, judge, last_line};

use super::earlier::{other_files, rounds_of};
use super::observed::{
    Observed, Program, Unstable, command, differences, discarded, files, name_of, observe,
    same_files, stacks_of, unstable, unstable_in_words,
};
use super::restored::Restored;
use crate::args::VersusArgs;
use crate::command_signals::end_in_words;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Bar;
use crate::strace::{exit_code, shows_stacks};

/// A counted run may take this many times as long as the longest warm-up run. The limit is at least the budget, and
/// `--rounds` removes the limit. A call may take 100 ns. strace adds 50 µs to a call, or more on a busy machine.
const TRACED_FACTOR: u32 = 1000;

/// The error for a process that has reached its limit of open files.
const EMFILE: i32 = Errno::MFILE.raw_os_error();

const COUNTED_RUNS: u64 = 2;

/// The possible error of the kernel's count of resident memory: each CPU keeps a number of pages uncounted.
const COUNT_ERROR_BYTES: u64 = 512 << 10;

/// A variable of timed runs with a random length below a page. The kernel puts the environment above the stack, so
/// the length moves the stack. Without this variable, a longer command name alone could make a command slower.
const PADDING: &str = "VECTORED_PADDING";

const PAGE_BYTES: usize = 4096;

/// Runs all commands, and fills in sides, figures and differences. After a signal, the result has the values measured
/// so far. `complete` says whether all values were measured.
pub fn measure(
    args: &VersusArgs,
    programs: &[Program],
    is_traced: bool,
    earlier: Option<&Versus>,
    interrupt: &Interrupt,
    result: &mut Versus,
) -> Result<(), Failure> {
    // A pipe would wake a reader while a command is timed. A memory file wakes no process.
    let errors = memfd_create("standard error", MemfdFlags::CLOEXEC);
    let errors = errors.context("cannot make a file in memory for standard error")?;
    let mut session = Session {
        args,
        programs,
        is_traced,
        earlier,
        interrupt,
        bar: Bar::new(args.saving.quiet),
        began: Instant::now(),
        result,
        ends: vec![Vec::new(); programs.len()],
        errors: File::from(errors),
        random: fastrand::Rng::new(),
        restored: Vec::new(),
    };
    let measured = session.keep().and_then(|()| session.run_all());
    match session.restore(true).and(measured) {
        Err(Some(failure)) => Err(failure),
        outcome => {
            session.result.complete = outcome.is_ok();
            Ok(())
        }
    }
}

/// The reason for an early end of a session. `None`: a signal stopped the session, or the commands differ or fail and
/// are not timed.
type Halt = Option<Failure>;

fn halt(program: &Program, place: &str, error: RunError) -> Halt {
    let remedy = match &error {
        RunError::Stopped => return None,
        RunError::TooLong(_) => {
            ": raise --budget, or give --rounds, if it only needs more time; its standard input is empty unless --input names \
             a file; a service does not end: start it and its client in one script"
        }
        RunError::LeftBehind(_) => ": compare commands that end all that they start",
        RunError::Io(_, error) if error.raw_os_error() == Some(EMFILE) => {
            ": raise the limit of open files (ulimit -n)"
        }
        RunError::Io(..) => "",
    };
    let Program { name, typed, .. } = program;
    Some(anyhow!("{name} ('{typed}'), {place}: {error}{remedy}").into())
}

struct Session<'a> {
    args: &'a VersusArgs,
    programs: &'a [Program],
    is_traced: bool,
    /// The result that contains the first rounds (`--add`).
    earlier: Option<&'a Versus>,
    interrupt: &'a Interrupt,
    bar: Bar,
    began: Instant,
    result: &'a mut Versus,
    ends: Vec<Vec<RunEnd>>,
    /// Standard error of the current run, if the run is not counted.
    errors: File,
    random: fastrand::Rng,
    restored: Vec<Restored>,
}

impl Session<'_> {
    fn run_all(&mut self) -> Result<(), Halt> {
        let longest = self.warm_up()?;
        let observed = self.count(longest)?;
        let is_other = |earlier| other_files(earlier, self.result);
        if self.earlier.is_some_and(is_other) {
            let why = "the commands run other files now, or it is not known which";
            return Err(Some(
                anyhow!("cannot go on from the result of --add: {why}").into(),
            ));
        }
        let VersusArgs {
            ignore_output,
            ignore_failure,
            ..
        } = *self.args;
        if self.judge_ends() && !ignore_failure {
            return Err(None);
        }
        self.compare(&observed, longest)?;
        // The kernel counts the memory of this process at the fork for the command, so this memory is freed.
        drop(observed);
        give_back_free_memory();
        let mut new = self.result.new.iter();
        if new.any(|one| one.differs(ignore_output, ignore_failure)) {
            return Err(None);
        }
        let timed = self.rounds();
        self.judge_ends();
        self.judge();
        timed?;
        self.count_stacks(longest)
    }

    /// If a limit of calls is exceeded, counts the stacks of the calls that grew.
    fn count_stacks(&mut self, longest: Duration) -> Result<(), Halt> {
        for index in 0..self.result.new.len() {
            let one = &self.result.new[index];
            let grown = judge::beyond(self.result, one, &self.args.fail_if_more_calls);
            // The stacks of an interpreter do not show the script.
            let mut files = one.side.files.iter();
            if grown.is_empty() || files.any(|file| file.as_what == FileUse::Script) {
                continue;
            }
            if !shows_stacks() {
                let why = "strace of this machine was built without stacks (-k)";
                self.result.new[index].no_stacks = why.to_owned();
                continue;
            }
            let old = self.stacks(0, &grown, longest)?;
            let new = self.stacks(index + 1, &grown, longest)?;
            self.result.new[index].stacks = grown_stacks(&old, &new);
        }
        Ok(())
    }

    fn stacks(
        &mut self,
        index: usize,
        calls: &[String],
        longest: Duration,
    ) -> Result<Stacks, Halt> {
        self.prepare(index)?;
        let program = &self.programs[index];
        let what = format!("looking for what makes the calls of {}", program.name);
        self.bar.show_waiting(&what);
        let limit = self.traced_limit(longest);
        let run = |command| Ok(self.run(command, limit)?.status);
        let found = stacks_of(program, self.args, calls, run);
        found.map_err(|error| halt(program, "under strace -k", error))
    }

    /// Fills in the ends of the commands and the failed runs. Returns whether a run failed.
    fn judge_ends(&mut self) -> bool {
        for (side, runs) in self.result.sides_mut().zip(&self.ends) {
            side.failed = failed(runs);
            if let Some(usual) = usual(runs) {
                side.ended.clone_from(&usual.run.ended);
                side.said = if usual.code == 0 { String::new() } else { usual.run.said.clone() };
            }
        }
        self.result.sides().any(|side| !side.failed.is_empty())
    }

    fn side(&mut self, index: usize) -> &mut Side {
        let mut sides = self.result.sides_mut();
        sides.nth(index).expect("a side of each command")
    }

    fn limit(&self) -> Option<Duration> {
        self.args.rounds.is_none().then_some(self.args.budget)
    }

    fn traced_limit(&self, longest: Duration) -> Option<Duration> {
        let limit = self.limit();
        limit.map(|limit| limit.max(longest * TRACED_FACTOR))
    }

    fn keep(&mut self) -> Result<(), Halt> {
        for path in &self.args.same {
            let kept = Restored::new(path).with_context(|| {
                let name = name_of(path);
                format!("cannot keep a copy of the {name} of --same, which each run finds as the first found it")
            });
            self.restored.push(kept.map_err(Failure::from)?);
        }
        Ok(())
    }

    fn restore(&mut self, is_last: bool) -> Result<(), Halt> {
        for file in &mut self.restored {
            let restored = file.restore(is_last);
            let cannot = || format!("cannot put the {} of --same back", name_of(file.path()));
            restored.with_context(cannot).map_err(Failure::from)?;
        }
        Ok(())
    }

    fn end_of(
        &self,
        program: &Program,
        place: &str,
        command: io::Result<Command>,
        limit: Option<Duration>,
    ) -> Result<Ended, Halt> {
        let command = command.map_err(|error| RunError::Io("it cannot be run".to_owned(), error));
        let ended = command.and_then(|command| self.run(command, limit));
        ended.map_err(|error| halt(program, place, error))
    }

    fn run(&self, command: Command, limit: Option<Duration>) -> Result<Ended, RunError> {
        let is_stopped = || self.interrupt.flag().load(Ordering::Relaxed);
        run(command, limit, LEFT_BEHIND_LIMIT, is_stopped)
    }

    fn prepare(&mut self, index: usize) -> Result<(), Halt> {
        self.restore(false)?;
        let prepare = &self.args.prepare;
        let Some(typed) = prepare.get(index).or(prepare.first()) else {
            return Ok(());
        };
        let name = "the command of --prepare";
        let helper = Program {
            name: name.to_owned(),
            typed: typed.clone(),
            words: [self.args.shell(), "-c", typed].map(str::to_owned).to_vec(),
        };
        let command = command(&helper.words, None).map(|mut command| {
            command.stderr(io::stderr());
            command
        });
        let status = self.end_of(&helper, "before a run", command, None)?.status;
        if status.success() {
            return Ok(());
        }
        let end = end_in_words(status);
        Err(Some(anyhow!("{name} ('{typed}') failed with {end}").into()))
    }

    /// `number` counts the runs of a phase.
    fn untraced(&mut self, index: usize, phase: Phase, number: u64) -> Result<Ended, Halt> {
        self.prepare(index)?;
        let program = &self.programs[index];
        let place = if phase == Phase::Timed { "round" } else { "warm-up run" };
        let place = format!("{place} {number}");
        let is_padded = phase == Phase::Timed && !self.args.same_layout;
        let padding = is_padded.then(|| "x".repeat(self.random.usize(..PAGE_BYTES)));
        let command = || {
            let mut command = command(&program.words, self.args.input.as_ref())?;
            command.stdout(discarded(self.args.stdout)?);
            command.stderr(self.errors.try_clone()?);
            command.envs(padding.map(|padding| (PADDING, padding)));
            Ok(command)
        };
        let ended = self.end_of(program, &place, command(), self.limit())?;
        let said = last_error(&mut self.errors);
        let said = said
            .context("cannot read standard error")
            .map_err(Failure::from)?;
        self.note_end(index, ended.status, (phase, number), said);
        Ok(ended)
    }

    fn note_end(
        &mut self,
        index: usize,
        status: ExitStatus,
        (phase, number): (Phase, u64),
        said: String,
    ) {
        self.ends[index].push(RunEnd {
            code: exit_code(status).into(),
            run: FailedRun {
                phase,
                number,
                ended: end_in_words(status),
                said,
            },
        });
    }

    fn warm_up(&mut self) -> Result<Duration, Halt> {
        let mut longest = Duration::ZERO;
        for number in 1..=self.args.warmup {
            for (index, program) in self.programs.iter().enumerate() {
                self.bar
                    .show_waiting(&format!("warming up: {}", program.name));
                longest = longest.max(self.untraced(index, Phase::WarmUp, number)?.took);
            }
        }
        Ok(longest)
    }

    /// Counts all commands in order, and then in reverse order. If each run changes the input of the next run, the
    /// ranges of the commands then overlap.
    fn count(&mut self, longest: Duration) -> Result<Vec<Vec<Observed>>, Halt> {
        let mut runs: Vec<Vec<Observed>> = self.programs.iter().map(|_| Vec::new()).collect();
        let mut order: Vec<usize> = (0..self.programs.len()).collect();
        for number in 1..=COUNTED_RUNS {
            for &index in &order {
                let observed = self.observe(index, longest)?;
                // The next run may change the files, so the sums are computed now.
                if let (1, Some(counter)) = (number, &observed.counter) {
                    self.side(index).files = files(counter);
                }
                let said = observed.last_error();
                self.note_end(index, observed.status, (Phase::Counted, number), said);
                runs[index].push(observed);
            }
            order.reverse();
        }
        for (side, runs) in self.result.sides_mut().zip(&runs) {
            let counters = runs.iter().filter_map(|run| run.counter.clone());
            side.calls = Calls::of_runs(&counters.collect::<Vec<Counter>>());
        }
        Ok(runs)
    }

    /// Fails if no run wrote a file of `--same`, because nothing would be compared. Fails if no part of such a file
    /// is equal in all runs of the old command.
    fn check_compared(&self, runs: &[Vec<Observed>], varies: &Unstable) -> Result<(), Halt> {
        let names = self.args.same.iter().map(|path| name_of(path));
        for name in names.filter(|_| !self.args.ignore_output) {
            let mut runs = runs.iter().flatten();
            let why = if runs.all(|run| run.written(&name).is_none()) {
                format!(
                    "no counted run wrote the {name} of --same: name a file that the commands write, and remove it by --prepare \
                     if they write it only once"
                )
            } else if varies.get(&name) == Some(&Varying::All) {
                format!(
                    "the {name} of --same cannot be compared: two runs of old differ in it. Make what it depends on equal by \
                     --prepare, or leave this --same out"
                )
            } else {
                continue;
            };
            return Err(Some(anyhow!(why).into()));
        }
        Ok(())
    }

    fn observe(&mut self, index: usize, longest: Duration) -> Result<Observed, Halt> {
        self.prepare(index)?;
        let program = &self.programs[index];
        self.bar
            .show_waiting(&format!("counting the calls of {}", program.name));
        let limit = self.traced_limit(longest);
        let run = |command| Ok(self.run(command, limit)?.status);
        let observed = observe(program, self.args, self.is_traced, run);
        observed.map_err(|error| halt(program, "under strace", error))
    }

    fn compare(&mut self, observed: &[Vec<Observed>], longest: Duration) -> Result<(), Halt> {
        let old = &observed[0];
        let mut varies = unstable(&old[0], [&old[1]]);
        let mut of_new = differences_of_new(observed, &varies);
        if of_new.iter().any(|found| !found.is_empty()) {
            // Two runs may print the same time of day. Another run of the old command shows that the time varies.
            let again = self.observe(0, longest)?;
            varies = unstable(&old[0], [&old[1], &again]);
            of_new = differences_of_new(observed, &varies);
        }
        self.check_compared(observed, &varies)?;
        self.result.not_compared = unstable_in_words(&varies);
        let Versus { old, new, .. } = &mut *self.result;
        for (one, differences) in new.iter_mut().zip(of_new) {
            one.differences = differences;
            if old.ended != one.side.ended {
                let how = format!("{} instead of {}", one.side.ended, old.ended);
                let of = EXIT_STATUS.to_owned();
                one.differences.insert(0, Difference { of, how });
            }
            one.same_files = same_files(old, &one.side);
            if let (Some(old), Some(new)) = (&old.calls, &one.side.calls) {
                one.figures = judge::counts(old, new);
            }
        }
        Ok(())
    }

    /// Ends when the rounds are sufficient, the budget is spent, or a signal arrives. An unfinished round is
    /// discarded.
    fn rounds(&mut self) -> Result<(), Halt> {
        let floor_before = memory_floor();
        let mut rounds = self.earlier.map_or_else(Vec::new, rounds_of);
        let before = rounds.len();
        // In each round, the old command runs twice.
        let mut order: Vec<usize> = (0..=self.programs.len()).collect();
        let mut longest_round = Duration::ZERO;
        // Counting may have taken the whole budget. The rounds get at least half of the budget.
        let least = self.began.elapsed() + self.args.budget / 2;
        let budget = self.args.budget.max(least);
        let mut outcome = Ok(());
        while outcome.is_ok() && !self.is_over(&rounds, before, longest_round, budget) {
            // Each second round has the reverse order of the previous round. In a pair of rounds, the runs of each
            // command are then symmetric about the middle.
            if rounds.len().is_multiple_of(2) {
                self.random.shuffle(&mut order);
            } else {
                order.reverse();
            }
            let began = Instant::now();
            let round = self.round(rounds.len() as u64 + 1, &order);
            outcome = round.map(|round| rounds.push(round));
            longest_round = longest_round.max(began.elapsed());
            let elapsed = self.began.elapsed();
            let end = self.args.rounds.map_or(budget, |all| {
                let part = elapsed / (rounds.len() - before).max(1) as u32;
                part.saturating_mul(u32::try_from(all).unwrap_or(u32::MAX))
            });
            let what = format!("round {}", rounds.len());
            self.bar.show_preparation(&what, elapsed, end);
        }
        // The memory of this process may have grown during the rounds.
        let floor = floor_before.max(memory_floor());
        for run in rounds[before..].iter_mut().flatten() {
            run.peak_bytes = run.peak_bytes.filter(|peak| *peak > floor);
        }
        let whole = rounds.len() as u64;
        for ends in &mut self.ends {
            ends.retain(|end| end.run.phase != Phase::Timed || end.run.number <= whole);
        }
        self.result.old_again_runs = runs_in(&rounds, self.programs.len());
        for (index, side) in self.result.sides_mut().enumerate() {
            side.runs = runs_in(&rounds, index);
        }
        outcome
    }

    /// The last slot is the second run of the old command.
    fn round(&mut self, number: u64, order: &[usize]) -> Result<Vec<Run>, Halt> {
        let mut round = vec![Run::default(); order.len()];
        for &slot in order {
            let index = slot % self.programs.len();
            let ended = self.untraced(index, Phase::Timed, number)?;
            round[slot] = of_run(&ended);
            let side = self.side(index);
            side.left_behind = side.left_behind.max(ended.left_behind);
        }
        Ok(round)
    }

    /// Returns whether the rounds are sufficient. `before` counts the rounds of an earlier result. If `before` is not
    /// 0, only the budget or `--rounds` ends the rounds.
    fn is_over(
        &self,
        rounds: &[Vec<Run>],
        before: usize,
        longest_round: Duration,
        budget: Duration,
    ) -> bool {
        let own = rounds.len() - before;
        if let Some(all) = self.args.rounds {
            return own as u64 >= all;
        }
        let commands = self.programs.len();
        let [old, again] = [0, commands].map(|slot| runs_in(rounds, slot));
        let new: Vec<Vec<Run>> = (1..commands).map(|slot| runs_in(rounds, slot)).collect();
        let is_spent = self.began.elapsed() + longest_round > budget && own > 0;
        is_spent || before == 0 && judge::is_enough(&old, &again, new.iter().map(|runs| &**runs))
    }

    fn judge(&mut self) {
        let Versus {
            old,
            old_again_runs,
            new,
            noise,
            ..
        } = &mut *self.result;
        let is_used = |side: &Side| side.failed.is_empty() || self.args.ignore_failure;
        if !is_used(old) {
            return;
        }
        *noise = judge::noise(&old.runs, old_again_runs);
        for Comparison { side, figures, .. } in new.iter_mut().filter(|one| is_used(&one.side)) {
            let mut all = judge::figures(&old.runs, old_again_runs, &side.runs);
            all.append(figures);
            *figures = all;
        }
    }
}

/// Returns the smallest peak memory that can be measured. The kernel counts the memory of this process at the fork
/// for the command. If that memory is unknown, no peak can be measured.
fn memory_floor() -> u64 {
    let inherited = inherited_peak_bytes(|| false);
    inherited.map_or(u64::MAX, |peak| peak + COUNT_ERROR_BYTES)
}

fn last_error(errors: &mut File) -> io::Result<String> {
    let mut text = Vec::new();
    errors.rewind()?;
    errors.read_to_end(&mut text)?;
    errors.set_len(0)?;
    errors.rewind()?;
    Ok(last_line(&text))
}

/// Compares the runs of each new command with the first run of the old command.
fn differences_of_new(observed: &[Vec<Observed>], varies: &Unstable) -> Vec<Vec<Difference>> {
    let of_new = observed[1..].iter().map(|runs| {
        let mut found: Vec<Difference> = Vec::new();
        for one in runs
            .iter()
            .flat_map(|run| differences(&observed[0][0], run, varies))
        {
            if !found.iter().any(|known| known.of == one.of) {
                found.push(one);
            }
        }
        found
    });
    of_new.collect()
}

fn of_run(ended: &Ended) -> Run {
    let ns = |s: f64| (s * 1e9).round() as u64;
    Run {
        wall_ns: ended.took.as_nanos().try_into().unwrap_or(u64::MAX),
        user_ns: ns(ended.usage.user_s),
        system_ns: ns(ended.usage.system_s),
        peak_bytes: Some(ended.usage.peak_bytes),
        switches: ended.usage.switches,
        faults: ended.usage.faults,
    }
}

fn runs_in(rounds: &[Vec<Run>], slot: usize) -> Vec<Run> {
    rounds.iter().map(|round| round[slot]).collect()
}
