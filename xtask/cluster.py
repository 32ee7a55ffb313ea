#!/usr/bin/env python3
"""`cargo xtask cluster`: `vectored` with the feature `mpi`, as ranks under mpirun and in jobs of a Slurm of one node.

cluster.py [--mpich]: Open MPI, and on demand MPICH, which takes a build of its own. The exit status is 1 if a check fails.
"""

import contextlib, glob, json, os, random, shutil, signal, socket, subprocess, sys, tempfile, time
from types import SimpleNamespace

OPEN_MPI = SimpleNamespace(
    # The tests may run as root, and on a machine with fewer CPUs than ranks.
    name="Open MPI", mpirun=["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], mpicc="mpicc.openmpi",
    packages="openmpi-bin libopenmpi-dev libclang-dev", srun="pmix", target=os.environ["CARGO_TARGET_DIR"])
MPICH = SimpleNamespace(
    # A build folder of its own, because the header of one MPI is compiled in.
    name="MPICH", mpirun=["mpirun.mpich"], mpicc="mpicc.mpich", packages="mpich libmpich-dev libclang-dev", srun="pmi2",
    target=os.environ["CARGO_TARGET_DIR"] + "/cluster")
# The longest that a run may take: ranks may wait for each other for ever.
LONGEST_S = 600
# A shell lets its background jobs ignore signals, and the programs that a job starts inherit that.
HEEDING = ["env", "--default-signal=INT,QUIT,TERM"]
# The options of a run that would take a minute.
A_MINUTE = "--target file --sizes 64,256,1KiB --budget 60s".split()


def skip(name, reason, is_missing=False):
    """Reports what could not run, as `skip` and `missing` of skips.rs do."""
    if is_missing and os.environ.get("CI") == "true":
        sys.exit(f"error: {name}: {reason}")
    print(f"skipped {name}: {reason}")
    if "VECTORED_SKIPS" in os.environ:
        with open(os.environ["VECTORED_SKIPS"], "a") as skips:
            skips.write(f"{name}: {reason}\n")


def build(mpi):
    """The path of a copy of the program: the next build without MPI replaces cargo's file.

    The profile is `release`: with it, the C library and the Python package have compiled some of the dependencies.
    """
    words = "build --quiet --locked --release --package vectored-cli --features mpi --target-dir".split()
    subprocess.run(["cargo", *words, mpi.target], env={**os.environ, "MPICC": mpi.mpicc}, check=True)
    return shutil.copy(mpi.target + "/release/vectored", f"{scratch}/{mpi.mpicc}-vectored")


def wait_for(what, look):
    began = time.monotonic()
    while not (found := look()):
        assert time.monotonic() - began < LONGEST_S, f"waited {LONGEST_S} s in vain for {what}"
        time.sleep(0.05)
    return found


def ranks():
    """The processes that run the program."""
    found = []
    for link in glob.glob("/proc/[0-9]*/exe"):
        with contextlib.suppress(OSError):  # It has ended.
            if os.readlink(link) == program:
                found.append(int(link.split("/")[2]))
    return sorted(found)


def end(run):
    """Kills a run and its ranks."""
    run.kill()
    for pid in ranks():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    run.wait()


def outcome(words, **options):
    """Exit status, output and errors of a program."""
    run = subprocess.Popen([*HEEDING, *map(str, words)], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, **options)
    try:
        out, errors = run.communicate(timeout=LONGEST_S)
        return run.returncode, out, errors
    except BaseException:
        end(run)
        raise


def succeeded(words, **options):
    status, out, errors = outcome(words, **options)
    assert status == 0, f"{words} ended with {status}: {out}{errors}"
    return out


def measure(count, state, *words):
    """The words of a run of ranks, and their environment, in which results are saved below `state`."""
    common = ["measure", "--dir", state, "--technique", "copy-then-write,writev", "--segments", "4"]
    return [*mpi.mpirun, "-n", str(count), program, *common, *words], {**os.environ, "XDG_STATE_HOME": state}


def saved(state):
    """The results that were saved below `state`."""
    return [json.load(open(path)) for path in sorted(glob.glob(state + "/vectored/*.json"))]


def expect_ranks(result, count):
    """Checks that the result has `count` ranks, each with a time in each cell that it took part in."""
    assert [rank["rank"] for rank in result["ranks"]] == list(range(count)), result["ranks"]
    assert all(rank["host"] for rank in result["ranks"]), f"a rank without a host: {result['ranks']}"
    assert result["cells"], "no cell"
    for cell in result["cells"]:
        for technique in cell["techniques"]:
            times = len(technique["ranks"]["rank_median_ns"])
            assert times == cell["ranks"], f"{technique['name']} has {times} times on {cell['ranks']} ranks"


def expect_kept(state, count):
    """Checks that a run that a signal ended has saved one result, at its end."""
    results = saved(state)
    assert len(results) == 1, f"one run saved {len(results)} results"
    reason = str(results[0]["left_out"][:1])
    # A result saved during the run gives the reason "the run had not yet come to these cells".
    assert "yet" not in reason, f"the result is not the last one: {reason}"
    assert results[0]["complete"] is False, "the run was complete before the signal"
    expect_ranks(results[0], count)


@contextlib.contextmanager
def begun(state):
    """A run of 3 ranks that would take a minute, after its first result was saved."""
    words, environment = measure(3, state, *A_MINUTE)
    null = subprocess.DEVNULL
    run = subprocess.Popen([*HEEDING, *words], env=environment, stdin=null, stdout=null, stderr=null)

    def look():
        assert run.poll() is None, f"the run ended before it saved anything: {run.returncode}"
        return saved(state)

    try:
        wait_for("a saved result", look)
        assert len(ranks()) == 3, f"the ranks are {ranks()}"
        yield run
    finally:
        end(run)


def together(state):
    "all ranks measure the same cells together"
    words, environment = measure(4, state, *"--details --target pipe --sizes 64 --ranks 1,2,4 --budget 3s".split())
    text = succeeded(words, env=environment)
    assert text.count("Several ranks: pipe") == 1, f"not one table of ranks, but:\n{text}"
    [result] = saved(state)
    expect_ranks(result, 4)
    counts = [cell["ranks"] for cell in result["cells"]]
    # On a slow machine the budget ends before the last cells begin.
    assert counts == [1, 2, 4][:len(counts)], f"cells of {counts} ranks"
    # Cells of one rank give no cost models either.
    assert not result["cost_models"], f"ranks give cost models: {result['cost_models']}"


def killed(state):
    "a rank that is killed leaves a partial result"
    with begun(state) as run:
        os.kill(ranks()[2], signal.SIGKILL)
        assert run.wait(LONGEST_S) != 0, "the run succeeded without a rank"
        # The other ranks have lost their parent, and end by themselves.
        wait_for("the end of all ranks", lambda: not ranks())
    result = saved(state)[0]
    assert result["complete"] is False, "the partial result is marked as complete"
    expect_ranks(result, 3)


def full(state):
    "a rank without room ends the run, which names it"
    small = state + "/small"
    os.makedirs(small)
    status, _, why = outcome(["mount", "-t", "tmpfs", "-o", "size=1m", "vectored-test", small])
    if status:
        return skip("cluster:full", f"cannot mount a tmpfs: {why.strip()}")
    # The second rank alone measures in the file system without room.
    script = ('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && dir=$1 || dir=$0; '
              'exec "$2" measure --target file --segments 2 --sizes 64KiB --budget 2s --dir "$dir"')
    try:
        status, _, text = outcome([*mpi.mpirun, "-n", "3", "/bin/sh", "-c", script, state, small, program],
                                  env={**os.environ, "XDG_STATE_HOME": state})
    finally:
        succeeded(["umount", small])
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    assert status and len(errors) == 1 and "rank 1 on " in errors[0] and "not enough free space" in errors[0], text


def refused(state):
    "a number of ranks that were not started is refused once"
    words, environment = measure(2, state, "--ranks", "4")
    status, _, text = outcome(words, env=environment)
    assert status and text.count("error: --ranks 4 needs as many ranks, and 2 were started") == 1, text


def stopped(state):
    "a signal to any rank ends the run, which keeps what was measured"
    with begun(state) as run:
        # First to another rank: rank 0 learns of that signal. Then to rank 0: a launcher sends its signals one by one.
        first, *others = sorted(ranks(), key=number_of)
        os.kill(others[0], signal.SIGTERM)
        with contextlib.suppress(ProcessLookupError):
            os.kill(first, signal.SIGTERM)
        # 143 is the exit status after SIGTERM, also if a rank dies of the signal. The saved result tells these two cases apart.
        status = run.wait(LONGEST_S)
    assert status == 143, f"the run ended with {status}"
    expect_kept(state, 3)


def number_of(pid):
    """The number of a rank."""
    variables = open(f"/proc/{pid}/environ").read().split("\0")
    return next(v for v in variables if v.startswith(("OMPI_COMM_WORLD_RANK=", "PMI_RANK="))).split("=")[1]


def in_job(state):
    "a job of Slurm measures by mpirun and by srun"
    words = f"{program} measure --target pipe --segments 4 --sizes 64 --technique writev --budget 1s"
    # As in docs/clusters.md.
    job = f"""XDG_STATE_HOME={state}/by-mpirun {' '.join(mpi.mpirun)} -n 4 {words} || exit 1
        XDG_STATE_HOME={state}/by-srun srun --mpi={mpi.srun} --kill-on-bad-exit=1 --ntasks=4 {words} || exit 2"""
    sbatch(job, 4, state, "--wait")
    for way in "by-mpirun", "by-srun":
        [result] = saved(f"{state}/{way}")
        expect_ranks(result, 4)


def cancelled(state):
    "scancel ends a run, which keeps what was measured"
    words = f"measure --dir {state} --segments 4 {' '.join(A_MINUTE)}"
    job = f"XDG_STATE_HOME={state} srun --mpi={mpi.srun} --kill-on-bad-exit=1 --ntasks=3 {program} {words}"
    number = sbatch(job, 3, state).strip()

    def is_running():
        return number in succeeded(["squeue", "--noheader", "--format=%A"]).split()

    def look():
        assert is_running(), f"the job ended, and printed: {open(state + '/printed').read()}"
        return saved(state)

    try:
        wait_for("a saved result", look)
        succeeded(["scancel", number])
        wait_for("the end of the job, after scancel", lambda: not is_running())
    except BaseException:
        # The ranks of the job would go on without the daemons.
        outcome(["scancel", "--signal=KILL", "--full", number])
        wait_for("the end of the job, after a kill", lambda: not is_running())
        raise
    expect_kept(state, 3)


def sbatch(job, tasks, state, *words):
    with open(state + "/job.sh", "w") as script:
        script.write(f"#!/bin/sh\n#SBATCH --ntasks={tasks}\n{job}\n")
    printed = state + "/printed"
    try:
        return succeeded(["sbatch", "--parsable", *words, "--output", printed, state + "/job.sh"], cwd=state)
    except AssertionError as error:
        raise AssertionError(f"{error}; the job printed: {open(printed).read()}") from error


def free_ports(count):
    """Ports on which nothing listens, below those that the kernel hands out: no other program gets them by chance."""
    first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
    ports = set()
    while len(ports) < count:
        port = random.randrange(1024, max(first, 2048))
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.add(port)
    return list(ports)


@contextlib.contextmanager
def slurm(folder):
    """`munged`, `slurmctld` and `slurmd` with folders, ports and a key of their own, and with the patience that a busy machine needs."""
    for name in "state", "spool":
        os.makedirs(f"{folder}/{name}")
    with open(os.open(folder + "/key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
        key.write(os.urandom(128))
    host = socket.gethostname().split(".")[0]
    ports = free_ports(2)
    with open(folder + "/slurm.conf", "w") as configuration:
        configuration.write(f"""ClusterName=test
            SlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root
            AuthType=auth/munge\nAuthInfo=socket={folder}/munge.socket\nCryptoType=crypto/munge
            SlurmctldPort={ports[0]}\nSlurmdPort={ports[1]}
            StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool
            SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid
            SlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/slurmd.log
            ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none
            SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nMpiDefault=none\nReturnToService=2
            MessageTimeout=100\nTCPTimeout=60\nBatchStartTimeout=600\nKillWait=600\nUnkillableStepTimeout=600
            SlurmdTimeout=600\nSlurmctldTimeout=600\nSlurmdParameters=config_overrides\nAccountingStorageType=accounting_storage/none
            JobAcctGatherType=jobacct_gather/none
            NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
            PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n""".replace("\n            ", "\n"))
    os.environ["SLURM_CONF"] = folder + "/slurm.conf"
    files = {"key-file": "key", "socket": "munge.socket", "pid-file": "munged.pid", "log-file": "munged.log",
             "seed-file": "munged.seed"}
    munged = ["munged", "--force", *(f"--{option}={folder}/{name}" for option, name in files.items())]
    null = subprocess.DEVNULL
    try:
        for daemon in munged, ["slurmctld"], ["slurmd"]:
            subprocess.run([*HEEDING, *daemon], stdin=null, stdout=null, stderr=null, check=True)
        wait_for("a node that is idle", lambda: outcome(["sinfo", "--noheader", "--format=%T"])[1].strip() == "idle")
        yield
    except AssertionError:
        print(open(folder + "/slurmctld.log").read())
        raise
    finally:
        for path in (f"{folder}/{name}.pid" for name in ("slurmd", "slurmctld", "munged")):
            if os.path.exists(path):
                pid = open(path).read().strip()
                with contextlib.suppress(ValueError, ProcessLookupError):  # It could not start, or has ended.
                    os.kill(int(pid), signal.SIGTERM)
                # The folder of the program is removed next.
                wait_for(f"the end of {path}", lambda: not (pid and os.path.exists("/proc/" + pid)))


def is_well(*checks):
    """Runs checks, each with a folder of its own; false if one failed."""
    failed = 0
    for check in checks:
        state = f"{scratch}/{mpi.mpicc}-{check.__name__}"
        os.makedirs(state)
        try:
            check(state)
            print(f"   {mpi.name}: {check.__doc__}: ok", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"   {mpi.name}: {check.__doc__}: FAILED: {error}", flush=True)
    return failed == 0


passed = True
# In /tmp, since the path of a socket has at most 107 bytes. Files that a killed mpirun leaves are removed with this folder.
with tempfile.TemporaryDirectory(prefix="vectored-cluster-", dir="/tmp") as scratch:
    os.environ["TMPDIR"] = scratch
    for mpi in [OPEN_MPI, MPICH] if "--mpich" in sys.argv else [OPEN_MPI]:
        if not (shutil.which(mpi.mpirun[0]) and shutil.which(mpi.mpicc)):
            skip("cluster", f"{mpi.name} is missing; on Debian: apt-get install {mpi.packages}", is_missing=True)
            continue
        program = build(mpi)
        passed &= is_well(together, killed, full, refused, stopped)
        missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun") if not shutil.which(name)]
        if missing:
            skip("cluster:slurm", f"there is no {missing[0]}; on Debian: apt-get install slurm-wlm munge", is_missing=True)
        elif os.geteuid() != 0:
            skip("cluster:slurm", "slurmd must be started by root")
        else:
            with slurm(f"{scratch}/{mpi.mpicc}-slurm"):
                passed &= is_well(in_job, cancelled)
sys.exit(not passed)
