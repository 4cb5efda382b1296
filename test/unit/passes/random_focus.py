"""What each random program is about: a motif that it is made to hold, and the rewrites that are tried on that first."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from random_motifs import (
    COLLECTIVES,
    COMPUTATIONS,
    Step,
    beside,
    crossed_by,
    kept,
    read_by,
    reduced,
    seen_by,
    sliced,
    stored,
)
from random_rewrites import Case, Nothing
from random_sets import (
    STATES,
    before_kernel,
    crossed_twins,
    kernel,
    measured,
    overtaken,
    pipeline,
    twins,
)
from random_steps import (
    binary,
    constant,
    conv2d,
    convert,
    dropout,
    matmul,
    reduce,
    reducing,
    reshape,
    rms_norm,
    segments,
    softmax,
    splat,
    update,
    view,
)
from xdsl.ir import BlockArgument, Operation

from coconet_ir.dialects import coll
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.schedule.remarks import Remark
from coconet_ir.schedule.selection import argument_names

Rewrite = Callable[[Case, Sequence[str]], Sequence[Remark]]
"""A rewrite of what the motif of a program named."""


@dataclass(frozen=True)
class Focus:
    """A motif, the rewrites that are tried on it, and how many axes it needs."""

    motif: Step
    rewrites: tuple[Rewrite, ...]
    axes: int = 1


def _move(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    reader = case.named(aim[1]) if len(aim) > 1 else None
    return case.reorder(case.named(aim[0]), reader)


def _move_made(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    """Move the gather or broadcast that a split or slice made."""
    names = (f"{aim[0]}_ag", f"{aim[0]}_bcast")
    found = next((op for op in case.ops if op.results and op.results[0].name_hint in names), None)
    return case.reorder(found or case.named(aim[0]))


def _split(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.split(case.named(aim[0]))


def _slice(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.slice(case.named(aim[0]))


def _argument(case: Case, name: str) -> BlockArgument:
    return argument_names(case.func)[name]


def _slice_argument(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.slice_argument(_argument(case, aim[0]))


def _keep(index: int) -> Rewrite:
    return lambda case, aim: case.slice_state(_argument(case, aim[index]))


def _prepare(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    """Split an all_reduce; a gather is there already."""
    op = case.named(aim[0])
    return case.split(op) if isinstance(op, coll.AllReduceOp) else ()


def _targets(case: Case, aim: Sequence[str]) -> list[Operation]:
    found = [case.named(name) for name in aim]
    if len(found) < 2:
        raise Nothing
    return found


def _fuse(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    """Fuse all, or mostly all: then something may lie between."""
    found = _targets(case, aim)
    if len(found) > 2 and case.rng.random() < 0.2:
        del found[case.rng.randrange(1, len(found) - 1)]
    return case.fuse(found)


def _fuse_rest(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.fuse(_targets(case, aim[1:]))


def _fuse_update(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    """Fuse an update with what makes the value that it stores."""
    fed = {op: op.value.owner for op in case.ops if isinstance(op, UpdateOp)}
    pairs = [(source, op) for op, source in fed.items() if source in case.ops]
    if not pairs:
        raise Nothing
    source, op = case.rng.choice(pairs)
    return case.fuse([source, op]) if isinstance(source, Operation) else ()


def _move_any(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.reorder()


def _overlap(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.overlap(_targets(case, aim))


def _overlap_kernel(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    """Overlap the first with the kernel that the rest became."""
    kernels = [op for op in case.ops if isinstance(op, coll.FusedOp)]
    if not kernels:
        raise Nothing
    return case.overlap([case.named(aim[0]), kernels[-1]])


def _combine(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    found = _targets(case, aim)
    return case.combine(found[:2] if found[0].name == "coll.permute" else found)


def _combine_all(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.combine_all()


def _inline(case: Case, aim: Sequence[str]) -> Sequence[Remark]:
    return case.inline()


KERNELS = (
    (None, None),
    (coll.ReduceScatterOp, coll.AllGatherOp),
    (coll.ReduceScatterOp, None),
    (coll.AllReduceOp, None),
    (None, coll.AllGatherOp),
    (coll.AllToAllOp, coll.AllToAllOp),
    (coll.AllToAllOp, None),
    (None, coll.AllToAllOp),
    (coll.PermuteOp, None),
    (None, coll.PermuteOp),
)

OFTEN_SLICED = (convert, conv2d, conv2d, segments, segments, reshape, reduce)
OFTEN_ROOTED = (conv2d, segments, reduce)
"""What reads gathers and broadcasts, and seldom moves otherwise."""

_READS = (
    *((step, rooted) for rooted in (False, True) for step in (*COMPUTATIONS, update, view)),
    *((step, False) for step in OFTEN_SLICED),
    *((step, True) for step in OFTEN_ROOTED),
)
_CROSSINGS = (
    *((kind, rooted) for rooted in (False, True) for kind in COLLECTIVES),
    *((kind, False) for kind in (coll.AllToAllOp, coll.ReduceScatterOp)),
)
_BETWEEN = (binary, dropout, reshape, rms_norm, softmax, softmax, update, update)

_FOCI: tuple[Focus, ...] = (
    *(Focus(read_by(step, rooted), (_move,)) for step, rooted in _READS),
    *(Focus(crossed_by(kind, rooted), (_move,), axes=2) for kind, rooted in _CROSSINGS),
    *(
        Focus(seen_by(relaxed, rooted), (_move,), axes=2)
        for rooted in (False, True)
        for relaxed in (False, True)
    ),
    *(Focus(beside(step), (_move,)) for step in (splat, constant, constant) * 3),
    *(Focus(reduced, (_split, _move_made)),) * 6,
    *(Focus(sliced, (_slice, _move_made)),) * 6,
    *(Focus(stored, (_prepare, _move_made, _keep(1), _keep(2))),) * 3,
    *(Focus(kept, (_keep(0),)),) * 2,
    Focus(kept, (_slice_argument, _move_made, _keep(0))),
    Focus(kept, (_fuse_update, _move_any, _keep(0))),
    Focus(stored, (_fuse_update, _prepare, _move_made, _move_any)),
    Focus(stored, (_prepare, _move_made, _fuse_update, _move_any, _keep(1))),
    *(Focus(kernel(first, last), (_fuse,)) for first, last in KERNELS),
    *(Focus(pipeline(step), (_overlap,)) for step in (*STATES, conv2d)),
    *(
        Focus(pipeline(first, step), (_overlap,))
        for step in _BETWEEN
        for first in (matmul, reducing)
    ),
    Focus(before_kernel, (_fuse_rest, _overlap_kernel)),
    Focus(before_kernel, (_fuse_rest, _overlap_kernel, _inline)),
    *(Focus(measured, (_fuse,)),) * 2,
    *(Focus(overtaken, (_fuse,)),) * 2,
    Focus(crossed_twins, (_combine, _combine_all)),
    Focus(crossed_twins, (_combine_all,)),
    *(Focus(twins(kind), (_combine,)) for kind in COLLECTIVES * 2),
)

FOCI = random.Random(0).sample(_FOCI, len(_FOCI))
"""The foci, which the programs take in turn, mixed so that a few programs see many kinds."""
