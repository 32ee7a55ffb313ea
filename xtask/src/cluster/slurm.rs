//! A Slurm of one node, made for the test: `munged`, `slurmctld` and `slurmd` with folders, ports and a key of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Mpi;
use super::checks::{A_MINUTE, expect_kept, expect_ranks, saved, succeeded, wait_for};
use crate::commands::is_on_path;
use crate::scratch::Scratch;
use crate::skips::skip;

/// The programs of the packages `munge` and `slurm-wlm`.
const PROGRAMS: [&str; 5] = ["munged", "slurmctld", "slurmd", "sbatch", "srun"];

/// The longest wait for the node to become ready.
const LONGEST_START: Duration = Duration::from_secs(60);

type Check = fn(&Slurm, &Mpi, &Path, &Scratch) -> Result<()>;

const CHECKS: [(&str, Check); 2] = [
    ("a job of Slurm measures by mpirun and by srun", job),
    (
        "scancel ends a run, which keeps what was measured",
        cancelled,
    ),
];

/// Runs every check with jobs that `sbatch` takes; false if one failed.
pub fn check(mpi: &Mpi, program: &Path, scratch: &Scratch) -> Result<bool> {
    let missing = PROGRAMS.iter().find(|name| !is_on_path(name));
    if let Some(missing) = missing {
        let why = format!("{missing} is missing; on Debian: apt-get install slurm-wlm munge");
        skip("cluster:slurm", &why)?;
        return Ok(true);
    }
    if !is_root() {
        skip("cluster:slurm", "slurmd must be started by root")?;
        return Ok(true);
    }
    let slurm = Slurm::start(scratch.folder(&format!("slurm-{}", mpi.mpicc))?)?;
    let mut passed = true;
    for (name, check) in CHECKS {
        match check(&slurm, mpi, program, scratch) {
            Ok(()) => println!("   {}: {name}: ok", mpi.name),
            Err(error) => {
                println!("   {}: {name}: FAILED: {error:#}", mpi.name);
                passed = false;
            }
        }
    }
    Ok(passed)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|this| {
        use std::os::unix::fs::MetadataExt;
        this.uid() == 0
    })
}

fn job(slurm: &Slurm, mpi: &Mpi, program: &Path, scratch: &Scratch) -> Result<()> {
    let folder = |name: &str| scratch.folder(&format!("{name}-{}", mpi.mpicc));
    let (by_mpirun, by_srun) = (folder("by-mpirun")?, folder("by-srun")?);
    let measure = format!(
        "{} measure --target pipe --segments 4 --sizes 64 --technique writev --budget 1s",
        program.display()
    );
    let script = slurm.folder.join("job.sh");
    // As in docs/clusters.md.
    let text = format!(
        "#!/bin/sh\n#SBATCH --ntasks=4\n\
         XDG_STATE_HOME={} {} -n 4 {measure} || exit 1\n\
         XDG_STATE_HOME={} srun --mpi={} --kill-on-bad-exit=1 --ntasks=4 {measure} || exit 2\n",
        by_mpirun.display(),
        mpi.mpirun.join(" "),
        by_srun.display(),
        mpi.srun,
    );
    fs::write(&script, text).context("cannot write a job")?;
    let printed = slurm.folder.join("printed");
    let mut sbatch = slurm.command("sbatch");
    sbatch
        .arg("--wait")
        .arg("--output")
        .arg(&printed)
        .arg(&script);
    succeeded(sbatch.current_dir(&slurm.folder)).with_context(|| {
        format!(
            "the job printed: {}",
            fs::read_to_string(&printed).unwrap_or_default()
        )
    })?;
    expect_ranks(&saved(&by_mpirun)?, 4).context("mpirun in a job")?;
    expect_ranks(&saved(&by_srun)?, 4).context("srun in a job")
}

fn cancelled(slurm: &Slurm, mpi: &Mpi, program: &Path, scratch: &Scratch) -> Result<()> {
    let state = scratch.folder(&format!("cancelled-{}", mpi.mpicc))?;
    let script = slurm.folder.join("long.sh");
    let text = format!(
        "#!/bin/sh\n#SBATCH --ntasks=3\n\
         XDG_STATE_HOME={0} srun --mpi={1} --kill-on-bad-exit=1 --ntasks=3 {2} measure --dir {0} --segments 4 {A_MINUTE}\n",
        state.display(),
        mpi.srun,
        program.display()
    );
    fs::write(&script, text).context("cannot write a job")?;
    let printed = slurm.folder.join("printed-long");
    let mut sbatch = slurm.command("sbatch");
    sbatch.arg("--parsable").arg("--output").arg(&printed);
    let number = succeeded(sbatch.arg(&script).current_dir(&slurm.folder))?;
    let number = String::from_utf8_lossy(&number.stdout).trim().to_owned();
    let outcome = cancel(slurm, &number, &state, &printed);
    if outcome.is_err() {
        // Its ranks would go on without the daemons.
        let words = ["--signal=KILL", "--full"];
        succeeded(slurm.command("scancel").args(words).arg(&number))?;
        wait_for_end(slurm, &number)?;
    }
    outcome
}

