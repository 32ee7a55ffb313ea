"""`GatherWriter` in the place of a buffered file."""

import copy
import csv
import ctypes
import dis
import errno
import gc
import gzip
import io
import json
import logging
import os
import pickle
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import zipfile

import vectored
from support import Descriptors, Reader, buffered_bytes, in_any_form, payload, random_sizes


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file")

    def content(self):
        with open(self.path, "rb") as file:
            return file.read()

    def test_any_series_of_calls_writes_what_a_buffered_file_writes(self):
        rng = random.Random(21)
        for turn in range(30):
            model = io.BytesIO()
            file = open(self.path, "wb", buffering=0)
            writer = vectored.GatherWriter(file, rng.choice([1, 100, 8192, 65536]))
            for step in range(rng.randrange(60)):
                kind = rng.randrange(12)
                data = payload([rng.choice([0, 1, 30, 5000, 70_000])], step)[0]
                if kind < 6:
                    self.assertEqual(writer.write(in_any_form(data, rng)), len(data))
                    model.write(data)
                elif kind < 9:
                    lines = payload(random_sizes(rng)[:20], step)
                    writer.writelines(in_any_form(line, rng) for line in lines)
                    model.writelines(lines)
                elif kind == 9:
                    writer.flush()
                    self.assertEqual(self.content(), model.getvalue())
                elif kind == 10:
                    self.assertEqual(writer.tell(), model.tell())
                else:
                    place = rng.randrange(len(model.getvalue()) + 1)
                    self.assertEqual(writer.seek(place), model.seek(place))
            writer.close()
            self.assertEqual(self.content(), model.getvalue())
            self.assertTrue(writer.closed and file.closed)

    def test_what_is_kept_is_what_it_was_when_it_was_written(self):
        data = bytearray(b"first")
        with vectored.GatherWriter(open(self.path, "wb")) as writer:
            writer.write(data)
            data[:] = b"later"
            data.extend(b"!")  # The buffer is not locked.
            writer.writelines([data])
            data.clear()
        self.assertEqual(self.content(), b"firstlater!")

    def test_it_is_the_file_of_a_text_wrapper_and_of_other_modules(self):
        with io.TextIOWrapper(vectored.GatherWriter(open(self.path, "wb")), "utf-8") as text:
            print("line", 1, file=text)
            csv.writer(text).writerow(["ä", 2])
            json.dump({"three": 3}, text)
        self.assertEqual(self.content().decode(), 'line 1\nä,2\r\n{"three": 3}')

        with vectored.GatherWriter(open(self.path, "wb")) as file:
            with gzip.GzipFile(fileobj=file, mode="wb") as zipped:
                zipped.write(b"zip" * 1000)
        with gzip.open(self.path) as zipped:
            self.assertEqual(zipped.read(), b"zip" * 1000)

        with vectored.GatherWriter(open(self.path, "wb")) as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                for name in ("one", "two"):
                    info = tarfile.TarInfo(name)
                    info.size = 5000
                    tar.addfile(info, io.BytesIO(name[:1].encode() * 5000))
        with tarfile.open(self.path) as tar:
            self.assertEqual(tar.getnames(), ["one", "two"])

        with vectored.GatherWriter(open(self.path, "wb")) as file:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("one", b"1" * 100_000)
                with archive.open("two", "w") as member:
                    member.write(b"2")
        with zipfile.ZipFile(self.path) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(archive.read("two"), b"2")

        value = {"bytes": b"b" * 100_000, "views": pickle.PickleBuffer(b"p" * 70_000), "list": list(range(1000))}
        with vectored.GatherWriter(open(self.path, "wb")) as file:
            pickle.dump(value, file, protocol=5)
        with open(self.path, "rb") as file:
            self.assertEqual(pickle.load(file), {**value, "views": b"p" * 70_000})

        with vectored.GatherWriter(open(self.path, "wb")) as file:
            shutil.copyfileobj(io.BytesIO(b"copied" * 50_000), file, 1000)
        self.assertEqual(self.content(), b"copied" * 50_000)

        text = io.TextIOWrapper(vectored.GatherWriter(open(self.path, "wb")), "utf-8", write_through=True)
        handler = logging.StreamHandler(text)
        handler.handle(logging.makeLogRecord({"msg": "logged"}))
        self.assertEqual(self.content(), b"logged\n")  # StreamHandler flushes.
        writer = text.detach()
        writer.write(b"more")
        writer.close()
        self.assertEqual(self.content(), b"logged\nmore")

    def test_it_has_what_files_have(self):
        file = open(self.path, "wb")
        writer = vectored.GatherWriter(file)
        self.assertIsInstance(writer, io.BufferedIOBase)
        self.assertEqual((writer.fileno(), writer.name, writer.mode), (file.fileno(), self.path, "wb"))
        self.assertTrue(writer.writable() and writer.seekable())
        self.assertFalse(writer.readable() or writer.isatty() or writer.closed)
        writer.write(b"0123456789")
        self.assertEqual(writer.truncate(4), 4)
        self.assertIn("0 bytes buffered", repr(writer))
        writer.close()
        writer.close()
        self.assertEqual(self.content(), b"0123")
        for call in (writer.fileno, writer.flush, writer.tell, writer.writable, lambda: writer.write(b"")):
            with self.assertRaises(ValueError):
                call()

    def test_what_the_file_has_buffered_precedes(self):
        with open(self.path, "wb") as file:
            file.write(b"head ")
            with vectored.GatherWriter(file) as writer:
                writer.write(b"body")
        self.assertEqual(self.content(), b"head body")

    def test_a_detached_file_stays_open_and_the_writer_ends(self):
        file = open(self.path, "ab", buffering=0)
        with vectored.GatherWriter(file) as writer:
            self.assertEqual((writer.raw, writer.mode), (file, "ab"))
            writer.write(b"before ")
            self.assertIs(writer.detach(), file)
            self.assertEqual(self.content(), b"before ")
            for call in (writer.flush, writer.fileno, writer.detach, lambda: writer.write(b"lost")):
                with self.assertRaisesRegex(ValueError, "detached"):
                    call()
        self.assertTrue(writer.closed)
        file.write(b"after")
        file.close()
        self.assertEqual((writer.name, self.content()), (self.path, b"before after"))

    def test_the_number_of_a_file_that_somebody_has_closed_is_not_used(self):
        file = open(self.path, "wb", buffering=0)
        writer = vectored.GatherWriter(file)
        writer.write(b"for the closed file")
        number = file.fileno()
        file.close()
        with open(self.path + "2", "wb", buffering=0) as other:
            self.assertEqual(other.fileno(), number)
            with self.assertRaisesRegex(ValueError, "closed"):
                writer.flush()
            with self.assertRaisesRegex(ValueError, "closed"):
                writer.write(bytes(100_000))
            with self.assertRaisesRegex(ValueError, "closed"):
                writer.close()
            self.assertTrue(writer.closed)
            self.assertEqual(os.fstat(number).st_size, 0)

    def test_it_cannot_be_copied(self):
        with vectored.GatherWriter(open(self.path, "wb")) as writer:
            writer.write(b"once")
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot copy or pickle"):
                    copied(writer)
        self.assertEqual(self.content(), b"once")

    def test_the_buffer_of_an_object_is_written_and_not_what_it_makes_of_itself(self):
        class Odd(bytearray):
            def __bytes__(self):
                return b"something else"

        with vectored.GatherWriter(open(self.path, "wb")) as writer:
            self.assertEqual(writer.write(Odd(b"odd")), 3)
            self.assertEqual(writer.tell(), 3)
        self.assertEqual(self.content(), b"odd")

    def test_text_is_refused_and_nothing_of_the_lines_is_taken(self):
        with vectored.GatherWriter(open(self.path, "wb")) as writer:
            with self.assertRaisesRegex(TypeError, "encode it"):
                writer.write("text")
            with self.assertRaisesRegex(TypeError, "encode it"):
                writer.writelines([b"a", "text"])
            for single in (b"bytes", bytearray(b"more"), memoryview(b"view"), "text"):
                with self.assertRaisesRegex(TypeError, "put it in a list"):
                    writer.writelines(single)
        self.assertEqual(self.content(), b"")

    def test_a_writer_that_cannot_be_made_leaves_nothing(self):
        ignored = []
        before, sys.unraisablehook = sys.unraisablehook, ignored.append
        try:
            with self.assertRaises(ValueError):
                vectored.GatherWriter(1, 0)
            with self.assertRaises(OSError):
                vectored.GatherWriter(10_000)
            with self.assertRaisesRegex(TypeError, "not 'str': open the path with buffering=0"):
                vectored.GatherWriter("name")
            for wrong in (b"name", None):
                with self.assertRaisesRegex(TypeError, "an int or have a method fileno, not '"):
                    vectored.GatherWriter(wrong)
            with gzip.GzipFile(fileobj=io.BytesIO(), mode="wb") as encoder:
                with self.assertRaisesRegex(TypeError, "'gzip' encodes what is written"):
                    vectored.GatherWriter(encoder)
            with self.assertRaises(io.UnsupportedOperation) as caught:
                vectored.GatherWriter(io.BytesIO())
            self.assertIn("no descriptor", caught.exception.__notes__[0])
            with self.assertRaisesRegex(ValueError, "(-1)"):
                vectored.GatherWriter(-1)
            with self.assertRaises(TypeError):
                vectored.GatherWriter(1, 1.5)
            with self.assertRaises(TypeError):
                vectored.GatherWriter(1, buffering=0)
            for wrong in (vectored.CostModel.for_target("file"), 5):
                with self.assertRaisesRegex(TypeError, "gather must be a Gather"):
                    vectored.GatherWriter(1, gather=wrong)
            with open(os.devnull, "rb", buffering=0) as file:
                with self.assertRaisesRegex(io.UnsupportedOperation, "not open for writing"):
                    vectored.GatherWriter(file)
                self.assertFalse(file.closed)
            gc.collect()
        finally:
            sys.unraisablehook = before
        self.assertEqual(ignored, [])

    def test_closefd_says_who_closes(self):
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT)
        with vectored.GatherWriter(fd, closefd=False) as writer:
            writer.write(b"a")
        with vectored.GatherWriter(fd) as writer:
            writer.write(b"b")
        with self.assertRaises(OSError):
            os.fstat(fd)
        self.assertEqual(self.content(), b"ab")

    def test_a_writer_that_is_dropped_is_flushed(self):
        with open(self.path, "wb", buffering=0) as file:
            writer = vectored.GatherWriter(file, closefd=False)
            writer.write(b"kept")
            del writer
            gc.collect()
            self.assertEqual(self.content(), b"kept")

    def test_the_error_of_a_writer_that_is_flushed_when_python_ends_is_reported(self):
        program = """
import os, vectored
source, sink = os.pipe()
os.set_blocking(sink, False)
writer = vectored.GatherWriter(sink)
writer.write(bytes(200_000))
writer.kept = writer  # It is freed when the modules are.
"""
        command = [sys.executable, "-X", "dev", "-W", "ignore", "-c", program]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertIn("BlockingIOError: [Errno 11]", ended.stderr)
        self.assertNotIn("ImportError", ended.stderr)

    def test_a_writer_whose_file_is_closed_before_it_says_what_is_lost(self):
        message = "6 buffered bytes are lost: the file was closed before its writer"
        with open(self.path, "wb") as file:
            writer = vectored.GatherWriter(file)
            writer.write(b"header")
        with self.assertRaisesRegex(ValueError, message):
            writer.close()
        self.assertTrue(writer.closed)
        program = f"""
import socket, vectored
with open({self.path!r}, "wb") as file:
    writer = vectored.GatherWriter(file)
    writer.write(b"header")
del writer
with socket.socketpair()[0] as near:
    writer = vectored.GatherWriter(near)
    writer.write(b"header")
del writer
"""
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
        self.assertEqual((ended.returncode, ended.stderr.count(message)), (0, 2), ended.stderr)

    def test_an_error_when_it_is_closed_is_raised_and_the_file_is_closed(self):
        with open("/dev/full", "wb", buffering=0) as file:
            writer = vectored.GatherWriter(file)
            writer.write(b"lost")
            with self.assertRaises(OSError) as caught:
                writer.close()
            self.assertEqual(caught.exception.errno, errno.ENOSPC)
            self.assertTrue(writer.closed and file.closed)

    def test_an_error_keeps_what_was_written_before_it(self):
        source, sink = os.pipe()
        with open("/dev/full", "wb", buffering=0) as full:
            writer = vectored.GatherWriter(full, 10)
            writer.write(b"before")
            with self.assertRaises(OSError) as caught:
                writer.write(b"a long piece")
            self.assertEqual(caught.exception.done, 0)
            os.dup2(sink, full.fileno())
            os.close(sink)
            writer.close()
        with open(source, "rb") as reader:
            self.assertEqual(reader.read(), b"before")


