#!/usr/bin/env python3
"""`cargo xtask reproducibility`: do repeated runs of `vectored measure` agree?

reproducibility.py [--runs N | FILE…]: runs the tool N times, by default 10, or compares saved results. The exit status is 1 if
runs contradict each other, decide too few of their cells, or find other crossovers.
"""

import itertools, json, os, subprocess, sys, time
from statistics import median_high

# The share of its cells that a run has to decide.
MIN_DECIDED = 0.70
# If one run finds a crossover, this share of the runs has to find it.
FOUND_SHARE = 0.9
# The share of pairs of intervals of one crossover that have to overlap.
OVERLAP_SHARE = 0.95
# The largest median of high ÷ low over all intervals.
MEDIAN_WIDTH = 1.3
# The largest regret of choosing by a model: in the median cell, and in the 95th percentile.
REGRETS = [0.01, 0.05]


def measure(program, folder, number):
    """Makes a run, prints a line about it, and returns its results."""
    path = f"{folder}/run-{number}.json"
    with open(path, "w") as output:
        began = time.monotonic()
        run = subprocess.Popen([program, "measure", "--format", "json", "--quiet"], stdout=output,
                               env={**os.environ, "XDG_STATE_HOME": folder + "/state"})
        _, status, usage = os.wait4(run.pid, 0)
    if status:
        sys.exit(f"error: vectored measure ended with wait status {status}")
    result = json.load(open(path))
    complete = "yes" if result["complete"] else "no"
    print(f"{number:>3}  {time.monotonic() - began:>4.1f} s  {len(result['cells']):>6}  {100 * decided(result):>5.1f} %  "
          f"{complete:>8}  {usage.ru_maxrss / 1024:>7.1f} MiB", flush=True)
    return result


def decided(run):
    """The share of the cells whose verdict is `faster` or `tie`."""
    return sum(cell["verdict"] != "open" for cell in run["cells"]) / max(1, len(run["cells"]))


def name_of(cell):
    sizes = f"{cell['segment_count']} × {cell['segment_bytes']} B" if cell["segment_bytes"] else cell["segment_sizes"]
    return f"{cell['target']} {sizes}"


def verdicts_agree(runs):
    """Whether no cell has two winners, and every run decides enough."""
    by_run = [{name_of(cell): cell for cell in run["cells"]} for run in runs]
    names = list(dict.fromkeys(name for cells in by_run for name in cells))
    differing = contradicted = 0
    for name in names:
        cells = [cells.get(name) for cells in by_run]
        contradicted += len({cell["winner"] for cell in cells if cell and cell["winner"]}) > 1
        said = [(cell["winner"] or cell["verdict"]) if cell else "not measured" for cell in cells]
        if len(set(said)) > 1:
            differing += 1
            print(f"{name}: {', '.join(said)}")
    least = min((decided(run) for run in runs), default=0)
    passes = bool(names) and not contradicted and least >= MIN_DECIDED
    print(f"{differing} of {len(names)} cells differ between runs\n{contradicted} cells are contradicted (0 allowed)\n"
          f"smallest share of cells that a run decided: {100 * least:.1f} % ({100 * MIN_DECIDED:.0f} % required): {word(passes)}")
    return passes


def crossovers_agree(runs):
    """Whether the crossovers and the fitted models keep to all limits above."""
    crossovers, models = {}, {}
    for run in runs:
        seen = []
        for one in run["crossovers"]:
            name = f"{one['target']} {one['segment_count']} × {one['below']} → {one['above']}"
            seen.append(name)
            # A second crossover of a list between the same techniques counts separately.
            crossovers.setdefault((name, seen.count(name)), []).append(one)
        for model in run["cost_models"]:
            if model["regret_p95"] is not None:
                of = model["target"] + (" (reader thread)" if model["drain"] == "reader-thread" else "")
                models.setdefault((of, model["source"]), []).append((model["regret_median"], model["regret_p95"]))
    passes = True
    overlapping = pairs = 0
    widths = []
    for (name, number), found in sorted(crossovers.items()):
        overlaps = [a["low_bytes"] <= b["high_bytes"] and b["low_bytes"] <= a["high_bytes"]
                    for a, b in itertools.combinations(found, 2)]
        print(f"{name}{f' ({number})' * (number > 1)}: found in {len(found)} of {len(runs)}, {sum(overlaps)} of "
              f"{len(overlaps)} pairs overlap\n    "
              + "  ".join(f"{at['at_bytes']:.0f} [{at['low_bytes']:.0f}, {at['high_bytes']:.0f}]" for at in found))
        overlapping, pairs = overlapping + sum(overlaps), pairs + len(overlaps)
        widths += [one["high_bytes"] / one["low_bytes"] for one in found]
        passes &= len(found) >= FOUND_SHARE * len(runs)
    share, width = overlapping / pairs if pairs else 1, median_high(widths or [1])
    print(f"{100 * share:.1f} % of the pairs of intervals overlap ({100 * OVERLAP_SHARE:.0f} % required); high ÷ low is "
          f"{width:.3f} in the median ({MEDIAN_WIDTH} allowed)")
    passes &= share >= OVERLAP_SHARE and width <= MEDIAN_WIDTH
    for (name, source), regrets in models.items():
        medians = [median_high(of) for of in zip(*regrets)]
        print(f"cost model of {name}, {'fitted' if source == 'cells' else 'calibrated'}: regret of choosing by it: median "
              f"{100 * medians[0]:.2f} %, 95th percentile {100 * medians[1]:.1f} % ({len(regrets)} runs)")
        # A calibration is shown and never fails.
        passes &= source == "calibration" or all(regret <= limit for regret, limit in zip(medians, REGRETS))
    print(f"crossovers and models: {word(passes)}")
    return passes


def word(passes):
    return "passed" if passes else "FAILED"


files = sys.argv[1:]
if not files or files[0] == "--runs":
    subprocess.run("cargo build --release --locked --package vectored-cli".split(), check=True)
    target = os.environ["CARGO_TARGET_DIR"]
    folder = target + "/reproducibility"
    os.makedirs(folder, exist_ok=True)
    print("run    time   cells  decided  complete   peak memory")
    count = int(files[1]) if files else 10
    runs = [measure(target + "/release/vectored", folder, number) for number in range(1, count + 1)]
    print()
else:
    runs = [json.load(open(path)) for path in files]
passed = verdicts_agree(runs)
print()
sys.exit(not (crossovers_agree(runs) and passed))
