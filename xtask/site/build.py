#!/usr/bin/env python3
"""`cargo xtask site`: the documentation as a searchable site, by mkdocs-material.

Fails if a link or an anchor leads nowhere, if a page is in no list of mkdocs.yml, or if a page loads anything from elsewhere.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OUT = Path(sys.argv[1])
SITE, WORK = Path("xtask/site"), Path("target/site")
PAGES = WORK / "pages"
# These pages contain almost every word: a search lists them after the pages that explain.
LISTS = re.compile(r"docs/(fields|axes|measured/.*)\.md|[A-Z]+\.md")


def copy(path):
    """Copies a page and what it links to, each to its place in the repository, so that links hold as they are."""
    to = PAGES / path
    if to.exists() or not Path(path).is_file():
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)
    if LISTS.fullmatch(path) and path != "README.md":
        to.write_text("---\nsearch:\n  boost: 0.1\n---\n" + to.read_text())
    if path.endswith(".md"):
        for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", Path(path).read_text()):
            copy(os.path.normpath(os.path.join(os.path.dirname(path), link)))


def main():
    venv = WORK / "venv"
    if subprocess.run([sys.executable, "xtask/environment.py", venv, "xtask/requirements/site.txt"]).returncode:
        why = "mkdocs-material cannot be installed"
        if os.environ.get("CI") == "true":
            sys.exit(f"error: site: {why}")
        print(f"skipped site: {why}")
        if skips := os.environ.get("VECTORED_SKIPS"):
            with open(skips, "a") as file:
                file.write(f"site: {why}\n")
        return
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in ["README.md", "CHANGELOG.md", *map(str, Path("docs").rglob("*.md"))]:
        copy(page)
    for name in ("style.css", "iframe-worker.js"):
        shutil.copy(SITE / name, PAGES)
    mkdocs = [venv / "bin/mkdocs", "build", "--config-file", SITE / "mkdocs.yml", "--site-dir", OUT.absolute()]
    # Without this variable, the theme prints an advertisement.
    if subprocess.run(mkdocs, env={**os.environ, "NO_MKDOCS_2_WARNING": "true"}).returncode:
        sys.exit("error: mkdocs has found the faults above")
    loaded = re.compile(r"<(?:script|img|link rel=\"stylesheet\"|iframe)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]*")
    for page in OUT.rglob("*.html"):
        html = page.read_text()
        if found := loaded.search(html):
            sys.exit(f"error: {page} loads from elsewhere: {found[0]}")
        if "\\|" in html:
            sys.exit(f"error: {page} shows the backslash of \\|, which GitHub drops in a table: write it without a bar")
    print(f"   {OUT}/index.html")


main()
