"""Which objects are taken, for how long they are locked, and that nothing is copied or leaked."""

import array
import bz2
import codecs
import gc
import gzip
import io
import lzma
import mmap
import os
import socket
import ssl
import sys
import tempfile
import threading
import time
import tracemalloc
import unittest

import vectored
from support import Descriptors, Reader, buffered_bytes, skip


class Objects(Descriptors):
    def setUp(self):
        self.null = open(os.devnull, "r+b", buffering=0)
        self.addCleanup(self.null.close)

    def test_bytes_count_whatever_the_format_is(self):
        matrix = memoryview(bytes(range(24))).cast("B", (2, 3, 4))
        floats = array.array("d", [1.5, 2.5])
        with tempfile.TemporaryFile(buffering=0) as file:
            self.assertEqual(vectored.write_all(file, [matrix, floats, b""]), 40)
            file.seek(0)
            self.assertEqual(file.read(), bytes(range(24)) + floats.tobytes())
            back = array.array("d", [0, 0])
            self.assertEqual(vectored.read_exact(file, [back], offset=24), 16)
            self.assertEqual(back, floats)

    def test_a_mapping_is_written_and_read_into(self):
        with tempfile.TemporaryFile(buffering=0) as file, mmap.mmap(-1, 10_000) as mapping:
            mapping[:] = b"m" * 10_000
            vectored.Gather().write_all(file, [b"head", mapping])
            mapping[:] = bytes(10_000)
            vectored.read_exact(file, [mapping], offset=4)
            self.assertEqual(mapping[:], b"m" * 10_000)

    def test_arrays_of_numpy_are_taken_if_they_are_contiguous(self):
        try:
            import numpy
        except ImportError:
            skip(f"numpy is not installed for {sys.version.split()[0]}")
        numbers = numpy.arange(12, dtype="int32").reshape(3, 4)
        with tempfile.TemporaryFile(buffering=0) as file:
            self.assertEqual(vectored.write_all(file, [numbers, numbers[1]]), 64)
            back = numpy.zeros((3, 4), dtype="int32")
            vectored.read_exact(file, [back], offset=0)
            self.assertTrue((back == numbers).all())
            for wrong in (numbers[:, 1], numbers.T):
                with self.assertRaises(BufferError):
                    vectored.write_all(file, [wrong])
            numbers.flags.writeable = False
            with self.assertRaises(BufferError):
                vectored.read_exact(file, [numbers], offset=0)

    def test_what_is_no_buffer_is_refused_by_its_index(self):
        released = memoryview(b"view")
        released.release()
        wrongs = (
            ("text", "encode it"),
            (7, "bytes([n]) is one byte, and bytes(n) are n zeros"),
            (None, "leave it out"),
            ([b"nested"], "pass its elements, not the list"),
            (released, "make a new view, this one is released"),
        )
        for wrong, remedy in wrongs:
            for write in (vectored.write_all, vectored.Gather().write_all):
                with self.subTest(wrong=wrong), self.assertRaises((TypeError, BufferError)) as caught:
                    write(self.null, [b"a", b"b", wrong])
                self.assertEqual(caught.exception.__notes__, [f"at index 2 of the list of buffers: {remedy}"])
            if wrong not in (None, 7):
                with self.assertRaises((TypeError, BufferError)) as caught:
                    vectored.read_exact(self.null, [wrong])
                self.assertIn(remedy, caught.exception.__notes__[0])
        with self.assertRaisesRegex(TypeError, r"not 'int': to read 4 bytes, pass \[bytearray\(4\)\]"):
            vectored.read_exact(self.null, 4)
        with self.assertRaisesRegex(TypeError, "not 'float': pass an int"):
            vectored.write_all(1.0, [b"a"])

    def test_a_single_buffer_is_no_list(self):
        for wrong in (b"bytes", bytearray(b"more"), memoryview(b"view")):
            with self.assertRaisesRegex(TypeError, "put it in a list"):
                vectored.write_all(self.null, wrong)
        with self.assertRaisesRegex(TypeError, "encode it, and put it in a list"):
            vectored.write_all(self.null, "text")
        with self.assertRaises(TypeError):
            vectored.write_all(self.null, 3)

    def test_what_is_not_contiguous_is_refused(self):
        view = memoryview(b"0123456789")
        for wrong in (view[::2], view[::-1]):
            with self.assertRaises(BufferError) as caught:
                vectored.write_all(self.null, [b"a", wrong])
            self.assertRegex(caught.exception.__notes__[0], "at index 1.*: copy it")
            with self.assertRaisesRegex(BufferError, "C-contiguous: copy it"):
                vectored.GatherWriter(self.null, closefd=False).write(wrong)

    def test_what_is_read_only_is_not_read_into(self):
        for wrong in (b"bytes", memoryview(bytearray(3)).toreadonly()):
            with self.assertRaises(BufferError):
                vectored.read_exact(self.null, [bytearray(0), wrong])

    def test_a_descriptor_is_an_int_or_has_fileno(self):
        class File:
            buffer = b"of its own"

            def fileno(self):
                return null.fileno()

        null = self.null
        for fd in (null, File(), null.fileno()):
            self.assertEqual(vectored.write_all(fd, [b"abc"]), 3)
            # Whether an object without a method `tell` has read ahead is unknown.
            self.assertEqual(vectored.read_up_to_eof(fd, [bytearray(3)]), 0)
        with self.assertRaises(ValueError):
            vectored.write_all(-1, [b"abc"])
        for wrong in ("1", None, object()):
            with self.assertRaises(TypeError):
                vectored.write_all(wrong, [b"abc"])
        with self.assertRaises(ValueError):
            with tempfile.TemporaryFile() as closed:
                pass
            vectored.write_all(closed, [b"abc"])
        with self.assertRaises(io.UnsupportedOperation) as caught:
            vectored.write_all(io.BytesIO(), [b"abc"])
        self.assertIn("'BytesIO' has no descriptor", caught.exception.__notes__[0])
        for wrong, remedy in (([b"abc"], "swapped"), (b"abc", "swapped"), ("name", "open the path"), (null.fileno, "call it")):
            with self.assertRaisesRegex(TypeError, remedy):
                vectored.write_all(wrong, [b"abc"])
        closed = socket.socket()
        closed.close()
        with self.assertRaises(ValueError) as caught:
            vectored.write_all(closed, [b"abc"])
        self.assertIn("closed", caught.exception.__notes__[0])

    def test_what_encodes_its_bytes_is_refused(self):
        near, far = socket.socketpair()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        options = {"do_handshake_on_connect": False, "server_hostname": "localhost"}
        with near, far, context.wrap_socket(near, **options) as encoder, tempfile.TemporaryDirectory() as place:
            for open_it in (gzip.open, bz2.open, lzma.open):
                with open_it(os.path.join(place, "file"), "wb") as file:
                    with self.assertRaisesRegex(TypeError, "its own methods"):
                        vectored.write_all(file, [b"abc"])
            with self.assertRaisesRegex(TypeError, "'ssl' encodes"):
                vectored.write_all(encoder, [b"abc"])
            far.setblocking(False)
            with self.assertRaises(BlockingIOError):
                far.recv(1)

    def test_what_a_file_has_buffered_precedes(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"head ")
            vectored.write_all(file, [b"body"])
            file.write(b" tail")
            vectored.Gather().write_all(file, [b"!"])
            file.seek(0)
            self.assertEqual(file.read(), b"head body tail!")
            file.seek(5)
            file.write(b"B")
            vectored.read_exact(file, [middle := bytearray(3)])
            self.assertEqual((middle, file.tell()), (b"ody", 9))
            file.write(b"T")
            vectored.read_exact(file, [end := bytearray(2)], offset=9)
            self.assertEqual(end, b"Tt")

    def test_a_file_that_has_read_ahead_is_not_read(self):
        reads = {
            "read_exact": vectored.read_exact,
            "read_up_to_eof": vectored.read_up_to_eof,
            "resume_read": lambda *of: vectored.resume_read(*of, vectored.Cursor()),
        }
        with tempfile.NamedTemporaryFile() as named:
            named.write(b"ab\n" + bytes(range(100)) * 1000)
            named.flush()
            for name, read in reads.items():
                for mode in ("rb", "r"):
                    with self.subTest(read=name, mode=mode), open(named.name, mode) as file:
                        read(file, [first := bytearray(1)])
                        file.read(1)
                        for _ in range(2):
                            with self.assertRaisesRegex(ValueError, "has read ahead: open it with buffering=0"):
                                read(file, [unread := bytearray(4)])
                        self.assertEqual((first, unread), (b"a", bytes(4)))
                with self.subTest(read=name), open(named.name, "r+b") as file:
                    file.readline()
                    read(file, [after := bytearray(4)])
                    self.assertEqual((after, file.read(2)), (bytes(range(4)), b"\4\5"))
            with open(named.name) as file:
                next(file)
                with self.assertRaisesRegex(ValueError, "has read ahead"):
                    vectored.read_exact(file, [bytearray(4)])
            with tempfile.NamedTemporaryFile("w+") as wrapper:
                wrapper.write("abcd")
                wrapper.seek(0)
                wrapper.read(1)
                with self.assertRaisesRegex(ValueError, "has read ahead"):
                    vectored.read_exact(wrapper, [bytearray(1)])
            with codecs.open(named.name, "r", "latin-1") as file:
                file.read(1)
                with self.assertRaisesRegex(ValueError, "has read ahead"):
                    vectored.read_exact(file, [bytearray(1)])
            with open(named.name, "rb") as file:
                file.read(1)
                os.lseek(file.fileno(), 2, os.SEEK_SET)
                with self.assertRaisesRegex(ValueError, "has read ahead"):
                    vectored.read_exact(file, [bytearray(1)])
            with open(named.name, "rb") as file:
                file.readline()
                vectored.read_exact(file, [at := bytearray(4)], offset=file.tell())
                self.assertEqual((at, file.read(1)), (bytes(range(4)), b"\0"))
            # A pipe has no position to compare.
            source, sink = self.pair()
            os.write(sink, b"abc")
            os.close(sink)
            with open(source, "rb") as file:
                file.read(1)
                with self.assertRaisesRegex(EOFError, "after 0 bytes") as caught:
                    vectored.read_exact(file, [bytearray(1)])
            self.assertIn("read ahead", caught.exception.__notes__[0])

    def test_what_has_not_read_ahead_is_read(self):
        class Own:
            """Not a buffered file, whatever the names of its methods say."""

            buffer = peek = None

            def __init__(self, file):
                self.fileno = file.fileno

            def tell(self):
                return 7

        with tempfile.NamedTemporaryFile() as named:
            named.write(b"abcdef")
            named.flush()
            with open(named.name, "r+") as file:
                file.write("A")
                vectored.read_exact(file, [after := bytearray(2)])
                self.assertEqual(after, b"bc")
            with open(named.name, "rb", buffering=0) as file:
                vectored.read_exact(Own(file), [first := bytearray(2)])
                self.assertEqual(first, b"Ab")

    def test_errors_name_what_a_beginner_got_wrong(self):
        with self.assertRaisesRegex(TypeError, "a list of bytes-like objects, not 'int'"):
            vectored.write_all(self.null, 5)
        for call, wrong, remedy in ((vectored.write_all, "text", "encode"), (vectored.read_exact, b"abcd", "a bytearray")):
            with self.assertRaises((TypeError, BufferError)) as caught:
                call(self.null, [wrong])
            self.assertIn(remedy, caught.exception.__notes__[-1])
        for call in (vectored.resume_write, vectored.Gather().resume_write):
            with self.assertRaisesRegex(TypeError, "not an iterator"):
                call(self.null, iter([b"abc"]), vectored.Cursor())
        # At an offset, as os.pwritev takes it.
        with tempfile.TemporaryFile(buffering=0) as file:
            vectored.write_all(file, [b"abc"], 2)
            self.assertEqual(file.read(), b"\0\0abc")

    def test_an_object_that_changes_the_list_while_it_is_exported_changes_nothing(self):
        if sys.version_info < (3, 12):
            skip("classes with __buffer__ need Python 3.12")

        class Evil:
            def __buffer__(self, flags):
                buffers.clear()
                gc.collect()
                return memoryview(b"evil")

        buffers = [bytes(bytearray(b"first")), Evil(), bytes(bytearray(b"last"))]
        with tempfile.TemporaryFile(buffering=0) as file:
            self.assertEqual(vectored.write_all(file, buffers), 13)
            file.seek(0)
            self.assertEqual(file.read(), b"firstevillast")


