//! Runs steps one after the other, or lists of steps two at a time, each step in another process.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::{root, skips};

/// The lists that run at the same time. Each machine that runs all steps has two processors.
const LANES: usize = 2;

/// The seconds after which a step of a list is killed. Usual steps take some minutes, and four times as long on a busy machine.
/// Without this limit, a step that hangs would use up the time of the whole run, and nothing would tell which step hangs.
const LONGEST: &str = "3600";

/// The exit status of `timeout` when it has killed the step.
const KILLED: [Option<i32>; 2] = [Some(124), Some(137)];

/// One step of a run: its name, as `--only` takes it, and what it does.
pub struct Step {
    pub name: &'static str,
    pub work: Box<dyn Fn() -> Result<()> + Send + Sync>,
}

impl Step {
    pub fn new(name: &'static str, work: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        let work = Box::new(work);
        Step { name, work }
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
    /// Starts the clock and the list of skips. `command` is the command that takes `--only STEP`.
    pub fn start(command: &'static str) -> Result<Self> {
        skips::begin()?;
        Ok(Report {
            command,
            began: Instant::now(),
            done: Vec::new(),
        })
    }

    /// Runs a step in this process, and shows its output.
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        println!("── {name}");
        self.done.push(done(name, "", Instant::now(), work));
    }

    /// Runs lists of steps in two lanes, each step by `command` with its name. A lane that has ended a list takes the next
    /// list. The output of a step is kept, and shown as a whole when the step ends.
    pub fn run_lists(&mut self, lists: &[Vec<Step>], command: impl Fn(&str) -> Command + Sync) {
        let (left, over) = (Mutex::new(lists.iter()), Mutex::new(&mut self.done));
        let next = || left.lock().expect("no lane panics").next();
        let run_lane = || {
            for Step { name, .. } in std::iter::from_fn(next).flatten() {
                let began = Instant::now();
                println!("   {name} begins");
                let (outcome, output) = run_kept(name, &command(name), LONGEST);
                // Printed in one piece, so that no other step comes between.
                let done = done(name, &format!("── {name}\n{output}"), began, || outcome);
                over.lock().expect("no lane panics").push(done);
            }
        };
        thread::scope(|scope| [(); LANES].map(|()| scope.spawn(run_lane)).map(drop));
    }

    /// Prints what was skipped and the summary. The error names the steps that failed.
    pub fn end(self) -> Result<()> {
        println!("{}\n\n{}", skips::end()?, self.summary());
        let failed = self.done.iter().filter(|done| done.failure.is_some());
        let failed: Vec<&str> = failed.map(|done| &*done.name).collect();
        if failed.is_empty() {
            return Ok(());
        }
        bail!("failed: {}", failed.join(", "))
    }

    /// One line a step, the longest first, the total, and each failed step with the command that repeats it.
    fn summary(&self) -> String {
        let mut text = String::new();
        let mut done: Vec<&Done> = self.done.iter().collect();
        done.sort_by_key(|done| std::cmp::Reverse(done.took));
        for Done {
            name,
            took,
            failure,
        } in done
        {
            let verdict = if failure.is_none() { "ok" } else { "FAILED" };
            let _ = writeln!(text, "{:>8}  {verdict:<6}  {name}", seconds(*took));
        }
        let sum = seconds(self.done.iter().map(|done| done.took).sum());
        let total = seconds(self.began.elapsed());
        let _ = write!(text, "{total:>8}  in total; the steps together took {sum}");
        for Done { name, failure, .. } in &self.done {
            if let Some(reason) = failure {
                let command = self.command;
                let repeat = format!("  repeat it with: {command} --only {name}");
                let _ = write!(text, "\n\nFAILED: {name}: {reason}\n{repeat}");
            }
        }
        text
    }
}

/// Does the work, and prints the heading and the outcome.
fn done(name: &str, heading: &str, began: Instant, work: impl FnOnce() -> Result<()>) -> Done {
    let failure = work().err().map(|error| format!("{error:#}"));
    let took = began.elapsed();
    let verdict = failure.as_ref().map(|reason| format!("FAILED: {reason}"));
    let verdict = verdict.as_deref().unwrap_or("ok");
    println!("{heading}   {name}: {verdict}, {}\n", seconds(took));
    Done {
        name: name.to_owned(),
        took,
        failure,
    }
}

