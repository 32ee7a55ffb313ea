"""Non-blocking descriptors: every byte arrives once, and every exception counts its bytes."""

import errno
import os
import random
import select
import socket
import tempfile
import threading
import unittest

import vectored
from support import PAIRS, Descriptors, Reader, buffered_bytes, payload, random_sizes

GATHER = vectored.Gather()
WRITES_FROM = {"resume_write": vectored.resume_write, "gather": GATHER.resume_write}
WRITES_ALL = {"write_all": vectored.write_all, "gather": GATHER.write_all}


def wait(fd):
    """Wait until a descriptor takes bytes."""
    select.select([], [fd], [])


class Writes(Descriptors):
    def test_a_cursor_resumes_until_everything_has_arrived(self):
        rng = random.Random(3)
        for pair in PAIRS:
            for name, resume_write in WRITES_FROM.items():
                for turn in range(6):
                    with self.subTest(pair=pair, writer=name, turn=turn):
                        data = payload(random_sizes(rng), turn) + [bytes(100_000)]
                        source, sink = self.pair(pair)
                        os.set_blocking(sink, False)
                        reader = Reader(source, 3000)
                        cursor, total, flat = vectored.Cursor(), 0, b"".join(data)
                        while True:
                            try:
                                total += resume_write(sink, data, cursor)
                                break
                            except BlockingIOError as error:
                                total += error.done
                                self.assertEqual(error.errno, errno.EAGAIN)
                                self.assertEqual(error.characters_written, error.done)
                                self.assertEqual(cursor.remaining_bytes(data), len(flat) - total)
                                wait(sink)
                        os.close(sink)
                        self.assertEqual(total, len(flat))
                        self.assertEqual(cursor, vectored.Cursor(len(data)))
                        self.assertEqual(reader.result(), flat)

    def test_done_of_write_all_places_a_cursor(self):
        for name, write_all in WRITES_ALL.items():
            with self.subTest(writer=name):
                data = [b"%d," % i for i in range(100_000)]
                source, sink = self.pair()
                os.set_blocking(sink, False)
                with self.assertRaises(BlockingIOError) as caught:
                    write_all(sink, data)
                cursor = vectored.Cursor()
                cursor.advance(data, caught.exception.done)
                reader = Reader(source)
                os.set_blocking(sink, True)
                vectored.resume_write(sink, data, cursor)
                os.close(sink)
                self.assertEqual(reader.result(), b"".join(data))

    def test_the_note_of_a_call_that_cannot_be_repeated_says_how_to_go_on(self):
        flat = bytes(range(250)) * 12_000
        data = [flat[:1_000_000], flat[1_000_000:]]
        for timeout in (30, 0):
            for name, write_all in WRITES_ALL.items():
                with self.subTest(timeout=timeout, writer=name):
                    near, far = socket.socketpair()
                    near.settimeout(timeout)
                    with self.assertRaises(BlockingIOError) as caught:
                        write_all(near, data)
                    note = caught.exception.__notes__[0]
                    self.assertIn(f"the first {caught.exception.done} bytes are moved, do not repeat the call", note)
                    self.assertIn("resume_write and a Cursor advanced by `done`", note)
                    self.assertEqual("settimeout(None)" in note, timeout > 0)
                    cursor = vectored.Cursor()
                    cursor.advance(data, caught.exception.done)
                    reader = Reader(far.detach())
                    near.settimeout(None)
                    vectored.resume_write(near, data, cursor)
                    near.close()
                    self.assertEqual(reader.result(), flat)

    def test_the_notes_of_reads_and_of_calls_that_can_be_repeated(self):
        near, far = socket.socketpair()
        with near, far:
            near.settimeout(30)
            for read in (vectored.read_exact, vectored.read_up_to_eof):
                far.send(b"abc")
                with self.assertRaises(BlockingIOError) as caught:
                    read(near, [bytearray(4)])
                self.assertEqual(caught.exception.done, 3)
                self.assertRegex(caught.exception.__notes__[0], "first 3 bytes.*resume_read.*settimeout")
            full = [bytes(10_000_000)]
            with self.assertRaises(BlockingIOError):
                vectored.write_all(near, full)
            calls = (vectored.resume_read, [bytearray(4)], vectored.Cursor()), (vectored.resume_write, full, vectored.Cursor())
            for call, *arguments in (*calls, (vectored.write_once, full)):
                near.settimeout(30)
                with self.assertRaises(BlockingIOError) as caught:
                    call(near, *arguments)
                self.assertRegex(caught.exception.__notes__[0], r"repeat the call.*settimeout\(None\)")
                near.settimeout(0)
                with self.assertRaises(BlockingIOError) as caught:
                    call(near, *arguments)
                self.assertFalse(hasattr(caught.exception, "__notes__"))

    def test_a_full_descriptor_counts_nothing(self):
        source, sink = self.pair()
        os.set_blocking(sink, False)
        with open(source, "rb"), open(sink, "wb", buffering=0) as writer:
            for done in (65536, 0):
                with self.assertRaises(BlockingIOError) as caught:
                    vectored.write_all(writer, [bytes(50_000), bytes(50_000)])
                self.assertEqual(caught.exception.done, done)

    def test_reads_resume_with_a_cursor(self):
        source, sink = self.pair()
        os.set_blocking(source, False)
        target = [bytearray(3), bytearray(0), bytearray(4)]
        cursor = vectored.Cursor()
        with open(source, "rb") as reader, open(sink, "wb", buffering=0) as writer:
            for part in (b"a", b"bcde", b"fg"):
                with self.assertRaises(BlockingIOError):
                    vectored.resume_read(reader, target, cursor)
                writer.write(part)
            vectored.resume_read(reader, target, cursor)
        self.assertEqual(b"".join(target), b"abcdefg")


