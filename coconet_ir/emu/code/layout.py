"""What machine code and the scheduler share: the record of a thread, the shadow of memory, and addresses.

A device thread has a slot, and a record of `RECORD` bytes in an array of all slots. Memory of all ranks is one array of
bytes, the *space*: global buffers, then the shared memory of resident blocks, then the local memory of slots. An
*offset* is a place in the space. The shadow has `WORDS` words for each granule of global and shared memory.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import numpy as np

GLOBAL = 0x7000_0000_0000
"""The address of the first byte of global memory: addresses are the same in every run."""

SHARED = 0x0100_0000_0000
"""Where the window of shared memory begins in generic addresses."""

LOCAL = 0x0200_0000_0000
"""Where the window of local memory begins in generic addresses."""

WINDOW = 1 << 32
"""Bytes of a window."""

WARP = 32
"""Threads of a warp."""

VALUES = 8
"""Values that a thread exchanges with the scheduler at most."""

SPECIALS = (
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
)
"""Special registers of 32 bits that a thread's record holds."""

_FIELDS: list[Any] = [
    ("self", np.uint64),
    ("row", np.uint64),
    ("start", np.uint64),
    ("shadow", np.uint64),
    ("space", np.uint64),
    ("limit", np.uint64),
    ("shared", np.uint64),
    ("shared_bytes", np.uint64),
    ("local", np.uint64),
    ("variables", np.uint64),
    ("parameters", np.uint64),
    ("fuel", np.int64),
    ("op", np.uint32),
    ("site", np.uint32),
    ("offset", np.uint64),
    ("address", np.uint64),
    ("values", np.uint64, (VALUES,)),
    ("operands", np.uint64, (VALUES,)),
    ("specials", np.uint32, (len(SPECIALS),)),
    ("turn", np.uint32),
]
RECORD = np.dtype(_FIELDS, align=True)
"""`self` is the entry of the thread's accesses but for the site; `row` is what the thread knows of others; `start` what
it knew at the kernel's start; `limit` the bytes of the space that have a shadow. The first of `values` says what a
suspended thread asks for and then takes the result; `operands` are what it gives. `turn` is the line of the
branch by which a loop was last repeated."""


_PLACES: dict[str, int] = {name: field[1] for name, field in (RECORD.fields or {}).items()}


def place(field: str) -> int:
    """Where a field of the record begins, in bytes."""
    return _PLACES[field]


SITE_BITS, EPOCH_BITS = 20, 24
THREAD_SHIFT = SITE_BITS + EPOCH_BITS
"""An access is one word: thread, epoch, site."""

MOST_THREADS = 1 << (64 - THREAD_SHIFT)
MOST_SITES = 1 << SITE_BITS


class State:
    """What the last word of a granule's shadow says: 0 for ordinary memory, else an address of a row of readers."""

    UNALLOCATED: Final = 1
    UNWRITTEN: Final = 2
    STRONG: Final = 4


FLAGS = State.UNALLOCATED | State.UNWRITTEN | State.STRONG
"""All of them: an address of a table is more."""

READERS = 4
"""Readers of a granule that its shadow holds: as many as ranks that read one element, in the usual kernel."""

STATE = READERS + 1
"""Which word of a granule's shadow its state is, behind the last writer and the readers."""

WORDS = STATE + 1
"""Words of a granule's shadow."""


class Op:
    """Why a thread is suspended."""

    START: Final = 0
    EXIT: Final = 1
    FAULT: Final = 2
    """The thread ends: the scheduler has a finding, or `TRAP` is the value."""
    LOAD: Final = 3
    STORE: Final = 4
    ATOMIC: Final = 5
    FENCE: Final = 6
    BARRIER: Final = 7
    WARP: Final = 8
    YIELD: Final = 9
    """A loop took its share of turns."""
    CLOCK: Final = 10
    RELEASE_DEPENDENTS: Final = 11
    AWAIT_GRID: Final = 12
    TRAP: Final = 13
    ACTIVE: Final = 14


FUEL = 1 << 12
"""Backward branches after which a thread lets others run, the first time."""

GROWTH = 6
"""How often a thread does so before it gets twice as much: what it waits for is mostly near."""


class Warp(IntEnum):
    """What the threads of a warp do together."""

    SYNC = 0
    SHUFFLE_UP = 1
    SHUFFLE_DOWN = 2
    SHUFFLE_BUTTERFLY = 3
    SHUFFLE_INDEX = 4
    VOTE_ALL = 5
    VOTE_ANY = 6
    VOTE_UNIFORM = 7
    VOTE_BALLOT = 8
    MATCH_ANY = 9
    MATCH_ALL = 10
    REDUCE_ADD = 11
    REDUCE_MIN_UNSIGNED = 12
    REDUCE_MAX_UNSIGNED = 13
    REDUCE_MIN_SIGNED = 14
    REDUCE_MAX_SIGNED = 15
    REDUCE_AND = 16
    REDUCE_OR = 17
    REDUCE_XOR = 18
    ELECT = 19


class Barrier(IntEnum):
    """What a thread does at a barrier of its block."""

    SYNC = 0
    ARRIVE = 1
    REDUCE_AND = 2
    REDUCE_OR = 3
    REDUCE_COUNT = 4


class Scope:
    """Who an operation orders accesses with (PTX ISA, 8.5); a cluster is one block here."""

    CTA: Final = 0
    GPU: Final = 1
    SYS: Final = 2


class Order:
    """What a strong operation orders."""

    RELAXED: Final = 0
    RELEASE: Final = 1
    ACQUIRE: Final = 2
    SC: Final = 4
