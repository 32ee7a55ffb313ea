#!/usr/bin/env python3
"""From which size does splice pay in the cat of uutils? The tables of docs/measured/uutils-cat-evidence.md.

    benchmarks/evidence/uutils_cat.py [--rounds N] [--cases file-pipe:4096x200,…] [--json FILE]
    benchmarks/evidence/uutils_cat.py --apart     the programs on CPU 1, the processes at the other ends of pipes on CPU 0
    benchmarks/evidence/uutils_cat.py --build                                     only builds

A case is FROM-TO:BYTESxFILES, from a file, files or a pipe to a file, a pipe, /dev/null or a raw terminal. With `file`, one process
gets the same file FILES times; `files` are FILES copies; a pipe is one input. The other end of a pipe is a process that writes or
reads 128 KiB a call. Files are in the page cache. Programs:

    old       cat of uutils 0.12.0: splice through a pipe of 1 MiB
    first16   with uutils-cat-first-bytes.patch: up to FIRST_BYTES, 16 KiB, are read and written, the rest is spliced
    first64   with the patch and 64 KiB
    size16    as #10835 proposed: inputs whose fstat reports 1 to 16383 bytes are read and written as by `read`
    nofcntl   0.12.0 without the fcntl (length of the output's pipe) and the fadvise that it calls for each input
    read      0.12.0 without splice: as with inputs that cannot be spliced, it reads and writes 64 KiB a call
    GNU       cat of the PATH
    dd        dd bs=128K of the PATH, for one input

Each round runs these and old again. CPU time is the time of the program and of the process that reads its pipe or terminal, from start to
end. A ratio compares with the mean of both runs of old; A/A is the second run of old ÷ the first.
It needs cargo. CARGO_TARGET_DIR is where it builds.
"""

import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tty

from common import HERE, TARGET, again, against, fetched, in_turns, is_built, middles, options, replace, run, table, write

sys.path.append(os.path.join(HERE, ".."))
from copy_peers import PIECE, child, drain, feed

BUILT = ["old", "first16", "first64", "size16", "nofcntl", "read"]
PROGRAMS = [*BUILT, "GNU", "dd"]
PATCH = os.path.join(HERE, "uutils-cat-first-bytes.patch")
SPLICE = "if uucore::pipes::splice_unbounded_auto("
SHORT = """
file-pipe:268435456x1 file-pipe:16777216x1 file-pipe:1048576x20 file-pipe:262144x50 file-pipe:131072x100 file-pipe:65536x200 file-pipe:32768x200
file-pipe:16384x200 file-pipe:8192x200 file-pipe:4096x200 file-pipe:128x200 file-pipe:4096x1
pipe-pipe:268435456x1 pipe-pipe:16777216x1 pipe-pipe:1048576x1 pipe-pipe:65536x1 pipe-pipe:4096x1
pipe-file:268435456x1 pipe-file:16777216x1 pipe-file:1048576x1 pipe-file:65536x1 pipe-file:4096x1
file-file:1048576x20 file-file:65536x200 file-file:16384x200 file-file:4096x200
"""


def build(program, source):
    folder = os.path.join(TARGET, f"evidence-cat-{program}")
    with open(PATCH, encoding="utf-8") as file:
        stamp = file.read() + SPLICE + inspect.getsource(build)
    if is_built(folder, stamp):
        return
    shutil.copytree(source, folder)
    path = os.path.join(folder, "src", "cat.rs")
    if program.startswith("first"):
        run("patch", "-p1", "-i", PATCH, cwd=folder)
        replace(path, "const FIRST_BYTES: usize = 16 * 1024;", f"const FIRST_BYTES: usize = {program[5:]} * 1024;")
    elif program == "read":
        replace(path, SPLICE, f"if false && {SPLICE[3:]}")
    elif program == "size16":
        long = "rustix::fs::fstat(&handle.reader).is_ok_and(|stat| !(1..16384).contains(&stat.st_size))"
        replace(path, SPLICE, f"if {long} && {SPLICE[3:]}")
    elif program == "nofcntl":
        shutil.copytree(fetched("uucore", "0.12.0"), os.path.join(folder, "uucore"))
        for line in ("fcntl_setpipe_size(&mut *dest, MAX_ROOTLESS_PIPE_SIZE)", "rustix::fs::fadvise(source, 0, None, rustix::fs::Advice::Sequential)"):
            replace(os.path.join(folder, "uucore", "src", "lib", "features", "pipes.rs"), f"    let _ = {line};\n", "")
    for name in ("Cargo.toml", "Cargo.lock"):  # cargo tells packages of one target folder apart by their names
        replace(os.path.join(folder, name), 'name = "uu_cat"\nversion', f'name = "uu_cat_{program}"\nversion')
    with open(os.path.join(folder, "Cargo.toml"), "a", encoding="utf-8") as file:
        file.write('\n[workspace]\n[profile.release]\nlto = "fat"\ncodegen-units = 1\npanic = "abort"\n')  # as in uutils
        if program == "nofcntl":
            file.write('[patch.crates-io]\nuucore = { path = "uucore" }\n')
    locked = [] if program == "nofcntl" else ["--locked"]
    run("cargo", "build", "--release", "--quiet", *locked, "--bin", "cat", "--target-dir", TARGET, cwd=folder)
    shutil.copy(os.path.join(TARGET, "release", "cat"), os.path.join(folder, "program"))
    write(os.path.join(folder, "stamp"), stamp)


