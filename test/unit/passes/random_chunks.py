"""Whether an overlap can work chunk by chunk, seen by running it: a late chunk changes no early one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from random_generator import Program
from random_running import Broken, make_inputs
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from coconet_ir.analysis.chunks import check_overlap
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.regions import YieldOp
from coconet_ir.schedule.selection import label_of
from coconet_ir.sim.binding import Value, bind_inputs, bind_mesh
from coconet_ir.sim.exchange import InProcess
from coconet_ir.sim.executor import Machine
from coconet_ir.sim.kernels import Numbers
from coconet_ir.sim.mesh import Mesh

Array = NDArray[Any]
SIZES = {"p": 4, "q": 6, "r": 10, "o": 3, "t": 2}


def check_chunks(rng: random.Random, program: Program, region: Operation) -> None:
    """Raise `Broken` when what an overlap makes of the first part of a dimension needs more of it than that part.

    The program runs on one rank: what collectives do to chunks of several ranks is not seen.
    """
    func = program.func
    try:
        mesh = bind_mesh(func, dict.fromkeys(program.axes, 1))
    except IRError:
        return  # it names ranks that are not there
    inputs = make_inputs(rng, program, mesh.shape, SIZES)
    members = [op for op in region.regions[0].block.ops if not isinstance(op, YieldOp)]
    watched = {result for op in members for result in op.results}
    dim, first, unit = _first(region, members)
    calm = _Recorder(mesh, watched)
    calm.start(func, inputs)
    size = calm.seen[first].shape[dim]
    bounds = range(unit, size, unit)
    if not bounds:
        return
    bound = rng.choice(bounds)
    late = (slice(None),) * dim + (slice(bound, None),)
    stirred = _Recorder(mesh, watched, first, late)
    stirred.start(func, inputs)
    for value in watched:
        if not _is_late(calm.seen[value], stirred.seen[value], bound, size):
            raise Broken(
                f"'{label_of(value.op)}' changes early where '{label_of(first.op)}' changes from {bound} of {size} on"
            )


def _first(region: Operation, members: list[Operation]) -> tuple[int, OpResult, int]:
    """The dimension of an overlap, the result of the first stage that has it, and the unit of chunks."""
    given = region.properties["dim"]
    if not isinstance(given, IntegerAttr):
        raise Broken("the overlap names no dimension")
    chunks = check_overlap(members, given.value.data)
    inside = {step for op in members for step in op.walk()}
    for result in chunks.stages[0].results:
        if any(use.operation in inside for use in result.uses):
            return chunks.dim, result, chunks.unit
    raise Broken("nothing reads the first stage")


def _is_late(calm: Array, stirred: Array, bound: int, size: int) -> bool:
    """Whether an array changes along some dimension from the same part of it on alone."""
    differs = ~np.isclose(calm.astype(np.float64), stirred.astype(np.float64), 0, 0, equal_nan=True)
    if not calm.ndim or not differs.any():
        return not differs.any()
    return any(
        extent * bound % size == 0 and found.min() >= extent * bound // size
        for extent, found in zip(calm.shape, np.nonzero(differs), strict=True)
    )


class _Recorder(Machine):
    """Runs a program on one rank, remembers some values and changes one of them when it is made."""

    def __init__(
        self,
        mesh: Mesh,
        watched: set[OpResult],
        first: SSAValue | None = None,
        late: tuple[slice, ...] = (),
    ):
        super().__init__(mesh, Numbers(exact=True), InProcess(1))
        self.watched, self.first, self.late = watched, first, late
        self.seen: dict[SSAValue, Array] = {}

    def start(self, func: FuncOp, inputs: Mapping[str, Array]) -> None:
        """Run a function."""
        values = bind_inputs(func, self.mesh, inputs, self.numbers, (0,))
        self.run_block(func.body.block, values)

    def _define(self, key: SSAValue, value: Value) -> None:
        if key is self.first:
            array = value.arrays[0].copy()
            array[self.late] = array[self.late] * 3 + 1
            value = replace(value, arrays=(array,))
        if key in self.watched:
            self.seen[key] = value.arrays[0]
        super()._define(key, value)
