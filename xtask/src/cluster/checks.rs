//! What is checked with ranks that `mpirun` starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Mpi;
use crate::processes::{descendants, kill_with_descendants};
use crate::scratch::Scratch;
use crate::skips::skip;

/// The longest that a run may take, which then counts as failed: ranks may wait for each other for ever.
const LONGEST: Duration = Duration::from_secs(120);

/// The process from which all others descend.
const INIT: u32 = 1;

type Check = fn(&Mpi, &Path, &Path) -> Result<()>;

const CHECKS: [(&str, Check); 5] = [
    ("all ranks measure the same cells together", together),
    ("a rank that is killed leaves a partial result", killed),
    ("a rank without room ends the run, which names it", full),
    (
        "a number of ranks that were not started is refused once",
        refused,
    ),
    (
        "a signal to any rank ends the run, which keeps what was measured",
        stopped,
    ),
];

/// Runs every check; false if one failed.
pub fn all(mpi: &Mpi, program: &Path, scratch: &Scratch) -> Result<bool> {
    let mut passed = true;
    for (index, (name, check)) in CHECKS.into_iter().enumerate() {
        let state = scratch.folder(&format!("{}-{index}", mpi.mpicc))?;
        match check(mpi, program, &state) {
            Ok(()) => println!("   {}: {name}: ok", mpi.name),
            Err(error) => {
                passed = false;
                println!("   {}: {name}: FAILED: {error:#}", mpi.name);
            }
        }
    }
    Ok(passed)
}

/// A command that saves its results in `state`.
fn measure(mpi: &Mpi, ranks: u32, program: &Path, state: &Path) -> Command {
    let mut command = mpi.command(ranks, program);
    command.env("XDG_STATE_HOME", state);
    command.args(["measure", "--dir"]).arg(state);
    command.args(["--technique", "copy-then-write,writev", "--segments", "4"]);
    command
}

fn together(mpi: &Mpi, program: &Path, state: &Path) -> Result<()> {
    let mut command = measure(mpi, 4, program, state);
    command.args("--details --target pipe --sizes 64 --ranks 1,2,4 --budget 3s".split(' '));
    let output = succeeded(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        text.matches("Several ranks: pipe").count() == 1,
        "not one table of ranks, but:\n{text}"
    );
    let result = saved(state)?;
    expect_ranks(&result, 4)?;
    let counts: Vec<u64> = list(&result["cells"])
        .iter()
        .filter_map(|cell| cell["ranks"].as_u64())
        .collect();
    // On a slow machine the budget ends before the last cells begin.
    ensure!([1, 2, 4].starts_with(&counts), "cells of {counts:?} ranks");
    // Cells of one rank, too.
    let models = list(&result["cost_models"]);
    ensure!(models.is_empty(), "ranks give cost models: {models:?}");
    let coordination = &result["coordination"];
    ensure!(coordination["samples"].as_u64() > Some(0), "{coordination}");
    Ok(())
}

/// The result has `ranks` ranks, each with a time in each cell that it took part in.
pub(super) fn expect_ranks(result: &Value, ranks: usize) -> Result<()> {
    ensure!(
        list(&result["ranks"]).len() == ranks,
        "ranks: {}",
        result["ranks"]
    );
    for (number, rank) in list(&result["ranks"]).iter().enumerate() {
        ensure!(rank["rank"] == number, "rank {number} is {rank}");
        ensure!(
            rank["host"].as_str() != Some(""),
            "rank {number} has no host: {rank}"
        );
    }
    ensure!(!list(&result["cells"]).is_empty(), "no cell");
    for cell in list(&result["cells"]) {
        for technique in list(&cell["techniques"]) {
            let times = list(&technique["ranks"]["rank_median_ns"]);
            ensure!(
                Some(times.len() as u64) == cell["ranks"].as_u64(),
                "{} has {} times on {} ranks",
                technique["name"],
                times.len(),
                cell["ranks"]
            );
        }
    }
    Ok(())
}