class Locks(Descriptors):
    def blocked_write(self, buffers, write=vectored.write_all):
        """Starts a write to a pipe in a thread, and waits until the pipe is full."""
        source, sink = self.pair()
        result = []

        def run():
            result.append(write(sink, buffers))
            os.close(sink)

        thread = threading.Thread(target=run)
        thread.start()
        # This thread runs while the other one is blocked: the lock is released.
        while buffered_bytes(source) < 32768:
            time.sleep(0.001)
        return source, thread, result

    def test_other_threads_run_during_a_blocked_write_and_the_buffer_keeps_its_size(self):
        for write in (vectored.write_all, vectored.Gather().write_all):
            data = bytearray(b"x" * 300_000)
            source, thread, result = self.blocked_write([b"head", data], write)
            self.assertTrue(thread.is_alive())
            for resize in (data.clear, lambda: data.extend(b"y"), lambda: data.pop()):
                with self.assertRaises(BufferError):
                    resize()
            reader = Reader(source)
            thread.join()
            self.assertEqual(result, [300_004])
            self.assertEqual(reader.result(), b"head" + b"x" * 300_000)
            data.clear()  # The buffer is released.

    def test_a_view_and_a_mapping_are_not_released_during_a_write(self):
        data, mapping = bytearray(b"v" * 100_000), mmap.mmap(-1, 100_000)
        view = memoryview(data)
        source, thread, result = self.blocked_write([view, mapping])
        for end in (view.release, mapping.close, lambda: mapping.resize(4096)):
            with self.assertRaises(BufferError):
                end()
        reader = Reader(source)
        thread.join()
        self.assertEqual((result, reader.result()), ([200_000], b"v" * 100_000 + bytes(100_000)))
        view.release()
        mapping.close()
        data.clear()

    def test_objects_that_no_name_refers_to_live_during_a_write(self):
        def objects():
            yield bytes(bytearray(b"a" * 100_000))
            yield bytearray(b"b" * 100_000)
            yield memoryview(bytearray(b"c" * 100_000))

        source, thread, result = self.blocked_write(objects())
        gc.collect()
        filling = [bytearray(b"x" * 100_000) for _ in range(20)]
        reader = Reader(source)
        thread.join()
        self.assertEqual(reader.result(), b"a" * 100_000 + b"b" * 100_000 + b"c" * 100_000)
        self.assertEqual((result, len(filling)), ([300_000], 20))

    def test_the_content_may_change_during_a_write(self):
        data = bytearray(b"a" * 1_000_000)
        source, thread, result = self.blocked_write([data])
        data[:] = b"b" * 1_000_000
        reader = Reader(source)
        thread.join()
        arrived = reader.result()
        self.assertEqual(len(arrived), 1_000_000)
        self.assertEqual(arrived.strip(b"a").strip(b"b"), b"")
        self.assertEqual(arrived[-1:], b"b")

    def test_an_exception_of_an_exporter_is_raised_and_the_buffers_before_it_are_released(self):
        if sys.version_info < (3, 12):
            skip("classes with __buffer__ need Python 3.12")
        released = []

        class Fails:
            def __buffer__(self, flags):
                raise OverflowError("on purpose")

        class Notes:
            def __buffer__(self, flags):
                return memoryview(bytearray(b"noted"))

            def __release_buffer__(self, view):
                released.append(bytes(view))
                view.release()

        data, notes = bytearray(b"abc"), Notes()
        with open(os.devnull, "r+b", buffering=0) as null:
            for call in (vectored.write_all, vectored.read_exact, vectored.Gather().write_all):
                with self.assertRaisesRegex(OverflowError, "on purpose"):
                    call(null, [data, notes, Fails(), data])
                self.assertEqual(released.pop(), b"noted")
                data.append(1)
            self.assertEqual(vectored.write_all(null, [notes]), 5)
        self.assertEqual(released, [b"noted"])

    def test_buffers_are_released_after_every_error(self):
        data = bytearray(b"abc")
        with open(os.devnull, "rb") as refuses:
            for wrong in ([data], [data, 3], [data, memoryview(b"abc")[::2]]):
                for write in (vectored.write_all, vectored.Gather().write_all):
                    with self.assertRaises((OSError, TypeError, BufferError)):
                        write(refuses, wrong)
            for cursor in (vectored.Cursor(0, 4), vectored.Cursor(2), vectored.Cursor(1, 1)):
                with self.assertRaises(ValueError):
                    vectored.resume_write(refuses, [data], cursor)
            with self.assertRaises(ValueError):
                vectored.read_exact(refuses, [data, data])
            with self.assertRaises(EOFError):
                vectored.read_exact(refuses, [data])
        data.append(1)


