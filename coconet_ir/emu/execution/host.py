"""What the steps of a stream that are no launches compute, and what each rank of a collective waits for.

Collectives are ideal: a reduction combines what the ranks give in the order of their group, in the type of the
elements, and products of matrices add in increasing index order. So what a program gives is what the simulator gives,
bit for bit, as far as its kernels do.

Arrays are dense, of any shape and of any type: their bytes count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from coconet_ir.analysis.dist import Kind
from coconet_ir.runtime.steps import Clear, Collective, Copy, Matmul, Place
from coconet_ir.sim import collectives, reductions
from coconet_ir.sim.elements import ELEMENTS, Array
from coconet_ir.sim.kernels import undefined

HostStep: TypeAlias = Copy | Clear | Matmul | Collective
"""A step that is no launch."""

Span: TypeAlias = tuple[Place, int]
"""Where some bytes begin, and how many they are."""


def reads(step: HostStep) -> tuple[Span, ...]:
    """The bytes that a step reads on a rank, in the order in which `local` takes them."""
    match step:
        case Copy():
            return ((step.source, step.bytes),)
        case Clear():
            return ()
        case Matmul():
            size, stack = ELEMENTS[step.element].itemsize, step.batch
            lhs, rhs = stack * step.m * step.k * size, stack * step.k * step.n * size
            return (step.lhs, lhs), (step.rhs, rhs)
        case Collective():
            return ((step.source, step.count * ELEMENTS[step.element].itemsize),)


def writes(step: HostStep) -> Span:
    """The bytes that a step stores on a rank."""
    match step:
        case Copy() | Clear():
            return step.target, step.bytes
        case Matmul():
            count = step.batch * step.m * step.n
            return step.output, count * ELEMENTS[step.result].itemsize
        case Collective():
            count, ranks = step.count, len(step.ranks)
            if step.kind == "all_gather":
                count *= ranks
            elif step.kind == "reduce_scatter":
                count //= ranks
            return step.target, count * ELEMENTS[step.element].itemsize


def local(step: Copy | Clear | Matmul, given: Sequence[Array]) -> Array:
    """What a step that needs no other rank stores, of what it reads."""
    match step:
        case Copy():
            return given[0].copy()
        case Clear():
            return np.zeros(step.bytes, np.uint8)
        case Matmul():
            element = ELEMENTS[step.element]
            lhs, rhs = (array.reshape(-1).view(element) for array in given)
            return reductions.matmul(
                lhs.reshape(step.batch, step.m, step.k),
                rhs.reshape(step.batch, step.k, step.n),
                ELEMENTS[step.accumulate],
                ELEMENTS[step.result],
            )


def collective(step: Collective, given: Sequence[Array]) -> list[Array]:
    """What each rank of the group stores, of what each gives; both in the order of the group.

    Off the root a reduction stores what the simulator has for undefined values.
    """
    arrays = [array.reshape(-1).view(ELEMENTS[step.element]) for array in given]
    ranks = range(len(arrays))
    match step.kind:
        case "all_reduce":
            return [_reduced(step, arrays)] * len(arrays)
        case "reduce":
            total = _reduced(step, arrays)
            nothing = np.array(undefined(total.shape, total.dtype))
            return [total if rank == step.root else nothing for rank in ranks]
        case "broadcast":
            return [arrays[step.root].copy()] * len(arrays)
        case "all_gather":
            return [np.concatenate(arrays)] * len(arrays)
        case "reduce_scatter":
            return np.split(_reduced(step, arrays), len(arrays))
        case "all_to_all":
            blocks = [np.split(array, len(arrays)) for array in arrays]
            return [np.concatenate([sent[rank] for sent in blocks]) for rank in ranks]
        case "permute":
            found = collectives.permute(arrays, {to: source for source, to in step.pairs})
            return [array.copy() for array in found]


def feeds(step: Collective) -> tuple[tuple[int, ...], ...]:
    """For each rank of the group, by position, the positions of those whose data it gets: it waits for them alone."""
    every = tuple(range(len(step.ranks)))
    match step.kind:
        case "all_reduce" | "all_gather" | "reduce_scatter" | "all_to_all":
            return (every,) * len(every)
        case "reduce":
            return tuple(every if one == step.root else () for one in every)
        case "broadcast":
            return ((step.root,),) * len(every)
        case "permute":
            return tuple(tuple(a for a, b in step.pairs if b == one) for one in every)


def _reduced(step: Collective, arrays: Sequence[Array]) -> Array:
    dtype = arrays[0].dtype
    return collectives.reduce_ranks(arrays, Kind(step.reduction), dtype, dtype, dtype)
