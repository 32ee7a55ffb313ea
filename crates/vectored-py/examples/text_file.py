"""Writes text through a GatherWriter, which joins the lines into few system calls."""

import io
import os
import tempfile

import vectored

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "lines.txt")
    with io.TextIOWrapper(vectored.GatherWriter(open(path, "wb", buffering=0)), "utf-8") as file:
        for number in range(1000):
            print("line", number, file=file)
    with open(path) as file:
        assert sum(1 for _ in file) == 1000
    print(os.path.getsize(path), "bytes")
