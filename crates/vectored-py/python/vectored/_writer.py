"""A file object that joins what is written into few system calls."""

import contextlib
import fcntl
import io
import operator
import os
import threading

from ._vectored import Cursor, Gather, _descriptor

# This many short pieces take less memory than the buffer.
_MAX_PIECES = 4096


def _size(piece):
    """The bytes of an object with the buffer protocol, which must be contiguous."""
    if type(piece) is bytes:
        return len(piece)
    if isinstance(piece, (list, tuple)):
        raise TypeError(f"a bytes-like object is required, not '{type(piece).__name__}': pass its elements to writelines")
    if isinstance(piece, str):
        raise TypeError("a bytes-like object is required, not 'str': encode it, or write it to an io.TextIOWrapper")
    with memoryview(piece) as view:
        if not view.c_contiguous:
            raise BufferError(
                "a buffer must be C-contiguous: copy it, for example by bytes(view) or numpy.ascontiguousarray(array)"
            )
        return view.nbytes


def _unchanging(piece):
    """The bytes of an object with the buffer protocol, of whatever format."""
    if type(piece) is bytes:
        return piece
    with memoryview(piece) as view:
        return view.tobytes()


def _set_done(error, done):
    """Count the bytes of a call that has failed. An exception of the program's own class may refuse attributes."""
    with contextlib.suppress(AttributeError, TypeError):
        error.done = done


def _check_writable(file):
    """Refuse an object that is no file open for writing: later, buffered bytes would be lost."""
    fd = _descriptor(file)
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise io.UnsupportedOperation("the file is not open for writing")