class Errors(Descriptors):
    def test_the_exception_is_that_of_the_errno_and_has_done(self):
        source, sink = self.pair()
        os.close(source)
        with open(sink, "wb", buffering=0) as broken:
            with self.assertRaises(BrokenPipeError) as caught:
                vectored.write_all(broken, [b"abc", b"def"])
        self.assertEqual((caught.exception.errno, caught.exception.done), (errno.EPIPE, 0))
        self.assertEqual(caught.exception.strerror, os.strerror(errno.EPIPE))
        with self.assertRaises(OSError) as caught:
            vectored.write_all(10_000, [b"abc"])
        self.assertEqual((caught.exception.errno, caught.exception.done), (errno.EBADF, 0))

    def test_bytes_before_the_reader_has_gone_are_counted(self):
        source, sink = self.pair("socket")
        limit = 100_000

        def read_some():
            got = 0
            while got < limit:
                got += len(os.read(source, 10_000))
            os.close(source)

        thread = threading.Thread(target=read_some)
        thread.start()
        with socket.socket(fileno=sink) as writer:
            with self.assertRaises((BrokenPipeError, ConnectionResetError)) as caught:
                vectored.write_all(writer, [bytes(1000)] * 20_000)
        thread.join()
        self.assertGreaterEqual(caught.exception.done, limit)
        self.assertLess(caught.exception.done, 20_000_000)

    def test_messages_are_not_split(self):
        one, other = socket.socketpair(type=socket.SOCK_DGRAM)
        with one, other:
            self.assertEqual(vectored.write_once(one, [b"a ", b"message"]), 9)
            self.assertEqual(other.recv(100), b"a message")
            with self.assertRaises(OSError) as caught:
                vectored.write_all(one, [b"x"] * (vectored.IOV_MAX + 1))
            self.assertEqual(caught.exception.errno, errno.EINVAL)


class Cursors(unittest.TestCase):
    def test_advance_goes_where_the_model_says(self):
        rng = random.Random(9)
        for _ in range(200):
            data = payload([rng.randrange(5) for _ in range(rng.randrange(8))])
            flat = b"".join(data)
            cursor, at = vectored.Cursor(), 0
            while True:
                self.assertEqual(cursor.remaining_bytes(data), len(flat) - at)
                rest = [piece[cursor.offset if i == 0 else 0 :] for i, piece in enumerate(data[cursor.segment :])]
                self.assertEqual(b"".join(rest), flat[at:])
                if at == len(flat):
                    break
                step = rng.randrange(1, len(flat) - at + 1)
                cursor.advance(data, step)
                at += step
            with self.assertRaises(ValueError):
                cursor.advance(data, 1)

    def test_cursors_compare_and_show_their_position(self):
        self.assertEqual(repr(vectored.Cursor(3, 4)), "Cursor(segment=3, offset=4)")
        self.assertEqual(vectored.Cursor(), vectored.Cursor(0, 0))
        self.assertNotEqual(vectored.Cursor(1), vectored.Cursor(0, 1))

    def test_a_cursor_outside_of_its_list_is_refused(self):
        for cursor in (vectored.Cursor(2), vectored.Cursor(0, 4), vectored.Cursor(1, 1)):
            with self.assertRaisesRegex(ValueError, "outside of the list"):
                cursor.remaining_bytes([b"abc"])


