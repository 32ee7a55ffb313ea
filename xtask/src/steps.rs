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

use crate::{root, skips};

/// The lists that run at the same time. Each machine that runs all steps has two processors.
const LANES: usize = 2;

/// The longest that a step of a list may take: some minutes are usual, and four times as many on a busy machine. A step that
/// hangs would otherwise use up the time of the whole run, without a word which step it was.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The variable by which the processes of a step are found. It has the step's name and this process.
const MARK: &str = "VECTORED_STEP";

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

    /// Leaves the step out if the step `name`, before it in its list, has failed.
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
    /// Starts the clock and the list of skips. `command` is the one that takes `--only STEP`.
    pub fn start(command: &'static str) -> Result<Self> {
        skips::begin()?;
        Ok(Report {
            command,
            began: Instant::now(),
            done: Vec::new(),
        })
    }

    /// Runs a step in this process, whose output is shown.
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        println!("── {name}");
        let began = Instant::now();
        let done = Done::since(began, name, work());
        println!("{}", done.verdict());
        self.done.push(done);
    }

    /// Runs lists of steps in two lanes, each step by `command` with its name. A lane that has ended a list takes the next
    /// one. The output of a step is kept, and shown as a whole when the step ends.
    pub fn run_lists(&mut self, lists: &[Vec<Step<'_>>], command: impl Fn(&str) -> Command + Sync) {
        let run_list = |steps: &Vec<Step<'_>>| {
            let mut over: Vec<Done> = Vec::new();
            for step in steps {
                let name = &step.name;
                let began = Instant::now();
                let failed =
                    |done: &&Done| step.needs == Some(&*done.name) && done.failure.is_some();
                let (outcome, output) = match over.iter().find(failed) {
                    Some(needed) => {
                        let why = anyhow::anyhow!("not run, since {} failed", needed.name);
                        (Err(why), String::new())
                    }
                    None => {
                        println!("   {name} begins");
                        run_kept(name, &mut command(name), LONGEST)
                    }
                };
                let done = Done::since(began, name, outcome);
                // In one piece, so that no other step comes between.
                print!("── {name}\n{output}{}\n", done.verdict());
                over.push(done);
            }
            over
        };
        let left = Mutex::new(lists.iter());
        let run_lane = || {
            let lists = std::iter::from_fn(|| left.lock().expect("no lane panics").next());
            lists.flat_map(run_list).collect::<Vec<Done>>()
        };
        thread::scope(|scope| {
            let lanes = [(); LANES].map(|()| scope.spawn(run_lane));
            for lane in lanes {
                self.done.extend(lane.join().expect("no lane panics"));
            }
        });
    }

    /// Prints what was skipped and the summary. The error names the steps that failed.
    pub fn end(self) -> Result<()> {
        println!("{}\n\n{}", skips::end()?, self.summary());
        let failed: Vec<&str> = self.failures().map(|(done, _)| &*done.name).collect();
        if failed.is_empty() {
            return Ok(());
        }
        bail!("failed: {}", failed.join(", "))
    }

    fn failures(&self) -> impl Iterator<Item = (&Done, &String)> {
        self.done
            .iter()
            .filter_map(|done| Some((done, done.failure.as_ref()?)))
    }

    /// One line a step, the longest first, the total, and each failed step with the command that repeats it.
    fn summary(&self) -> String {
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
        let (total, sum) = (
            seconds(self.began.elapsed()),
            self.done.iter().map(|done| done.took).sum(),
        );
        let _ = write!(
            text,
            "{total:>8}  in total; the steps together took {}",
            seconds(sum)
        );
        for (Done { name, .. }, reason) in self.failures() {
            let _ = write!(
                text,
                "\n\nFAILED: {name}: {reason}\n  repeat it with: {} --only {name}",
                self.command
            );
        }
        text
    }
}

impl Done {
    fn since(began: Instant, name: &str, outcome: Result<()>) -> Self {
        let failure = outcome.err().map(|error| format!("{error:#}"));
        Done {
            name: name.to_owned(),
            took: began.elapsed(),
            failure,
        }
    }

    fn verdict(&self) -> String {
        let verdict = self
            .failure
            .as_ref()
            .map_or("ok".to_owned(), |reason| format!("FAILED: {reason}"));
        format!("   {}: {verdict}, {}\n", self.name, seconds(self.took))
    }
}

