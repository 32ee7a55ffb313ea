//! Named steps, several at a time. A failed step stops only those that need it.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::processes::{descendants, kill_with_descendants};
use crate::root;

/// The longest that a program of a step may run beside other steps: some minutes are usual. One that hangs would otherwise
/// use up the time of the whole run, and nobody would learn which it was.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The time between two looks at whether a program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The work of a step. The error says what is wrong, in one line.
type Work<'a> = Box<dyn Fn(&Output) -> Result<(), String> + Send + Sync + 'a>;

/// One step of a run.
pub struct Step<'a> {
    /// Its name, as `--only` takes it.
    pub name: String,
    /// The steps that must have succeeded before this one.
    pub needs: Vec<&'static str>,
    /// The build folder that the step locks: two steps with the same one run one after the other.
    pub build_folder: Option<&'static str>,
    work: Work<'a>,
}

impl<'a> Step<'a> {
    /// A step that calls a function.
    pub fn new(
        name: impl Into<String>,
        work: impl Fn(&Output) -> Result<(), String> + Send + Sync + 'a,
    ) -> Self {
        Step {
            name: name.into(),
            needs: Vec::new(),
            build_folder: None,
            work: Box::new(work),
        }
    }

    /// A step that runs a program in the root of the workspace.
    pub fn command(
        name: impl Into<String>,
        command: impl Fn() -> Command + Send + Sync + 'a,
    ) -> Self {
        Step::new(name, move |output| output.run(&mut command()))
    }

    /// The same step, which needs the success of another one.
    pub fn needs(mut self, name: &'static str) -> Self {
        self.needs.push(name);
        self
    }

    /// The same step, which locks a build folder.
    pub fn builds_in(mut self, folder: &'static str) -> Self {
        self.build_folder = Some(folder);
        self
    }
}

/// Where the programs of a step print.
pub enum Output {
    /// To the terminal.
    Shown,
    /// To a file without a name, shown as a whole when the step ends. A program that runs longer than this time is killed.
    Kept(File, Duration),
}

impl Output {
    fn kept() -> io::Result<Self> {
        Ok(Output::Kept(unnamed_file()?, LONGEST))
    }

    /// Prints a line.
    pub fn line(&self, line: &str) -> Result<(), String> {
        match self {
            Output::Shown => {
                println!("{line}");
                Ok(())
            }
            Output::Kept(file, _) => writeln!(&mut &*file, "{line}").map_err(|e| e.to_string()),
        }
    }

    /// Runs a program that prints here, in the root of the workspace unless it has a folder.
    pub fn run(&self, command: &mut Command) -> Result<(), String> {
        if let Output::Kept(file, _) = self {
            let clone = || file.try_clone().map_err(|error| error.to_string());
            command
                .stdin(Stdio::null())
                .stdout(clone()?)
                .stderr(clone()?);
        }
        self.finish(command)
    }

    /// Runs a program whose standard error is printed here, and returns its standard output.
    pub fn answer(&self, command: &mut Command) -> Result<String, String> {
        command.stderr(Stdio::inherit());
        if let Output::Kept(file, _) = self {
            let clone = file.try_clone().map_err(|error| error.to_string())?;
            command.stdin(Stdio::null()).stderr(clone);
        }
        // No pipe, whose end would have to be waited for: a process that outlives the program may hold it.
        let cannot = |error: io::Error| format!("cannot keep its standard output: {error}");
        let mut answer = unnamed_file().map_err(cannot)?;
        command.stdout(answer.try_clone().map_err(cannot)?);
        self.finish(command)?;
        text_of(&mut answer)
            .and_then(|text| String::from_utf8(text).map_err(io::Error::other))
            .map_err(cannot)
    }

    fn finish(&self, command: &mut Command) -> Result<(), String> {
        if command.get_current_dir().is_none() {
            command.current_dir(root());
        }
        let reason = match command.spawn() {
            Ok(mut child) => match self.wait_in_time(&mut child) {
                Ok(status) if status.success() => return Ok(()),
                Ok(status) => format!("ended with {status}"),
                Err(reason) => reason,
            },
            Err(error) => format!("could not be started: {error}"),
        };
        self.line(&format!("   failed: {}", shell_line(command)))?;
        Err(reason)
    }

