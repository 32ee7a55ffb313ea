"""Gather writes and scatter reads that are complete and correct."""

from ._vectored import (
    IOV_MAX,
    CostModel,
    Cursor,
    Gather,
    __version__,
    read_exact,
    read_into,
    read_up_to_eof,
    write_all,
    write_from,
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
    "read_into",
    "read_up_to_eof",
    "write_all",
    "write_from",
    "write_once",
]
