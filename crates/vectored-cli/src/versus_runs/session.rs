//! All runs of a comparison: warm-up, counted runs, rounds of timed runs.

use std::cell::Cell;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use vectored_machine::platform::command_run::{
    Ended, LEFT_BEHIND_LIMIT, RunError, inherited_peak_bytes, run,
};
use vectored_machine::platform::processes::give_back_free_memory;
use vectored_report::sort::sort;
use vectored_versus::ends::{RunEnd, failed, usual};
use vectored_versus::judge::CallLimit;
use vectored_versus::model::{
    Calls, Comparison, Difference, EXIT_STATUS, File, FileUse, Phase, Run, Side, Stdout, Versus,
};
use vectored_versus::{Counter, Stacks, Varying, grown_stacks, judge};

use super::command::{Program, Surroundings, discarded};
use super::counted::{
    Counting, Observed, Unstable, differences, files, name_of, observe, observe_stacks, unstable,
    unstable_in_words,
};
use super::earlier::{other_files, rounds_of};
use super::restored::Restored;
use super::run_end::{errors_file, last_error, run_end};
use crate::command_signals::end_in_words;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Bar;
use crate::strace::shows_stacks;
use crate::terminal::print_message;

/// A counted run may take this many times as long as an untraced one: strace takes 50 µs for a call, or more on a busy
/// machine, and a call alone may take 100 ns.
const TRACED_FACTOR: u32 = 1000;

/// The error of a process that has as many open files as it may.
const EMFILE: i32 = Errno::MFILE.raw_os_error();

/// Counted runs of each command.
const COUNTED_RUNS: u64 = 2;

/// What the kernel's count of resident memory may be wrong by: each processor keeps some pages for itself.
const COUNT_ERROR_BYTES: u64 = 512 << 10;

/// A variable of timed runs, of a random length below a page: the environment lies above the stack, so that its length moves all that
/// is on the stack. Without it, a command may be slower only because its name is longer.
const PADDING: &str = "VECTORED_PADDING";

const PAGE_BYTES: usize = 4096;

/// Why a command may never end, and the remedy.
const SERVICE: &str = "a service does not end: start it and its client in one script";

/// What to run, and how.
pub struct Plan {
    /// The old command first.
    pub programs: Vec<Program>,
    pub surroundings: Surroundings,
    pub setup: Option<String>,
    pub cleanup: Option<String>,
    pub stdout: Stdout,
    pub warmup: u64,
    pub budget: Duration,
    pub rounds: Option<u64>,
    /// Files that are compared. They are put back before each run.
    pub same: Vec<PathBuf>,
    pub ignore_output: bool,
    pub ignore_failure: bool,
    /// Whether strace works here.
    pub is_traced: bool,
    /// If one is exceeded, the stacks of the calls that grew are counted.
    pub limits: Vec<CallLimit>,
    /// A result whose rounds are the first ones.
    pub earlier: Option<Versus>,
    /// Whether all timed runs have the same environment.
    pub same_layout: bool,
    pub seed: u64,
}

/// Runs everything, and fills in the sides, figures and differences. After a signal the result has what was measured before;
/// `complete` says so.
pub fn measure(
    plan: &Plan,
    interrupt: &Interrupt,
    bar: &Bar,
    result: &mut Versus,
) -> Result<(), Failure> {
    let mut session = Session {
        plan,
        interrupt,
        bar,
        began: Instant::now(),
        result,
        ends: plan.programs.iter().map(|_| Vec::new()).collect(),
        errors: errors_file(),
        random: fastrand::Rng::with_seed(plan.seed),
        restored: Vec::new(),
    };
    let measured = match &plan.setup {
        Some(setup) => session.helper("--setup", setup),
        None => Ok(()),
    };
    let measured = measured
        .and_then(|()| session.keep())
        .and_then(|()| session.run_all());
    let measured = session.restore(true).and(measured);
    let cleaned = plan
        .cleanup
        .as_ref()
        .map_or(Ok(()), |cleanup| session.helper("--cleanup", cleanup));
    match measured.and(cleaned) {
        Ok(()) => Ok(()),
        Err(Halt::Stopped) => {
            session.result.complete = false;
            Ok(())
        }
        Err(Halt::Failed(failure)) => Err(failure),
    }
}

