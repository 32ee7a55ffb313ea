"""Reads a record into three buffers, without a copy: a header, numbers and a trailer."""

import array
import tempfile

import vectored

with tempfile.TemporaryFile(buffering=0) as file:
    vectored.write_all(file, [b"head", array.array("d", [0.5, 1.5, 2.5]), b"end"])

    header, numbers, trailer = bytearray(4), array.array("d", bytes(24)), bytearray(3)
    count = vectored.read_exact(file, [header, numbers, trailer], offset=0)
    print(f"{count} bytes: {bytes(header)!r}, {list(numbers)}, {bytes(trailer)!r}")
    assert list(numbers) == [0.5, 1.5, 2.5]

    try:
        vectored.read_exact(file, [header, trailer], offset=count - 5)
    except EOFError as error:
        print(f"after {error.done} bytes: {error}")
