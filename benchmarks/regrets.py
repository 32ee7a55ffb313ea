#!/usr/bin/env python3
"""The regret of the library's default thresholds on recorded machines, and of the constants that would regret least.

    benchmarks/regrets.py --record NAME RESULT...   # writes benchmarks/machines/NAME.csv from results of `vectored measure`
    benchmarks/regrets.py [--search]

A regret is the time of what the default chooses ÷ the time of the fastest technique, in a cell of equal segments. Cells in which a
thread reads during the call are left out: the library cuts such lists in chunks, which no other technique does. The costs are read
from the table in crates/vectored/src/cost/defaults.rs. `--search` varies the threshold of each target and number of segments,
and prints the threshold whose largest regret over all machines is least.
"""

import argparse
import csv
import glob
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINES = os.path.join(HERE, "machines")
DEFAULTS = os.path.join(HERE, "../crates/vectored/src/cost/defaults.rs")
COLUMNS = {"file": 0, "pipe": 1, "unix": 2, "other": 3}
NAMES = {"write-each": "each", "copy-then-write": "copy", "writev": "gather"}
PAGE = 4096


def record(name, results):
    """Times of the techniques ÷ the time of the floor, of the cells that the default decides."""
    rows = {}
    for path in results:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        for cell in result["cells"]:
            is_usual = cell["target"] in COLUMNS and cell["segment_bytes"] and cell.get("drain") != "reader-thread"
            if not is_usual or cell["operation"] != "write" or cell["rounds"] < 20:
                continue
            found = {t["name"]: t["floor_ratio"] for t in cell["techniques"]}
            if set(NAMES) <= set(found):
                key = (cell["target"], cell["segment_count"], cell["segment_bytes"])
                rows[key] = [f"{found[name]:.4f}" for name in NAMES]
    if not rows:
        raise SystemExit("no cell of equal segments to a file, pipe or Unix socket: give results of `vectored measure`")
    os.makedirs(MACHINES, exist_ok=True)
    path = os.path.join(MACHINES, f"{name}.csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["target", "segments", "bytes", *NAMES.values()])
        out.writerows([*key, *row] for key, row in sorted(rows.items()))
    print(f"{path}: {len(rows)} cells")


def machines():
    """Cells by machine: (target, segments, bytes) → times by technique."""
    found = {}
    for path in sorted(glob.glob(os.path.join(MACHINES, "*.csv"))):
        with open(path, newline="", encoding="utf-8") as file:
            cells = {
                (row["target"], int(row["segments"]), int(row["bytes"])): {name: float(row[name]) for name in NAMES.values()}
                for row in csv.DictReader(file)
            }
        found[os.path.basename(path)[:-4]] = cells
    return found


def costs():
    """The default costs of each target."""
    found = {target: {} for target in COLUMNS}
    with open(DEFAULTS, encoding="utf-8") as file:
        for name, cells in re.findall(r"/// \| `(\w+)` \|(.*)\|", file.read()):
            words = [cell.strip().replace(",", "") for cell in cells.split("|")]
            for target, column in COLUMNS.items():
                if re.fullmatch(r"[\d.]+", words[column]):
                    found[target][name] = float(words[column])
    return found


def threshold(cost, count):
    """CostModel::copy_below_bytes"""

    def break_even(segment_ns):
        once = cost["gather_call_ns"] + (cost["iovec_step_ns"] if count > 8 else 0)
        saved = segment_ns - cost["copy_segment_ns"] + once / count
        cached = saved / cost["copy_byte_ns"]
        uncached = saved / (cost["copy_byte_uncached_ns"] + cost["call_ns"] / cost["staging_bytes"])
        return max(min(cached, cost["staging_bytes"] / count), uncached)

    large = break_even(cost["large_segment_ns"])
    return int(large if large >= 256 else min(break_even(cost["segment_ns"]), 256))


def copies(cost, below, size):
    """CostModel::copies"""
    if size > below or not (PAGE % size == 0 or size % PAGE == 0) or size < 512:
        return size <= below
    return min(size / PAGE, 1) * cost["page_end_ns"] <= (below - size) * cost["copy_byte_ns"]


def regret(cell, is_copied):
    return cell["copy" if is_copied else "gather"] / min(cell.values())


def table(known, defaults, title, target_of):
    print(f"| {title} | cells | within 3 % | largest regret | where |\n|---|---|---|---|---|")
    for name, cells in known.items():
        found = []
        for (target, count, size), cell in cells.items():
            cost = defaults[target_of(target)]
            found.append((regret(cell, copies(cost, threshold(cost, count), size)), f"{target}, {count} × {size} B"))
        worst, where = max(found)
        good = sum(one <= 1.03 for one, _ in found)
        print(f"| {name} | {len(found)} | {100 * good / len(found):.0f} % | {worst:.3f} | {where} |")


def search(known, defaults):
    print("\n| list | threshold now | largest regret | best threshold | largest regret |\n|---|---|---|---|---|")
    shapes = sorted({(target, count) for cells in known.values() for target, count, _ in cells})
    for target, count in shapes:
        here = [(size, cell) for cells in known.values() for (t, n, size), cell in cells.items() if (t, n) == (target, count)]
        cost = defaults[target]

        def worst(below):
            return max(regret(cell, copies(cost, below, size)) for size, cell in here)

        now = threshold(cost, count)
        best = min([now, *(int(64 * 1.15**n) for n in range(42))], key=worst)
        print(f"| {target}, {count} segments | {now} | {worst(now):.3f} | {best} | {worst(best):.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="NAME")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("results", nargs="*", metavar="RESULT")
    given = parser.parse_args()
    if bool(given.record) != bool(given.results):
        parser.error("--record NAME needs results, and results need --record NAME")
    if given.record:
        return record(given.record, given.results)
    known, defaults = machines(), costs()
    table(known, defaults, "the model for the target", lambda target: target)
    print()
    table(known, defaults, "the model without a target", lambda _: "other")
    if given.search:
        search(known, defaults)


main()
