#!/usr/bin/env python3
"""Virtual environments of Python with packages whose files are known by their hashes.

environment.py FOLDER REQUIREMENTS: makes an environment with all that a file of xtask/requirements/ lists, unless it is there.
environment.py --pin REQUIREMENTS…: writes the versions and hashes of such a file anew, by asking for the names in its first line.
"""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--only-binary=:all:"]
# The systems on which `cargo xtask test` runs: versions of CPython, processors, and versions of glibc, the newest first.
PYTHONS, PROCESSORS, GLIBCS = ["3.11", "3.12", "3.13", "3.14"], ["x86_64", "aarch64"], [34, 31, 28, 27, 26, 24, 17]


def make(folder, requirements):
    """One process at a time: two lanes of `cargo xtask test` need the same environment."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Written last: an environment without this file was not finished.
        installed, python = folder / "requirements.txt", folder / "bin/python"
        wanted = requirements.read_text()
        # The Python of the environment is a link to a Python of the system, which may be gone.
        is_whole = installed.exists() and installed.read_text() == wanted and python.exists()
        if is_whole and not subprocess.run([python, "-c", ""]).returncode:
            return
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, *PIP[1:], "--require-hashes", "--retries=4", "--timeout=30", "-r", requirements]
        subprocess.run(install, check=True)
        installed.write_text(wanted)


def pin(requirements):
    first = requirements.read_text().splitlines()[0]
    names, hashes = first.removeprefix("# ").split(), {}
    for python in PYTHONS:
        for processor in PROCESSORS:
            platforms = [f"--platform=manylinux_2_{glibc}_{processor}" for glibc in GLIBCS]
            system = [f"--python-version={python}", *platforms, f"--platform=manylinux2014_{processor}"]
            words = ["--isolated", "--dry-run", "--ignore-installed", "--target=nowhere", "--report=-", *system]
            report = subprocess.run([*PIP, *words, *names], check=True, stdout=subprocess.PIPE)
            for package in json.loads(report.stdout)["install"]:
                name = f"{package['metadata']['name']}=={package['metadata']['version']}"
                hashes.setdefault(name, set()).add(package["download_info"]["archive_info"]["hashes"]["sha256"])
            # The versions for the oldest Python are used for all.
            names = sorted(hashes, key=str.lower)
    lines = [" ".join([name, *(f"--hash=sha256:{digest}" for digest in sorted(hashes[name]))]) for name in names]
    requirements.write_text("\n".join([first, *lines, ""]))


if sys.argv[1] == "--pin":
    for path in sys.argv[2:]:
        pin(Path(path))
else:
    try:
        make(*map(Path, sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {error}")