/// The options of a run that would take a minute.
pub(super) const A_MINUTE: &str = "--target file --sizes 64,256,1KiB --budget 60s";

/// A run that would take a minute, when its first result is saved.
fn begun(mut command: Command, state: &Path) -> Result<Run> {
    command.args(A_MINUTE.split(' '));
    let mut run = Run::start(command)?;
    wait_for("a saved result", || {
        if let Ok(result) = saved(state) {
            return Ok(Some(result));
        }
        match run.0.try_wait()? {
            None => Ok(None),
            Some(status) => bail!("the run ended before it saved anything: {status}"),
        }
    })?;
    Ok(run)
}

/// An mpirun, which is killed with its ranks when this is dropped.
struct Run(Child);

impl Run {
    fn start(mut command: Command) -> Result<Self> {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Run(command.spawn().context("cannot start mpirun")?))
    }

    fn wait(mut self) -> Result<ExitStatus> {
        wait_for("the end of mpirun", || Ok(self.0.try_wait()?))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        let killed = kill_with_descendants(self.0.id()).and_then(|()| self.0.wait());
        if let Err(error) = killed {
            eprintln!("cannot kill mpirun: {error}");
        }
    }
}

fn killed(mpi: &Mpi, program: &Path, state: &Path) -> Result<()> {
    let run = begun(measure(mpi, 3, program, state), state)?;
    let ranks = ranks_of(program, run.0.id())?;
    ensure!(ranks.len() == 3, "{} ranks run: {ranks:?}", ranks.len());
    send("-KILL", ranks[2])?;
    let status = run.wait()?;
    ensure!(!status.success(), "the run succeeded without a rank");
    // Those that have lost their parents end by themselves.
    wait_for("the end of all ranks", || {
        Ok(ranks_of(program, INIT)?.is_empty().then_some(()))
    })?;
    let result = saved(state)?;
    ensure!(
        result["complete"] == false,
        "the partial result is marked as complete"
    );
    expect_ranks(&result, 3)
}

fn stopped(mpi: &Mpi, program: &Path, state: &Path) -> Result<()> {
    let run = begun(measure(mpi, 3, program, state), state)?;
    // To one rank, whose signal rank 0 learns of, and then to rank 0: as by a launcher, whose signals come one by one.
    let ranks = ranks_of(program, run.0.id())?;
    let first = first_of(&ranks)?;
    let other = ranks.iter().find(|pid| **pid != first);
    send("-TERM", *other.context("no second rank runs")?)?;
    // A rank that has ended is no failure of this check.
    let _ = send("-TERM", first);
    // The exit status is that of SIGTERM. It is the same if a rank dies of it: what is saved tells the two apart.
    let status = run.wait()?;
    ensure!(status.code() == Some(143), "the run ended with {status}");
    expect_kept(state, 3)
}

/// A run that a signal has ended has saved one result, when it ended, with `ranks` ranks.
pub(super) fn expect_kept(state: &Path, ranks: usize) -> Result<()> {
    let files = files(&state.join("vectored"))?;
    ensure!(files.len() == 1, "one run saved {} results", files.len());
    let result = read(&files[0])?;
    let reason = &result["left_out"][0]["reason"];
    // A result saved during the run gives the reason "the run had not yet come to these cells".
    ensure!(
        !reason.as_str().is_some_and(|reason| reason.contains("yet")),
        "the result is not the last one: {reason}"
    );
    ensure!(
        result["complete"] == false,
        "the run was complete before the signal"
    );
    expect_ranks(&result, ranks)
}