/// Runs a program. Its output is kept in a file of `target/steps`, and returned. After `longest`, the program and its children
/// are killed.
fn run_kept(name: &str, command: &Command, longest: &str) -> (Result<()>, String) {
    let path = root()
        .join("target/steps")
        .join(name.replace(['/', ':'], "-"));
    let outcome = File::create(&path).and_then(|file| {
        // The step ends with this program: `timeout` puts it into a group that ^C does not reach.
        let mut limited = Command::new("setpriv");
        limited.args(["--pdeathsig=TERM", "timeout", "--kill-after=10", longest]);
        limited.arg(command.get_program());
        limited.args(command.get_args()).stdin(Stdio::null());
        for (variable, value) in command.get_envs() {
            match value {
                Some(value) => limited.env(variable, value),
                None => limited.env_remove(variable),
            };
        }
        limited.stdout(file.try_clone()?).stderr(file).status()
    });
    let output = fs::read(&path).unwrap_or_default();
    let output = String::from_utf8_lossy(&output).into_owned();
    let outcome = match outcome {
        Ok(status) if status.success() => Ok(()),
        Ok(status) if KILLED.contains(&status.code()) => {
            Err(anyhow!("did not end within {longest} s and was killed"))
        }
        Ok(_) => Err(anyhow!("{}", reason(&output))),
        Err(error) => Err(error.into()),
    };
    (outcome, output)
}

/// The last error that a program printed, or its last line.
fn reason(output: &str) -> String {
    let mut lines = output.lines().rev();
    let error = lines.clone().find_map(|line| line.strip_prefix("error: "));
    error
        .or(lines.next())
        .unwrap_or("it printed nothing")
        .to_owned()
}

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
    fn lists_run_in_two_lanes_and_every_failed_step_is_reported() {
        let step = |name| Step::new(name, || Ok(()));
        let lists = [vec![step("bad")], vec![step("good")], vec![step("third")]];
        let folder = std::env::temp_dir().join(format!("vectored-lanes-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut report = Report::start("cargo xtask test").unwrap();
        report.run_lists(&lists, |name| {
            let script = match name {
                // `bad` and `good` end when both have begun, and `good` has seen that the third step has not begun.
                "bad" => "touch a; until test -e b; do sleep 0.01; done; echo out; echo this is wrong >&2; exit 1",
                "good" => {
                    "until test -e a; do sleep 0.01; done; test ! -e third; seen=$?; touch b; exit $seen"
                }
                _ => "touch third",
            };
            shell(&format!("cd '{}'; {script}", folder.display()))
        });
        report.run("worse", || bail!("wrong"));
        fs::remove_dir_all(&folder).unwrap();
        let summary = report.summary();
        assert_eq!(summary.matches("  ok      ").count(), 2, "{summary}");
        for expected in [
            "FAILED: bad: this is wrong\n  repeat it with: cargo xtask test --only bad\n",
            "FAILED: worse: wrong\n",
        ] {
            assert!(summary.contains(expected), "{summary}");
        }
        let error = report.end().unwrap_err().to_string();
        assert!(error.contains("bad") && error.contains("worse"), "{error}");
    }

    #[test]
    fn a_step_that_hangs_is_killed_with_its_children_and_named() {
        fs::create_dir_all(root().join("target/steps")).unwrap();
        let hangs = shell("sleep 100000 & echo $!; sleep 200000");
        let (outcome, output) = run_kept("test-hangs", &hangs, "1");
        let error = outcome.unwrap_err().to_string();
        assert_eq!(error, "did not end within 1 s and was killed");
        // The signal reaches the shell first: the child may end after it.
        let stat = format!("/proc/{}/stat", output.trim());
        let is_alive = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let until = Instant::now() + Duration::from_secs(60);
        while is_alive() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_alive(), "{output}");
    }
}
