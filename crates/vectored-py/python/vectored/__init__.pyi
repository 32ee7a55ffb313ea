"""Gather writes and scatter reads that are complete and correct.

    gather = vectored.Gather()              # keep it: it owns working memory
    try:
        gather.write_all(file, [header, body])
    except OSError as error:
        print(error.done, "bytes were written before", error)

`os.writev` sends several buffers in one system call, but a program that calls it must handle four cases:

- the call may stop in the middle of a buffer, and returns how far it came;
- the call raises `OSError` for more than `IOV_MAX` buffers, which are 1024 on Linux;
- if buffers have less than a few hundred bytes, the call is slower than copying the buffers into one piece;
- if a non-blocking descriptor is full, the program has to find the place in its list.

The functions of this module write all of a list, or raise an exception whose attribute `done` counts the bytes that went
before the exception. Reads are the same in the other direction.

| task | function |
|---|---|
| write lists of short and long buffers | `Gather.write_all`; keep the `Gather` for further lists |
| write a list once, or one of long buffers | `write_all` |
| write or read at an offset of a file | `write_all`, `Gather.write_all`, `read_exact`, `read_up_to_eof` with `offset` |
| write to a non-blocking descriptor | `Gather.resume_write` with a `Cursor` |
| write a record or message that must be one system call | `write_once` |
| replace a file that is open for writing | `GatherWriter` |
| fill a list from a file, pipe or stream socket | `read_exact`, `read_up_to_eof` |
| fill a list from a non-blocking descriptor | `resume_read` with a `Cursor` |

Arguments of all functions:

- `fd`: an int, or an object with a method `fileno`, such as a file or a socket. A file object is flushed first, so that
  its buffered bytes come first. A read from a file object that has read ahead raises `ValueError`, also after `os.lseek`:
  open the file with `buffering=0`, or pass `offset`. (On a pipe or socket, the read gets the bytes that follow.) An
  object that encodes its bytes (`ssl`, `gzip`, `bz2`, `lzma`) is refused: use its own methods.
- `buffers`: an iterable of objects with the buffer protocol: `bytes`, `bytearray`, `memoryview`, `array.array`,
  `mmap.mmap`, arrays of numpy and others. Buffers are not copied. Each buffer must be C-contiguous; its format does not
  matter, and its size is counted in bytes. Buffers to read into must be writable and must not overlap. During the call, other
  threads run, and a buffer cannot be resized: `bytearray.extend` raises `BufferError`.

Exceptions of all functions:

- `OSError`, or its subclass for the number (`BlockingIOError`, `BrokenPipeError` and others), with `done`. The descriptor
  of a socket with a timeout (`settimeout(1)`) is non-blocking: `BlockingIOError` is raised at once. The first `done`
  bytes are moved then, and the same call would move them again: advance a `Cursor` by `done`, wait with `select`, and go
  on with `resume_write` or `resume_read`. Or call `settimeout(None)` first;
- `EOFError` with `done`, if a file or stream ends before `read_exact` or `resume_read` has filled the list;
- what a signal handler raises, such as `KeyboardInterrupt`, with `done`. Handlers run between system calls, in the main
  thread. A system call that waits ends when a signal comes, so handlers run at once;
- before any byte: `TypeError` for an object that is no buffer, `BufferError` for a buffer that is not C-contiguous or not
  writable, `ValueError` for a negative descriptor, a closed file, a wrong offset, buffers that overlap, or a cursor
  outside of the list, and `OverflowError` for a number that no C integer holds, such as `Cursor(-1)`.
"""

import io
import os
from collections.abc import Collection, Iterable
from typing import Any, Literal, Protocol, final

from typing_extensions import Buffer

__all__ = [
    "IOV_MAX",
    "CostModel",
    "Cursor",
    "Gather",
    "GatherWriter",
    "__version__",
    "read_exact",
    "resume_read",
    "read_up_to_eof",
    "write_all",
    "resume_write",
    "write_once",
]

class _HasFileno(Protocol):
    def fileno(self) -> int: ...

IOV_MAX: int
"""The most buffers that one system call takes: 1024 on Linux."""

__version__: str

