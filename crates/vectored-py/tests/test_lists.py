"""Lists of every shape, through every kind of descriptor, against the bytes of the list in one piece."""

import os
import random
import tempfile
import threading
import unittest

import vectored
from support import PAIRS, Descriptors, Reader, in_any_form, payload, random_sizes

WRITERS = {
    "write_all": vectored.write_all,
    "resume_write": lambda fd, buffers: vectored.resume_write(fd, buffers, vectored.Cursor()),
    "gather": vectored.Gather().write_all,
    "gather of pipes": vectored.Gather(vectored.CostModel.for_target("pipe")).write_all,
    "gather resume": lambda fd, buffers: vectored.Gather().resume_write(fd, buffers, vectored.Cursor()),
}


class Writes(Descriptors):
    def test_any_list_arrives_whole_and_in_order(self):
        rng = random.Random(7)
        for pair in PAIRS:
            for name, write in WRITERS.items():
                for turn in range(8):
                    sizes = random_sizes(rng)
                    data = payload(sizes, turn)
                    buffers = [in_any_form(piece, rng) for piece in data]
                    with self.subTest(pair=pair, writer=name, turn=turn):
                        source, sink = self.pair(pair)
                        reader = Reader(source, rng.choice([4096, 65536]))
                        try:
                            self.assertEqual(write(sink, buffers), sum(sizes))
                        finally:
                            os.close(sink)
                        self.assertEqual(reader.result(), b"".join(data))

    def test_any_iterable_of_buffers_is_a_list(self):
        for make in (list, tuple, iter, lambda pieces: (piece for piece in pieces)):
            source, sink = self.pair()
            with open(source, "rb") as reader, open(sink, "wb") as writer:
                self.assertEqual(vectored.write_all(writer, make([b"one", b"", b"two"])), 6)
                self.assertEqual(reader.read(6), b"onetwo")

    def test_a_list_may_have_one_buffer_many_times(self):
        source, sink = self.pair()
        reader = Reader(source)
        self.assertEqual(vectored.write_all(sink, [b"abc"] * 5000), 15_000)
        os.close(sink)
        self.assertEqual(reader.result(), b"abc" * 5000)

    def test_an_empty_list_needs_no_call(self):
        # A descriptor that refuses every write.
        with open(os.devnull, "rb") as closed:
            for buffers in ([], [b""], [b"", bytearray()] * 2000):
                self.assertEqual(vectored.write_all(closed, buffers), 0)
                self.assertEqual(vectored.Gather().write_all(closed, buffers), 0)

    def test_a_record_is_one_call_or_refused(self):
        source, sink = self.pair()
        with open(source, "rb"), open(sink, "wb") as writer:
            self.assertEqual(vectored.write_once(writer, [b"a", b"record"]), 7)
            for too_long in ([b"x" * 5000], [b"x"] * (vectored.IOV_MAX + 1)):
                with self.assertRaises(OSError) as caught:
                    vectored.write_once(writer, too_long)
                self.assertEqual(caught.exception.done, 0)


def send(fd, data, steps):
    """Write in parts of these sizes, then the rest."""
    with open(fd, "wb", buffering=0) as file:
        rest = memoryview(data)
        for step in steps:
            rest = rest[file.write(rest[:step]) :]
        while rest:
            rest = rest[file.write(rest) :]


class Reads(Descriptors):
    def test_any_list_is_filled(self):
        rng = random.Random(11)
        for pair in PAIRS:
            for turn in range(12):
                sizes = random_sizes(rng)
                data = b"".join(payload(sizes, turn))
                buffers = [bytearray(size) for size in sizes]
                with self.subTest(pair=pair, turn=turn):
                    source, sink = self.pair(pair)
                    steps = [rng.choice([1, 5000, 100_000]) for _ in range(50)]
                    writer = threading.Thread(target=send, args=(sink, data + b"rest", steps))
                    writer.start()
                    with open(source, "rb", buffering=0) as file:
                        self.assertEqual(vectored.read_exact(file, buffers), len(data))
                        self.assertEqual(b"".join(buffers), data)
                        # What follows the list is left in the stream.
                        tail = [bytearray(3), bytearray(9)]
                        self.assertEqual(vectored.read_up_to_eof(file, tail), 4)
                        self.assertEqual(b"".join(tail)[:4], b"rest")
                    writer.join()

    def test_the_end_of_the_file_is_an_error_with_the_bytes_before_it(self):
        source, sink = self.pair()
        os.write(sink, b"12345")
        os.close(sink)
        buffers = [bytearray(3), bytearray(1), bytearray(4)]
        with open(source, "rb") as file:
            with self.assertRaises(EOFError) as caught:
                vectored.read_exact(file, buffers)
        self.assertEqual(caught.exception.done, 5)
        self.assertEqual(b"".join(buffers), b"12345\0\0\0")

    def test_overlapping_buffers_are_refused_and_neighbours_are_not(self):
        memory = bytearray(10)
        view = memoryview(memory)
        source, sink = self.pair()
        os.write(sink, b"0123456789")
        with open(source, "rb", buffering=0) as file, open(sink, "wb"):
            for wrong in ([view[:5], view[4:]], [memory, memory], [view[5:], view]):
                with self.assertRaises(ValueError):
                    vectored.read_exact(file, wrong)
            vectored.read_exact(file, [view[7:], view[3:3], view[:7]])
        self.assertEqual(memory, b"3456789012")


class Positions(unittest.TestCase):
    def test_lists_at_an_offset_leave_the_position(self):
        rng = random.Random(5)
        for write in (vectored.write_all, vectored.Gather().write_all):
            with tempfile.TemporaryFile(buffering=0) as file:
                model = bytearray()
                for turn in range(20):
                    data = payload(random_sizes(rng), turn)
                    offset, flat = rng.randrange(100_000), b"".join(data)
                    self.assertEqual(write(file, data, offset=offset), len(flat))
                    if flat:
                        model.extend(bytes(max(0, offset - len(model))))
                        model[offset : offset + len(flat)] = flat
                    self.assertEqual(file.tell(), 0)
                    buffers = [bytearray(len(piece)) for piece in data]
                    self.assertEqual(vectored.read_exact(file, buffers, offset=offset), len(flat))
                    self.assertEqual(b"".join(buffers), flat)
                self.assertEqual(file.read(), model)
                end = [bytearray(10), bytearray(10)]
                self.assertEqual(vectored.read_up_to_eof(file, end, offset=len(model) - 15), 15)
                self.assertEqual(b"".join(end), model[-15:] + bytes(5))

    def test_wrong_offsets_are_refused(self):
        with tempfile.TemporaryFile() as file:
            with self.assertRaisesRegex(ValueError, "offset must be 0 or more, not -1"):
                vectored.write_all(file, [b"x"], offset=-1)
            with self.assertRaises(OSError):
                vectored.write_all(file, [b"x"], offset=2**63 - 1)


if __name__ == "__main__":
    unittest.main()
