"""Where the elements of packed, unpacked and padded tensors come from (`coconet_ir.dialects.nccl`)."""

from __future__ import annotations

from collections.abc import Sequence

from coconet_ir.analysis.notation import Rule
from coconet_ir.dialects.attributes import sizes_of
from coconet_ir.dialects.nccl import CopyOp, PackOp, UnpackOp
from coconet_ir.lowering.kernels.indices import Index, Size, divide, flatten, unflatten

Position = tuple[Index, ...]
Condition = tuple[Index, Size]
"""An index that must be below a size."""

Level = tuple[Size, Size]
"""How one level cuts: the number of blocks, and the elements of a block."""


def rule(op: CopyOp) -> Rule:
    """Which dimensions of operand and result are equal: all but the one that is cut or padded."""
    dim = op.dim.value.data
    tensor = op.output if isinstance(op, UnpackOp) else op.input
    whole = [(f"d{i}",) for i in range(len(sizes_of(tensor.type)))]
    cut = [*whole[:dim], ("block",), *whole[dim + 1 :]]
    if isinstance(op, PackOp | UnpackOp):
        cut = [("blocks",), *cut]
    shapes = (tuple(whole), tuple(cut))
    operand, result = reversed(shapes) if isinstance(op, UnpackOp) else shapes
    return Rule((operand, *(None,) * (len(op.operands) - 1)), (result,))


def packed(
    position: Position, dim: int, levels: Sequence[Level], extent: Size
) -> tuple[Position, list[Condition]]:
    """The element of the tensor that stands at a position of its blocks, and when there is one."""
    block, *rest = position
    numbers = unflatten(block, [count for count, _ in levels])
    index, conditions = rest[dim], list[Condition]()
    above = [extent, *(size for _, size in levels)]
    for number, (_, size), limit in reversed(list(zip(numbers, levels, above, strict=False))):
        index = number * size + index
        conditions.append((index, limit))
    return (*rest[:dim], index, *rest[dim + 1 :]), conditions


def unpacked(position: Position, dim: int, levels: Sequence[Level]) -> Position:
    """Where among the blocks an element of the tensor stands."""
    index, numbers = position[dim], list[Index]()
    for _, size in levels:
        number, index = divide(index, size)
        numbers.append(number)
    block = flatten(numbers, [count for count, _ in levels])
    return (block, *position[:dim], index, *position[dim + 1 :])