def write_all(fd: int | _HasFileno, buffers: Iterable[Buffer], offset: int | None = None) -> int:
    """Write all buffers in order, and return the number of bytes. Nothing is copied.

    With `offset`, write at that place of a file. The file's position is neither used nor moved. Linux appends to a file that
    is open with "ab" (O_APPEND), whatever the offset is.

    A list takes several system calls if it has more than IOV_MAX buffers, or if a call takes only a part. Other writers
    may write between two calls. For short buffers, Gather.write_all is faster.

    If a non-blocking descriptor is full, BlockingIOError is raised. Use resume_write if you expect that.
    """

def resume_write(fd: int | _HasFileno, buffers: Collection[Buffer], cursor: Cursor) -> int:
    """Write from the cursor to the end of the list, and return the number of bytes of this call. Nothing is copied.

    The cursor moves by exactly the bytes that were written, also if an exception is raised. After BlockingIOError, wait
    until the descriptor is ready and repeat the call with the same list and cursor. The function returns when all of the
    list is written.
    """

def write_once(fd: int | _HasFileno, buffers: Iterable[Buffer]) -> int:
    """Write all buffers in exactly one system call, and return the number of bytes.

    For messages on datagram sockets, records of up to 4096 bytes on a pipe with several writers, and lines of a log that
    several programs append to. If one call cannot take the list, OSError (EINVAL) is raised before any byte. If the call
    was short, OSError (EIO) is raised: the first `done` bytes of the record are written, and stay. Causes are a full disk
    or the limit of a file's size, a non-blocking stream socket, and a signal during a long write.
    """

def read_exact(fd: int | _HasFileno, buffers: Iterable[Buffer], offset: int | None = None) -> int:
    """Read until all buffers are full, and return the number of bytes. Bytes after the list stay in the stream.

    With `offset`, read from that place of a file. The file's position is neither used nor moved.

    If the file or stream ends before the buffers are full, EOFError is raised. The first `done` bytes of the list are read then.
    """

def read_up_to_eof(fd: int | _HasFileno, buffers: Iterable[Buffer], offset: int | None = None) -> int:
    """Read until all buffers are full or the file ends, and return the number of bytes read.

    If the buffers have more bytes, the file or stream has ended. `offset` is as for read_exact.
    """

def resume_read(fd: int | _HasFileno, buffers: Collection[Buffer], cursor: Cursor) -> int:
    """Read from the cursor on until the buffers are full, and return the number of bytes of this call.

    The cursor moves by exactly the bytes that were read, also if an exception is raised. After BlockingIOError, wait
    until the descriptor is readable and repeat the call with the same list and cursor.
    """

@final
class Cursor:
    """A position in a list of buffers: the index of a buffer, and how many of its bytes have been moved.

    A cursor is the whole state of a transfer that a non-blocking descriptor has interrupted. Pass the same buffers each
    time. Buffers may be added at the end. A call that uses the cursor while another call uses it raises RuntimeError.

    The attributes cannot be set, and the module `copy` refuses a cursor: `Cursor(c.segment, c.offset)` is a copy of `c`.
    """

    def __new__(cls, segment: int = 0, offset: int = 0) -> Cursor: ...
    @property
    def segment(self) -> int:
        """The index of the buffer with the next byte; at the end of the list, the number of buffers."""

    @property
    def offset(self) -> int:
        """The number of moved bytes of the buffer `segment`."""

    def advance(self, buffers: Iterable[Buffer], count: int) -> None:
        """Move forward by `count` bytes, for example by `done` of an exception. ValueError if fewer are left."""

    def remaining_bytes(self, buffers: Iterable[Buffer]) -> int:
        """The bytes from here to the end of the list."""

    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