    /// Waits for a program. If it takes too long, its processes are listed and killed.
    fn wait_in_time(&self, child: &mut Child) -> Result<ExitStatus, String> {
        let unknown = |error: io::Error| format!("cannot learn how it ended: {error}");
        let Output::Kept(_, longest) = self else {
            return child.wait().map_err(unknown);
        };
        let began = Instant::now();
        while began.elapsed() < *longest {
            if let Some(status) = child.try_wait().map_err(unknown)? {
                return Ok(status);
            }
            thread::sleep(LOOK_EVERY);
        }
        let killed = self.kill(child.id());
        // The program itself, also if its descendants cannot be listed. One that has ended is no error.
        let _ = child.kill();
        child.wait().map_err(unknown)?;
        killed?;
        let longest = seconds(*longest);
        Err(format!("did not end within {longest} and was killed"))
    }

    fn kill(&self, pid: u32) -> Result<(), String> {
        let cannot = |error: io::Error| format!("cannot kill it after too long a time: {error}");
        self.line(
            "   it has run too long; its processes (number, state, processor time, command):",
        )?;
        for process in descendants(pid).map_err(cannot)? {
            let (state, line) = (process.state(), process.command_line());
            self.line(&format!("   {} {state} {line}", process.pid))?;
        }
        kill_with_descendants(pid).map_err(cannot)
    }
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Passed,
    /// Something is wrong, in one line.
    Failed(String),
    /// The step was not run, since a step that it needs did not pass.
    NotRun(String),
}

/// A step that is over.
pub struct Done {
    name: String,
    outcome: Outcome,
    took: Duration,
}

/// All steps that are over, in the order of their ends.
pub struct Report {
    command: &'static str,
    began: Instant,
    done: Vec<Done>,
}

impl Report {
    /// Starts the clock. `command` is the one that takes `--only STEP`.
    pub fn start(command: &'static str) -> Self {
        Report {
            command,
            began: Instant::now(),
            done: Vec::new(),
        }
    }

    /// Runs all steps, up to `lanes` at a time, in their order as far as needs and build folders allow.
    pub fn run(&mut self, steps: &[Step<'_>], lanes: usize) {
        let shown = lanes == 1 || steps.len() == 1;
        let schedule = Schedule {
            steps,
            state: Mutex::new(State {
                begun: vec![false; steps.len()],
                done: Vec::new(),
                running: Vec::new(),
            }),
            changed: Condvar::new(),
        };
        thread::scope(|scope| {
            for _ in 0..lanes.min(steps.len()) {
                scope.spawn(|| schedule.work(shown));
            }
        });
        let state = schedule.state.into_inner();
        self.done
            .extend(state.unwrap_or_else(PoisonError::into_inner).done);
    }

    /// Whether every step passed.
    pub fn is_well(&self) -> bool {
        self.done.iter().all(|done| done.outcome == Outcome::Passed)
    }

    /// One line a step, the longest first, the total, and each failed step with the command that
    /// repeats it.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let mut done: Vec<&Done> = self.done.iter().collect();
        done.sort_by_key(|done| std::cmp::Reverse(done.took));
        for done in &done {
            let verdict = match done.outcome {
                Outcome::Passed => "ok",
                Outcome::Failed(_) => "FAILED",
                Outcome::NotRun(_) => "not run",
            };
            let _ = writeln!(
                text,
                "{:>8}  {verdict:<7}  {}",
                seconds(done.took),
                done.name
            );
        }
        let sum = self.done.iter().map(|done| done.took).sum();
        let _ = write!(
            text,
            "{:>8}  in total; one after the other the steps would take up to {}",
            seconds(self.began.elapsed()),
            seconds(sum)
        );
        for done in &self.done {
            match &done.outcome {
                Outcome::Passed => {}
                Outcome::Failed(reason) => {
                    let _ = write!(
                        text,
                        "\n\nFAILED: {} after {}: {reason}\n  repeat it with: {} --only {}",
                        done.name,
                        seconds(done.took),
                        self.command,
                        done.name
                    );
                }
                Outcome::NotRun(reason) => {
                    let _ = write!(text, "\n\nnot run: {}: {reason}", done.name);
                }
            }
        }
        text
    }
}

/// The steps of a run, and how far they are.
struct Schedule<'a> {
    steps: &'a [Step<'a>],
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    begun: Vec<bool>,
    running: Vec<usize>,
    done: Vec<Done>,
}

/// The next action of a lane.
enum Next {
    Run(usize),
    Skip(usize, String),
    Wait,
    End,
}