class NonBlocking(Descriptors):
    def test_a_write_takes_all_or_nothing_and_close_can_be_repeated(self):
        rng = random.Random(2)
        for turn in range(10):
            source, sink = self.pair()
            os.set_blocking(sink, False)
            reader = Reader(source, 5000)
            sent, writer = [], vectored.GatherWriter(sink, 10_000)

            def until_done(call):
                while True:
                    try:
                        return call()
                    except BlockingIOError as error:
                        self.assertIn("done", vars(error))
                        select.select([], [sink], [])

            for step in range(200):
                data = payload([rng.choice([3, 500, 30_000])], step)[0]
                if rng.randrange(2):
                    self.assertEqual(until_done(lambda: writer.write(in_any_form(data, rng))), len(data))
                else:
                    until_done(lambda: writer.writelines([data, memoryview(data)]))
                    sent.append(data)
                sent.append(data)
            until_done(writer.flush)
            writer.write(b"end")
            until_done(writer.close)
            self.assertEqual(reader.result(), b"".join(sent) + b"end")

    def test_a_full_writer_takes_nothing(self):
        source, sink = self.pair()
        os.set_blocking(sink, False)
        writer = vectored.GatherWriter(sink, 1000)
        self.assertEqual(writer.write(bytes(200_000)), 200_000)
        with self.assertRaises(BlockingIOError) as caught:
            writer.write(b"more")
        self.assertEqual((caught.exception.characters_written, caught.exception.done), (0, 0))
        with self.assertRaises(BlockingIOError):
            writer.close()
        self.assertFalse(writer.closed)
        reader = Reader(source)
        os.set_blocking(sink, True)
        writer.close()
        self.assertEqual(reader.result(), bytes(200_000))

    def test_a_writer_over_a_socket_with_a_timeout_is_to_be_called_again(self):
        near, far = socket.socketpair()
        with near, far:
            near.settimeout(30)
            writer = vectored.GatherWriter(near, closefd=False)
            writer.write(bytes(10_000_000))
            with self.assertRaises(BlockingIOError) as caught:
                writer.flush()
            self.assertRegex(caught.exception.__notes__[0], r"repeat the call.*settimeout\(None\)")
            reader = Reader(far.detach())
            near.settimeout(None)
            writer.close()
            near.shutdown(socket.SHUT_WR)
            self.assertEqual(len(reader.result()), 10_000_000)

    def test_objects_of_any_format_are_kept_when_the_descriptor_is_full(self):
        numbers = (ctypes.c_int32.__ctype_be__ * 50_000)(*range(50_000))
        matrix = memoryview(payload([120_000])[0]).cast("B", (2, 3, 20_000))
        for long in (numbers, matrix):
            source, sink = self.pair()
            os.set_blocking(sink, False)
            writer = vectored.GatherWriter(sink, 10)
            writer.writelines([b"head", long, matrix])
            expected = b"head" + bytes(long) + bytes(matrix)
            reader = Reader(source)
            while True:
                try:
                    writer.close()
                    break
                except BlockingIOError:
                    select.select([], [sink], [])
            self.assertEqual(reader.result(), expected)

    def test_an_error_while_earlier_bytes_are_sent_counts_none_of_the_call(self):
        class Gather:
            errors = [BlockingIOError(errno.EAGAIN, "full", 7), OSError(errno.ENOSPC, "no space")]

            def resume_write(self, file, buffers, cursor):
                cursor.advance(buffers, 7)
                error = self.errors.pop(0)
                error.done = 7
                raise error

        source, sink = self.pair()
        writer = vectored.GatherWriter(sink, 10)
        writer._gather = Gather()
        self.assertEqual(writer.write(bytes(200)), 200)
        with self.assertRaises(OSError) as caught:
            writer.write(b"more")
        self.assertEqual((caught.exception.errno, caught.exception.done), (errno.ENOSPC, 0))
        writer._gather = vectored.Gather()
        writer.close()
        reader = Reader(source)
        self.assertEqual(reader.result(), bytes(200 - 14))


