"""Adds a program to the scripts of a wheel, and its licenses: add_script.py WHEEL PROGRAM LICENSES. pip makes it executable."""

import base64
import hashlib
import os
import sys
import zipfile

wheel, program, licenses = sys.argv[1:]
with zipfile.ZipFile(wheel) as old:
    files = [(file, old.read(file)) for file in old.infolist()]
record = next(file for file, _ in files if file.filename.endswith(".dist-info/RECORD"))
about = record.filename.removesuffix("/RECORD")
script = zipfile.ZipInfo(f"{about.removesuffix('.dist-info')}.data/scripts/{os.path.basename(program)}", record.date_time)
script.external_attr = 0o100755 << 16
text = zipfile.ZipInfo(f"{about}/licenses/third-party.txt", record.date_time)
text.external_attr = 0o100644 << 16

lines, added = b"", []
for file, path in ((script, program), (text, licenses)):
    with open(path, "rb") as source:
        contents = source.read()
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
    lines += f"{file.filename},sha256={digest},{len(contents)}\n".encode()
    added.append((file, contents))

with zipfile.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED) as new:
    for file, data in [*files, *added]:
        new.writestr(file, lines + data if file is record else data, zipfile.ZIP_DEFLATED)
os.replace(wheel + ".new", wheel)