@final
class Gather:
    """Writes lists of short and long buffers: copies runs of short buffers together, and references long buffers.

    Each buffer of a system call costs the kernel some 20 ns, however short it is. Copying a short buffer costs less. The
    cost model decides which buffers are short. The bytes arrive in the same order in any case.

    Keep the Gather and use it again: it owns the memory into which it copies. Threads may share a Gather. A call that
    runs at the same time as another call allocates memory of its own.
    """

    def __new__(cls, cost_model: CostModel | None = None) -> Gather: ...
    @property
    def cost_model(self) -> CostModel:
        """The costs that decide which buffers are copied."""

    def write_all(self, fd: int | _HasFileno, buffers: Iterable[Buffer], offset: int | None = None) -> int:
        """Write all buffers in order, and return the number of bytes, as the function write_all."""

    def resume_write(self, fd: int | _HasFileno, buffers: Collection[Buffer], cursor: Cursor) -> int:
        """Write from the cursor to the end of the list, and return the number of bytes of this call, as the function resume_write."""

@final
class CostModel:
    """The costs of a system call, a buffer and a byte on a kind of descriptor.

    The defaults were measured on one machine. `calibrate` measures the costs on this machine.
    """

    @staticmethod
    def for_target(
        target: Literal["file", "file-overwrite", "pipe", "unix", "tcp", "other"] = "other",
    ) -> CostModel:
        """The costs of one machine for a kind of descriptor: 'file' (appended to), 'file-overwrite', 'pipe', 'unix', 'tcp' or
        'other'.

        The model of 'pipe' also cuts long lists into calls of 8 KiB, so that the reader can work at the same time.
        """

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        target: Literal["file", "file-overwrite", "pipe", "unix", "tcp", "other"],
    ) -> CostModel:
        """The costs of a target, from the file `path`.

        The file is a result that `vectored measure --format json` printed on this type of machine. The command calibrated
        the costs before its run. 'other' is the target `null`.
        """

    @staticmethod
    def calibrate(
        target: Literal["file", "file-overwrite", "pipe", "unix", "tcp", "other"],
        *,
        directory: str | None = None,
        milliseconds: int = 50,
    ) -> CostModel:
        """Measure the costs on this machine in about `milliseconds`, on new descriptors. 'other' is /dev/null.

        'file' is appended to, 'file-overwrite' is overwritten. Both need `directory`, where an unnamed file of up to 16
        MiB is made. Allow 75 milliseconds for these two.
        """

    def copy_below_bytes(self, segment_count: int) -> int:
        """The length in bytes up to which a buffer is copied, in a list of this many buffers."""

    @property
    def staging_bytes(self) -> int:
        """The size in bytes of the memory that a Gather copies into."""

    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

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

    def __init__(
        self,
        file: int | _HasFileno,
        buffer_size: int = 65536,
        *,
        closefd: bool = True,
        gather: Gather | None = None,
    ) -> None:
        """Write to a descriptor, or to an object with a method `fileno`. It must be open for writing.

        For a path, pass `open(path, "wb", buffering=0)`. If the object has a method `flush`, `flush` is called first, so
        that the object's buffered bytes come first. Bytes that the object buffers later may be written before or after
        the writer's bytes. A call writes when `buffer_size` bytes are buffered. `close` closes the file unless `closefd`
        is false. `gather` is a `Gather` to write with, for example one with a cost model.
        """

    def write(self, data: Buffer, /) -> int:
        """Write or buffer all bytes of an object, and return their number."""

    def writelines(self, lines: Iterable[Buffer], /) -> None:
        """Write or buffer all bytes of the objects, in one system call if their number allows it. Adds no line ends."""

    def flush(self) -> None:
        """Write the buffered bytes."""

    def detach(self) -> Any:
        """Flush, and return the file or descriptor, which stays open. The writer cannot be used any more."""

    def close(self) -> None:
        """Flush, and close the file unless `closefd` was false.

        If the flush fails, the file is closed nevertheless, and the buffered bytes are lost. After BlockingIOError the
        file is not closed: repeat the call.
        """

    def fileno(self) -> int: ...
    def isatty(self) -> bool: ...
    def writable(self) -> bool: ...
    def seekable(self) -> bool: ...
    def tell(self) -> int:
        """The position in the file after the buffered bytes."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Flush, and move the position."""

    def truncate(self, size: int | None = None, /) -> int:
        """Flush, and cut or extend the file to `size`, or to the position."""

    @property
    def raw(self) -> Any:
        """The file or descriptor that the writer writes to."""

    @property
    def name(self) -> Any: ...
    @property
    def mode(self) -> str: ...