fn cancel(slurm: &Slurm, number: &str, state: &Path, printed: &Path) -> Result<()> {
    wait_for("a saved result", || {
        if let Ok(result) = saved(state) {
            return Ok(Some(result));
        }
        ensure!(is_running(slurm, number)?, "the job ended");
        Ok(None)
    })
    .with_context(|| {
        let printed = fs::read_to_string(printed).unwrap_or_default();
        format!("the job has saved nothing, and printed: {printed}")
    })?;
    succeeded(slurm.command("scancel").arg(number))?;
    wait_for_end(slurm, number)?;
    expect_kept(state, 3)
}

fn wait_for_end(slurm: &Slurm, number: &str) -> Result<()> {
    wait_for("the end of the job, after scancel", || {
        Ok((!is_running(slurm, number)?).then_some(()))
    })
}

/// Whether a job waits, runs or is about to end.
fn is_running(slurm: &Slurm, number: &str) -> Result<bool> {
    let mut squeue = slurm.command("squeue");
    let jobs = succeeded(squeue.args(["--noheader", "--format=%A"]))?;
    let jobs = String::from_utf8_lossy(&jobs.stdout).into_owned();
    Ok(jobs.lines().any(|job| job.trim() == number))
}

/// The daemons, which are ended when this is dropped.
struct Slurm {
    folder: PathBuf,
}

impl Slurm {
    fn start(folder: PathBuf) -> Result<Self> {
        let slurm = Slurm { folder };
        let at = |name: &str| slurm.folder.join(name).display().to_string();
        for name in ["state", "spool"] {
            fs::create_dir_all(slurm.folder.join(name)).context("cannot make a folder")?;
        }
        let key: Vec<u8> = fs::read("/proc/sys/kernel/random/uuid")
            .context("cannot read random bytes")?
            .repeat(4);
        fs::write(at("key"), key).context("cannot write a key")?;
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(at("key"), mode).context("cannot protect a key")?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname").context("no host name")?;
        let host = host.trim().split('.').next().unwrap_or_default().to_owned();
        let ports = free_ports()?;
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={}\nCryptoType=crypto/munge\n\
             SlurmctldPort={}\nSlurmdPort={}\nStateSaveLocation={}\nSlurmdSpoolDir={}\n\
             SlurmctldPidFile={}\nSlurmdPidFile={}\nSlurmctldLogFile={}\nSlurmdLogFile={}\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nMpiDefault=none\nReturnToService=2\n\
             SlurmdParameters=config_overrides\nAccountingStorageType=accounting_storage/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\n\
             PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            at("munge.socket"),
            ports[0],
            ports[1],
            at("state"),
            at("spool"),
            at("slurmctld.pid"),
            at("slurmd.pid"),
            at("slurmctld.log"),
            at("slurmd.log"),
        );
        fs::write(at("slurm.conf"), configuration).context("cannot write slurm.conf")?;
        let mut munged = Command::new("munged");
        munged.arg("--force");
        for (option, name) in [
            ("--key-file", "key"),
            ("--socket", "munge.socket"),
            ("--pid-file", "munged.pid"),
            ("--log-file", "munged.log"),
            ("--seed-file", "munged.seed"),
        ] {
            munged.arg(format!("{option}={}", at(name)));
        }
        daemon(&mut munged)?;
        daemon(&mut slurm.command("slurmctld"))?;
        daemon(&mut slurm.command("slurmd"))?;
        let began = Instant::now();
        loop {
            let mut sinfo = slurm.command("sinfo");
            let state = sinfo.args(["--noheader", "--format=%T"]).output()?;
            let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
            if state == "idle" {
                return Ok(slurm);
            }
            if began.elapsed() > LONGEST_START {
                let log = fs::read_to_string(at("slurmctld.log")).unwrap_or_default();
                bail!("the node is '{state}' after {LONGEST_START:?}; slurmctld: {log}");
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for name in ["slurmd.pid", "slurmctld.pid", "munged.pid"] {
            let Ok(pid) = fs::read_to_string(self.folder.join(name)) else {
                continue;
            };
            if let Err(error) = succeeded(Command::new("kill").arg(pid.trim())) {
                eprintln!("{name}: {error:#}");
            }
            // Its folder is removed next.
            let gone = || !Path::new("/proc").join(pid.trim()).exists();
            let began = Instant::now();
            while !gone() && began.elapsed() < LONGEST_START {
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// Starts a program that goes to the background. Its output is not read to the end, which would be that of the daemon.
fn daemon(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Two ports on which nothing listens.
fn free_ports() -> Result<[u16; 2]> {
    let bind = || std::net::TcpListener::bind("127.0.0.1:0").context("no port is free");
    // Both are open at the same time, so they differ.
    let (one, other) = (bind()?, bind()?);
    Ok([one.local_addr()?.port(), other.local_addr()?.port()])
}
