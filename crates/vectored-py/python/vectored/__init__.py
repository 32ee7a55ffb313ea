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

from ._vectored import (
    IOV_MAX,
    CostModel,
    Cursor,
    Gather,
    __version__,
    read_exact,
    resume_read,
    read_up_to_eof,
    write_all,
    resume_write,
    write_once,
)
from ._writer import GatherWriter

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