class Handlers(Descriptors):
    """A signal handler that uses the writer that it has interrupted, while a pipe is full."""

    def interrupted(self, handle, writer_class=vectored.GatherWriter):
        """Interrupts a long `writelines` by `handle`, then reads. Returns the writer and the reader."""
        source, sink = self.pair()
        writer = writer_class(sink, 1000)
        main, handled, readers = threading.get_ident(), threading.Event(), []

        def handler(*_):
            if not handled.is_set():
                handled.set()
                handle(writer)

        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)

        def interrupt_then_read():
            while buffered_bytes(source) < 32768:
                time.sleep(0.001)
            while not handled.wait(0.01):
                signal.pthread_kill(main, signal.SIGUSR1)
            readers.append(Reader(source))

        writer.write(b"early,")
        helper = threading.Thread(target=interrupt_then_read)
        helper.start()
        writer.writelines([b"%d," % i for i in range(50_000)])
        helper.join()
        return writer, readers[0]

    def test_a_short_write_comes_after_the_interrupted_call(self):
        writer, reader = self.interrupted(lambda writer: writer.write(b"of the handler,"))
        writer.write(b"late")
        writer.close()
        expected = b"early," + b"".join(b"%d," % i for i in range(50_000)) + b"of the handler,late"
        self.assertEqual(reader.result(), expected)

    def test_a_call_that_would_have_to_send_is_refused_and_nothing_is_lost(self):
        refused = []

        def handle(writer):
            for call in (lambda: writer.write(bytes(2000)), writer.close):
                try:
                    call()
                except RuntimeError as error:
                    refused.append(str(error))

        writer, reader = self.interrupted(handle)
        self.assertFalse(writer.closed)
        writer.close()
        self.assertEqual(len(refused), 2, refused)
        self.assertEqual(reader.result(), b"early," + b"".join(b"%d," % i for i in range(50_000)))

    def test_what_the_handler_raises_leaves_what_earlier_calls_wrote(self):
        class Stop(Exception):
            pass

        caught = []

        def handle(writer):
            writer.write(b"of the handler")
            raise Stop

        class Keeping(vectored.GatherWriter):
            def writelines(self, lines):
                try:
                    super().writelines(lines)
                except Stop as error:
                    caught.append(error.done)

        writer, reader = self.interrupted(handle, Keeping)
        writer.close()
        flat = b"".join(b"%d," % i for i in range(50_000))
        # The interrupted call has written and counted a part. The rest was for the caller to repeat.
        self.assertEqual(reader.result(), b"early," + flat[: caught[0]] + b"of the handler")
        self.assertGreater(caught[0], 0)


