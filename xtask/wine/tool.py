#!/usr/bin/env python3
"""The tool as a user of Windows meets it: `vectored.exe` in a new Wine prefix, beside bcryptprimitives.dll.

tool.py PROGRAM FOLDER: FOLDER has the prefix. Nothing here checks a time, because times under Wine are those of an emulation.
"""

import glob, json, os, signal, subprocess, sys, time

PROGRAM, FOLDER = sys.argv[1:]
DRIVE = FOLDER + "/prefix/drive_c"
# Time within which a measurement has begun, or ended after Ctrl-C, on a slow machine.
PATIENCE_S = 600


def start(line):
    """The program under Wine, whose current directory is on drive C and whose standard streams are no terminals."""
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_STATE_HOME")}
    run = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.sh")
    # A shell lets its background jobs ignore SIGINT, which `interrupt` sends.
    return subprocess.Popen(["env", "--default-signal=INT", run, PROGRAM, *line.split(" ")], cwd=DRIVE,
                            env={**environment, "VECTORED_WINE": FOLDER}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def output(line, status=0):
    """What a run with this exit status writes to its standard streams: no escape code and no carriage return."""
    run = start(line)
    texts = [text.decode() for text in run.communicate()]
    assert run.returncode == status, f"'{line}' ended with {run.returncode}: {texts}"
    assert not any(code in text for text in texts for code in "\x1b\r"), f"'{line}': an escape code or \\r: {texts}"
    return texts


def saved():
    """The saved results: the files in `%LOCALAPPDATA%`."""
    return sorted(glob.glob(DRIVE + "/users/*/AppData/Local/vectored/*"))


def only_new(before):
    [path] = set(saved()) - set(before)
    text = open(path, newline="").read()
    assert "\r" not in text, f"{path} has a carriage return"
    return json.loads(text)


def saving(line):
    """The result that a command saves."""
    before = saved()
    last = output(line)[1].splitlines()[-1]
    assert r":\users" in last and r"\AppData\Local\vectored" in last, f"no file in %LOCALAPPDATA% is named: {last}"
    return only_new(before)


def measured(line, cells):
    """The result of `measure` with a budget in which this many cells get figures: 4 s if the machine is fast."""
    for budget in "4s", "16s", "64s", "256s", "1024s":
        result = saving(f"measure --budget {budget} {line}")
        if len(result["cells"]) >= cells:
            break
    check_proofs(result, cells)
    return result


def check_proofs(result, cells):
    """Checks that all cells have bytes that were compared."""
    assert len(result["cells"]) >= cells, f"{len(result['cells'])} of {cells} cells"
    for cell in result["cells"]:
        assert cell["proof_calls"] > 0 and cell["floor_ns"] > 0, f"no bytes were compared, or no floor: {cell}"


def check_host(host):
    """Checks that a warning says that times are those of Wine."""
    is_wine = [text.startswith("Wine ") and text.endswith(": times are those of an emulation") for text in host["warnings"]]
    assert any(is_wine), f"no warning of Wine: {host}"


def techniques(cell):
    return [technique["name"] for technique in cell["techniques"]]


def texts():
    "--version, man, completions"
    for line, word in ("--version", "vectored "), ("man measure", ".TH"), ("completions powershell", "vectored"):
        text = output(line)[0]
        assert word in text, f"'{line}' prints no '{word}': {text}"


def host():
    "host"
    found = json.loads(output("host --format json --dir C:\\")[0])["host"]
    check_host(found)
    assert found["directory"]["path"] == "C:\\" and found["system"].startswith("Windows "), found
    assert "Wine " in output("host")[0], "no Wine in the table"


def measure():
    "measure file, pipe, tcp"
    os.makedirs(DRIVE + "/windows/temp", exist_ok=True)
    result = measured(r"--target file,pipe,tcp,C:\users --segments 4 --sizes 64,4KiB --dir C:\windows\temp", 8)
    check_host(result["host"])
    for cell in result["cells"]:
        # `writev` is WSASend, which works on sockets only.
        assert ("writev" in techniques(cell)) == (cell["target"] == "tcp"), cell
    left = glob.glob(DRIVE + "/windows/temp/.vectored*")
    assert not left, f"left behind: {left}"
    measured("--operation read --target file,pipe,tcp --segments 4 --sizes 64", 3)


def saved_results():
    "report, history, compare"
    assert "floor" in output("report measure")[0], "no table"
    kinds = "html", "markdown", "csv"
    output("report measure" + "".join(rf" --{kind} C:\users\report.{kind}" for kind in kinds))
    for kind in kinds:
        text = open(f"{DRIVE}/users/report.{kind}", newline="").read()
        assert "read-each" in text and "\r" not in text, f"no technique, or \\r, in the {kind}: {text}"
    assert "measure" in output("history")[0], "no results in the history"
    measurements = [path for path in saved() if os.path.basename(path).startswith("measure-")]
    first, last = ("C:" + path.removeprefix(DRIVE).replace("/", "\\") for path in (measurements[0], measurements[-1]))
    output(f"compare {first} --against {last}")


def refusals():
    "what Windows lacks"
    for line, status, name in (
        ("measure --technique mmap", 2, "mmap"),
        ("measure --technique io-uring", 2, "io-uring"),
        ("measure --target unix --segments 2 --sizes 64", 2, "Unix sockets"),
        ("reproduce apue-3.5", 2, "calls of Unix"),
        ("advise log.txt", 2, "calls of Linux"),
        ("measure --target tcp://127.0.0.1:7007", 2, "--target tcp"),
    ):
        errors = output(line, status)[1]
        assert errors.startswith("error: ") and name in errors, f"'{line}' does not name {name}: {errors}"


def interrupt():
    "Ctrl-C, which Wine makes of SIGINT, ends a measurement, and what was measured is saved"
    os.makedirs(DRIVE + "/users/measured")
    before = saved()
    run = start(r"measure --target file --segments 2,4,8 --sizes 64 --budget 1h --dir C:\users\measured")
    try:
        began = time.monotonic()
        # The handler is installed before any file exists.
        while not os.listdir(DRIVE + "/users/measured"):
            assert run.poll() is None and time.monotonic() - began < PATIENCE_S, f"no measurement began: {run.poll()}"
            time.sleep(0.05)
        # A cell that has rounds is saved.
        time.sleep(5)
        run.send_signal(signal.SIGINT)
        errors = run.communicate(timeout=PATIENCE_S)[1].decode()
    finally:
        run.kill()
    assert run.returncode == 130, f"{run.returncode}: {errors}"
    # On a machine that is very slow there is no cell.
    if "stopped before any cell" not in errors:
        check_proofs(only_new(before), 1)


for check in texts, host, measure, saved_results, refusals, interrupt:
    print(f"   vectored.exe: {check.__doc__}", flush=True)
    check()
