"""What a lowered function does on one rank, in order, for given sizes and scalars. Here is no CUDA.

The host's arithmetic is the simulator's, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import calls
from coconet_ir.dialects.attributes import KindAttr, dist_of
from coconet_ir.dialects.nccl import GroupOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.lowering.buffers.arena import ALIGNMENT
from coconet_ir.lowering.kernels.kernel import MODULE
from coconet_ir.lowering.levels import RESULT, SIZE
from coconet_ir.runtime.entry import Entry
from coconet_ir.runtime.steps import (
    ARENA,
    Buffer,
    Clear,
    Collective,
    CollectiveKind,
    Copy,
    Launch,
    Matmul,
    Place,
    Step,
)
from coconet_ir.sim.binding import Input, bind_mesh
from coconet_ir.sim.elements import Array, DType, element_name
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import Numbers, Site
from coconet_ir.sim.mesh import Mesh, Shape, extents
from coconet_ir.sim.rank_kernels import rank_kernel_of

MOST_BLOCKS = (2**31 - 1, 65535, 65535)
"""The most blocks of a launch in x, y and z, on every device."""

PRODUCTS = {
    ("f64", "f64"): ("f64",),
    ("f32", "f32"): ("f32",),
    ("f16", "f32"): ("f16", "f32"),
    ("bf16", "f32"): ("bf16", "f32"),
    ("f16", "f16"): ("f16",),
}
"""The products that the library has: the types of operands' elements and of the sum, to those of results' elements."""

KINDS: dict[type[Operation], CollectiveKind] = {
    calls.AllReduceIntoOp: "all_reduce",
    calls.ReduceIntoOp: "reduce",
    calls.BroadcastIntoOp: "broadcast",
    calls.AllGatherIntoOp: "all_gather",
    calls.ReduceScatterIntoOp: "reduce_scatter",
    calls.AllToAllIntoOp: "all_to_all",
    calls.PermuteIntoOp: "permute",
}
"""The kinds of calls."""

_NUMBERS = Numbers()

_Value: TypeAlias = Array | Buffer | tuple[int, ...]
"""What the host has: a scalar, a buffer, or for a token the numbers of the launches to wait for."""


@dataclass(frozen=True)
class Bound:
    """A plan of one rank for given sizes and scalars."""

    steps: tuple[Step, ...]
    arena: int
    """The bytes of all buffers but those of arguments and results."""
    buffers: Mapping[int, Buffer]
    """Those of arguments and results, by the number of the argument."""
    results: tuple[Buffer | Array, ...]
    """What the function returns: buffers, and scalars that the host computed."""
    state: _Host
    scalars: Mapping[str, Array]


class Plan:
    """The lowered function `host` of the program `func`, which stands at the distributed level."""

    def __init__(self, func: FuncOp, host: FuncOp):
        """Raises `IRError` for sizes that only the device knows, and products that the library does not have."""
        self.entry = Entry(func)
        self.host = host
        self.arguments = {name: number for number, name in enumerate(self.entry.arguments)}
        """The numbers of the program's arguments, the first ones of the lowered function."""
        for op in host.walk():
            if isinstance(op, calls.MatmulIntoOp):
                _check_product(op)

    @cached_property
    def results(self) -> dict[int, int]:
        """The numbers of arguments that results are stored into, by the number of the result."""
        return {
            mark.value.data: number
            for number, entry in enumerate(self.host.arg_attrs or ())
            if isinstance(mark := entry.data.get(RESULT), IntegerAttr)
        }

    @cached_property
    def _late(self) -> list[Operation]:
        """What depends on scalars that decide no size."""
        args = self.host.body.block.args
        free = self.entry.scalars.keys() - self.entry.sizing
        reached: set[SSAValue] = {args[self.arguments[name]] for name in free}
        found: list[Operation] = []
        for op in self.host.body.block.ops:
            if any(operand in reached for operand in op.operands):
                found.append(op)
                if not isinstance(op, gpu.LaunchFuncOp):  # a token is no number
                    reached.update(op.results)
        return found

    def bind(
        self,
        shapes: Mapping[str, Sequence[int]],
        scalars: Mapping[str, Input],
        mesh: Mapping[str, int] | None = None,
        rank: int = 0,
    ) -> Bound:
        """The plan of a rank for tensors of these global shapes and for these scalars.

        `mesh` has sizes of axes, in place of the program's own; without it every axis has one rank. Raises `IRError`
        for a rank that the mesh lacks, sizes that do not fit together, and scalars that cannot be computed.
        """
        entry, args = self.entry, self.host.body.block.args
        ranks = entry.single if mesh is None else bind_mesh(entry.func, mesh)
        if not 0 <= rank < ranks.ranks:
            raise IRError(f"has no rank {rank} on {ranks.ranks} rank(s) ({ranks})", entry.func)
        entry.check_names([*shapes, *scalars])
        given = {name: entry.convert(name, value) for name, value in scalars.items()}
        shapes = {name: entry.shape(name, shape) for name, shape in shapes.items()}
        results = entry.shapes(ranks, shapes, given)
        state = _Host(ranks, rank)
        state.values.update((args[self.arguments[name]], value) for name, value in given.items())
        state.values.update(self._sizes(shapes))
        buffers = {
            number: Buffer(
                Place(number),
                extents(ranks.regions(dist_of(type), shape)[rank]),
                _dtype(args[number].type),
            )
            for number, type, shape in self._tensors(shapes, results)
        }
        state.values.update((args[number], buffer) for number, buffer in buffers.items())
        for op in self.host.body.block.ops:
            state.do(op)
        return self._bound(state, buffers, given)

    def rebind(self, bound: Bound, scalars: Mapping[str, Input]) -> Bound:
        """A bound plan with other values for some scalars. Raises `IRError` where they decide a size.

        What does not depend on them is not computed again.
        """
        entry, args = self.entry, self.host.body.block.args
        for name in scalars:
            if name not in entry.scalars:
                known = ", ".join(entry.scalars) or "none"
                raise IRError(f"has no scalar '{name}'; there are: {known}", entry.func)
        given = {name: entry.convert(name, value) for name, value in scalars.items()}
        for name, value in given.items():
            if name in entry.sizing and value.tobytes() != bound.scalars[name].tobytes():
                raise IRError(
                    f"takes %{name} for a size, or for where an element is taken: only a new call can change it",
                    entry.func,
                )
        state = bound.state.copy()
        state.values.update((args[self.arguments[name]], value) for name, value in given.items())
        for op in self._late:
            state.do(op)
        return self._bound(state, bound.buffers, {**bound.scalars, **given})

    def _bound(
        self, state: _Host, buffers: Mapping[int, Buffer], scalars: Mapping[str, Array]
    ) -> Bound:
        end = self.host.body.block.last_op
        returned = iter([] if end is None else [state.array(value) for value in end.operands])
        count = len(self.entry.func.function_type.outputs)
        results = tuple(
            buffers[self.results[number]] if number in self.results else next(returned)
            for number in range(count)
        )
        return Bound(tuple(state.steps), state.arena, buffers, results, state, scalars)

    def _sizes(self, shapes: Mapping[str, Shape]) -> Iterator[tuple[SSAValue, Array]]:
        """The arguments that are the sizes of dimensions."""
        for arg, entry in zip(self.host.body.block.args, self.host.arg_attrs or (), strict=False):
            if isinstance(mark := entry.data.get(SIZE), StringAttr):
                name, _, dim = mark.data.rpartition(".")
                yield arg, np.asarray(shapes[name][int(dim)], np.int64)

    def _tensors(
        self, shapes: Mapping[str, Shape], results: Sequence[Shape | None]
    ) -> Iterator[tuple[int, Attribute, Shape]]:
        """The numbers of arguments' and results' buffers, with the types and the global shapes of these."""
        for name, arg in self.entry.tensors.items():
            yield self.arguments[name], arg.type, shapes[name]
        types = list(self.entry.func.function_type.outputs)
        for number, argument in self.results.items():
            yield argument, types[number], results[number] or ()


