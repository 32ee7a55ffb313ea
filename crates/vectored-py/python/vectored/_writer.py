"""A file object that joins what is written into few system calls."""

import io
import os
import threading

from ._vectored import Cursor, Gather

# So many short pieces take less memory than the buffer itself.
_MAX_PIECES = 4096


def _size(piece):
    """The bytes of an object with the buffer protocol, which must be contiguous."""
    if type(piece) is bytes:
        return len(piece)
    with memoryview(piece) as view:
        if not view.c_contiguous:
            raise BufferError("a buffer must be contiguous")
        return view.nbytes


class GatherWriter(io.BufferedIOBase):
    """A buffered file object for writing. It joins small writes, and sends long ones with them without a copy.

    It can take the place of `open(path, "wb")`, `socket.makefile("wb")` or the buffer of an `io.TextIOWrapper`. What
    is buffered and a long buffer, or a list of lines, go by one system call of a `Gather`. A bytes object is never copied
    by the writer; others are copied if they are buffered. It is written in Python: a `write` of a short object takes some
    0.7 µs longer than that of an `io.BufferedWriter`. Pass many short objects to `writelines`.

    Threads may share a writer: each `write` and `writelines` stays whole, unless an exception is raised.

    After an exception, what earlier calls wrote is still buffered, and the next call continues with it. The attribute
    `done` counts the bytes of the call that raised it.

    On a non-blocking descriptor, `write` and `writelines` take all of their data, or raise BlockingIOError and take
    none of it (`characters_written` is 0). They may buffer more than `buffer_size` bytes, once. After BlockingIOError,
    wait until the descriptor is ready, and repeat the call; this holds for `flush` and `close`, too. A TextIOWrapper
    loses text if its file raises BlockingIOError: do not put one over a non-blocking descriptor.
    """

    def __init__(self, file, buffer_size=65536, *, closefd=True, gather=None):
        """Write to a descriptor, or to that of an object with a method `fileno`.

        `buffer_size` is the number of bytes from which on a call writes. `close` closes the file unless `closefd` is
        false.
        """
        # First all that `close` uses, which is called even if this function fails.
        self._file, self._fd = None, -1
        self._lock = threading.RLock()
        self._is_sending = False
        # What is kept never changes: bytes objects.
        self._pieces = []
        self._kept = 0
        if buffer_size < 1:
            raise ValueError(f"buffer_size must be 1 or more, not {buffer_size}")
        self._fd = file if isinstance(file, int) else file.fileno()
        os.fstat(self._fd)  # An error here rather than at the first write.
        self._buffer_size = buffer_size
        self._closefd = closefd
        self._gather = Gather() if gather is None else gather
        self._file = file

    def write(self, data, /):
        """Write or buffer all bytes of an object, and return their number."""
        with self._lock:
            # Most writes: a short bytes object, for which there is room. `_accept` does the same, more slowly.
            if type(data) is bytes and self._file is not None and data:
                kept = self._kept + len(data)
                if kept < self._buffer_size and len(self._pieces) < _MAX_PIECES:
                    self._pieces.append(data)
                    self._kept = kept
                    return len(data)
            size = _size(data)
            self._accept((data,), size)
            return size

    def writelines(self, lines, /):
        """Write or buffer all bytes of the objects, in one system call if their number allows it. Adds no line ends."""
        lines = list(lines)
        size = sum(map(_size, lines))
        with self._lock:
            self._accept(lines, size)

    def flush(self):
        """Write what is buffered."""
        with self._lock:
            self._check_open()
            self._send(())

    def close(self):
        """Flush, and close the file unless `closefd` was false.

        If the flush fails, the file is closed nevertheless, and what is buffered is lost. After BlockingIOError it is not
        closed: repeat the call.
        """
        with self._lock:
            if self.closed:
                return
            try:
                if self._file is not None:
                    self._send(())
            except BlockingIOError:
                # Nothing is lost: the program may wait, and close it again.
                raise
            except BaseException:
                self._close()
                raise
            self._close()

    def _close(self):
        file, self._file = self._file, None
        self._pieces, self._kept = [], 0
        # It flushes, which does nothing now, and sets `closed`.
        super().close()
        if file is not None and self._closefd:
            if isinstance(file, int):
                os.close(file)
            else:
                file.close()

    def fileno(self):
        self._check_open()
        return self._fd

    def isatty(self):
        return os.isatty(self.fileno())

    def writable(self):
        self._check_open()
        return True

    def seekable(self):
        try:
            os.lseek(self.fileno(), 0, os.SEEK_CUR)
        except OSError:
            return False
        return True

    def tell(self):
        """The position in the file behind what is buffered."""
        with self._lock:
            return os.lseek(self.fileno(), 0, os.SEEK_CUR) + self._kept

    def seek(self, offset, whence=os.SEEK_SET, /):
        """Flush, and move the position."""
        with self._lock:
            self.flush()
            return os.lseek(self._fd, offset, whence)

    def truncate(self, size=None, /):
        """Flush, and cut or extend the file to `size`, or to the position."""
        with self._lock:
            self.flush()
            if size is None:
                size = self.tell()
            os.ftruncate(self._fd, size)
            return size

    @property
    def name(self):
        return getattr(self._file, "name", self._fd)

    @property
    def mode(self):
        return "wb"

    def __repr__(self):
        state = "closed" if self.closed else f"{self._kept} bytes buffered"
        return f"<vectored.GatherWriter name={self.name!r}, {state}>"

    def _check_open(self):
        # `flush` of the base class comes here while it closes.
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def _accept(self, pieces, size):
        """Keep or send all of the pieces, or raise and take none."""
        self._check_open()
        if self._kept >= self._buffer_size:
            # A non-blocking descriptor was full.
            try:
                self._send(())
            except BlockingIOError as error:
                if self._kept >= self._buffer_size:
                    error.characters_written = error.done = 0
                    raise
        if self._kept + size < self._buffer_size and len(self._pieces) < _MAX_PIECES:
            self._keep(pieces)
            return
        try:
            self._send(pieces)
        except BlockingIOError:
            # What did not go is kept.
            return

    def _keep(self, pieces):
        for piece in pieces:
            if type(piece) is not bytes:
                piece = bytes(piece)
            if piece:
                self._pieces.append(piece)
                self._kept += len(piece)

    def _send(self, pieces):
        """Write what is kept, then the pieces. After `BlockingIOError` the rest is kept, after others that of before."""
        if self._is_sending:
            raise RuntimeError("reentrant call: a signal handler uses the writer that it has interrupted")
        buffers = [*self._pieces, *pieces]
        if not buffers:
            return
        old_count, old_size = len(self._pieces), self._kept
        cursor = Cursor()
        self._is_sending = True
        try:
            self._gather.write_from(self._fd, buffers, cursor)
            self._pieces, self._kept = [], 0
        except BaseException as error:
            done = getattr(error, "done", 0)
            keeps_all = isinstance(error, BlockingIOError)
            end = len(buffers) if keeps_all else old_count
            self._pieces, self._kept = [], 0
            self._keep(self._rest(buffers, cursor, end))
            error.done = done if not pieces else max(0, done - old_size)
            raise
        finally:
            self._is_sending = False

    @staticmethod
    def _rest(buffers, cursor, end):
        """The bytes from the cursor up to the buffer of index `end`."""
        for index in range(cursor.segment, end):
            piece = buffers[index]
            if index == cursor.segment and cursor.offset:
                with memoryview(piece) as view, view.cast("B") as octets:
                    piece = bytes(octets[cursor.offset :])
            yield piece
