"""Adds a program to the scripts of a wheel: add_script.py WHEEL PROGRAM. pip makes it executable."""

import base64
import hashlib
import os
import sys
import zipfile

wheel, program = sys.argv[1:]
with zipfile.ZipFile(wheel) as old:
    files = [(file, old.read(file)) for file in old.infolist()]
record = next(file for file, _ in files if file.filename.endswith(".dist-info/RECORD"))
name = f"{record.filename.removesuffix('.dist-info/RECORD')}.data/scripts/{os.path.basename(program)}"
with open(program, "rb") as source:
    contents = source.read()
digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
line = f"{name},sha256={digest},{len(contents)}\n"

script = zipfile.ZipInfo(name, record.date_time)
script.external_attr = 0o100755 << 16
with zipfile.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED) as new:
    for file, data in [*files, (script, contents)]:
        new.writestr(file, line.encode() + data if file is record else data, zipfile.ZIP_DEFLATED)
os.replace(wheel + ".new", wheel)
