"""What a device is told to do, with buffers named by where they lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from coconet_ir.sim.elements import DType
from coconet_ir.sim.mesh import Shape

ARENA = -1
"""The owner of what lies in the arena."""


@dataclass(frozen=True)
class Place:
    """Where something begins: the number of an argument of the lowered function, or `ARENA`, and bytes behind it."""

    owner: int
    offset: int = 0
    rank: int | None = None
    """The rank whose it is; None for the one that does the step."""


@dataclass(frozen=True)
class Buffer:
    """A dense buffer: where it lies, its shape, and its element type."""

    place: Place
    shape: Shape
    dtype: DType

    @property
    def bytes(self) -> int:
        """How many bytes it has."""
        return prod(self.shape) * self.dtype.itemsize


ADDRESS = 8
"""Bytes of an address."""

Argument: TypeAlias = Place | bytes | tuple[Place | bytes, ...]
"""A buffer, a scalar as it lies in memory, or a structure of both, which has no gaps."""


def as_bytes(argument: Argument, address: Callable[[Place], int]) -> bytes:
    """An argument as it lies in memory."""
    parts = argument if isinstance(argument, tuple) else (argument,)
    return b"".join(
        part if isinstance(part, bytes) else address(part).to_bytes(ADDRESS, "little")
        for part in parts
    )


@dataclass(frozen=True)
class Launch:
    """A kernel to run."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    after: tuple[int, ...] = ()
    """The numbers of the launches that it waits for, beside all steps before it that are no launches."""
    shared: int = 0
    """Bytes of shared memory beside those that the kernel declares."""
    cooperative: bool = False
    """Whether all of its blocks are on the device at once."""
    dependent: bool = False
    """Whether it may begin once all blocks of the launch before it have said so (`griddepcontrol`)."""
    virtual: bool = False
    """Whether `%ctaid.z` is the rank of a block: all ranks in one launch, on one device."""


@dataclass(frozen=True)
class Copy:
    """Bytes moved from one place to another: what a collective of one rank does."""

    source: Place
    target: Place
    bytes: int


@dataclass(frozen=True)
class Clear:
    """Bytes set to zero."""

    target: Place
    bytes: int


@dataclass(frozen=True)
class Matmul:
    """`batch` products of m x k and k x n matrices, all dense and in row-major order."""

    lhs: Place
    rhs: Place
    output: Place
    batch: int
    m: int
    n: int
    k: int
    element: str
    accumulate: str
    result: str


CollectiveKind: TypeAlias = Literal[
    "all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "permute"
]


@dataclass(frozen=True)
class Collective:
    """A call of the library among several ranks."""

    kind: CollectiveKind
    ranks: tuple[int, ...]
    """The group in its order, this rank included."""
    source: Place
    target: Place
    count: int
    """Elements that each rank gives, blocks for all others included."""
    element: str
    reduction: str = ""
    """`sum`, `prod`, `max`, `min` or `avg`, where it reduces, in the type of the elements."""
    root: int = 0
    """Of reduce and broadcast: its position in the group."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Of permute: positions in the group that give and take. Who takes from nobody gets zeros."""


Step: TypeAlias = Launch | Copy | Clear | Matmul | Collective
