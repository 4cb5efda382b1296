"""Running random programs: inputs for them, and whether a rewritten program still computes what it did."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from random_generator import Dim, Program
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from coconet_ir.analysis.dist import Local
from coconet_ir.analysis.verifier import RESLICED
from coconet_ir.dialects.attributes import as_tensor, dist_of
from coconet_ir.dialects.elements import element_of
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.elements import same_bits
from coconet_ir.sim.executor import Output, run

Array = NDArray[Any]
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 11)
MESHES: tuple[tuple[int, ...], ...] = (
    *((1,), (2,), (3,), (5,), (7,), (8,)),
    *((2, 2), (3, 2), (1, 5), (2, 3), (7, 1)),
    *((2, 2, 2), (1, 2, 3), (2, 1, 3)),
)


class Broken(Exception):
    """A rewrite broke a program; the message says how."""


def bind(rng: random.Random, program: Program) -> tuple[dict[str, int], dict[str, Array]]:
    """A mesh and inputs for a program: small numbers that add exactly, different on every rank."""
    fitting = [
        sizes
        for sizes in MESHES
        if len(sizes) == len(program.axes)
        and all(n >= program.least[axis] for axis, n in zip(program.axes, sizes, strict=True))
    ]
    mesh = dict(zip(program.axes, rng.choice(fitting), strict=True))
    segments = rng.choice((1, 2, 3))
    sizes = {name: rng.choice(SIZES) for name in "pqr"} | {"o": segments + 1, "t": segments}
    return mesh, make_inputs(rng, program, mesh, sizes)


def make_inputs(
    rng: random.Random, program: Program, mesh: Mapping[str, int], sizes: Mapping[str, int]
) -> dict[str, Array]:
    """Inputs for a program where its dimensions have these sizes."""
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    inputs: dict[str, Array] = {}
    types = dict(zip(program.arguments, program.func.function_type.inputs, strict=True))
    for name, type in types.items():
        if name in program.offsets:
            size = extent(program.offsets[name], sizes)
            ends = sorted(rng.randint(0, size) for _ in range(sizes["t"] - 1))
            inputs[name] = np.asarray([0, *ends, size], np.int64)
        else:
            inputs[name] = data(numbers, type, program.arguments[name], mesh, sizes)
    return inputs


def extent(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The size of a dimension."""
    if isinstance(dim, int):
        return dim
    return sizes[dim] if isinstance(dim, str) else sizes[dim[0]] * dim[1]


def data(
    numbers: np.random.Generator,
    type: Attribute,
    dims: Sequence[Dim],
    mesh: Mapping[str, int],
    sizes: Mapping[str, int],
) -> Array:
    """A random argument, with a leading dimension for each axis on which it is local."""
    element = str(element_of(type))
    if as_tensor(type) is None:
        return np.asarray(7) if element == "i64" else np.asarray(0.5)
    local = [mesh[axis] for axis in mesh if isinstance(dist_of(type).by_axis.get(axis), Local)]
    shape = (*local, *(extent(dim, sizes) for dim in dims))
    if element in ("i32", "i64"):
        return numbers.integers(-4, 5, shape).astype(element.replace("i", "int"))
    return numbers.integers(-8, 9, shape) / 8


@dataclass
class Reference:
    """A copy of the program before it was rewritten, and what it is run on."""

    func: FuncOp
    mesh: Mapping[str, int]
    inputs: Mapping[str, Array]
    known: dict[bool, dict[str, Output]] = field(default_factory=dict[bool, dict[str, Output]])

    def outputs(self, exact: bool) -> dict[str, Output]:
        """What it computes, with every float as f64 if `exact`."""
        if exact not in self.known:
            self.known[exact] = run(self.func, self.mesh, self.inputs, exact=exact).outputs
        return self.known[exact]


def compare(func: FuncOp, reference: Reference, reassociated: bool) -> None:
    """Raise `Broken` unless the program still computes what it did, into arguments that may be kept in slices now."""
    before = reference.outputs(reassociated)
    after = run(func, reference.mesh, reference.inputs, exact=reassociated).outputs
    marks = func.arg_attrs or ()
    names = zip(argument_names(func), marks, strict=bool(marks))
    types = {name: mark.data[RESLICED] for name, mark in names if RESLICED in mark.data}
    if before.keys() != after.keys():
        raise Broken(f"the outputs are {list(after)}")
    for name, old in before.items():
        new = after[name]
        same = close(new.array, old.array) if reassociated else same_bits(new.array, old.array)
        if types.get(name, new.type) != old.type or not same:
            raise Broken(
                f"{name} : {new.type} is\n{new.array}\nbut was : {old.type}\n{old.array}\n"
                f"on {reference.mesh}"
            )


def close(new: Array, old: Array) -> bool:
    """Whether two arrays of f64 agree to 1e-12 of the largest magnitude."""
    if new.dtype != np.float64 or new.shape != old.shape:
        return same_bits(new, old)
    finite = np.isfinite(old)
    if not np.array_equal(new[~finite], old[~finite], equal_nan=True):
        return False
    bound = 1e-12 * float(np.max(np.abs(old), where=finite, initial=0.0))
    return bool(np.all(np.abs(new[finite] - old[finite]) <= bound))
