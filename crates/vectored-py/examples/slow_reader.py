"""Sends 5000 buffers through a non-blocking pipe, whose reader is slow."""

import os
import select
import threading
import time

import vectored

source, sink = os.pipe()
os.set_blocking(sink, False)
received = bytearray()


def read_slowly() -> None:
    while part := os.read(source, 20_000):
        received.extend(part)
        time.sleep(0.001)


reader = threading.Thread(target=read_slowly)
reader.start()

data = bytes(range(256)) * 4000
views = [memoryview(data)[i * 200 : (i + 1) * 200] for i in range(5000)]

gather, cursor = vectored.Gather(), vectored.Cursor()
waits = 0
while True:
    try:
        gather.resume_write(sink, views, cursor)
        break
    except BlockingIOError:
        waits += 1
        select.select([], [sink], [])

os.close(sink)
reader.join()
os.close(source)
assert received == b"".join(views)
print(f"{len(received)} bytes arrived; the pipe was full {waits} times")
