#!/usr/bin/env python3
"""`vectored versus` beside hyperfine: what they call different, what they miss, and their medians.

    cargo build --release && cargo install --locked hyperfine
    benchmarks/versus_and_hyperfine.py target/release/vectored hyperfine [equal] [slower] [medians]

equal: 20 comparisons of a command with itself, while one core is loaded in bursts. slower: 10 comparisons with a command
that works 3 % longer, on a quiet machine. medians: 20 pairs of short runs of the same command, in turn.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PROGRAM = r"""
#include <stdlib.h>
int main(int count, char **words) {
    volatile unsigned long sum = 0;
    for (long n = atol(words[1]); n > 0; n--) sum += n;
    return 0;
}
"""

BURSTS = """
import random, time
while True:
    end = time.monotonic() + random.uniform(0, 0.4)
    while time.monotonic() < end: pass
    time.sleep(random.uniform(0, 0.4))
"""


def versus(vectored, old, new, seconds):
    """The figures of the wall time, new against old."""
    words = [vectored, "versus", "--no-save", "--quiet", "--format", "json", "--budget", f"{seconds}s", old, new]
    found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    figures = found["new"][0]["figures"]
    return next(figure for figure in figures if figure["figure"] == "wall_ns")


def hyperfine(program, commands, seconds, estimated_s):
    """The results of each command; the runs of all take about this time."""
    runs = max(2, round(seconds / estimated_s / len(commands)))
    with tempfile.NamedTemporaryFile() as file:
        words = [program, "-N", "--style", "none", "--runs", str(runs), "--export-json", file.name, *commands]
        subprocess.run(words, check=True, capture_output=True)
        return json.load(open(file.name))["results"]


def printed_as_different(old, new):
    """Whether 1 is outside of what hyperfine prints: the ratio of the means and its standard deviation."""
    ratio = new["mean"] / old["mean"]
    spread = ratio * math.hypot(new["stddev"] / new["mean"], old["stddev"] / old["mean"])
    return abs(ratio - 1) > spread


def welch_differs(old, new):
    """Whether the means differ at 95 %, by Welch's test with the normal distribution, as for many runs."""
    error = math.hypot(old["stddev"] / math.sqrt(len(old["times"])), new["stddev"] / math.sqrt(len(new["times"])))
    return abs(new["mean"] - old["mean"]) > 1.96 * error


@contextmanager
def bursts():
    load = subprocess.Popen([sys.executable, "-c", BURSTS])
    try:
        yield
    finally:
        load.kill()
        load.wait()


def is_different(figure):
    return figure["change"] != "not_found"


def equal(tools, old, seconds=10, times=20):
    by_versus = by_print = by_welch = 0
    with bursts():
        for _ in range(times):
            by_versus += is_different(versus(tools[0], old, old, seconds))
            results = hyperfine(tools[1], [old, old], seconds, 0.05)
            by_print += printed_as_different(*results)
            by_welch += welch_differs(*results)
    print(f"equal: of {times} comparisons with itself, versus calls {by_versus} different; hyperfine {by_print} as")
    print(f"  printed (mean ± standard deviation), {by_welch} by Welch's test of its runs")


def slower(tools, old, new, seconds=30, times=10):
    by_versus = by_print = by_welch = 0
    ratios = []
    for _ in range(times):
        figure = versus(tools[0], old, new, seconds)
        by_versus += figure["change"] == "more"
        ratios.append(figure["ratio"])
        results = hyperfine(tools[1], [old, new], seconds, 0.05)
        by_print += printed_as_different(*results)
        by_welch += welch_differs(*results)
    print(f"slower: of {times} comparisons with 3 % more work, versus finds {by_versus} (ratios {min(ratios):.3f} to")
    print(f"  {max(ratios):.3f}); hyperfine {by_print} as printed, {by_welch} by Welch's test of its runs")


def medians(tools, old, seconds=3, times=20):
    apart = []
    for _ in range(times):
        ours = versus(tools[0], old, old, seconds)["old"] / 1e9
        theirs = hyperfine(tools[1], [old], seconds, 0.05)[0]["median"]
        apart.append(ours / theirs - 1)
    print(f"medians: versus ÷ hyperfine − 1 in {times} pairs: median {statistics.median(apart):+.2%}, from")
    print(f"  {min(apart):+.2%} to {max(apart):+.2%}")


def main():
    tools, parts = sys.argv[1:3], sys.argv[3:] or ["equal", "slower", "medians"]
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "work.c")
        source.write_text(PROGRAM)
        program = str(source.with_suffix(""))
        subprocess.run(["cc", "-O1", "-o", program, source], check=True)
        turns, took = 1_000_000, 0.0
        while took < 0.05:
            turns = round(turns * 1.2)
            began = time.monotonic()
            subprocess.run([program, str(turns)], check=True)
            took = time.monotonic() - began
        old, new = f"{program} {turns}", f"{program} {round(turns * 1.03)}"
        if "equal" in parts:
            equal(tools, old)
        if "slower" in parts:
            slower(tools, old, new)
        if "medians" in parts:
            medians(tools, old)


if __name__ == "__main__":
    main()
