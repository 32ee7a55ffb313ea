"""Prints the licenses of what is linked into packages of this workspace: licenses.py TARGET PACKAGE…

Each text comes once, below the crates that have it. The tool has glibc in it too.
"""

import json
import pathlib
import subprocess
import sys

target, *names = sys.argv[1:]
command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}

todo = [id for id, package in packages.items() if package["name"] in names]
linked = set()
while todo:
    id = todo.pop()
    is_macro = any("proc-macro" in kind["kind"] for kind in packages[id]["targets"])
    if id in linked or is_macro:
        continue
    linked.add(id)
    for dependency in nodes[id]["deps"]:
        if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
            todo.append(dependency["pkg"])

own = ["vectored (MIT OR Apache-2.0)", "the standard library of Rust, Copyright (c) The Rust Project Contributors (MIT OR Apache-2.0)"]
texts = {pathlib.Path(name).read_text().strip(): list(own) for name in ("LICENSE-MIT", "LICENSE-APACHE")}
for package in sorted((packages[id] for id in linked), key=lambda package: package["name"]):
    if package["source"] is None:
        continue
    folder = pathlib.Path(package["manifest_path"]).parent
    starts = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")
    files = sorted(file for start in starts for file in folder.glob(start + "*") if file.is_file())
    name = f"{package['name']} {package['version']} ({package['license']})"
    if not files and "Apache-2.0" not in package["license"]:
        sys.exit(f"error: {name} has no text of its license in '{folder}'")
    for file in files or [pathlib.Path("LICENSE-APACHE")]:
        texts.setdefault(file.read_text().strip(), []).append(name)
if "vectored-cli" in names:
    glibc = "the GNU C Library, glibc, linked statically (LGPL-2.1-or-later): its source is at https://sourceware.org/glibc/"
    for file in (pathlib.Path("/usr/share/doc/libc6/copyright"), pathlib.Path("/usr/share/common-licenses/LGPL-2.1")):
        if not file.exists():
            sys.exit(f"error: '{file}' is missing, with a license of glibc: build on Debian")
        texts[file.read_text().strip()] = [glibc]

for text, crates in texts.items():
    print("\n".join(crates), text, sep="\n\n", end="\n\n" + "-" * 80 + "\n\n")
