"""A file object that joins what is written into few system calls."""

import contextlib
import fcntl
import io
import operator
import os
import threading

from ._vectored import Cursor, Gather, _descriptor

# So many short pieces take less memory than the buffer itself.
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
    """Refuse what is no open file, or not open for writing: here rather than when what is buffered is lost."""
    fd = _descriptor(file)
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise io.UnsupportedOperation("the file is not open for writing")


class GatherWriter(io.BufferedIOBase):
    """A buffered file object for writing. It joins small writes, and sends long ones with them without a copy.

        with vectored.GatherWriter(open(path, "wb", buffering=0)) as writer:
            writer.write(header)
            writer.writelines(records)

    It can take the place of `open(path, "wb")` or the buffer of an `io.TextIOWrapper`, and with `closefd=False` of
    `socket.makefile("wb")`, whose `close` leaves the socket open. What is buffered and a long buffer, or a list of lines,
    go by one system call of a `Gather`. A bytes object is never copied by the writer; others are copied if they are
    buffered. It is written in Python: a `write` of a short object takes some 0.7 µs longer than that of an
    `io.BufferedWriter`. Pass many short objects to `writelines`.

    Close it, or use `with`, before its file is closed. If it is dropped, it is flushed and closed, but an error is not raised
    then: `sys.unraisablehook` gets it, which prints it.

    Threads may share a writer: each `write` and `writelines` stays whole, unless an exception is raised.

    After an exception, what earlier calls wrote is either written or still buffered, and the next call continues with it.
    Of the call that raised it, the first `done` bytes are written, and the rest is neither written nor buffered: write
    `data[done:]` again if it is to follow. The exception of a signal handler has no `done` if its class refuses attributes,
    or if the handler has interrupted the writer outside of a system call. What earlier calls wrote is kept then, too; whether
    the data of the interrupted call are, is unknown.

    After `os.fork`, parent and child have the same bytes buffered, and each would write them: flush before. A child that was
    forked while another thread used the writer cannot use it, since that thread's lock stays locked there.

    On a non-blocking descriptor, `write` and `writelines` take all of their data, or raise BlockingIOError and take
    none of it (`done` and `characters_written` are 0). They may buffer more than `buffer_size` bytes, once. After
    BlockingIOError, wait until the descriptor is ready, and repeat the call; this holds for `flush` and `close`, too,
    whose `characters_written` counts buffered bytes that went. The descriptor of a socket with a timeout
    (`settimeout(1)`) is non-blocking: BlockingIOError is raised at once, where `makefile` waits and raises TimeoutError.
    A TextIOWrapper loses text if its file raises BlockingIOError: do not put one over a non-blocking descriptor.

    A signal handler may write to the writer that it has interrupted: its bytes come after those of the interrupted call. If
    it would have to make a system call during one of that writer, it raises RuntimeError, and nothing is taken.
    """

    # `close` is called even if `__init__` has failed, or was not called for want of the right arguments. `_file` is None
    # if it is not open, or no longer.
    _lock = contextlib.nullcontext()
    _raw = _file = None
    _pieces, _kept, _old_count = (), 0, 0
    _is_sending = _is_closing = False

    def __init__(self, file, buffer_size=65536, *, closefd=True, gather=None):
        """Write to a descriptor, or to that of an object with a method `fileno`, which must be open for writing.

        For a path, pass `open(path, "wb", buffering=0)`. If the object has a method `flush`, it is called first, so that
        what it has buffered precedes; what it buffers later may be written before or after what the writer writes.
        `buffer_size` is the number of bytes from which on a call writes. `close` closes the file unless `closefd` is false.
        `gather` is a `Gather` to write with, for example one with a cost model.
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
        # What is kept: bytes objects, which never change, and a view of the rest of one. They stay in the list while they are
        # written. The bytes before the cursor are written; it counts in the first `_old_count` pieces and what one call
        # wrote with them. So an exception finds the writer right at any time, without being put back into order.
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
                    # In this order: a signal handler may raise an exception after a call.
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
        """Write what is buffered."""
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

        If the flush fails, the file is closed nevertheless, and what is buffered is lost. After BlockingIOError it is not
        closed: repeat the call.
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
                # Nothing is lost: the program may wait, and close it again.
                raise
            except BaseException:
                self._close()
                raise
            self._close()

    def __del__(self):
        # That of `io.IOBase` does the same, and ignores an error before Python 3.13.
        self.close()

    def _close(self):
        file, self._file = self._file, None
        self._pieces, self._kept, self._cursor = [], 0, Cursor()
        self._is_closing = True
        # It flushes, which does nothing now, and sets `closed`.
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
        """The position in the file behind what is buffered."""
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
        """The file or descriptor that it writes to."""
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
        # A copy would write what is buffered once more.
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
            # A non-blocking descriptor was full. What goes now is of earlier calls.
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
            # What did not go is kept.
            return

    def _keep(self, pieces):
        """Append copies of the pieces, or of none if that fails."""
        copies = [piece for piece in map(_unchanging, pieces) if piece]
        self._kept += sum(map(len, copies))
        self._pieces += copies

    def _send(self, pieces):
        """Write what is kept, then the pieces. After `BlockingIOError` the rest is kept, after others that of before."""
        self._check_reentrance()
        self._forget_written()
        if not self._pieces and not pieces:
            return
        self._old_count = len(self._pieces)
        try:
            self._is_sending = True
            # The file, and not its number, which may be another file's if somebody has closed it.
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
        """The bytes before the cursor: of the pieces, if there are some, or else of what is kept."""
        segment, offset = self._cursor.segment, self._cursor.offset
        if pieces:
            segment -= self._old_count
            return sum(map(_size, pieces[:segment])) + offset if segment >= 0 else 0
        return sum(map(len, self._pieces[:segment])) + offset

    def _keep_rest(self, pieces):
        """Keep copies of the pieces from the cursor on, behind what is left of earlier calls."""
        segment = self._cursor.segment - self._old_count
        rest = [_unchanging(piece) for piece in pieces[max(0, segment) :]]
        if rest and segment >= 0:
            # Not a copy: it would be one of a long piece each time.
            rest[0] = memoryview(rest[0])[self._cursor.offset :]
        # A signal handler may have written meanwhile: that stays behind.
        self._pieces[self._old_count : self._old_count] = rest

    def _forget_written(self):
        """Drop the bytes before the cursor from what is kept."""
        if self._cursor._forget(self._pieces, self._old_count):
            self._kept = sum(map(len, self._pieces))
