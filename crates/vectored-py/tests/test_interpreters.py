"""The end of an interpreter, forks, and other interpreters in the same process."""

import subprocess
import sys
import unittest

# Threads that write and read while the interpreter ends. One thread sleeps in a system call.
ENDS_DURING_CALLS = """
import os, sys, threading, vectored
source, sink = os.pipe()
null = os.open(os.devnull, os.O_RDWR)
gather, data = vectored.Gather(), [b"a", bytearray(100), b"c" * 5000] * 20
started = threading.Barrier(4)

def write_on():
    started.wait()
    while True:
        gather.write_all(null, data)

def write_to_a_full_pipe():
    started.wait()
    vectored.write_all(sink, [bytes(200_000)])

for run in (write_on, write_on, write_to_a_full_pipe):
    threading.Thread(target=run, daemon=True).start()
started.wait()
print("ends", flush=True)
"""

FORKS = """
import os, threading, vectored
gather, null = vectored.Gather(), os.open(os.devnull, os.O_RDWR)
data = [bytearray(20)] * 200
done = threading.Event()

def write_on():
    while not done.is_set():
        gather.write_all(null, data)

threads = [threading.Thread(target=write_on) for _ in range(3)]
for thread in threads:
    thread.start()
for turn in range(50):
    child = os.fork()
    if child == 0:
        os._exit(0 if gather.write_all(null, data) == 4000 else 1)
    assert os.waitpid(child, 0)[1] == 0
done.set()
for thread in threads:
    thread.join()
"""

OTHER_INTERPRETER = """
import vectored
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
said = None
try:
    said = interpreters.run_string(other, "import vectored")
except Exception as error:
    said = error
# A failure is raised or, from Python 3.13 on, returned.
assert "ImportError" in str(said) or "ImportError" in repr(getattr(said, "type", "")), said
interpreters.destroy(other)
with open("/dev/null", "wb", buffering=0) as null:
    assert vectored.write_all(null, [b"a", bytearray(b"bc")]) == 3
print("refused")
"""


def run(program):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


class Interpreters(unittest.TestCase):
    def test_an_interpreter_ends_while_threads_write(self):
        for _ in range(4):
            ended = run(ENDS_DURING_CALLS)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "ends\n", ""))

    def test_a_forked_process_writes_with_the_gather_of_its_parent(self):
        ended = run(FORKS)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_another_interpreter_of_the_process_is_refused(self):
        ended = run(OTHER_INTERPRETER)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "refused\n", ""))


if __name__ == "__main__":
    unittest.main()