/// Why a session ends early.
enum Halt {
    Stopped,
    Failed(Failure),
}

impl Halt {
    fn new(what: impl Display, error: RunError) -> Self {
        match error {
            RunError::Stopped => Halt::Stopped,
            error => {
                let remedy = match error {
                    RunError::TooLong(_) => &*format!(
                        ": raise --budget, or give --rounds, if it only needs more time; its standard input is \
                             empty unless --input names a file; {SERVICE}"
                    ),
                    RunError::LeftBehind(_) => ": compare commands that end all that they start",
                    RunError::Io(_, ref error) if error.raw_os_error() == Some(EMFILE) => {
                        ": raise the limit of open files (ulimit -n)"
                    }
                    RunError::Stopped | RunError::Io(..) => "",
                };
                Halt::Failed(anyhow::anyhow!("{what}: {error}{remedy}").into())
            }
        }
    }
}

struct Session<'a> {
    plan: &'a Plan,
    interrupt: &'a Interrupt,
    bar: &'a Bar,
    began: Instant,
    result: &'a mut Versus,
    /// How the runs of each command ended so far.
    ends: Vec<Vec<RunEnd>>,
    /// Standard error of the run that is not counted; `None` where it is discarded.
    errors: Option<std::fs::File>,
    random: fastrand::Rng,
    /// The files of `--same`.
    restored: Vec<Restored>,
}

