#!/usr/bin/env python3
"""How steady are the counts of the system calls of programs with threads? Each program runs 20 times under strace.

    apt-get install strace xz-utils pigz zstd ripgrep fd-find git
    benchmarks/threads.py [RUNS]

A row is a program: the spread of all calls, of the calls without waits (the `total` of `versus`), of reads and of writes, the
largest increase that `--fail-if-more-calls` could see in two runs against two, and the calls that vary.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUST = (ROOT / "crates/vectored-versus/src/calls.rs").read_text()
WAITS = set(re.findall(r'"(\w+)"', RUST.split("const WAITS")[1].split("];")[0]))
CALL = re.compile(r"^\d+ +(?:<\.\.\. )?([a-z]\w*)(?:\(| resumed)")
EAGAIN = re.compile(r"= -1 EAGAIN ")
READS = {"read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg"}
WRITES = {"write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg", "sendfile", "splice",
          "copy_file_range"}

PROGRAMS = {
    "xz -T2": "xz -T2 -1 --block-size=1MiB -kc data",
    "pigz -p2": "pigz -p2 -c data",
    "zstd -T2": "zstd -T2 -qc data",
    "sort --parallel=2": "sort --parallel=2 -S 4M data",
    "git grep --threads=2": f"git -C {ROOT} grep --threads=2 -c unsafe",
    "rg -j2": f"rg -j2 -c unsafe {ROOT}/crates",
    "fdfind -j2": f"fdfind -j2 rs$ {ROOT}/crates",
}


def counts(command, folder):
    """The calls of one run by name. A call that found nothing to read or no place to write has EAGAIN in its name."""
    log = Path(folder, "log")
    subprocess.run(["strace", "-f", "-o", log, *command.split()], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    found = Counter()
    for line in log.read_text(errors="replace").splitlines():
        call = CALL.match(line)
        # If another thread's call interrupts a call, the call has two lines; the second line has the result.
        if call and not line.endswith("<unfinished ...>"):
            found[call[1] + (" EAGAIN" if EAGAIN.search(line) else "")] += 1
    return found


def of(runs, chosen):
    return [sum(count for name, count in run.items() if chosen(name)) for run in runs]


def spread(numbers):
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def is_wait(name):
    return name in WAITS or name.endswith(" EAGAIN")


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| program | all calls | `total` | reads | writes | largest increase | calls that vary |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        text = b"".join(path.read_bytes() for path in sorted(ROOT.glob("crates/*/src/**/*.rs")))
        Path(folder, "data").write_bytes((text * 3)[: 12 << 20])
        for name, command in PROGRAMS.items():
            runs = [counts(command, folder) for _ in range(number)]
            parts = [of(runs, lambda _: True), of(runs, lambda one: not is_wait(one))]
            parts += [of(runs, READS.__contains__), of(runs, WRITES.__contains__)]
            # `versus` counts two runs of each program, and alarms if the smaller count of new is above the larger count of old.
            rises = [(sorted(one)[-2] / max(sorted(one)[1], 1) - 1) * 100 for one in parts[1:]]
            names = sorted({name for run in runs for name in run})
            varying = [one for one in names if len({run[one] for run in runs}) > 1]
            shown = ", ".join(f"{one} {spread([run[one] for run in runs])}{'' if is_wait(one) else ' (!)'}" for one in varying)
            print(f"| `{name}` | {' | '.join(map(spread, parts))} | {max(rises):.1f} % | {shown} |", flush=True)


main()