class Stop(Exception):
    """What a handler raises. It refuses attributes."""

    def __setattr__(self, name, value):
        raise AttributeError(name)


class AnyInstruction(Descriptors):
    """A handler raises at the n-th place of the writer at which CPython runs handlers, for each n: after calls and jumps
    back, and where a function begins."""

    def stopped(self, call, writer, number):
        """Calls, and raises Stop at place `number`. Whether there is such a place."""
        path, left, last = sys.modules["vectored._writer"].__file__, number, {}

        def in_frame(frame, event, _):
            nonlocal left
            if event == "opcode":
                runs_handlers = last.get(id(frame), "RESUME").startswith(("CALL", "RESUME", "JUMP_BACKWARD"))
                last[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
                left -= runs_handlers
                if runs_handlers and left == 0:
                    raise Stop
            return in_frame

        def entered(frame, event, _):
            if frame.f_code.co_filename == path:
                frame.f_trace_opcodes = True
                return in_frame

        before = sys.gettrace()
        # Without `f_trace_opcodes`, Python 3.12 traces no instruction of a function that was not traced before.
        sys._getframe().f_trace_opcodes = True
        sys.settrace(entered)
        try:
            call(writer)
        except (Stop, BlockingIOError):
            pass
        finally:
            sys.settrace(before)
        return left <= 0

    def check(self, call, data):
        early = payload([100] * 700)
        number, goes_on = 0, True
        while goes_on:
            number += 1
            source, sink = self.pair()
            os.set_blocking(sink, False)
            os.set_blocking(source, False)
            writer = vectored.GatherWriter(sink, 1 << 20, closefd=False)
            for piece in early:
                writer.write(piece)
            goes_on = self.stopped(call, writer, number)
            got = bytearray()
            while True:
                try:
                    got += os.read(source, 1 << 20)
                except BlockingIOError:
                    pass
                try:
                    writer.flush()
                    break
                except BlockingIOError:
                    continue
            got += os.read(source, 1 << 20) if buffered_bytes(source) else b""
            writer.close()
            os.close(source)
            os.close(sink)
            whole = b"".join(early)
            self.assertEqual(bytes(got[: len(whole)]), whole, number)
            self.assertTrue(data.startswith(got[len(whole) :]), number)
        self.assertGreater(number, 15)

    def test_a_flush_loses_nothing(self):
        self.check(lambda writer: writer.flush(), b"")

    def test_a_write_loses_nothing_of_earlier_ones(self):
        (data,) = payload([2 << 20], seed=2)
        self.check(lambda writer: writer.write(data), data)


class Threads(Descriptors):
    def test_the_writes_of_several_threads_stay_whole(self):
        source, sink = self.pair()
        reader = Reader(source)
        writer = vectored.GatherWriter(sink, 1000)

        def run(number):
            for i in range(2000):
                writer.write(b"%d:%d\n" % (number, i))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.close()
        lines = sorted(reader.result().split())
        self.assertEqual(lines, sorted(b"%d:%d" % (n, i) for n in range(4) for i in range(2000)))


if __name__ == "__main__":
    unittest.main()
