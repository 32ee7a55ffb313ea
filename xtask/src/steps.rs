//! Runs steps one after the other, or lists of steps two at a time, each step in a process of its own.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::processes::{descendants, kill_with_descendants};
use crate::root;

/// The lists that run at the same time. Each machine that runs all steps has two processors.
const LANES: usize = 2;

/// The longest that a step of a list may take: some minutes are usual. One that hangs would otherwise use up the time of
/// the whole run, and nobody would learn which it was.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The time between two looks at whether a step has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// One step of a run.
pub struct Step<'a> {
    /// Its name, as `--only` takes it.
    pub name: String,
    /// The step before it in its list that must have succeeded.
    needs: Option<&'static str>,
    /// What it does.
    pub work: Box<dyn Fn() -> Result<()> + Send + Sync + 'a>,
}

impl<'a> Step<'a> {
    /// A step that calls a function.
    pub fn new(name: impl Into<String>, work: impl Fn() -> Result<()> + Send + Sync + 'a) -> Self {
        Step {
            name: name.into(),
            needs: None,
            work: Box::new(work),
        }
    }

    /// The same step, which needs the success of another one.
    pub fn needs(mut self, name: &'static str) -> Self {
        self.needs = Some(name);
        self
    }
}

/// A step that is over: passed, or failed for this reason.
struct Done {
    name: String,
    took: Duration,
    failure: Option<String>,
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

    /// Runs a step in this process, whose output is shown; false if it failed.
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> bool {
        println!("── {name}");
        let began = Instant::now();
        let failure = work().err().map(|error| format!("{error:#}"));
        let done = Done::since(began, name, failure);
        println!("{}", done.verdict());
        self.done.push(done);
        self.is_well()
    }

    /// Runs lists of steps in two lanes, each step by `command` with its name. A lane that has ended a list takes the next
    /// one. The output of a step is kept, and shown as a whole when the step ends.
    pub fn run_lists(&mut self, lists: &[Vec<Step<'_>>], command: impl Fn(&str) -> Command + Sync) {
        let run_list = |steps: &Vec<Step<'_>>| {
            let mut over: Vec<Done> = Vec::new();
            for step in steps {
                let name = &step.name;
                let began = Instant::now();
                let needed = over.iter().find(|done| step.needs == Some(&*done.name));
                let is_ready = needed.is_none_or(|done| done.failure.is_none());
                let (failure, output) = if is_ready {
                    println!("   {name} begins");
                    run_kept(name, &mut command(name), LONGEST)
                } else {
                    let needed = step.needs.unwrap_or_default();
                    let why = format!("not run, since {needed} failed");
                    (Some(why), String::new())
                };
                let done = Done::since(began, name, failure);
                // In one piece, so that no other step comes between.
                print!("── {name}\n{output}{}\n", done.verdict());
                over.push(done);
            }
            over
        };
        let left = Mutex::new(lists.iter());
        let run_lane = || {
            let next = || left.lock().expect("no lane panics").next();
            let lists = std::iter::from_fn(next);
            lists.flat_map(run_list).collect::<Vec<Done>>()
        };
        thread::scope(|scope| {
            let lanes = [(); LANES].map(|()| scope.spawn(run_lane));
            for lane in lanes {
                self.done.extend(lane.join().expect("no lane panics"));
            }
        });
    }

    /// Whether every step passed.
    pub fn is_well(&self) -> bool {
        self.done.iter().all(|done| done.failure.is_none())
    }

    /// One line a step, the longest first, the total, and each failed step with the command that repeats it.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let mut done: Vec<&Done> = self.done.iter().collect();
        done.sort_by_key(|done| std::cmp::Reverse(done.took));
        for done in done {
            let verdict = if done.failure.is_none() { "ok" } else { "FAILED" };
            let _ = writeln!(
                text,
                "{:>8}  {verdict:<6}  {}",
                seconds(done.took),
                done.name
            );
        }
        let sum = self.done.iter().map(|done| done.took).sum();
        let _ = write!(
            text,
            "{:>8}  in total; the steps together took {}",
            seconds(self.began.elapsed()),
            seconds(sum)
        );
        for done in &self.done {
            if let Some(reason) = &done.failure {
                let (name, command) = (&done.name, self.command);
                let _ = write!(
                    text,
                    "\n\nFAILED: {name}: {reason}\n  repeat it with: {command} --only {name}"
                );
            }
        }
        text
    }
}

impl Done {
    fn since(began: Instant, name: &str, failure: Option<String>) -> Self {
        Done {
            name: name.to_owned(),
            took: began.elapsed(),
            failure,
        }
    }

    fn verdict(&self) -> String {
        let verdict = match &self.failure {
            None => "ok".to_owned(),
            Some(reason) => format!("FAILED: {reason}"),
        };
        format!("   {}: {verdict}, {}\n", self.name, seconds(self.took))
    }
}

