#!/usr/bin/env python3
"""Check the savings that `vectored advise` predicts against programs that make the advised change.

    run.py [--vectored PATH] [--rounds N] [PROGRAM...]

Each program has two command lines: without and with the change that the advice asks for (an option of the
program, stdbuf(1), or a buffer in the script). `advise` runs the first. Then both run N times in turn, without
strace, and the CPU times (user and system) of each pair are subtracted. The output is a table in Markdown. A
program that is not installed has a row that says so.
"""

import argparse
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# name: without the change, with it. `<FILE` and `>FILE` are standard input and output.
PROGRAMS = {
    "jq": ("jq --unbuffered -c .id rows.json >out", "jq -c .id rows.json >out"),
    "grep": ("grep --line-buffered 5 short.txt >out", "grep 5 short.txt >out"),
    "mawk": (
        "mawk -W interactive '{print $1*2}' short.txt >out",
        "mawk '{print $1*2}' short.txt >out",
    ),
    "cpio": (
        "cpio --quiet -o -O out <list",
        "cpio --quiet -o -C 65536 -O out <list",
    ),
    "busybox dd": (
        "busybox dd if=words.txt of=out bs=1k",
        "busybox dd if=words.txt of=out bs=64k",
    ),
    "uniq": (
        "stdbuf -i4K -o4K uniq words.txt >out",
        "stdbuf -i64K -o64K uniq words.txt >out",
    ),
    "php": ("php records.php out each", "php records.php out buffer"),
    "ruby": ("ruby records.rb each >out", "ruby records.rb buffer >out"),
    "lua5.4": ("lua5.4 records.lua each >out", "lua5.4 records.lua buffer >out"),
    "node": ("node records.js out each", "node records.js out buffer"),
    "java": ("java -cp . Records out each", "java -cp . Records out buffer"),
    "tclsh": ("tclsh records.tcl out each", "tclsh records.tcl out buffer"),
    "ocaml": ("./records-ml each >out", "./records-ml buffer >out"),
}

COMPILED = {
    "java": ("javac", ["javac", "Records.java"]),
    "ocaml": ("ocamlopt", ["ocamlopt", "-o", "records-ml", "records.ml"]),
}


def prepare(folder):
    """Write the inputs, which are the same on every machine."""
    for name in os.listdir(HERE):
        shutil.copy(os.path.join(HERE, name), folder)
    number = 12345
    with open(os.path.join(folder, "words.txt"), "w") as words:
        for _ in range(200_000):
            number = (number * 1103515245 + 12345) % 2**31
            words.write(f"word{number >> 8} another {number % 1000} line\n")
    with open(os.path.join(folder, "short.txt"), "w") as short:
        short.writelines(f"{line} short line\n" for line in range(20_000))
    with open(os.path.join(folder, "rows.json"), "w") as rows:
        rows.writelines(f'{{"id":{row},"name":"w{row}"}}\n' for row in range(20_000))
    tree = os.path.join(folder, "tree")
    os.mkdir(tree)
    for file in range(300):
        with open(os.path.join(tree, f"file{file}"), "w") as out:
            out.write("content\n" * (file * 7 % 2000))
    with open(os.path.join(folder, "list"), "w") as out:
        out.writelines(f"tree/file{file}\n" for file in range(300))


def split(command):
    """The words of a command, its input and its output."""
    words, files = [], {"<": os.devnull, ">": os.devnull}
    for word in shlex.split(command):
        if word[0] in files:
            files[word[0]] = word[1:]
        else:
            words.append(word)
    return words, files["<"], files[">"]


def run(words, command, folder):
    """Run `words` with the input and the output of `command`. Exit if it fails."""
    _, source, target = split(command)
    with open(os.path.join(folder, source)) as stdin, open(
        os.path.join(folder, target), "w"
    ) as stdout:
        done = subprocess.run(
            words, cwd=folder, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE
        )
    if done.returncode != 0:
        sys.exit(f"{shlex.join(words)}: status {done.returncode}: {done.stderr.decode()}")


def cpu_ms(command, folder):
    """The CPU time of a run, in ms."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(split(command)[0], command, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return used * 1e3


def advise(vectored, command, folder):
    """The result of `advise` for a command."""
    result = os.path.join(folder, "advice.json")
    if os.path.exists(result):
        os.remove(result)
    options = ["--quiet", "--no-save", "--format", "json", "--output", result]
    run([vectored, "advise", *options, "--", *split(command)[0]], command, folder)
    with open(result) as file:
        return json.load(file)


def row(name, vectored, rounds, folder):
    before, after = PROGRAMS[name]
    program = split(before)[0]
    # stdbuf runs another program.
    needed = [word for word in program[:4] if word in ("stdbuf", "uniq")]
    compiler, build = COMPILED.get(name, (None, None))
    needed += [compiler] if compiler else program[:1]
    missing = [one for one in needed if not shutil.which(one)]
    if missing:
        return f"| {name} | not installed: {', '.join(missing)} | | | | | |"
    if build:
        subprocess.run(build, cwd=folder, check=True)
    advice = advise(vectored, before, folder)
    written = []
    for command in (before, after):
        cpu_ms(command, folder)
        with open(os.path.join(folder, "out"), "rb") as file:
            # An archive is padded to a multiple of its block size.
            written.append(file.read().rstrip(b"\0"))
    if written[0] != written[1]:
        sys.exit(f"{name}: the two versions write different bytes")
    differences, times = [], []
    for _ in range(rounds):
        as_is = cpu_ms(before, folder)
        differences.append(as_is - cpu_ms(after, folder))
        times.append(as_is)
    differences.sort()
    saved, cut = statistics.median(differences), rounds // 5
    low, high = differences[cut], differences[-1 - cut]
    predicted = advice["saving_s"] * 1e3
    found = "; ".join(
        finding["pattern"]
        for finding in advice["findings"]
        if finding["saving_s"] * 1e3 >= 0.01 * statistics.median(times)
    )
    ratio = f"{saved / predicted:.2f}" if predicted > 0 else "-"
    return (
        f"| {name} | {found or 'nothing over 1 %'} | {predicted:.1f} "
        f"[{advice['saving_low_s'] * 1e3:.1f}, {advice['saving_high_s'] * 1e3:.1f}] | {saved:.1f} "
        f"[{low:.1f}, {high:.1f}] | {100 * saved / statistics.median(times):.0f} % | {ratio} | "
        f"`{before}` → `{after}` |"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectored", default="vectored", help="path of the program `vectored`")
    parser.add_argument("--rounds", type=int, default=15, help="pairs of runs (15)")
    parser.add_argument("program", nargs="*", help=", ".join(PROGRAMS))
    options = parser.parse_args()
    for name in options.program:
        if name not in PROGRAMS:
            parser.error(f"unknown program {name}: known are {', '.join(PROGRAMS)}")
    vectored = shutil.which(options.vectored)
    if not vectored:
        parser.error(f"{options.vectored} not found: name the program with --vectored")
    print(
        "| program | findings of 1 % or more | predicted, ms | measured, ms | of the CPU time "
        "| measured ÷ predicted | change |"
    )
    print("|---|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        for name in options.program or PROGRAMS:
            print(row(name, os.path.abspath(vectored), options.rounds, folder), flush=True)


main()