def _dtype(type: Attribute) -> DType:
    """The NumPy type of a buffer's elements."""
    return _NUMBERS.dtype(cast(MemRefType[Attribute], type).element_type)


def _check_product(op: calls.MatmulIntoOp) -> None:
    element, result = (element_name(_dtype(v.type)) for v in (op.lhs, op.output))
    accumulate = _accumulate(op)
    if result not in PRODUCTS.get((element, accumulate), ()):
        known = "; ".join(
            f"{one} added in {total} to {' or '.join(found)}"
            for (one, total), found in PRODUCTS.items()
        )
        raise IRError(
            f"multiplies {element} elements, adds in {accumulate} and gives {result}, which the library cannot: "
            f"it takes {known}",
            op,
        )


def _accumulate(op: calls.MatmulIntoOp) -> str:
    element = cast(MemRefType[Attribute], op.lhs.type).element_type
    return element_name(_NUMBERS.accumulate(element, op.accumulate))


def _pairs(op: calls.IntoOp, count: int) -> tuple[tuple[int, int], ...]:
    """Who gives to whom in a permutation of so many ranks."""
    if not isinstance(op, calls.PermuteIntoOp):
        return ()
    if op.shift is not None:
        return tuple((one, (one + op.shift.value.data) % count) for one in range(count))
    return tuple((source, target) for source, target in map(numbers, op.pairs or ()))