class Threads(Descriptors):
    def test_threads_share_a_gather(self):
        gather = vectored.Gather()
        results = {}

        def run(number):
            data = [b"%d:%d," % (number, i) for i in range(20_000)]
            source, sink = os.pipe()
            reader = Reader(source)
            for part in range(0, len(data), 1000):
                gather.write_all(sink, data[part : part + 1000])
            os.close(sink)
            results[number] = reader.result() == b"".join(data)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, dict.fromkeys(range(6), True))

    def test_two_calls_do_not_share_a_cursor(self):
        source, sink = self.pair()
        cursor, data = vectored.Cursor(), [bytes(1000)] * 300
        thread = threading.Thread(target=vectored.resume_write, args=(sink, data, cursor))
        thread.start()
        # The pipe is full only while the other thread uses the cursor.
        while buffered_bytes(source) < 65536:
            pass
        with self.assertRaisesRegex(RuntimeError, "in use by another call"):
            vectored.resume_write(sink, data, cursor)
        reader = Reader(source)
        thread.join()
        os.close(sink)
        self.assertEqual(len(reader.result()), 300_000)


class CostModels(unittest.TestCase):
    def test_models_are_chosen_by_name_or_measured(self):
        usual = vectored.CostModel.for_target()
        self.assertEqual(vectored.Gather().cost_model, usual)
        for target in ("file", "file-overwrite", "pipe", "unix", "tcp"):
            self.assertNotEqual(vectored.CostModel.for_target(target), usual)
        measured = vectored.CostModel.calibrate("other", milliseconds=1)
        self.assertGreater(measured.staging_bytes, 0)
        self.assertIsInstance(measured.copy_below_bytes(16), int)
        self.assertEqual(vectored.Gather(measured).cost_model, measured)
        vectored.CostModel.calibrate("file", directory=".", milliseconds=1)
        with self.assertRaises(FileNotFoundError) as caught:
            vectored.CostModel.calibrate("file", directory="missing/folder", milliseconds=1)
        self.assertEqual(str(caught.exception), "[Errno 2] No such file or directory: 'missing/folder'")
        for wrong in (("socket", None), ("file", None), ("pipe", ".")):
            with self.assertRaises(ValueError):
                vectored.CostModel.calibrate(wrong[0], directory=wrong[1])
        with self.assertRaisesRegex(ValueError, "not 'pip'"):
            vectored.CostModel.for_target("pip")

    def test_a_saved_model_is_loaded_by_target(self):
        saved = """{"target":"pipe","source":"calibration","call_ns":166,"gather_call_ns":28,"segment_ns":22,
            "large_segment_ns":26,"iovec_step_ns":53,"page_end_ns":31,"byte_ns":0.07,
            "copy_segment_ns":2,"copy_byte_ns":0.02,"copy_byte_uncached_ns":0.08,
            "staging_bytes":4096,"copy_thresholds":[[2,900]],"queue_thresholds":{}}"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.json")
            with open(path, "w") as file:
                file.write('{"cost_models": [' + saved + "]}")
            self.assertEqual(vectored.CostModel.load(path, "pipe").copy_below_bytes(2), 900)
            with self.assertRaisesRegex(ValueError, "run `vectored measure --target tcp`"):
                vectored.CostModel.load(path, "tcp")
            with self.assertRaisesRegex(ValueError, "not 'pip'"):
                vectored.CostModel.load(path, "pip")
            with self.assertRaises(FileNotFoundError):
                vectored.CostModel.load(path + "x", "pipe")


if __name__ == "__main__":
    unittest.main()
