"""What several tests use: lists of buffers with known content, and descriptors with a reader."""

import array
import fcntl
import mmap
import os
import random
import socket
import termios
import threading
import unittest


def skip(reason):
    """Skip a test, and name it in the list that `cargo xtask test` prints."""
    if path := os.environ.get("VECTORED_SKIPS"):
        with open(path, "a") as file:
            file.write(f"python: {reason}\n")
    raise unittest.SkipTest(reason)


def payload(sizes, seed=1):
    """Bytes objects of these sizes, whose content tells them apart."""
    return [random.Random(seed * 1_000_003 + i).randbytes(n) for i, n in enumerate(sizes)]


def random_sizes(rng):
    """The sizes of a list: few or many, with empty, short and long segments."""
    kind = rng.randrange(4)
    count = rng.choice([0, 1, 2, 3, 17, 200, 1023, 1024, 1025, 2500])
    longest = [20, 300, 3000, 40][kind]
    sizes = [rng.randrange(longest) for _ in range(count)]
    for _ in range(min(count, 3)):
        sizes[rng.randrange(count)] = rng.choice([0, 4096, 70_000])
    return sizes


def in_any_form(data, rng):
    """An object with the buffer protocol that holds these bytes."""
    form = rng.randrange(6)
    if form == 0:
        return data
    if form == 1:
        return bytearray(data)
    if form == 2:
        return memoryview(b"<" + data + b">")[1:-1]
    if form == 3:
        return array.array("B", data)
    if form == 4 and data:
        mapping = mmap.mmap(-1, len(data))
        mapping[:] = data
        return mapping
    # Contiguous, with another format than bytes.
    whole, rest = divmod(len(data), 4)
    return data if rest else array.array("i", data) if whole else array.array("d")


def buffered_bytes(fd):
    """The bytes in a pipe."""
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


class Reader:
    """A thread that reads a descriptor to its end, in pieces of `piece` bytes, and then closes the descriptor."""

    def __init__(self, fd, piece=65536, pause=None):
        self.fd, self.piece, self.pause = fd, piece, pause
        self.parts = []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while part := os.read(self.fd, self.piece):
            self.parts.append(part)
            if self.pause:
                self.pause()
        os.close(self.fd)

    def result(self):
        """All that was read. The writer's end must be closed."""
        self.thread.join()
        return b"".join(self.parts)


def pipe_pair():
    return os.pipe()


def socket_pair():
    reader, writer = socket.socketpair()
    return reader.detach(), writer.detach()


PAIRS = {"pipe": pipe_pair, "socket": socket_pair}


class Descriptors(unittest.TestCase):
    """A test that makes descriptors."""

    def pair(self, name="pipe"):
        """A reader and a writer, which the test closes. A `Reader` closes what it reads."""
        return PAIRS[name]()
