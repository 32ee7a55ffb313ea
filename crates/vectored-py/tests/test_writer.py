"""`GatherWriter` in the place of a buffered file."""

import csv
import errno
import gc
import gzip
import io
import json
import os
import random
import select
import sys
import tarfile
import tempfile
import threading
import unittest

import vectored
from support import Descriptors, Reader, in_any_form, payload, random_sizes


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
            data.extend(b"!")  # It is not locked.
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

    def test_text_is_refused_and_nothing_of_the_lines_is_taken(self):
        with vectored.GatherWriter(open(self.path, "wb")) as writer:
            with self.assertRaises(TypeError):
                writer.write("text")
            with self.assertRaises(TypeError):
                writer.writelines([b"a", "text"])
        self.assertEqual(self.content(), b"")

    def test_a_writer_that_cannot_be_made_leaves_nothing(self):
        ignored = []
        before, sys.unraisablehook = sys.unraisablehook, ignored.append
        try:
            with self.assertRaises(ValueError):
                vectored.GatherWriter(1, 0)
            with self.assertRaises(OSError):
                vectored.GatherWriter(10_000)
            with self.assertRaises(AttributeError):
                vectored.GatherWriter("name")
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