impl Schedule<'_> {
    fn work(&self, shown: bool) {
        let mut state = self.lock();
        loop {
            match self.next(&state) {
                Next::End => return,
                Next::Wait => {
                    let waited = self.changed.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
                Next::Skip(index, reason) => {
                    state.begun[index] = true;
                    let name = self.steps[index].name.clone();
                    println!("── {name}: not run: {reason}\n");
                    let outcome = Outcome::NotRun(reason);
                    let took = Duration::ZERO;
                    state.done.push(Done {
                        name,
                        outcome,
                        took,
                    });
                    self.changed.notify_all();
                }
                Next::Run(index) => {
                    state.begun[index] = true;
                    state.running.push(index);
                    drop(state);
                    let done = run_step(&self.steps[index], shown);
                    state = self.lock();
                    state.running.retain(|running| *running != index);
                    state.done.push(done);
                    self.changed.notify_all();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, state: &State) -> Next {
        let mut next = Next::End;
        for (index, step) in self.steps.iter().enumerate() {
            if state.begun[index] {
                continue;
            }
            if let Some(reason) = self.obstacle(step, state) {
                return Next::Skip(index, reason);
            }
            let is_ready = step.needs.iter().all(|need| {
                // A step of another run, or left out by `--only`, is taken for done.
                let is_here = self.steps.iter().any(|step| step.name == *need);
                !is_here || state.done.iter().any(|done| done.name == *need)
            });
            let folder = step.build_folder;
            let is_locked = folder.is_some()
                && state
                    .running
                    .iter()
                    .any(|&index| self.steps[index].build_folder == folder);
            if is_ready && !is_locked {
                return Next::Run(index);
            }
            next = Next::Wait;
        }
        next
    }

    /// Why a step cannot be run, whatever comes.
    fn obstacle(&self, step: &Step<'_>, state: &State) -> Option<String> {
        let failed = state
            .done
            .iter()
            .find(|done| done.outcome != Outcome::Passed && step.needs.contains(&&*done.name))?;
        Some(match failed.outcome {
            Outcome::NotRun(_) => format!("it needs {}, which was not run", failed.name),
            _ => format!("it needs {}, which failed", failed.name),
        })
    }
}

fn run_step(step: &Step<'_>, shown: bool) -> Done {
    let name = step.name.clone();
    let began = Instant::now();
    if shown {
        println!("── {name}");
    } else {
        println!("   {name} begins");
    }
    let output = match shown {
        true => Ok(Output::Shown),
        false => Output::kept(),
    };
    let (result, text) = match output {
        Err(error) => (Err(format!("cannot keep its output: {error}")), Vec::new()),
        Ok(output) => {
            let result = (step.work)(&output);
            match kept_text(output) {
                Ok(text) => (result, text),
                Err(error) => (Err(format!("cannot read its output: {error}")), Vec::new()),
            }
        }
    };
    let took = began.elapsed();
    let (verdict, outcome) = match result {
        Ok(()) => ("ok".to_owned(), Outcome::Passed),
        Err(reason) => (format!("FAILED: {reason}"), Outcome::Failed(reason)),
    };
    // In one piece, so that no other step comes between.
    let mut block = String::new();
    if !shown {
        let _ = writeln!(
            block,
            "── {name}\n{}",
            String::from_utf8_lossy(&text).trim_end()
        );
    }
    let _ = writeln!(block, "   {name}: {verdict}, {}\n", seconds(took));
    print!("{block}");
    Done {
        name,
        outcome,
        took,
    }
}

/// A file that is appended to and has no name.
fn unnamed_file() -> io::Result<File> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("vectored-step-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create_new(true).open(&path);
    let file = file?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// All that a file holds.
fn text_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    Ok(text)
}

fn kept_text(output: Output) -> io::Result<Vec<u8>> {
    match output {
        Output::Shown => Ok(Vec::new()),
        Output::Kept(mut file, _) => text_of(&mut file),
    }
}

/// `command` as a line that a shell repeats.
pub fn shell_line(command: &Command) -> String {
    let folder = command.get_current_dir().unwrap_or(root());
    let mut line = format!("cd {}", quoted(&folder.to_string_lossy()));
    line.push_str(" &&");
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            let value = quoted(&value.to_string_lossy());
            let _ = write!(line, " {}={value}", name.to_string_lossy());
        }
    }
    let program = Path::new(command.get_program());
    // Cargo names itself by the path of its toolchain; `cargo` is shorter.
    let is_cargo = program.file_name().is_some_and(|name| name == "cargo");
    let program = if is_cargo {
        "cargo".as_ref()
    } else {
        command.get_program()
    };
    for word in std::iter::once(program).chain(command.get_args()) {
        let _ = write!(line, " {}", quoted(&word.to_string_lossy()));
    }
    line
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A time in seconds, with one digit after the point.
pub fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_repeated_from_its_line() {
        let mut command = Command::new("/toolchain/bin/cargo");
        command.env("RUSTDOCFLAGS", "-D warnings");
        command.args(["doc", "it's"]);
        let line = shell_line(&command);
        let expected = r"&& RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'";
        assert!(line.ends_with(expected), "{line}");
        command.current_dir("/elsewhere");
        assert!(shell_line(&command).starts_with("cd /elsewhere &&"));
    }

    fn program(name: &'static str, program: &'static str) -> Step<'static> {
        Step::command(name, move || Command::new(program))
    }

    #[test]
    fn every_failed_step_is_reported_and_stops_only_those_that_need_it() {
        for lanes in [1, 3] {
            let steps = [
                program("good", "true"),
                program("bad", "false"),
                program("after bad", "true").needs("bad"),
                program("after that", "true").needs("after bad"),
                program("after good", "true")
                    .needs("good")
                    .needs("of another run"),
                program("missing", "no-such-program-anywhere"),
            ];
            let mut report = Report::start("cargo xtask test");
            report.run(&steps, lanes);
            assert!(!report.is_well());
            let summary = report.summary();
            assert_eq!(summary.matches("  ok       ").count(), 2, "{summary}");
            assert_eq!(summary.matches("  FAILED   ").count(), 2, "{summary}");
            for expected in [
                "repeat it with: cargo xtask test --only bad\n",
                "FAILED: missing after ",
                "not run: after bad: it needs bad, which failed",
                "not run: after that: it needs after bad, which was not run",
            ] {
                assert!(summary.contains(expected), "{summary}");
            }
        }
        let mut report = Report::start("cargo xtask test");
        report.run(&[program("good", "true")], 2);
        assert!(report.is_well());
    }

    #[test]
    fn steps_that_lock_one_folder_never_run_at_the_same_time_and_others_do() {
        let running = Mutex::new((0, 0));
        let meeting = std::sync::Barrier::new(2);
        let alone = |_: &Output| {
            {
                let mut running = running.lock().unwrap();
                running.0 += 1;
                running.1 = running.0.max(running.1);
            }
            thread::sleep(Duration::from_millis(5));
            running.lock().unwrap().0 -= 1;
            Ok(())
        };
        let meets = |_: &Output| {
            meeting.wait();
            Ok(())
        };
        let steps = [
            Step::new("a", alone).builds_in("target/debug"),
            Step::new("b", alone).builds_in("target/debug"),
            Step::new("c", alone).builds_in("target/debug"),
            // These two end only if they run at the same time.
            Step::new("d", meets).builds_in("target/debug"),
            Step::new("e", meets).builds_in("target/release"),
        ];
        let mut report = Report::start("");
        report.run(&steps, 3);
        assert!(report.is_well());
        assert_eq!(running.lock().unwrap().1, 1);
    }

    #[test]
    fn what_programs_print_is_kept_and_their_answer_returned() {
        let output = Output::kept().unwrap();
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        output.run(&mut shell("echo out; echo err >&2")).unwrap();
        let answer = output.answer(&mut shell("echo answer; echo complaint >&2"));
        assert_eq!(answer.unwrap(), "answer\n");
        let failed = output.run(&mut shell("exit 3"));
        assert_eq!(failed.unwrap_err(), "ended with exit status: 3");
        let text = String::from_utf8(kept_text(output).unwrap()).unwrap();
        assert!(
            text.starts_with("out\nerr\ncomplaint\n   failed: cd "),
            "{text}"
        );
        assert!(text.ends_with("sh -c 'exit 3'\n"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_hangs_is_killed_with_its_children_and_named() {
        let limited_to = |limit: Duration| match Output::kept().unwrap() {
            Output::Kept(file, _) => Output::Kept(file, limit),
            Output::Shown => unreachable!("its output is kept"),
        };
        // A process that outlives its parent is not waited for.
        let mut leaves = Command::new("sh");
        leaves.args(["-c", "sleep 600 & echo $!"]);
        let left = limited_to(LONGEST).answer(&mut leaves).unwrap();
        let killed = Command::new("kill").arg(left.trim()).status();
        assert!(killed.unwrap().success(), "{left} has ended");
        let output = limited_to(Duration::from_secs(2));
        let mut hangs = Command::new("sh");
        hangs.args(["-c", "echo began; sleep 100000 & sleep 200000"]);
        let reason = output.answer(&mut hangs).unwrap_err();
        assert_eq!(reason, "did not end within 2.0 s and was killed");
        let text = String::from_utf8(kept_text(output).unwrap()).unwrap();
        for expected in [
            "it has run too long",
            " sleep 100000\n",
            " sleep 200000\n",
            "failed: cd ",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