class Leaks(Descriptors):
    def test_no_reference_and_no_memory_is_left(self):
        gather, piece = vectored.Gather(), bytes(bytearray(100))
        views = [memoryview(piece)[i:] for i in range(50)]
        target = [bytearray(10), bytearray(20)]
        with open(os.devnull, "r+b", buffering=0) as null:

            def work():
                gather.write_all(null, views)
                vectored.write_all(null, iter(views))
                vectored.resume_write(null, views, vectored.Cursor(3, 5))
                try:
                    vectored.read_exact(null, target)
                except EOFError:
                    pass
                try:
                    vectored.write_all(null, [*views, "wrong"])
                except TypeError:
                    pass
                with vectored.GatherWriter(null, 300, closefd=False) as writer:
                    for view in views:
                        writer.write(view)

            work()
            counts = [sys.getrefcount(one) for one in (piece, *views, *target, null)]
            gc.collect()
            tracemalloc.start()
            # Caches of the interpreter fill.
            for _ in range(20):
                work()
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(200):
                work()
            gc.collect()
            after = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            after_all = [sys.getrefcount(one) for one in (piece, *views, *target, null)]
        self.assertEqual(after_all, counts)
        # One object left by each of 200 turns would take more.
        self.assertLess(after - before, 200 * 16)

    def test_a_long_bytes_object_is_not_copied(self):
        data = bytes(50_000_000)
        with open(os.devnull, "wb", buffering=0) as null:
            before = peak()
            vectored.write_all(null, [b"head", data])
            vectored.Gather().write_all(null, [b"head", data])
            with vectored.GatherWriter(null, closefd=False) as writer:
                writer.write(b"head")
                writer.write(bytearray(0))
                writer.write(memoryview(data))
                writer.writelines([data, memoryview(data)])
            self.assertLess(peak() - before, 25_000_000)


def peak():
    """The most memory that this process has had, in bytes."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024


if __name__ == "__main__":
    unittest.main()