impl Session<'_> {
    fn run_all(&mut self) -> Result<(), Halt> {
        let longest = self.warm_up()?;
        let observed = self.count(longest)?;
        self.describe(&observed);
        let earlier = self.plan.earlier.as_ref();
        if earlier.is_some_and(|earlier| other_files(earlier, self.result)) {
            return Err(Halt::Failed(anyhow::anyhow!(
                "cannot go on from the result of --add: the commands run other files now, or it is not known which"
            ).into()));
        }
        let has_failed = self.judge_ends();
        if has_failed && !self.plan.ignore_failure {
            self.result.complete = false;
            return Ok(());
        }
        self.compare(&observed, longest)?;
        // A command inherits what this process has.
        drop(observed);
        give_back_free_memory();
        let ignored = (self.plan.ignore_output, self.plan.ignore_failure);
        let mut new = self.result.new.iter();
        if new.any(|one| one.differs(ignored.0, ignored.1)) {
            self.result.complete = false;
            return Ok(());
        }
        let timed = self.rounds();
        self.judge_ends();
        self.judge();
        timed?;
        self.count_stacks(longest)
    }

    /// Where a limit of calls is exceeded, fills in what makes the calls that grew.
    fn count_stacks(&mut self, longest: Duration) -> Result<(), Halt> {
        for index in 0..self.result.new.len() {
            let Versus { old, new, .. } = &*self.result;
            let one = &new[index].side;
            let both = old.calls.as_ref().zip(one.calls.as_ref());
            let grown = both.map_or_else(Vec::new, |(old, new)| {
                judge::beyond(&self.plan.limits, old, new)
            });
            if grown.is_empty() {
                continue;
            }
            let is_script = |file: &File| file.as_what == FileUse::Script;
            // An interpreter's stacks do not show what its script does.
            if one.files.iter().any(is_script) {
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

    /// The stacks of these calls in one run of a command.
    fn stacks(
        &mut self,
        index: usize,
        calls: &[String],
        longest: Duration,
    ) -> Result<Stacks, Halt> {
        self.prepare(index)?;
        let program = &self.plan.programs[index];
        self.bar.show_waiting(&format!(
            "looking for what makes the calls of {}",
            program.name
        ));
        let is_stopped = || self.is_stopped();
        let counting = self.counting(longest, &is_stopped);
        let found = observe_stacks(program, calls, &counting);
        found.map_err(|error| Halt::new(format!("{}, under strace -k", in_words(program)), error))
    }

    /// Fills in how the commands end, and which runs failed. Returns whether one did.
    fn judge_ends(&mut self) -> bool {
        let ends = std::mem::take(&mut self.ends);
        for (side, runs) in self.sides().zip(&ends) {
            side.failed = failed(runs);
            if let Some(usual) = usual(runs) {
                side.ended.clone_from(&usual.ended);
                side.said = if usual.succeeds() { String::new() } else { usual.said.clone() };
            }
        }
        self.ends = ends;
        self.sides().any(|side| !side.failed.is_empty())
    }

    fn sides(&mut self) -> impl Iterator<Item = &mut Side> {
        let new = self.result.new.iter_mut().map(|one| &mut one.side);
        std::iter::once(&mut self.result.old).chain(new)
    }

    /// The longest time that an untraced run may take.
    fn limit(&self) -> Option<Duration> {
        self.plan.rounds.is_none().then_some(self.plan.budget)
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.flag().load(Ordering::Relaxed)
    }

    /// [`Session::is_stopped`], asked again and again during a run. A command that does not end gets a note: --rounds sets no
    /// time limit.
    fn is_stopped_or_told(&self, program: &Program, is_first: bool) -> impl Fn() -> bool {
        let began = Instant::now();
        let is_told = Cell::new(self.limit().is_some() || !is_first);
        move || {
            if !is_told.get() && began.elapsed() > self.plan.budget {
                is_told.set(true);
                let name = in_words(program);
                let text = format!("note: {name} still runs: {SERVICE}");
                self.bar.aside(|| print_message(&text));
            }
            self.is_stopped()
        }
    }

    /// Runs a command of an option by a shell.
    fn helper(&self, option: &str, typed: &str) -> Result<(), Halt> {
        let command = self.plan.surroundings.helper(typed);
        // `--cleanup` runs after a signal as well.
        let is_stopped = || option != "--cleanup" && self.is_stopped();
        let what = format!("the command of {option} ('{typed}') failed");
        let ended = run(command, None, LEFT_BEHIND_LIMIT, is_stopped)
            .map_err(|error| Halt::new(&what, error))?;
        if ended.status.success() {
            return Ok(());
        }
        let end = end_in_words(ended.status);
        Err(Halt::Failed(anyhow::anyhow!("{what} with {end}").into()))
    }

    /// Keeps a copy of each file of `--same`.
    fn keep(&mut self) -> Result<(), Halt> {
        for path in &self.plan.same {
            let kept = Restored::new(path).map_err(|error| {
                let name = name_of(path);
                Halt::Failed(
                    anyhow::anyhow!(
                        "cannot keep a copy of the {name} of --same, which each run finds as the \
                     first found it: {error}"
                    )
                    .into(),
                )
            });
            self.restored.push(kept?);
        }
        Ok(())
    }

    /// Puts the files of `--same` back.
    fn restore(&mut self, is_last: bool) -> Result<(), Halt> {
        self.restored.iter_mut().try_for_each(|file| {
            file.restore(is_last).map_err(|error| {
                let name = name_of(file.path());
                Halt::Failed(
                    anyhow::anyhow!("cannot put the {name} of --same back: {error}").into(),
                )
            })
        })
    }

    /// Runs what is to run before the command with this index.
    fn prepare(&mut self, index: usize) -> Result<(), Halt> {
        self.restore(false)?;
        let prepare = &self.plan.surroundings.prepare;
        let typed = prepare.get(index).or(prepare.first());
        typed.map_or(Ok(()), |typed| self.helper("--prepare", typed))
    }

    /// One untraced run, with this number within its phase.
    fn run(&mut self, index: usize, phase: Phase, number: u64) -> Result<Ended, Halt> {
        let program = &self.plan.programs[index];
        self.prepare(index)?;
        let place = if phase == Phase::Timed { "round" } else { "warm-up run" };
        let failed = |error| Halt::new(format!("{}, {place} {number}", in_words(program)), error);
        let io = |what: &str| {
            let what = what.to_owned();
            move |error| failed(RunError::Io(what, error))
        };
        let command = self.plan.surroundings.command(&program.words);
        let mut command = command.map_err(io("its standard input cannot be opened"))?;
        let stdout = discarded(self.plan.stdout);
        command.stdout(stdout.map_err(io("no file or pipe can be made for its output"))?);
        if phase == Phase::Timed && !self.plan.same_layout {
            command.env(PADDING, "x".repeat(self.random.usize(..PAGE_BYTES)));
        }
        let errors = self.errors.as_ref();
        if let Some(file) = errors.and_then(|errors| errors.try_clone().ok()) {
            command.stderr(file);
        }
        let is_stopped = self.is_stopped_or_told(program, number == 1);
        let ended = run(command, self.limit(), LEFT_BEHIND_LIMIT, is_stopped);
        let ended = ended.map_err(failed)?;
        let said = self.errors.as_mut().map_or_else(String::new, last_error);
        self.ends[index].push(run_end(ended.status, phase, number, said));
        Ok(ended)
    }

    /// Returns the time of the longest run.
    fn warm_up(&mut self) -> Result<Duration, Halt> {
        let mut longest = Duration::ZERO;
        for number in 1..=self.plan.warmup {
            for (index, program) in self.plan.programs.iter().enumerate() {
                self.bar
                    .show_waiting(&format!("warming up: {}", program.name));
                longest = longest.max(self.run(index, Phase::WarmUp, number)?.took);
            }
        }
        Ok(longest)
    }

    /// The counted runs of each command: in turn, and then in the reverse order. If each run changes the input of the next,
    /// as a folder that grows, the ranges of counts overlap.
    fn count(&mut self, longest: Duration) -> Result<Vec<Vec<Observed>>, Halt> {
        let programs = &self.plan.programs;
        let mut runs: Vec<Vec<Observed>> = programs.iter().map(|_| Vec::new()).collect();
        let mut order: Vec<usize> = (0..programs.len()).collect();
        for number in 1..=COUNTED_RUNS {
            for &index in &order {
                let is_first = number == 1 && self.plan.warmup == 0;
                let observed = self.observe(index, longest, is_first)?;
                if number == 1 {
                    self.note_files(index, &observed);
                }
                let said = observed.last_error();
                self.ends[index].push(run_end(observed.status, Phase::Counted, number, said));
                runs[index].push(observed);
            }
            order.reverse();
        }
        Ok(runs)
    }

    /// Fails if no run has written a file of `--same`: nothing would be compared.
    fn check_written(&self, runs: &[Vec<Observed>]) -> Result<(), Halt> {
        let is_written = |path: &PathBuf| {
            let name = name_of(path);
            let mut written = runs.iter().flatten().flat_map(Observed::all_written);
            written.any(|written| written == name)
        };
        match self.plan.same.iter().find(|path| !is_written(path)) {
            Some(path) if !self.plan.ignore_output => Err(Halt::Failed(anyhow::anyhow!(
                "no counted run wrote the {} of --same: name a file that the commands write, and remove it by \
                 --prepare if they write it only once",
                name_of(path)
            ).into())),
            _ => Ok(()),
        }
    }

    /// Fails if runs of old leave nothing of a file of `--same` equal: an edit could not be told from no edit.
    fn check_compared(&self, varies: &Unstable) -> Result<(), Halt> {
        let names = self.plan.same.iter().map(|path| name_of(path));
        let mut unknown = names.filter(|name| varies.get(name) == Some(&Varying::All));
        match unknown.next() {
            Some(name) if !self.plan.ignore_output => Err(Halt::Failed(anyhow::anyhow!(
                "the {name} of --same cannot be compared: two runs of old differ in it. Make what it depends on equal by \
                 --prepare, or leave this --same out"
            ).into())),
            _ => Ok(()),
        }
    }

    fn counting<'b>(&'b self, longest: Duration, is_stopped: &'b dyn Fn() -> bool) -> Counting<'b> {
        Counting {
            surroundings: &self.plan.surroundings,
            stdout: self.plan.stdout,
            same: &self.plan.same,
            is_traced: self.plan.is_traced,
            limit: self.limit().map(|limit| limit.max(longest * TRACED_FACTOR)),
            is_stopped,
        }
    }

    /// A counted run.
    fn observe(
        &mut self,
        index: usize,
        longest: Duration,
        is_first: bool,
    ) -> Result<Observed, Halt> {
        self.prepare(index)?;
        let program = &self.plan.programs[index];
        let is_stopped = self.is_stopped_or_told(program, is_first);
        let counting = self.counting(longest, &is_stopped);
        self.bar
            .show_waiting(&format!("counting the calls of {}", program.name));
        let what = in_words(program);
        let observed = observe(program, &counting);
        observed.map_err(|error| Halt::new(format!("{what}, under strace"), error))
    }

    /// Fills in the files of a command, which may be others before the next run.
    fn note_files(&mut self, index: usize, observed: &Observed) {
        let directory = self.plan.surroundings.directory.as_deref();
        if let (Some(counter), Some(side)) = (&observed.counter, self.sides().nth(index)) {
            side.files = files(counter, directory);
        }
    }

    /// Fills in the calls of each command.
    fn describe(&mut self, observed: &[Vec<Observed>]) {
        for (side, runs) in self.sides().zip(observed) {
            let counters: Vec<Counter> =
                runs.iter().filter_map(|run| run.counter.clone()).collect();
            side.calls = Calls::of_runs(&counters);
        }
    }

    /// Compares outputs and calls.
    fn compare(&mut self, observed: &[Vec<Observed>], longest: Duration) -> Result<(), Halt> {
        self.check_written(observed)?;
        let old = &observed[0];
        let mut varies = unstable(&old[0], [&old[1]]);
        let mut of_new = differences_of_new(observed, &varies);
        if of_new.iter().any(|found| !found.is_empty()) {
            // A time of day may be the same in the first two runs of old, and another one later.
            let again = self.observe(0, longest, false)?;
            varies = unstable(&old[0], [&old[1], &again]);
            of_new = differences_of_new(observed, &varies);
        }
        self.check_compared(&varies)?;
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
            note_names(&old.command, &one.side.command, &mut one.differences);
            if let (Some(old), Some(new)) = (&old.calls, &one.side.calls) {
                one.figures = judge::counts(old, new);
            }
        }
        Ok(())
    }

    /// Runs rounds until they are enough, the budget is spent, or a signal comes. A round that is cut is dropped.
    fn rounds(&mut self) -> Result<(), Halt> {
        let plan = self.plan;
        let floor_before = self.memory_floor();
        // The old command runs twice.
        let commands = plan.programs.len() + 1;
        let mut order: Vec<usize> = (0..commands).collect();
        let mut longest_round = Duration::ZERO;
        let mut rounds = plan.earlier.as_ref().map_or_else(Vec::new, rounds_of);
        let before = rounds.len();
        let mut outcome = Ok(());
        // Counting may have taken all of the budget.
        let least = self.began.elapsed() + plan.budget / 2;
        let budget = plan.budget.max(least);
        while outcome.is_ok() && !self.is_over(&rounds, before, longest_round, budget) {
            // Every second round has the reverse order of the round before: so each command has each place as often as
            // the mirror image of that place.
            if rounds.len().is_multiple_of(2) {
                self.random.shuffle(&mut order);
            } else {
                order.reverse();
            }
            let began = Instant::now();
            let mut round = vec![Run::default(); commands];
            for &slot in &order {
                let index = slot % plan.programs.len();
                match self.run(index, Phase::Timed, rounds.len() as u64 + 1) {
                    Ok(ended) => {
                        round[slot] = of_run(&ended);
                        let side = self.sides().nth(index).expect("a side of each command");
                        side.left_behind = side.left_behind.max(ended.left_behind);
                    }
                    Err(halt) => {
                        outcome = Err(halt);
                        break;
                    }
                }
            }
            if outcome.is_ok() {
                rounds.push(round);
                longest_round = longest_round.max(began.elapsed());
                let is_last = plan.rounds.map_or(budget, |all| {
                    self.began.elapsed() * u32::try_from(all).unwrap_or(u32::MAX)
                        / (rounds.len() - before) as u32
                });
                let what = format!("round {}", rounds.len());
                self.bar
                    .show_preparation(&what, self.began.elapsed(), is_last);
            }
        }
        // This process may have grown meanwhile.
        let floor = floor_before.max(self.memory_floor());
        for run in rounds[before..].iter_mut().flatten() {
            run.peak_bytes = run.peak_bytes.filter(|peak| *peak > floor);
        }
        let whole = rounds.len() as u64;
        for ends in &mut self.ends {
            ends.retain(|run| run.phase != Phase::Timed || run.number <= whole);
        }
        let last = plan.programs.len();
        self.result.old_again_runs = runs_in(&rounds, last);
        for (index, side) in self.sides().enumerate() {
            side.runs = runs_in(&rounds, index);
        }
        outcome
    }

    /// The peak memory of a command is known if it is above this. The kernel counts for a command what this process had when it
    /// forked. If that is not known, no peak is.
    fn memory_floor(&self) -> u64 {
        let inherited = inherited_peak_bytes(|| false);
        inherited.map_or(u64::MAX, |peak| peak + COUNT_ERROR_BYTES)
    }

    /// Whether the rounds are enough; so many of them are of an earlier result. The rounds of that result were enough,
    /// so only the budget ends further ones.
    fn is_over(
        &self,
        rounds: &[Vec<Run>],
        before: usize,
        longest_round: Duration,
        budget: Duration,
    ) -> bool {
        let own = rounds.len() - before;
        if let Some(all) = self.plan.rounds {
            return own as u64 >= all;
        }
        let commands = self.plan.programs.len();
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
        let may_fail = self.plan.ignore_failure;
        if !old.failed.is_empty() && !may_fail {
            return;
        }
        *noise = judge::noise(&old.runs, old_again_runs);
        for Comparison { side, figures, .. } in new {
            if !side.failed.is_empty() && !may_fail {
                continue;
            }
            let mut all = judge::figures(&old.runs, old_again_runs, &side.runs);
            all.append(figures);
            *figures = all;
        }
    }
}

/// How the runs of each new command differ from the first of the old one.
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

/// Says where outputs differ only in the name of the program, since the two commands call it by two names: messages and
/// logs contain the name.
fn note_names(old: &str, new: &str, differences: &mut [Difference]) {
    let mut words = std::iter::zip(old.split_whitespace(), new.split_whitespace());
    let Some((old, new)) = words.find(|(old, new)| old != new) else {
        return;
    };
    let [old, new] = [old, new].map(|word| word.rsplit('/').next().unwrap_or(word));
    let [old_stem, new_stem] =
        [old, new].map(|name| name.rsplit_once('.').map_or(name, |one| one.0));
    for one in differences {
        let line = one.how.split_once(" is ").map_or("", |(_, line)| line);
        let is_name = line.split_once(" instead of ").is_some_and(|(is, was)| {
            let mut names = [(new, old), (new_stem, old_stem)].into_iter();
            names.any(|(new, old)| is.replacen(new, "", 1) == was.replacen(old, "", 1))
        });
        if is_name {
            one.how += ", the name of the program: let both be one name, by --prepare 'cp OLD NAME' --prepare 'cp NEW NAME' --cleanup 'cp NEW NAME'";
        }
    }
}

/// `old ('./prog x')`.
fn in_words(program: &Program) -> String {
    format!("{} ('{}')", program.name, program.typed)
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

/// Whether both ran files of the same content, and all of them are known.
fn same_files(old: &Side, new: &Side) -> bool {
    let sums = |side: &Side| {
        let mut sums: Option<Vec<_>> = side.files.iter().map(|file| file.sha256.clone()).collect();
        if let Some(sums) = &mut sums {
            sort(sums);
            sums.dedup();
        }
        sums.filter(|sums| !sums.is_empty())
    };
    sums(old).is_some_and(|old| Some(old) == sums(new))
}

fn runs_in(rounds: &[Vec<Run>], slot: usize) -> Vec<Run> {
    rounds.iter().map(|round| round[slot]).collect()
}