/// Runs a program whose output is kept in a file of `target/steps`, and returned.
fn run_kept(name: &str, command: &mut Command, longest: Duration) -> (Result<()>, String) {
    let path = root()
        .join("target/steps")
        .join(name.replace(['/', ':'], "-"));
    let mark = format!("{MARK}={name}-{}", std::process::id());
    let outcome = run_to_file(&path, command, &mark, longest);
    let output = fs::read(&path).unwrap_or_default();
    (outcome, String::from_utf8_lossy(&output).into_owned())
}

fn run_to_file(path: &Path, command: &mut Command, mark: &str, longest: Duration) -> Result<()> {
    let mut file =
        File::create(path).with_context(|| format!("cannot write '{}'", path.display()))?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file.try_clone()?);
    command.env(MARK, &mark[MARK.len() + 1..]);
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
        thread::sleep(Duration::from_millis(10));
    }
    writeln!(file, "it has run too long; its processes:")?;
    for (pid, line) in marked(mark)? {
        writeln!(file, "   {pid} {line}")?;
    }
    // Until none has started another one meanwhile.
    loop {
        let pids: Vec<String> = marked(mark)?.into_iter().map(|(pid, _)| pid).collect();
        if pids.is_empty() {
            break;
        }
        Command::new("kill")
            .arg("-KILL")
            .args(pids)
            .stderr(Stdio::null())
            .status()?;
    }
    child.kill()?;
    child.wait()?;
    bail!("did not end within {} and was killed", seconds(longest))
}

/// The processes with a variable: their numbers and command lines. None where there is no `/proc`.
fn marked(variable: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Ok(found);
    };
    for entry in entries {
        let process = entry?;
        // One that has ended meanwhile has neither, and what is no process neither.
        let [variables, line] = ["environ", "cmdline"].map(|name| {
            let bytes = fs::read(process.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        if variables.split('\0').any(|one| one == variable) {
            let pid = process.file_name().to_string_lossy().into_owned();
            found.push((pid, line.replace('\0', " ").trim_end().to_owned()));
        }
    }
    Ok(found)
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
        let mut report = Report::start("cargo xtask test").unwrap();
        report.run_lists(&lists, |name| match name {
            "bad" => shell("echo out; echo this is wrong >&2; exit 1"),
            _ => shell("true"),
        });
        report.run("worse", || bail!("wrong"));
        let summary = report.summary();
        assert_eq!(summary.matches("  ok      ").count(), 3, "{summary}");
        for expected in [
            "FAILED: bad: this is wrong\n  repeat it with: cargo xtask test --only bad\n",
            "FAILED: after bad: not run, since bad failed\n",
            "FAILED: worse: wrong\n",
        ] {
            assert!(summary.contains(expected), "{summary}");
        }
        let error = report.end().unwrap_err().to_string();
        assert_eq!(error, "failed: bad, after bad, worse");
    }

    #[test]
    fn two_lists_run_at_the_same_time_and_the_third_after_one_of_them() {
        let folder = std::env::temp_dir().join(format!("vectored-lanes-{}", std::process::id()));
        // Of a killed run whose process had this number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let lists = ["a", "b", "c"].map(|name| vec![Step::new(name, || Ok(()))]);
        let mut report = Report {
            command: "",
            began: Instant::now(),
            done: Vec::new(),
        };
        fs::create_dir_all(root().join("target/steps")).unwrap();
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
        assert_eq!(report.failures().count(), 0, "{}", report.summary());
        assert!(folder.join("c").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_step_that_hangs_is_killed_with_its_children_and_named() {
        fs::create_dir_all(root().join("target/steps")).unwrap();
        // A process that outlives its parent is not waited for.
        let (outcome, left) = run_kept("test-leaves", &mut shell("sleep 600 & echo $!"), LONGEST);
        outcome.unwrap();
        let killed = Command::new("kill").arg(left.trim()).status();
        assert!(killed.unwrap().success(), "{left} has ended");
        // `setsid`: a session of its own, as of a daemon.
        let mut hangs = shell("echo began; setsid sleep 100000 & sleep 200000");
        let (outcome, output) = run_kept("test-hangs", &mut hangs, Duration::from_secs(2));
        assert_eq!(
            outcome.unwrap_err().to_string(),
            "did not end within 2.0 s and was killed"
        );
        for expected in [
            "began\nit has run too long",
            " sleep 100000\n",
            " sleep 200000\n",
        ] {
            assert!(output.contains(expected), "{expected}: {output}");
        }
        assert_eq!(
            marked(&format!("{MARK}=test-hangs-{}", std::process::id())).unwrap(),
            []
        );
    }
}
