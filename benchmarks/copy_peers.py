#!/usr/bin/env python3
"""`vectored copy` beside GNU cat, cp, dd and pv, and the cat and cp of uutils: whole processes, paired within rounds.

    cargo build --release
    benchmarks/copy_peers.py target/release/vectored [--uutils DIR] [--dir DIR] [--rounds N] [--sizes 64K,4M,1G] [PAIR]...

The pairs are file-file, file-pipe, pipe-file, pipe-pipe, file-null and file-socket (TCP over loopback). Another process
writes a pipe and reads a pipe or socket, 128 KiB at a time. Files are in the page cache. A run begins with the start of the
program, when the other process already waits, and ends when the program and the reader have ended. Each line has the median
of the ratios of ours to a peer's within a round, its 95 % interval, and the difference of the medians. The start of a program
is a part of the difference: a static program of `cargo xtask dist` starts 0.4 ms before cat, a dynamic program of the profile
release 0.8 ms after cat. Programs that are missing are named.
"""

import argparse
import math
import os
import random
import shutil
import socket
import statistics
import tempfile
import time

PAIRS = ["file-file", "file-pipe", "pipe-file", "pipe-pipe", "file-null", "file-socket"]
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
PIECE = 128 << 10


def programs(vectored, uutils):
    """Commands by name; those of cp take the names of two files."""
    found = {"vectored": [vectored, "copy"]}
    wanted = {
        "cat": ["cat"],
        "cp": ["cp", "{from}", "{to}"],
        "dd": ["dd", "bs=256K", "status=none"],
        "pv": ["pv", "-q"],
    }
    if uutils:
        wanted["uutils cat"] = [os.path.join(uutils, "cat")]
        wanted["uutils cp"] = [os.path.join(uutils, "cp"), "{from}", "{to}"]
    else:
        print("missing: uutils (--uutils DIR names the folder of its cat and cp)")
    for name, words in wanted.items():
        path = shutil.which(words[0])
        if path:
            found[name] = [path, *words[1:]]
        else:
            print(f"missing: {name}")
    return found


def child(work):
    """The process ID of a child that does this work."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return process


def feed(fd, size):
    piece = memoryview(bytearray(os.urandom(PIECE)))
    left = size
    while left:
        left -= os.write(fd, piece[: min(left, PIECE)])


def drain(fd, size):
    buffer = bytearray(PIECE)
    left = size
    while got := os.readv(fd, [buffer]):
        left -= got
    if left:
        raise SystemExit(f"{left} bytes are missing")


def tcp():
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    return one.detach(), other.detach()


def run(words, pair, size, source, target):
    """The time of one copy, in s."""
    kinds = pair.split("-")
    helpers, opened = [], []

    def ends(make, is_input):
        """Our end, while a child has the other one."""
        one, other = make()
        ours, theirs = (one, other) if is_input else (other, one)
        work = feed if is_input else drain
        helpers.append(child(lambda: (os.close(ours), work(theirs, size))))
        os.close(theirs)
        return ours

    if kinds[0] == "pipe":
        opened.append(ends(os.pipe, True))
    else:
        opened.append(os.open(source, os.O_RDONLY))
    if kinds[1] == "file":
        # A new file each time: a truncated file has pages and blocks to free.
        if os.path.exists(target):
            os.unlink(target)
        opened.append(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    elif kinds[1] == "null":
        opened.append(os.open("/dev/null", os.O_WRONLY))
    else:
        opened.append(ends(os.pipe if kinds[1] == "pipe" else tcp, False))
    words = [word.format(**{"from": source, "to": target}) for word in words]
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(opened)]
    if helpers:
        # Waits until the helpers have started: their start would hide the start of the program.
        time.sleep(0.003)
    began = time.perf_counter()
    helpers.append(os.posix_spawn(words[0], words, os.environ, file_actions=actions))
    for fd in opened:
        os.close(fd)
    for process in reversed(helpers):
        _, status = os.waitpid(process, 0)
        if status:
            raise SystemExit(f"{words}, {pair}: status {status}")
    elapsed = time.perf_counter() - began
    if kinds[1] == "file" and os.path.getsize(target) != size:
        raise SystemExit(f"{words}, {pair}: {os.path.getsize(target)} bytes of {size}")
    return elapsed


def interval(values):
    """The median and its 95 % interval, by order statistics."""
    ordered = sorted(values)
    count = len(ordered)
    away = math.ceil(0.98 * math.sqrt(count))
    low, high = max(0, count // 2 - away), min(count - 1, (count - 1) // 2 + away)
    return statistics.median(ordered), ordered[low], ordered[high]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectored")
    parser.add_argument("--uutils")
    parser.add_argument("--dir")
    parser.add_argument("--rounds", type=int, help="by default as many as take about 10 s a size and pair")
    parser.add_argument("--sizes", default="64K,4M,1G")
    parser.add_argument("pairs", nargs="*", metavar="PAIR")
    args = parser.parse_intermixed_args()
    commands = programs(os.path.abspath(args.vectored), args.uutils)
    with_pipes = {}
    with tempfile.TemporaryDirectory(dir=args.dir) as directory:
        source, target = os.path.join(directory, "source"), os.path.join(directory, "target")
        for size_name in args.sizes.split(","):
            size = int(size_name[:-1]) * UNITS[size_name[-1]]
            with open(source, "wb") as file:
                piece = os.urandom(1 << 20)
                for at in range(0, size, len(piece)):
                    file.write(piece[: size - at])
                os.fsync(file.fileno())
            for pair in args.pairs or PAIRS:
                # cp copies files only.
                suited = {name: words for name, words in commands.items() if "{from}" not in words or pair == "file-file"}
                began = time.perf_counter()
                times = {name: [run(words, pair, size, source, target)] for name, words in suited.items()}
                took = time.perf_counter() - began
                rounds = args.rounds or max(5, min(1000, round(10 / took)))
                times = {name: [] for name in suited}
                for _ in range(rounds):
                    for name in random.sample(list(suited), len(suited)):
                        times[name].append(run(suited[name], pair, size, source, target))
                ours = times.pop("vectored")
                for name, theirs in times.items():
                    ratio, low, high = interval([one / other for one, other in zip(ours, theirs)])
                    ms = 1e3 * (statistics.median(ours) - statistics.median(theirs))
                    print(f"{pair:11} {size_name:>4}  {name:10} {ratio:.3f} [{low:.3f}, {high:.3f}] {ms:+8.2f} ms, {rounds} rounds",
                          flush=True)
                    if "pipe" in pair:
                        with_pipes.setdefault(name, []).append(ratio)
    for name, ratios in with_pipes.items():
        print(f"geometric mean with a pipe: {name} {statistics.geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
