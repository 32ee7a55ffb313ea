#!/usr/bin/env python3
"""How often does `vectored versus` call one program two, because the paths of its copies have other lengths?

    cargo build --release && apt-get install gcc util-linux
    benchmarks/layout.py target/release/vectored [PAIRS]

The program stores and loads 64 bytes on its stack, which takes almost twice as long at odd multiples of 16 (a processor with AVX-512).
`setarch -R` switches the kernel's own random layout off, as debuggers and some containers do. Each pair is compared with and without --same-layout.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void work(char *at, long n) {
    for (; n > 0; n--)
        __asm__ volatile("vmovdqu64 %%zmm0, (%0)\n vmovdqu64 (%0), %%zmm1\n vpaddq %%zmm1, %%zmm0, %%zmm0" ::"r"(at) : "memory");
}
int main(int count, char **words) {
    char at[4096];
    memset(at, 1, sizeof at);
    work(at, atol(words[1]));
    return 0;
}
"""


def wall(vectored, options, old, new):
    words = [vectored, "versus", "--no-save", "--quiet", "--format", "json", "--rounds", "20", *options, old, new]
    found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return next(figure for figure in found["new"][0]["figures"] if figure["figure"] == "wall_ns")


def main():
    vectored, pairs = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 16
    if "avx512f" not in Path("/proc/cpuinfo").read_text():
        sys.exit("this processor has no AVX-512, which the program needs")
    draw = random.Random(1)
    print("| timed runs have | pairs called different | of | median ratio of those |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-O2", "-mavx512f", "-o", "p", "p.c"], cwd=folder, check=True)
        commands = []
        for pair in range(pairs):
            sides = []
            for side in "ab":
                at = Path(folder, f"{pair}{side}" + "x" * draw.randrange(64))
                at.mkdir()
                Path(at, "p").write_bytes(Path(folder, "p").read_bytes())
                Path(at, "p").chmod(0o755)
                sides.append(f"setarch -R {at}/p 5000000")
            commands.append(sides)
        for words, options in [("one environment (`--same-layout`)", ["--same-layout"]), ("a padding of random length", [])]:
            found = [wall(vectored, options, *sides) for sides in commands]
            wrong = sorted(max(one["ratio"], 1 / one["ratio"]) for one in found if one["change"] != "not_found")
            middle = f"{wrong[len(wrong) // 2]:.2f}" if wrong else "–"
            print(f"| {words} | {len(wrong)} | {pairs} | {middle} |", flush=True)


main()