@dataclass
class _Host:
    """The host of a rank while it goes through a function."""

    mesh: Mesh
    rank: int
    values: dict[SSAValue, _Value] = field(default_factory=dict[SSAValue, _Value])
    steps: list[Step] = field(default_factory=list[Step])
    arena: int = 0
    _launched: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """The numbers of launches: one that is done again takes the place of the first."""

    def copy(self) -> _Host:
        """One that goes on from here."""
        return replace(
            self,
            values=dict(self.values),
            steps=list(self.steps),
            _launched=dict(self._launched),
        )

    def array(self, value: SSAValue) -> Array:
        """A scalar."""
        return cast(Array, self.values[value])

    def number(self, value: SSAValue) -> int:
        """An index."""
        return int(self.array(value))

    def buffer(self, value: SSAValue) -> Buffer:
        """A buffer."""
        return cast(Buffer, self.values[value])

    def do(self, op: Operation) -> None:
        """Do what an operation says, or do it again for other scalars."""
        match op:
            case ReturnOp():
                pass
            case gpu.LaunchFuncOp():
                self._launch(op)
            case GroupOp():
                for call in op.body.block.ops:
                    if isinstance(call, calls.IntoOp):
                        self._collective(call)
            case calls.IntoOp():
                self._collective(op)
            case calls.MatmulIntoOp():
                self._matmul(op)
            case memref.DimOp():
                size = self.buffer(op.source).shape[self.number(op.index)]
                self.values[op.result] = np.asarray(size, np.int64)
            case memref.AllocOp():
                self.values[op.memref] = self._alloc(op)
            case memref.ViewOp():
                place = self.buffer(op.source).place
                shifted = Place(place.owner, place.offset + self.number(op.byte_shift))
                self.values[op.result] = self._shaped(op.result, shifted, op.sizes)
            case memref.ReinterpretCastOp():
                place = self.buffer(op.source).place
                self.values[op.result] = self._shaped(op.result, place, op.sizes)
            case _:
                self._compute(op)

    def _compute(self, op: Operation) -> None:
        """Compute scalars."""
        if (kernel := rank_kernel_of(op)) is None:
            raise IRError("is nothing that the host can do", op)
        nothing = (None,) * len(op.operands)
        site = Site(self.mesh, self.rank, _NUMBERS, nothing, nothing, (None,) * len(op.results), 0)
        try:
            with np.errstate(all="ignore"):
                found = kernel(op, site, [self.array(value) for value in op.operands])
        except ArithmeticRefused as error:
            raise IRError(str(error), op) from None
        self.values.update(zip(op.results, map(np.asarray, found), strict=True))

    # Buffers

    def _shaped(self, value: SSAValue, place: Place, sizes: Sequence[SSAValue]) -> Buffer:
        type = cast(MemRefType[Attribute], value.type)
        given = iter(map(self.number, sizes))
        shape = tuple(next(given) if n == DYNAMIC_INDEX else n for n in type.get_shape())
        return Buffer(place, shape, _dtype(type))

    def _alloc(self, op: memref.AllocOp) -> Buffer:
        """A buffer behind those that there are."""
        found = self._shaped(op.memref, Place(ARENA, self.arena), op.dynamic_sizes)
        self.arena += -(-found.bytes // ALIGNMENT) * ALIGNMENT
        return found

    # Steps

    def _launch(self, op: gpu.LaunchFuncOp) -> None:
        after = [self.values[token] for token in op.asyncDependencies]
        waits = tuple(dict.fromkeys(one for part in after for one in cast(tuple[int, ...], part)))
        grid = (op.gridSizeX, op.gridSizeY, op.gridSizeZ)
        block = (op.blockSizeX, op.blockSizeY, op.blockSizeZ)
        launch = Launch(
            op.kernel.string_value().removeprefix(f"{MODULE}."),
            cast(tuple[int, int, int], tuple(map(self.number, grid))),
            cast(tuple[int, int, int], tuple(map(self.number, block))),
            tuple(map(self._passed, op.kernelOperands)),
            waits,
        )
        if any(have > most for have, most in zip(launch.grid, MOST_BLOCKS, strict=True)):
            shape = " x ".join(map(str, launch.grid))
            raise IRError(f"needs {shape} blocks, more than a device has: use smaller tensors", op)
        if (
            0 in launch.grid
        ):  # no launch: whoever waits for it waits for what it would have waited for
            done = waits
        elif (number := self._launched.get(op)) is not None:
            self.steps[number] = launch
            return
        else:
            self._launched[op] = len(self.steps)
            done = (len(self.steps),)
            self.steps.append(launch)
        if op.asyncToken is not None:
            self.values[op.asyncToken] = done

    def _passed(self, value: SSAValue) -> Place | bytes:
        found = self.values[value]
        return found.place if isinstance(found, Buffer) else cast(Array, found).tobytes()

    def _collective(self, op: calls.IntoOp) -> None:
        """A call of several ranks. One that is alone gets what it gives, or nothing from a permutation without it."""
        source, target = self.buffer(op.input), self.buffer(op.output)
        group = self.mesh.group(self.rank, op.axes.data)
        pairs = _pairs(op, len(group))
        if len(group) > 1:
            if source.bytes:
                self.steps.append(self._call(op, group, pairs))
        elif isinstance(op, calls.PermuteIntoOp) and not pairs:
            self._clear(target)
        elif target.bytes and source.place != target.place:
            self.steps.append(Copy(source.place, target.place, target.bytes))

    def _call(
        self, op: calls.IntoOp, group: tuple[int, ...], pairs: tuple[tuple[int, int], ...]
    ) -> Collective:
        source, root = self.buffer(op.input), 0
        if isinstance(op, calls.ReduceIntoOp | calls.BroadcastIntoOp):
            for axis, coordinate in zip(op.axes.data, numbers(op.roots), strict=True):
                root = root * self.mesh.shape[axis] + coordinate
        kind = op.properties.get("kind")
        return Collective(
            KINDS[type(op)],
            group,
            source.place,
            self.buffer(op.output).place,
            prod(source.shape),
            element_name(source.dtype),
            kind.data.value if isinstance(kind, KindAttr) else "",
            root,
            pairs,
        )

    def _clear(self, target: Buffer) -> None:
        if target.bytes:
            self.steps.append(Clear(target.place, target.bytes))

    def _matmul(self, op: calls.MatmulIntoOp) -> None:
        lhs, rhs, output = (self.buffer(value) for value in (op.lhs, op.rhs, op.output))
        *stack, m, k = lhs.shape
        n = rhs.shape[-1]
        if len(rhs.shape) == 2:  # one matrix for the whole stack: the stack is more rows
            m, stack = prod(lhs.shape[:-1]), []
        if not lhs.bytes or not rhs.bytes or not output.bytes:
            self._clear(output)
            return
        types = (element_name(lhs.dtype), _accumulate(op), element_name(output.dtype))
        places = (lhs.place, rhs.place, output.place)
        self.steps.append(Matmul(*places, prod(stack), m, n, k, *types))
