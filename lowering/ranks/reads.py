"""How the operations of one rank's program read tensors, through what costs nothing and is repeated where it is read.

A *unit* computes: each of its elements is computed once, in one kernel. What is *free* is repeated in every kernel
that reads it: splats, broadcasts, the same elements in another order, and casts of what is in memory anyway. So units
read *sources*: arguments, results of units, and what calls of the library give.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.tensor import CastOp, EmptyOp, ExtractSliceOp, SplatOp
from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.dialects.arith_casts import Cast
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.blocks import SegmentBroadcastBlockOp, SegmentReduceBlockOp
from coconet_ir.dialects.comp import BroadcastOp, TransposeOp, UpdateOp
from coconet_ir.dialects.nccl import CopyOp
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.tensor import ExtractOp

RENAMES = (ReshapeOp, CastOp)
"""Operations whose result has the elements of their operand in the same order under other dimensions."""

FREE = (ConstantOp, SplatOp, BroadcastOp, TransposeOp, ExtractSliceOp, CopyOp, *RENAMES)
"""Operations on tensors that are repeated where they are read; casts may be."""


class Access(Enum):
    """Which element an operation reads for one of its own."""

    SAME = auto()
    """The one of the same number, in row-major order."""
    SPREAD = auto()
    """One for all along some dimensions."""
    MOVED = auto()
    """One at another place, each for one element at most."""
    SCALAR = auto()
    """One for all, or several of these."""
    ANY = auto()
    """Any."""
    SHAPE = auto()
    """None: only the size counts."""


@dataclass(frozen=True)
class Read:
    """A source and which of its elements are read; of one that is spread, the operation that does it."""

    source: SSAValue
    access: Access = Access.SAME
    spread: BroadcastOp | None = None


def makes_tensor(op: Operation) -> bool:
    """Whether an operation has a tensor as a result."""
    return any(as_tensor(result.type) is not None for result in op.results)


def is_shape(value: SSAValue) -> bool:
    """Whether a value is a tensor that nothing was stored into: where only its size counts it is free."""
    return isinstance(value, OpResult) and isinstance(value.op, EmptyOp)


class Reads:
    """What the units among some operations read; sources may be outside."""

    def __init__(
        self,
        ops: Iterable[Operation],
        stored: Collection[SSAValue] = (),
        calls: Collection[Operation] = (),
    ):
        """`stored` are values that are needed in memory, so that units make them; what `calls` give are sources.

        So are tensors that nothing was stored into.
        """
        self.units: dict[Operation, tuple[Read, ...]] = {}
        """In order, with what each reads."""
        self._free: dict[SSAValue, tuple[Read, ...]] = {}
        for op in ops:
            if op in calls or isinstance(op, EmptyOp):
                continue
            reads = tuple(dict.fromkeys(self._reads(op)))
            if self._is_free(op, reads, stored):
                self._free.update(dict.fromkeys(op.results, reads))
            else:
                self.units[op] = reads

    def of(self, value: SSAValue) -> tuple[Read, ...]:
        """The sources of a value: itself, if it is none of what is free. Scalars of the host have none."""
        if value in self._free:
            return self._free[value]
        return () if as_tensor(value.type) is None else (Read(value),)

    def is_free(self, value: SSAValue) -> bool:
        """Whether a value is made again in every kernel that reads it."""
        return value in self._free

    def is_computed(self, source: SSAValue) -> bool:
        """Whether a source is the result of a unit."""
        return isinstance(source, OpResult) and source.op in self.units

    def _reads(self, op: Operation) -> Iterable[Read]:
        for operand in op.operands:
            if isinstance(op, UpdateOp) and operand is op.target:
                continue
            only_shape = isinstance(op, BroadcastOp) and operand is op.like
            if not (only_shape and is_shape(operand)):
                for read in self.of(operand):
                    yield (
                        Read(read.source, Access.SHAPE)
                        if only_shape
                        else _through(op, operand, read)
                    )

    def _is_free(self, op: Operation, reads: Sequence[Read], stored: Collection[SSAValue]) -> bool:
        if isinstance(op, UpdateOp) or any(result in stored for result in op.results):
            return False
        if isinstance(op, Cast):
            return not any(self.is_computed(read.source) for read in reads)
        return isinstance(op, FREE) or not makes_tensor(op)


def _through(op: Operation, operand: SSAValue, read: Read) -> Read:
    """A read of an operand, as one for an element of the result."""
    if read.access in (Access.SCALAR, Access.SHAPE):
        return read
    in_order = read.access in (Access.SAME, Access.MOVED)
    match op:
        case ExtractOp():
            return Read(read.source, Access.SCALAR)
        case BroadcastOp() if read.access is Access.SAME:
            return Read(read.source, Access.SPREAD, op)
        case ReshapeOp() if in_order:
            return read
        case TransposeOp() | ExtractSliceOp() | CopyOp() if in_order:
            return Read(read.source, Access.MOVED)
        case BroadcastOp() | ReshapeOp() | TransposeOp() | ExtractSliceOp() | CopyOp():
            return Read(read.source, Access.ANY)
        case SegmentBroadcastBlockOp():
            return Read(read.source, Access.ANY)
        case SegmentReduceBlockOp() if operand is op.offsets:
            return Read(read.source, Access.ANY)
        case _:
            return read
