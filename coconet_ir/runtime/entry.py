"""What a call gives to a program, checked as the simulator checks it: kernels rely on it and check nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from operator import index
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import SplatOp
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from coconet_ir.analysis.rules import rank_of
from coconet_ir.analysis.verifier import the_mesh
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.comp import SegmentBroadcastOp, SegmentReduceOp, UpdateOp
from coconet_ir.dialects.custom import CustomOp
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.binding import Input, bind_mesh, typed
from coconet_ir.sim.elements import Array
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import Numbers, Site, kernel_of
from coconet_ir.sim.mesh import Mesh, Shape
from coconet_ir.sim.resolve import result_shapes
from coconet_ir.sim.segments import check_offsets, check_values
from coconet_ir.sim.sizes import Sizes

MAX_BYTES = 1 << 63
"""All tensors of a call have fewer bytes together: sizes and places are computed in 64 bits."""

_NUMBERS = Numbers()


def one_rank(func: FuncOp, given: Mapping[str, int]) -> Mesh:
    """The mesh of a function with the sizes in `given` in place of its own. Raises `IRError` unless it has one rank."""
    mesh = bind_mesh(func, given)
    if mesh.ranks != 1:
        axes = ",".join(f"{axis}=1" for axis in mesh.axes)
        raise IRError(
            f"runs on {mesh.ranks} ranks ({mesh}), but collectives of several ranks are not executed on devices yet: "
            f"--mesh {axes} makes it one",
            func,
        )
    return mesh


class Entry:
    """The arguments of a function of the distributed level, and what their sizes decide."""

    def __init__(self, func: FuncOp):
        """Raises `IRError` for sizes that only the device knows."""
        self.func = func
        self.arguments = argument_names(func)
        self.tensors = {
            n: arg for n, arg in self.arguments.items() if rank_of(arg.type) is not None
        }
        self.scalars = {n: a for n, a in self.arguments.items() if n not in self.tensors}
        names = {arg: name for name, arg in self.arguments.items()}
        targets = [op.target for op in func.walk() if isinstance(op, UpdateOp)]
        self.updated = tuple(names[arg] for arg in targets if isinstance(arg, BlockArgument))
        """The tensors that the function stores into, in the order in which it does."""
        self._needed = _decide_sizes(func)
        self.sizing = frozenset(name for name, arg in self.scalars.items() if arg in self._needed)
        """The scalars on which sizes depend, and which elements are extracted."""

    @cached_property
    def single(self) -> Mesh:
        """The mesh with one rank along every axis. Raises `IRError` if the program names another rank."""
        module = self.func.parent_op()
        declared = the_mesh(module) if isinstance(module, ModuleOp) else None
        return bind_mesh(self.func, {} if declared is None else dict.fromkeys(declared.shape, 1))

    def convert(self, name: str, given: Input) -> Array:
        """A scalar in its element type, as the simulator takes it. Raises `IRError`."""
        if name not in self.scalars:
            raise IRError(f"takes %{name} as a tensor, so its shape is to be given", self.func)
        try:
            array = typed(name, given, _NUMBERS.dtype(self.scalars[name].type), self.func)
        except (TypeError, ValueError) as error:
            raise IRError(
                f"takes a number for %{name}, not {given!r}: {error}", self.func
            ) from None
        if array.ndim:
            raise IRError(
                f"takes %{name} as a scalar, but its input has {array.ndim} dimension(s)", self.func
            )
        return array

    def shape(self, name: str, given: Any) -> Shape:
        """The shape that is given for a tensor, of numbers of any type. Raises `IRError`."""
        if name not in self.tensors:
            raise IRError(f"takes %{name} as a scalar, which has no shape", self.func)
        try:
            return tuple(map(index, given))
        except TypeError:
            what = f"takes a shape for %{name}, a tuple of whole numbers, not {given!r}"
            raise IRError(what, self.func) from None

    def check_names(self, names: Sequence[str]) -> None:
        """Raise `IRError` unless these are the names of all arguments."""
        for name in names:
            if name not in self.arguments:
                known = ", ".join(self.arguments) or "none"
                raise IRError(f"has no argument '{name}'; there are: {known}", self.func)
        if missing := [name for name in self.arguments if name not in names]:
            raise IRError(f"has no input for argument(s) {', '.join(missing)}", self.func)

    def shapes(
        self, mesh: Mesh, given: Mapping[str, Shape], scalars: Mapping[str, Array]
    ) -> list[Shape | None]:
        """The shapes of results, None for a scalar, from those of all tensors.

        Raises `IRError` for sizes that do not fit together anywhere in the function.
        """
        sizes = Sizes(self.func)
        walk = _Walk(mesh, self._needed)
        for name, arg in self.arguments.items():
            if name in self.tensors:
                sizes.give(name, given[name])
                walk.give(arg, given[name], f"takes %{name}", self.func)
            else:
                walk.scalars[arg] = scalars[name]
        results = walk.run(self.func.body.block)
        return [walk.shapes.get(value) for value in results]


def _decide_sizes(body: Operation) -> frozenset[SSAValue]:
    """The scalars from which sizes are computed, and where elements are taken."""
    found: set[SSAValue] = set()
    work: list[SSAValue] = []
    for op in body.walk():
        if isinstance(op, SplatOp):
            work += op.dynamicSizes
        elif isinstance(op, ExtractOp):
            work += op.indices
        elif isinstance(op, CustomOp) and (define := op.definition) is not None:
            inner = _decide_sizes(define)
            pairs = zip(op.operands, define.body.block.args, strict=True)
            work += (operand for operand, arg in pairs if arg in inner)
    while work:
        value = work.pop()
        if value in found or rank_of(value.type) is not None:
            continue
        found.add(value)
        if isinstance(value, OpResult):
            work += _sources(value)
    return frozenset(found)


def _sources(value: OpResult) -> Sequence[SSAValue]:
    """What a scalar is computed from. Raises `IRError` for one that is known on the device alone."""
    match op := value.op:
        case RegionOp():
            end = op.body.block.last_op
            return () if end is None else (end.operands[value.index],)
        case ExtractOp() | CustomOp():
            raise IRError(
                "decides a size, or where an element is taken, by a tensor's elements, which only the device knows",
                op,
            )
        case _:
            return op.operands


def _zeros(offsets: int) -> Array:
    """Offsets, which only the device knows, as ones that are right if there are any: one stands for all."""
    return np.zeros(min(offsets, 1), np.int64)


class _Walk:
    """The shapes of a run, and the scalars that decide them, without any tensor's elements."""

    def __init__(self, mesh: Mesh, needed: frozenset[SSAValue]):
        self._mesh, self._needed = mesh, needed
        self.shapes: dict[SSAValue, Shape] = {}
        self.scalars: dict[SSAValue, Array] = {}
        self._bytes = 0
        """Of all tensors so far; of an empty one, as if its sizes of 0 were 1."""

    def give(self, value: SSAValue, shape: Shape, what: str, op: Operation) -> None:
        """Know the shape of a tensor. Raises `IRError` at `op` where 64 bits do not count the bytes of all so far."""
        self.shapes[value] = shape
        size = _NUMBERS.dtype(value.type).itemsize
        self._bytes += prod(max(n, 1) for n in shape) * size
        if self._bytes >= MAX_BYTES:
            text = "x".join(map(str, shape))
            raise IRError(
                f"{what} of the shape {text}: all tensors together have more than {MAX_BYTES - 1} bytes",
                op,
            )

    def run(self, block: Block) -> Sequence[SSAValue]:
        """Go through a block; what its terminator hands on."""
        for op in block.ops:
            if isinstance(op, ReturnOp | AbstractYieldOperation):
                return op.operands
            if isinstance(op, RegionOp):
                self._name(self, self.run(op.body.block), op.results)
            else:
                self._step(op)
        return ()

    def _name(self, walk: _Walk, values: Sequence[SSAValue], names: Sequence[SSAValue]) -> None:
        """Know values of another walk by other names."""
        for value, name in zip(values, names, strict=True):
            if value in walk.shapes:
                self.shapes[name] = walk.shapes[value]
            elif value in walk.scalars:
                self.scalars[name] = walk.scalars[value]

    def _step(self, op: Operation) -> None:
        try:
            if isinstance(op, ExtractOp) or any(result in self._needed for result in op.results):
                self._compute(op)
            if any(rank_of(result.type) is not None for result in op.results):
                self._resolve(op)
        except ArithmeticRefused as error:
            raise IRError(str(error), op) from None

    def _resolve(self, op: Operation) -> None:
        """Find the shapes of results."""
        splat = [int(self.scalars[v]) for v in op.operands[1:]] if isinstance(op, SplatOp) else []
        shapes = [self.shapes.get(value) for value in op.operands]
        for result, shape in zip(op.results, result_shapes(op, shapes, splat), strict=True):
            if shape is not None and None not in shape:
                known = tuple(size for size in shape if size is not None)
                self.give(result, known, "makes a tensor", op)
        match op:
            case CustomOp() if (define := op.definition) is not None:
                inner = _Walk(self._mesh, _decide_sizes(define))
                inner._name(self, op.operands, define.body.block.args)
                self._name(inner, inner.run(define.body.block), op.results)
            case SegmentReduceOp():
                (size,), (offsets,) = self.shapes[op.input], self.shapes[op.offsets]
                check_offsets(_zeros(offsets), size)
                self.shapes[op.output] = (offsets - 1,)
            case SegmentBroadcastOp():
                (count,), (offsets,) = self.shapes[op.input], self.shapes[op.offsets]
                check_offsets(_zeros(offsets), *self.shapes[op.like])
                check_values(count, offsets)
            case _:
                pass

    def _compute(self, op: Operation) -> None:
        """Compute scalars, and check where an element is taken; the element itself only the device knows."""
        found = self._found(op)
        if not isinstance(op, ExtractOp):
            self.scalars.update(zip(op.results, found, strict=True))

    def _found(self, op: Operation) -> Sequence[Array]:
        kernel = kernel_of(op)
        if kernel is None:
            raise IRError("is not simulated", op)
        shapes = tuple(self.shapes.get(value) for value in op.operands)
        regions = tuple(None if s is None else tuple((0, n) for n in s) for s in shapes)
        site = Site(self._mesh, 0, _NUMBERS, shapes, regions, (None,) * len(op.results), 0)
        with np.errstate(all="ignore"):
            found = kernel(op, site, [self._array(value) for value in op.operands])
        return [np.asarray(array) for array in found]

    def _array(self, value: SSAValue) -> Array:
        """The value; of a tensor, whose elements are on the device, zeros of its shape."""
        if (shape := self.shapes.get(value)) is None:
            return self.scalars[value]
        return np.broadcast_to(np.zeros((), _NUMBERS.dtype(value.type)), shape)