/// Looks for something until it is there, at most [`LONGEST`].
pub(super) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(
            began.elapsed() < LONGEST,
            "waited {LONGEST:?} in vain for {what}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

fn send(signal: &str, pid: u32) -> Result<()> {
    succeeded(Command::new("kill").args([signal, &pid.to_string()])).map(drop)
}

/// The process of rank 0.
fn first_of(ranks: &[u32]) -> Result<u32> {
    for pid in ranks {
        let environment =
            fs::read(format!("/proc/{pid}/environ")).context("cannot look at a rank")?;
        let mut variables = environment.split(|byte| *byte == 0);
        if variables
            .any(|variable| variable == b"OMPI_COMM_WORLD_RANK=0" || variable == b"PMI_RANK=0")
        {
            return Ok(*pid);
        }
    }
    bail!("none of the processes {ranks:?} is rank 0")
}

fn full(mpi: &Mpi, program: &Path, state: &Path) -> Result<()> {
    let small = state.join("small");
    fs::create_dir_all(&small).context("cannot make a folder")?;
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "vectored-test"])
        .arg(&small)
        .output()
        .context("cannot run mount")?;
    if !mount.status.success() {
        let why = String::from_utf8_lossy(&mount.stderr).trim().to_owned();
        return skip("cluster:full", &format!("cannot mount a tmpfs: {why}"));
    }
    let _mounted = Mounted(small.clone());
    // The second rank alone measures in the file system without room.
    let script = state.join("rank.sh");
    let text = "#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\ndir=$1\n\
                if [ \"$rank\" = 1 ]; then dir=$2; fi\nshift 2\nexec \"$@\" --dir \"$dir\"\n";
    fs::write(&script, text).context("cannot write a script")?;
    let mut command = mpi.command(3, Path::new("/bin/sh"));
    command.arg(&script).arg(state).arg(&small).arg(program);
    command.env("XDG_STATE_HOME", state);
    command.args("measure --target file --segments 2 --sizes 64KiB --budget 2s".split(' '));
    let output = run(&mut command)?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success(),
        "the run succeeded with a rank without room"
    );
    let errors: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    ensure!(
        errors.len() == 1
            && errors[0].contains("rank 1 on ")
            && errors[0].contains("not enough free space"),
        "the error does not name the rank: {text}"
    );
    Ok(())
}

/// A file system that is unmounted with this value.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = succeeded(Command::new("umount").arg(&self.0)) {
            eprintln!("{error:#}");
        }
    }
}

fn refused(mpi: &Mpi, program: &Path, state: &Path) -> Result<()> {
    let mut command = measure(mpi, 2, program, state);
    let output = run(command.args(["--ranks", "4"]))?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "4 of 2 ranks measured");
    let errors = text
        .matches("error: --ranks 4 needs as many ranks, and 2 were started")
        .count();
    ensure!(errors == 1, "the error is printed {errors} times: {text}");
    Ok(())
}

/// The ranks: the processes that run the program and descend from `ancestor`.
fn ranks_of(program: &Path, ancestor: u32) -> Result<Vec<u32>> {
    let program = program.canonicalize()?;
    let processes = descendants(ancestor).context("cannot list the processes")?;
    let pids = processes.iter().map(|process| process.pid);
    let runs_it =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
    Ok(pids.filter(runs_it).collect())
}

/// Runs a command to its end, at most [`LONGEST`].
fn run(command: &mut Command) -> Result<Output> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {command:?}"))?;
    let pid = child.id();
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let guard = thread::spawn(move || {
        if receiver
            .recv_timeout(LONGEST)
            .is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            // The ranks hold the pipe of its output, which is read to the end.
            let _ = kill_with_descendants(pid);
        }
    });
    let output = child.wait_with_output()?;
    drop(sender);
    let _ = guard.join();
    Ok(output)
}

pub(super) fn succeeded(command: &mut Command) -> Result<Output> {
    let output = run(command)?;
    if !output.status.success() {
        bail!(
            "{command:?} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output)
}

/// The one result of a run that was saved below `state`.
pub(super) fn saved(state: &Path) -> Result<Value> {
    let files = files(&state.join("vectored"))?;
    let first = files.first().context("no result was saved")?;
    read(first)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list '{}'", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn read(path: &Path) -> Result<Value> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read '{}'", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("'{}' is no JSON", path.display()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