class GatherWriter(io.BufferedIOBase):
    """A buffered file object for writing. It joins small writes, and sends a long write with them without a copy.

        with vectored.GatherWriter(open(path, "wb", buffering=0)) as writer:
            writer.write(header)
            writer.writelines(records)

    It can take the place of `open(path, "wb")` or of the buffer of an `io.TextIOWrapper`. With `closefd=False` it can
    take the place of `socket.makefile("wb")`, whose `close` leaves the socket open. The buffered bytes and a long buffer,
    or a list of lines, go by one system call of a `Gather`. The writer never copies a bytes object. It copies other
    objects if it buffers them. A `write` of a short object takes some 0.7 µs longer than with an `io.BufferedWriter`,
    since the writer is written in Python: pass many short objects to `writelines`.

    Close the writer, or use `with`, before its file is closed. A writer that is dropped is flushed and closed. An error
    is not raised then: `sys.unraisablehook` prints it.

    Threads may share a writer: each `write` and `writelines` stays whole, unless an exception is raised.

    After an exception, the bytes of earlier calls are either written or still buffered, and the next call continues with
    them. The first `done` bytes of the call that raised the exception are written. Its other bytes are neither written
    nor buffered: to send them, write `data[done:]`. The exception of a signal handler has no `done` if its class refuses
    attributes, or if the handler has interrupted the writer outside of a system call. Then the bytes of earlier calls are
    kept, and it is unknown whether the bytes of the interrupted call are kept.

    After `os.fork`, parent and child have the same bytes buffered, and each would write them: flush before. A child that
    was forked while another thread used the writer cannot use the writer: the lock stays locked in the child.

    On a non-blocking descriptor, `write` and `writelines` take all of their data, or raise BlockingIOError and take none
    of it (`done` and `characters_written` are 0). They may buffer more than `buffer_size` bytes, once. After
    BlockingIOError, wait until the descriptor is ready, and repeat the call. The same holds for `flush` and `close`:
    their `characters_written` counts the buffered bytes that were written. The descriptor of a socket with a timeout
    (`settimeout(1)`) is non-blocking: BlockingIOError is raised at once, while `makefile` waits and raises TimeoutError.
    A TextIOWrapper loses text if its file raises BlockingIOError: do not put a TextIOWrapper over a non-blocking
    descriptor.

    A signal handler may write to the writer that it has interrupted: the handler's bytes come after the bytes of the
    interrupted call. A handler's write that needs a system call during a system call of the writer raises RuntimeError,
    and nothing is taken.
    """

    # `close` is called even if `__init__` has failed or was not called. `_file` is None before the file is open and after
    # it was closed or detached.
    _lock = contextlib.nullcontext()
    _raw = _file = None
    _pieces, _kept, _old_count = (), 0, 0
    _is_sending = _is_closing = False

    def __init__(self, file, buffer_size=65536, *, closefd=True, gather=None):
        """Write to a descriptor, or to an object with a method `fileno`. It must be open for writing.

        For a path, pass `open(path, "wb", buffering=0)`. If the object has a method `flush`, `flush` is called first, so
        that the object's buffered bytes come first. Bytes that the object buffers later may be written before or after
        the writer's bytes. A call writes when `buffer_size` bytes are buffered. `close` closes the file unless `closefd`
        is false. `gather` is a `Gather` to write with, for example one with a cost model.
        """
        buffer_size = operator.index(buffer_size)
        if buffer_size < 1:
            raise ValueError(f"buffer_size must be 1 or more, not {buffer_size}")
        if gather is None:
            gather = Gather()
        elif not isinstance(gather, Gather):
            raise TypeError(f"gather must be a Gather, such as Gather(cost_model), not '{type(gather).__name__}'")
        _check_writable(file)
        flush = getattr(file, "flush", None)
        if flush is not None:
            flush()
        self._buffer_size = buffer_size
        self._closefd = closefd
        self._gather = gather
        # The kept pieces: bytes objects, which never change, and a view of the rest of one object. Pieces stay in the
        # list while they are written. The bytes before the cursor are written. The cursor counts in the first
        # `_old_count` pieces and in the pieces that one call writes with them. So the writer is consistent whenever an
        # exception comes.
        self._pieces = []
        self._cursor = Cursor()
        self._lock = threading.RLock()
        self._raw = self._file = file

    def write(self, data, /):
        """Write or buffer all bytes of an object, and return their number."""
        with self._lock:
            # Most writes: a short bytes object, for which there is room. `_accept` does the same, more slowly.
            if type(data) is bytes and self._file is not None and data:
                kept = self._kept + len(data)
                if kept < self._buffer_size and len(self._pieces) < _MAX_PIECES:
                    # The count is stored first: a signal handler may raise an exception after `append`.
                    self._kept = kept
                    self._pieces.append(data)
                    return len(data)
            size = _size(data)
            self._accept((data,), size)
            return size

    def writelines(self, lines, /):
        """Write or buffer all bytes of the objects, in one system call if their number allows it. Adds no line ends."""
        if isinstance(lines, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"lines must be a list of bytes-like objects, not one '{type(lines).__name__}': put it in a list")
        lines = list(lines)
        size = sum(map(_size, lines))
        with self._lock:
            self._accept(lines, size)

    def flush(self):
        """Write the buffered bytes."""
        with self._lock:
            if not self._is_closing:
                self._check_open()
            self._send(())

    def detach(self):
        """Flush, and return the file or descriptor, which stays open. The writer cannot be used any more."""
        with self._lock:
            self.flush()
            file, self._file = self._file, None
            return file

    def close(self):
        """Flush, and close the file unless `closefd` was false.

        If the flush fails, the file is closed nevertheless, and the buffered bytes are lost. After BlockingIOError the
        file is not closed: repeat the call.
        """
        with self._lock:
            if self.closed:
                return
            self._check_reentrance()
            try:
                if self._kept:
                    self._check_file()
                    self._send(())
            except BlockingIOError:
                # Nothing is lost: the program may wait, and call `close` again.
                raise
            except BaseException:
                self._close()
                raise
            self._close()

    def __del__(self):
        # `io.IOBase.__del__` does the same, but ignores an error before Python 3.13.
        self.close()

    def _close(self):
        file, self._file = self._file, None
        self._pieces, self._kept, self._cursor = [], 0, Cursor()
        self._is_closing = True
        # `close` of the base flushes nothing now, and sets `closed`.
        super().close()
        self._is_closing = False
        if file is not None and self._closefd:
            if isinstance(file, int):
                os.close(file)
            else:
                file.close()

    def fileno(self):
        self._check_open()
        return _descriptor(self._file)

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
        """The position in the file after the buffered bytes."""
        with self._lock:
            position = os.lseek(self.fileno(), 0, os.SEEK_CUR)
            self._check_reentrance()
            self._forget_written()
            return position + self._kept

    def seek(self, offset, whence=os.SEEK_SET, /):
        """Flush, and move the position."""
        with self._lock:
            self.flush()
            return os.lseek(self.fileno(), offset, whence)

    def truncate(self, size=None, /):
        """Flush, and cut or extend the file to `size`, or to the position."""
        with self._lock:
            self.flush()
            if size is None:
                size = self.tell()
            os.ftruncate(self.fileno(), size)
            return size

    @property
    def raw(self):
        """The file or descriptor that the writer writes to."""
        return self._raw

    @property
    def name(self):
        return getattr(self._raw, "name", self._raw)

    @property
    def mode(self):
        return getattr(self._raw, "mode", "wb")

    def __repr__(self):
        state = "closed" if self.closed else f"{self._kept} bytes buffered"
        return f"<vectored.GatherWriter name={self.name!r}, {state}>"

    def __getstate__(self):
        # A copy would write the buffered bytes once more.
        raise TypeError(f"cannot copy or pickle '{type(self).__name__}' object")

    def _check_open(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self._file is None:
            raise ValueError("the file has been detached")

    def _check_file(self):
        """Refuse a file or socket that the program has closed."""
        try:
            _descriptor(self._file)
        except ValueError as error:
            message = f"{self._kept} buffered bytes are lost: the file was closed before its writer"
            raise ValueError(message) from error

    def _check_reentrance(self):
        if self._is_sending:
            raise RuntimeError("reentrant call: a signal handler uses the writer that it has interrupted")

    def _accept(self, pieces, size):
        """Keep or send all of the pieces, or raise and take none."""
        self._check_open()
        if self._kept >= self._buffer_size:
            # A non-blocking descriptor was full: the bytes of earlier calls go first.
            try:
                self._send(())
            except BlockingIOError as error:
                if self._kept >= self._buffer_size:
                    error.characters_written = error.done = 0
                    raise
            except BaseException as error:
                _set_done(error, 0)
                raise
        if self._kept + size < self._buffer_size and len(self._pieces) < _MAX_PIECES:
            self._keep(pieces)
            return
        try:
            self._send(pieces)
        except BlockingIOError:
            # The bytes that did not go are kept.
            return

    def _keep(self, pieces):
        """Append copies of all pieces, or of none if copying fails."""
        copies = [piece for piece in map(_unchanging, pieces) if piece]
        self._kept += sum(map(len, copies))
        self._pieces += copies

    def _send(self, pieces):
        """Write the kept pieces, then `pieces`. After `BlockingIOError`, the rest of both is kept. After another exception,
        only the rest of the kept pieces is kept."""
        self._check_reentrance()
        self._forget_written()
        if not self._pieces and not pieces:
            return
        self._old_count = len(self._pieces)
        try:
            self._is_sending = True
            # Passes the file, not its number: after the file is closed, another file may have this number.
            self._gather.resume_write(self._file, [*self._pieces, *pieces], self._cursor)
        except BaseException as error:
            done = self._done(pieces)
            _set_done(error, done)
            if isinstance(error, BlockingIOError):
                try:
                    self._keep_rest(pieces)
                except MemoryError as other:
                    other.done = done
                    raise
            raise
        finally:
            self._is_sending = False
            self._forget_written()

    def _done(self, pieces):
        """The bytes before the cursor: of `pieces`, or of the kept pieces if `pieces` is empty."""
        segment, offset = self._cursor.segment, self._cursor.offset
        if pieces:
            segment -= self._old_count
            return sum(map(_size, pieces[:segment])) + offset if segment >= 0 else 0
        return sum(map(len, self._pieces[:segment])) + offset

    def _keep_rest(self, pieces):
        """Keep copies of `pieces` from the cursor on, after the pieces of earlier calls."""
        segment = self._cursor.segment - self._old_count
        rest = [_unchanging(piece) for piece in pieces[max(0, segment) :]]
        if rest and segment >= 0:
            # A view, because a copy of the rest of a long piece would be made each time.
            rest[0] = memoryview(rest[0])[self._cursor.offset :]
        # Pieces that a signal handler wrote meanwhile stay after the rest.
        self._pieces[self._old_count : self._old_count] = rest

    def _forget_written(self):
        """Drop the bytes before the cursor from the kept pieces."""
        if self._cursor._forget(self._pieces, self._old_count):
            self._kept = sum(map(len, self._pieces))
