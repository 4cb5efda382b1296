"""Random programs, random rewrites of them, and what must hold after each.

    python test/unit/passes/random_programs.py --count 2000 --seed 1

rewrites that many programs and prints how often each operation was moved, sliced or split, and how often that was
declined and why. A program that a rewrite breaks is printed with the rewrites that led there.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.transforms.canonicalize import CanonicalizePass

from coconet_ir.analysis.dist import Local, Root
from coconet_ir.dialects import coll
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.slice import slice_value
from coconet_ir.passes.split import Into, split
from coconet_ir.schedule.remarks import Remark
from coconet_ir.schedule.selection import name_of
from coconet_ir.sim.binding import the_function
from coconet_ir.sim.elements import same_bits
from coconet_ir.sim.executor import Output, run
from coconet_ir.xdsl_compat import print_module

if TYPE_CHECKING:
    from generator import Dim, Generator, Program
else:  # nothing in this folder is imported by its bare name
    _spec = importlib.util.spec_from_file_location(
        f"{__name__}_generator", Path(__file__).with_name("generator.py")
    )
    _module = importlib.util.module_from_spec(_spec)
    sys.modules[_spec.name] = _module
    _spec.loader.exec_module(_module)
    Generator = _module.Generator

Array = NDArray[Any]
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 11)
MESHES: tuple[tuple[int, ...], ...] = (
    *((1,), (2,), (3,), (5,), (7,), (8,)),
    *((2, 2), (3, 2), (1, 5), (2, 3), (7, 1)),
    *((2, 2, 2), (1, 2, 3), (2, 1, 3)),
)


class Broken(Exception):
    """A rewrite broke a program; the message says how."""


@dataclass
class Tally:
    """How often each operation was rewritten, and how often that was declined."""

    applied: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    declined: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    programs: int = 0
    operations: int = 0

    def table(self) -> str:
        """One line an operation and rewrite, with the reasons of those that were declined."""
        keys = sorted({*self.applied, *((rewrite, op) for rewrite, op, _ in self.declined)})
        lines = [f"{'rewrite':22} {'operation':24} {'applied':>8} {'declined':>8}  why"]
        for rewrite, op in keys:
            why = Counter({r: n for (w, o, r), n in self.declined.items() if (w, o) == (rewrite, op)})
            reasons = ", ".join(f"{reason} {n}" for reason, n in why.most_common())
            lines.append(f"{rewrite:22} {op:24} {self.applied[rewrite, op]:8} {why.total():8}  {reasons}")
        return "\n".join(lines)


# Running


def bind(rng: random.Random, program: Program) -> tuple[dict[str, int], dict[str, Array]]:
    """A mesh and inputs for a program: small numbers that add exactly, different on every rank."""
    fitting = [
        sizes
        for sizes in MESHES
        if len(sizes) == len(program.axes)
        and all(n >= program.least[axis] for axis, n in zip(program.axes, sizes, strict=True))
    ]
    mesh = dict(zip(program.axes, rng.choice(fitting), strict=True))
    segments = rng.choice((0, 1, 2, 3))
    sizes = {name: rng.choice(SIZES) for name in "pqr"} | {"o": segments + 1, "t": segments}
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    inputs: dict[str, Array] = {}
    types = dict(zip(program.arguments, program.func.function_type.inputs, strict=True))
    for name, type in types.items():
        if name in program.offsets:
            size = extent(program.offsets[name], sizes)
            ends = sorted(rng.randint(0, size) for _ in range(segments - 1))
            inputs[name] = np.asarray([0, *ends, size][: segments + 1], np.int64)
        else:
            inputs[name] = data(numbers, type, program.arguments[name], mesh, sizes)
    if segments == 0:  # no segment covers anything
        sizes |= {dim: 0 for dim in program.offsets.values() if isinstance(dim, str)}
    return mesh, inputs


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
    if not isinstance(type, TensorType):
        return np.asarray(7) if str(type) == "i64" else np.asarray(0.5)
    local = [mesh[axis] for axis in mesh if isinstance(dist_of(type).by_axis.get(axis), Local)]
    shape = (*local, *(extent(dim, sizes) for dim in dims))
    if str(type.element_type) in ("i32", "i64"):
        return numbers.integers(-4, 5, shape).astype(str(type.element_type).replace("i", "int"))
    return numbers.integers(-8, 9, shape) / 8
