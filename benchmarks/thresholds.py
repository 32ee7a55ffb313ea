#!/usr/bin/env python3
"""The tables of docs/measured/atlas.md: what this machine answers where projects have a constant.

    cargo build --release
    benchmarks/thresholds.py target/release/vectored [--budget 40s] [LIST]...
    benchmarks/thresholds.py --constants [THRESHOLD]...

The first form measures lists like the lists of the projects, with bytes in a CPU cache and in none. It prints a row for each list,
with its command. The second form runs the bench `programs` for hyper and h2. It prints the CPU time of a request with another setting
÷ the CPU time with the project's own setting, paired within rounds, with 95 % intervals. For h2 it builds a copy whose threshold
comes from H2_THRESHOLD, in a target folder of its own. On a machine that others use, build first (`--constants --build`).
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "target", "h2-threshold")
BENCH = "cargo bench --quiet --locked --bench programs --manifest-path".split()
BENCH += [os.path.join(HERE, "Cargo.toml"), "--target-dir", TARGET]
PATCHED = {**os.environ, "RUSTC_WRAPPER": os.path.abspath(__file__)}
SHAPES = {
    "header 150 B, body SIZE": "--mix 1x150,1x16..64KiB --target tcp",
    "header 9 B, payload SIZE": "--mix 1x9,1x16..64KiB --target tcp",
    "6 B, value SIZE, 2 B": "--mix 1x6,1x64..64KiB,1x2 --target tcp",
    "header 24 B, part SIZE": "--mix 1x24,1x1KiB..256KiB --target tcp",
    "16 slices": "--segments 16 --sizes 64..16KiB --target tcp",
    "256 fragments": "--segments 256 --sizes 16..4KiB --target file",
    "2 messages": "--join 2 --sizes 256..128KiB --target tcp",
    "8 messages": "--join 8 --sizes 256..32KiB --target tcp",
    "file to pipe": "--operation copy --from file --target pipe --sizes 1KiB..1MiB --technique read-write --technique splice",
}
BUFFER = "copy buffer"
CASES = [("http1", "flatten", "64,1024,4096,8192,16384,65536"), ("h2", "other-threshold", "300,1024,4096,16384")]


def output(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}: exit status {done.returncode}")
    return done.stdout


def size(count):
    """4096 → 4 KiB"""
    for unit, name in [(1 << 20, "MiB"), (1 << 10, "KiB")]:
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.3g} B"


def answer(text, document, cache):
    """The sentence for a cache state, with the interval of its crossover and the sizes at which the choice hardly matters."""
    sentence = re.search(rf"^(?:tcp|file)[^:\n]*(?:cache {cache}|to pipe): (.*(?:\n  .*)*)", text, re.MULTILINE)
    words = " ".join(sentence[1].split()) if sentence else "undecided"
    words = re.sub(r"^.* SIZE[^:]*: ", "", words).rstrip(".")
    crossings = [one for one in document["crossovers"] if one["cache"] == cache]
    if len(crossings) == 1:
        ends = [size(crossings[0][name]) for name in ("low_bytes", "high_bytes", "tie_low_bytes", "tie_high_bytes")]
        words += " [{}, {}]; within 2 % from {} to {}".format(*ends)
    return words


def row(vectored, shape, budget):
    words = f"measure {SHAPES[shape]} --budget {budget} --seed 1".split()
    caches = ["hot"]
    if "--operation" not in words:
        caches.append("cold")
        words[words.index("--budget") : words.index("--budget")] = ["--cache", "hot,cold"]
    with tempfile.TemporaryDirectory() as state:
        text = output([vectored, *words], env={**os.environ, "XDG_STATE_HOME": state, "COLUMNS": "100"})
        folder = os.path.join(state, "vectored")
        with open(os.path.join(folder, os.listdir(folder)[0]), encoding="utf-8") as saved:
            document = json.load(saved)
    answers = [answer(text, document, cache) for cache in caches]
    return f"| {shape} | {' | '.join(answers + ['not measured'][: 2 - len(answers)])} | `{' '.join(['vectored', *words])}` |"


def buffer_row(vectored):
    """CPU time of a copy, by the size of its buffer, without the start and the end of the process."""
    words = "reproduce apue-3.5 --min 1KiB --max 4MiB".split()
    experiment = json.loads(output([vectored, *words, "--no-save", "--format", "json"]))["experiments"][0]
    times = {one["buffer_bytes"]: one["cpu_s"] for one in experiment["rows"] if one["technique"] == "read-write"}
    ratios = ", ".join(f"{size(count)}: {time / min(times.values()):.2f}" for count, time in sorted(times.items()))
    return f"| {BUFFER} | CPU time ÷ the least: {ratios} | not measured | `vectored {' '.join(words)}` |"


def compile_crate(words):
    """Called by Cargo in place of rustc."""
    if "h2" in words and words[words.index("h2") - 1] == "--crate-name":
        root = next(index for index, word in enumerate(words) if word.endswith("src/lib.rs"))
        copy = os.path.join(TARGET, "h2-source")
        shutil.copytree(os.path.dirname(words[root]), copy, dirs_exist_ok=True)
        path = os.path.join(copy, "codec", "framed_write.rs")
        with open(path, encoding="utf-8") as file:
            source = file.read()
        for old, new in [
            ("            CHAIN_THRESHOLD_WITHOUT_VECTORED_IO\n", 'std::env::var("H2_THRESHOLD").unwrap().parse().unwrap()\n'),
            ("DEFAULT_BUFFER_CAPACITY: usize = 16 *", "DEFAULT_BUFFER_CAPACITY: usize = 64 *"),
        ]:
            if source.count(old) != 1:
                raise SystemExit(f"h2 has changed: {old!r} is not there once")
            source = source.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        words[root] = os.path.join(copy, "lib.rs")
    os.execvp(words[0], words)


def constants(thresholds):
    """For each case the CPU time ÷ the CPU time with the project's own setting."""
    found = {}
    for program, technique, sizes in CASES:
        for threshold in thresholds if program == "h2" else [""]:
            options = f"--programs {program} --sizes {sizes} --counts 16 --rounds 24 --format json"
            text = output([*BENCH, "--", *options.split()], env={**PATCHED, "H2_THRESHOLD": threshold or "1024"})
            for cell in json.loads(text)["cells"]:
                if cell["technique"] in (technique, "today-again"):
                    column = "A/A" if cell["role"] == "again" else f"{technique} {threshold}".strip()
                    figures = f"{cell['ratio_to_today']:.2f} [{cell['today_low']:.2f}, {cell['today_high']:.2f}]"
                    found.setdefault((program, cell["case"]), {})[column] = figures
    for program, technique, _ in CASES:
        columns = [technique] if program != "h2" else [f"{technique} {threshold}" for threshold in thresholds]
        columns.append("A/A")
        print(f"| {program} | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
        for (of, case), figures in found.items():
            if of == program:
                print(f"| {case} | {' | '.join(figures[column] for column in columns)} |")
        print()


def main():
    words = sys.argv[1:]
    if os.environ.get("RUSTC_WRAPPER") == os.path.abspath(__file__):
        compile_crate(words)
    elif words[:1] == ["--constants"]:
        subprocess.run([*BENCH, "--no-run"], check=True, env=PATCHED)
        if words[1:] != ["--build"]:
            constants(words[1:] or ["1024", "4096", "16384"])
    elif words and not words[0].startswith("-"):
        vectored, *words = words
        budget = "40s"
        if words[:1] == ["--budget"]:
            budget, words = words[1], words[2:]
        for shape in set(words) - {*SHAPES, BUFFER}:
            raise SystemExit(f"unknown list '{shape}': one of {'; '.join([*SHAPES, BUFFER])}")
        print("| list | bytes in a CPU cache | in none | command |\n|---|---|---|---|")
        for shape in words or [*SHAPES, BUFFER]:
            print(buffer_row(vectored) if shape == BUFFER else row(vectored, shape, budget), flush=True)
    else:
        print(__doc__)


if __name__ == "__main__":
    main()