/// Runs a program whose output is kept in a file of `target/steps`: the reason if it failed, and its output.
fn run_kept(name: &str, command: &mut Command, longest: Duration) -> (Option<String>, String) {
    let path = root()
        .join("target/steps")
        .join(name.replace(['/', ':'], "-"));
    let failure = run_to_file(&path, command, longest).err();
    let output = fs::read(&path).unwrap_or_default();
    let output = String::from_utf8_lossy(&output).into_owned();
    (failure.map(|error| format!("{error:#}")), output)
}

fn run_to_file(path: &Path, command: &mut Command, longest: Duration) -> Result<()> {
    let cannot = || format!("cannot write '{}'", path.display());
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).with_context(cannot)?;
    let mut file = File::create(path).with_context(cannot)?;
    let clone = || file.try_clone().with_context(cannot);
    command
        .stdin(Stdio::null())
        .stdout(clone()?)
        .stderr(clone()?);
    let mut child = command.spawn().context("cannot start it")?;
    let began = Instant::now();
    while began.elapsed() < longest {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(());
            }
            let output = fs::read(path).unwrap_or_default();
            bail!("{}", reason(&String::from_utf8_lossy(&output)));
        }
        thread::sleep(LOOK_EVERY);
    }
    writeln!(
        file,
        "it has run too long; its processes (number, state, processor time, command):"
    )?;
    for process in descendants(child.id())? {
        let (state, line) = (process.state(), process.command_line());
        writeln!(file, "   {} {state} {line}", process.pid)?;
    }
    kill_with_descendants(child.id())?;
    child.wait()?;
    bail!("did not end within {} and was killed", seconds(longest))
}

/// The last error that a program printed, or its last line.
fn reason(output: &str) -> &str {
    let mut lines = output.lines().rev();
    let error = lines.clone().find_map(|line| line.strip_prefix("error: "));
    error.or(lines.next()).unwrap_or("it printed nothing")
}

/// A time in seconds, with one digit after the point.
fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn every_failed_step_is_reported_and_stops_only_those_that_need_it() {
        let step = |name| Step::new(name, || Ok(()));
        let lists = [
            vec![step("good"), step("bad"), step("after bad").needs("bad")],
            vec![step("after good").needs("good")],
            vec![step("last")],
        ];
        let mut report = Report::start("cargo xtask test");
        report.run_lists(&lists, |name| match name {
            "bad" => shell("echo out; echo this is wrong >&2; exit 1"),
            _ => shell("true"),
        });
        assert!(!report.is_well());
        let summary = report.summary();
        assert_eq!(summary.matches("  ok      ").count(), 3, "{summary}");
        for expected in [
            "FAILED: bad: this is wrong\n  repeat it with: cargo xtask test --only bad\n",
            "FAILED: after bad: not run, since bad failed\n",
        ] {
            assert!(summary.contains(expected), "{summary}");
        }
        let mut report = Report::start("cargo xtask test");
        assert!(report.run("good", || Ok(())));
        assert!(!report.run("bad", || bail!("wrong")));
        assert!(report.summary().contains("FAILED: bad: wrong\n"));
    }

    #[test]
    fn two_lists_run_at_the_same_time_and_the_third_after_one_of_them() {
        let folder = std::env::temp_dir().join(format!("vectored-lanes-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let lists = ["a", "b", "c"].map(|name| vec![Step::new(name, || Ok(()))]);
        let mut report = Report::start("");
        report.run_lists(&lists, |name| {
            let mut step = shell(match name {
                // Ends when the others have begun.
                "a" => "touch a; until test -e b && test -e c; do sleep 0.01; done",
                "b" => "touch b; until test -e a; do sleep 0.01; done; sleep 0.2; test ! -e c",
                _ => "touch c",
            });
            step.current_dir(&folder);
            step
        });
        assert!(report.is_well(), "{}", report.summary());
        assert!(folder.join("c").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_step_that_hangs_is_killed_with_its_children_and_named() {
        // A process that outlives its parent is not waited for.
        let (failure, left) = run_kept("test-leaves", &mut shell("sleep 600 & echo $!"), LONGEST);
        assert_eq!(failure, None);
        let killed = Command::new("kill").arg(left.trim()).status();
        assert!(killed.unwrap().success(), "{left} has ended");
        let mut hangs = shell("echo began; sleep 100000 & sleep 200000");
        let (failure, output) = run_kept("test-hangs", &mut hangs, Duration::from_secs(2));
        let reason = "did not end within 2.0 s and was killed";
        assert_eq!(failure.as_deref(), Some(reason));
        for expected in [
            "began\nit has run too long",
            " sleep 100000\n",
            " sleep 200000\n",
        ] {
            assert!(output.contains(expected), "{expected}: {output}");
        }
    }
}
