"""Signals during a transfer: handlers run promptly, and what they raise ends it with a count."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import vectored
from support import Descriptors, Reader, buffered_bytes

# A shell without job control lets its background commands ignore SIGINT. These processes would inherit that.
HEEDS_SIGINT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

# A process that writes to a full pipe until ^C comes, then says how many bytes went.
BLOCKED = """
import os, sys, vectored
fd = int(sys.argv[1])
buffers = [b"%07d\\n" % i for i in range(200_000)]
write = {"all": vectored.write_all, "gather": vectored.Gather().write_all,
    "pipe": vectored.Gather(vectored.CostModel.for_target("pipe")).write_all}[sys.argv[2]]
print("ready", flush=True)
try:
    write(fd, buffers)
except KeyboardInterrupt as error:
    print(error.done, flush=True)
"""

READING = """
import sys, vectored
buffers = [bytearray(3), bytearray(1000)]
print("ready", flush=True)
try:
    vectored.read_exact(int(sys.argv[1]), buffers)
except KeyboardInterrupt as error:
    print(error.done, bytes(buffers[0]), bytes(buffers[1][:3]), flush=True)
"""


def is_asleep(pid):
    """Whether a process waits in a system call (proc_pid_stat(5))."""
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def wait_until_blocked(process, is_at_its_place):
    """Wait until the process sleeps, three times in a row, and the condition holds."""
    seen = 0
    while seen < 3:
        if process.poll() is not None:
            raise AssertionError(f"the process ended: {process.stdout.read()}")
        seen = seen + 1 if is_at_its_place() and is_asleep(process.pid) else 0
        time.sleep(0.01)


class Interrupts(Descriptors):
    def start(self, program, *arguments, fds):
        process = subprocess.Popen(
            [sys.executable, "-c", HEEDS_SIGINT + program, *arguments],
            pass_fds=fds,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_ctrl_c_ends_a_write_to_a_full_pipe_and_counts_its_bytes(self):
        for how in ("all", "gather", "pipe"):
            with self.subTest(how=how):
                source, sink = self.pair()
                process = self.start(BLOCKED, str(sink), how, fds=[sink])
                os.close(sink)
                wait_until_blocked(process, lambda: buffered_bytes(source) >= 32768)
                process.send_signal(signal.SIGINT)
                # The process ends although nobody reads.
                output, _ = process.communicate(timeout=600)
                sent = b"".join(b"%07d\n" % i for i in range(200_000))
                with open(source, "rb") as reader:
                    arrived = reader.read()
                self.assertEqual(int(output), len(arrived))
                self.assertEqual(arrived, sent[: len(arrived)])
                self.assertGreater(len(arrived), 0)

    def test_ctrl_c_ends_a_read_from_an_empty_pipe_and_keeps_what_was_read(self):
        source, sink = self.pair()
        os.write(sink, b"12345")
        process = self.start(READING, str(source), fds=[source])
        os.close(source)
        wait_until_blocked(process, lambda: buffered_bytes(sink) == 0)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=600)
        os.close(sink)
        self.assertEqual(output, "5 b'123' b'45\\x00'\n")

    def test_a_handler_that_raises_nothing_runs_and_the_write_goes_on(self):
        source, sink = self.pair()
        caught, main = [], threading.get_ident()
        first = threading.Event()

        def handler(*_):
            caught.append(buffered_bytes(source))
            first.set()

        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        readers = []

        def interrupt_then_read():
            while buffered_bytes(source) < 32768:
                time.sleep(0.001)
            while not first.wait(0.01):
                signal.pthread_kill(main, signal.SIGUSR1)
            # The handler ran while the pipe was full and nobody read.
            readers.append(Reader(source))

        helper = threading.Thread(target=interrupt_then_read)
        helper.start()
        data = [bytes([i % 251]) * 1000 for i in range(500)]
        self.assertEqual(vectored.write_all(sink, data), 500_000)
        os.close(sink)
        helper.join()
        self.assertEqual(readers[0].result(), b"".join(data))
        self.assertGreaterEqual(caught[0], 32768)

    def test_a_handler_may_use_the_same_gather(self):
        source, sink = self.pair()
        other_source, other_sink = self.pair()
        gather, main = vectored.Gather(), threading.get_ident()
        done = threading.Event()

        def handler(*_):
            if not done.is_set():
                gather.write_all(other_sink, [b"from ", b"the ", b"handler"])
                done.set()

        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        readers = []

        def interrupt_then_read():
            while buffered_bytes(source) < 32768:
                time.sleep(0.001)
            while not done.wait(0.01):
                signal.pthread_kill(main, signal.SIGUSR1)
            readers.append(Reader(source))

        helper = threading.Thread(target=interrupt_then_read)
        helper.start()
        data = [b"%d," % i for i in range(30_000)]
        gather.write_all(sink, data)
        os.close(sink)
        helper.join()
        self.assertEqual(readers[0].result(), b"".join(data))
        os.close(other_sink)
        with open(other_source, "rb") as file:
            self.assertEqual(file.read(), b"from the handler")

    def test_what_the_handler_raises_is_raised_and_the_cursor_goes_on(self):
        class Stop(Exception):
            pass

        source, sink = self.pair()
        main = threading.get_ident()
        raised = threading.Event()

        def handler(*_):
            if not raised.is_set():
                raised.set()
                raise Stop

        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)

        def interrupt():
            while buffered_bytes(source) < 32768:
                time.sleep(0.001)
            while not raised.wait(0.01):
                signal.pthread_kill(main, signal.SIGUSR1)

        helper = threading.Thread(target=interrupt)
        helper.start()
        data = [b"%d," % i for i in range(50_000)]
        cursor = vectored.Cursor()
        with self.assertRaises(Stop) as caught:
            vectored.resume_write(sink, data, cursor)
        helper.join()
        left = cursor.remaining_bytes(data)
        self.assertEqual(caught.exception.done + left, len(b"".join(data)))
        reader = Reader(source)
        self.assertEqual(vectored.resume_write(sink, data, cursor), left)
        os.close(sink)
        self.assertEqual(reader.result(), b"".join(data))


if __name__ == "__main__":
    unittest.main()