def one_run(words, case, source, target):
    """Elapsed time and CPU time, in µs."""
    total = case["bytes"] * case["files"]
    helpers, opened, reader = [], [], None
    if case["from"] == "pipe":
        ours, theirs = os.pipe()
        helpers.append(child(lambda: (other(), os.close(ours), feed(theirs, total))))
        os.close(theirs)
        opened.append(ours)
    else:
        opened.append(os.open(source, os.O_RDONLY))
        if "dd" not in os.path.basename(words[0]):
            words = [*words, *(f"{source}{at}" if case["from"] == "files" else source for at in range(case["files"]))]
    if case["to"] == "null":
        opened.append(os.open(os.devnull, os.O_WRONLY))
    elif case["to"] == "tty":
        theirs, ours = os.openpty()
        tty.setraw(ours)
        reader = child(lambda: (other(), [os.close(fd) for fd in (ours, opened[0])], drain_terminal(theirs, total)))
        os.close(theirs)
        opened.append(ours)
    elif case["to"] == "file":
        if os.path.exists(target):
            os.unlink(target)  # a truncated one has pages and blocks to free
        opened.append(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    else:
        theirs, ours = os.pipe()
        reader = child(lambda: (other(), [os.close(fd) for fd in (ours, opened[0])], drain(theirs, total)))
        os.close(theirs)
        opened.append(ours)
    time.sleep(0.002)  # until the helpers wait
    began = time.perf_counter()
    program = os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate(opened)])
    for fd in opened:
        os.close(fd)
    cpu = 0
    for process in [program, *([reader] if reader else []), *helpers]:
        _, status, used = os.wait4(process, 0)
        if status:
            raise SystemExit(f"{words[0]}, {case['name']}: status {status}")
        if process in (program, reader):
            cpu += used.ru_utime + used.ru_stime
    elapsed = time.perf_counter() - began
    if case["to"] == "file" and os.path.getsize(target) != total:
        raise SystemExit(f"{words[0]}, {case['name']}: {os.path.getsize(target)} bytes of {total}")
    return {"cpu_us": cpu * 1e6, "elapsed_us": elapsed * 1e6}


def drain_terminal(fd, left):
    while left:  # there is no end of file, but EIO
        left -= len(os.read(fd, PIECE))


def other():
    """With --apart, a helper runs on the other CPU."""
    if "--apart" in sys.argv:
        os.sched_setaffinity(0, {0})


def parsed(name):
    match = re.fullmatch(r"(files?|pipe)-(file|pipe|null|tty):(\d+)x(\d+)", name)
    if not match or match[1] == "pipe" and match[4] != "1":
        raise SystemExit(f"no case: {name}")
    return {"name": name, "from": match[1], "to": match[2], "bytes": int(match[3]), "files": int(match[4])}


def measured(case, rounds, commands, folder):
    source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
    with open(source, "wb") as file:
        for at in range(0, case["bytes"], PIECE):
            file.write(bytes(byte % 251 for byte in range(min(PIECE, case["bytes"] - at))))
    for at in range(case["files"]) if case["from"] == "files" else []:
        shutil.copyfile(source, f"{source}{at}")
    suited = [name for name in PROGRAMS if name != "dd" or case["files"] == 1]
    if case["bytes"] <= 1 << 20:
        for name in BUILT:  # byte for byte
            arrived = subprocess.run([*commands[name], source, source], stdout=subprocess.PIPE, check=True).stdout
            if arrived != bytes(at % PIECE % 251 for at in range(case["bytes"])) * 2:
                raise SystemExit(f"{name}: other bytes arrived")
    rounds = 8 if case["bytes"] > 16 << 20 else rounds
    found = [in_turns(suited, number, lambda name: one_run(commands[name], case, source, target)) for number in range(rounds + 1)]
    return {"case": case["name"], "rounds": found[1:]}  # the first warms up


def cells(result):
    rounds = result["rounds"]
    yield middles(rounds, "cpu_us", 0, ["old"])
    yield from (against(rounds, which) for which in PROGRAMS[1:])
    yield again(rounds)
    yield from (against(rounds, which, "elapsed_us") for which in ("first16", "read", "GNU"))


def main():
    args = options(__doc__, SHORT, 40, "--build", "--apart")
    cases = [parsed(name) for name in args.cases]
    source = fetched("uu_cat", "0.12.0")
    for program in BUILT:
        build(program, source)
    if args.build:
        return
    if args.apart:
        os.sched_setaffinity(0, {1})  # the programs inherit it
    commands = {program: [os.path.join(TARGET, f"evidence-cat-{program}", "program")] for program in BUILT}
    commands |= {"GNU": [shutil.which("cat")], "dd": [shutil.which("dd"), "bs=128K", "status=none"]}
    print(run("cat", "--version").splitlines()[0])
    columns = f"CPU, µs: {' | '.join(PROGRAMS)} | A/A | elapsed: first16 | elapsed: read | elapsed: GNU"
    with tempfile.TemporaryDirectory() as folder:
        table(columns, (measured(case, args.rounds, commands, folder) for case in cases), cells, args.json)


if __name__ == "__main__":
    main()
