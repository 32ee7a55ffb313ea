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
    # Documented in __init__.pyi.

    def __init__(self, file, buffer_size=65536, *, closefd=True, gather=None):
        # First all that `close` uses, which is called even if this function fails.
        self._file = None
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
        size = _size(data)
        with self._lock:
            self._accept((data,), size)
        return size

    def writelines(self, lines, /):
        lines = list(lines)
        size = sum(map(_size, lines))
        with self._lock:
            self._accept(lines, size)

    def flush(self):
        with self._lock:
            self._check_open()
            self._send(())

    def close(self):
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
        with self._lock:
            return os.lseek(self.fileno(), 0, os.SEEK_CUR) + self._kept

    def seek(self, offset, whence=os.SEEK_SET, /):
        with self._lock:
            self.flush()
            return os.lseek(self._fd, offset, whence)

    def truncate(self, size=None, /):
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
