"""The program of one rank, run on every rank of a mesh, with ideal collectives.

It is what lowering is tested against: the same inputs as for the distributed program, cut as the marks of arguments
say, must give the same outputs, put together as the marks of results say. Reductions add in the order of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import SplatOp
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from coconet_ir.analysis.dist import REPLICATED, Dist
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import nccl
from coconet_ir.dialects.attributes import DistAttr, sizes_of, with_dist
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.lowering.levels import GLOBAL, LAYOUT, SIZE
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim import collectives
from coconet_ir.sim.binding import (
    Input,
    Value,
    assemble,
    bind_mesh,
    distribute,
    global_shape,
    typed,
)
from coconet_ir.sim.elements import Array, describe
from coconet_ir.sim.exchange import InProcess
from coconet_ir.sim.executor import Outcome, Output
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import Numbers, Site, Unsupported, undefined
from coconet_ir.sim.mesh import Mesh, Region, Shape
from coconet_ir.sim.rank_kernels import rank_kernel_of
from coconet_ir.sim.resolve import OpenShape, simulated_shapes

Arrays = list[Array]
"""One array a rank."""


def run_ranks(
    func: FuncOp, mesh: Mapping[str, int], inputs: Mapping[str, Input], *, exact: bool = False
) -> Outcome:
    """Run a verified function of the level "rank" on every rank.

    Args:
        func: the function.
        mesh: sizes of axes, in place of those in the text.
        inputs: the arguments by name but for the sizes, as `executor.run` takes them for the distributed program.
        exact: compute with every float, also on the wire, as f64.

    Raises `IRError` for inputs that do not fit and for operations that have no result.
    """
    bound = bind_mesh(func, mesh)
    machine = _Machine(func, bound, Numbers(exact))
    return machine.run(inputs)


class _Machine:
    """The values of one run on all ranks."""

    def __init__(self, func: FuncOp, mesh: Mesh, numbers: Numbers):
        self._func, self._mesh, self._numbers = func, mesh, numbers
        self._exchange = InProcess(mesh.ranks)
        self._values: dict[SSAValue, Arrays] = {}
        self._updated: dict[SSAValue, Arrays] = {}

    def run(self, inputs: Mapping[str, Input]) -> Outcome:
        """Run the function; its outputs put together."""
        self._bind(inputs)
        results = self._run_block(self._func.body.block)
        outputs = {
            name: self._output(arg.type, _layout(self._marks(arg)), self._updated[arg])
            for name, arg in argument_names(self._func).items()
            if arg in self._updated
        }
        types, marks = self._func.function_type.outputs, self._func.res_attrs
        for index, (type, arrays) in enumerate(zip(types, results, strict=True)):
            dist = REPLICATED if marks is None else _layout(marks.data[index].data)
            outputs[f"result{index}"] = self._output(type, dist, arrays)
        return Outcome(outputs, self._mesh)

    def _bind(self, inputs: Mapping[str, Input]) -> None:
        """Cut the inputs as the layouts of arguments say; then the sizes, which follow."""
        func, mesh, shapes = self._func, self._mesh, dict[str, Shape]()
        named = argument_names(func)
        for name, arg in named.items():
            if SIZE in (marks := self._marks(arg)):
                continue
            if name not in inputs:
                raise IRError(f"has no input for argument {name}", func)
            type = with_dist(arg.type, _layout(marks))
            array = typed(name, inputs[name], self._numbers.dtype(type), func)
            shapes[name] = global_shape(func, name, type, array, mesh)
            self._check_whole(name, marks.get(GLOBAL), shapes[name])
            value = distribute(type, name, array, mesh, range(mesh.ranks))
            self._values[arg] = list(value.arrays)
        for arg in named.values():
            if isinstance(place := self._marks(arg).get(SIZE), StringAttr):
                of, dim = place.data.rsplit(".", 1)
                self._values[arg] = [np.asarray(shapes[of][int(dim)], np.int64)] * mesh.ranks

    def _check_whole(self, name: str, whole: Attribute | None, shape: Shape) -> None:
        """Raise `IRError` for an argument of another size than that for which the program was made."""
        wanted = shape if whole is None else sizes_of(whole)
        pairs = zip(wanted, shape, strict=True)
        if any(size not in (DYNAMIC_INDEX, given) for size, given in pairs):
            have = "x".join(map(str, shape))
            raise IRError(f"needs a {whole} for %{name}, but is given {have}", self._func)

    def _marks(self, arg: BlockArgument) -> Mapping[str, Attribute]:
        marks = self._func.arg_attrs
        return dict[str, Attribute]() if marks is None else marks.data[arg.index].data

    def _output(self, type: Attribute, dist: Dist, arrays: Arrays) -> Output:
        """The parts of all ranks put together. Raises `IRError` when they do not fit, or replicas differ."""
        type, mesh = with_dist(type, dist), self._mesh
        if rank_of(type) is None:
            return Output(arrays[0], type)
        whole = list(arrays[mesh.defined(dist).index(True)].shape)
        for cut in dist.cuts:
            whole[cut.dim] = sum(arrays[r].shape[cut.dim] for r in mesh.group(0, cut.axes))
        regions = mesh.regions(dist, tuple(whole))
        for rank, (array, region) in enumerate(zip(arrays, regions, strict=True)):
            if array.shape != tuple(stop - start for start, stop in region):
                raise IRError(f"gives {describe(array)} on rank {rank} for {region}", self._func)
        self._exchange.require_equal(self._func, mesh.replicas(dist), dict(enumerate(arrays)))
        return Output(assemble(Value(type, tuple(whole), tuple(arrays)), arrays, mesh), type)

    def _run_block(self, block: Block) -> list[Arrays]:
        for op in block.ops:
            if isinstance(op, ReturnOp | AbstractYieldOperation):
                return [self._values[operand] for operand in op.operands]
            if isinstance(op, FusedOp | nccl.GroupOp):
                results = self._run_block(op.body.block)
            elif isinstance(op, nccl.CallOp):
                results = [self._call(op)]
            else:
                rows = self._compute(op)
                results = [[row[i] for row in rows] for i in range(len(op.results))]
            self._values.update(zip(op.results, results, strict=True))
            if isinstance(op, UpdateOp):
                self._updated[op.target] = results[0]
        return []

    def _call(self, op: nccl.CallOp) -> Arrays:
        given = self._values[op.input]
        results = list(given)
        for group in {self._mesh.group(rank, op.axes.data) for rank in range(self._mesh.ranks)}:
            arrays = [given[rank] for rank in group]
            if len({array.shape for array in arrays}) > 1:
                raise IRError("gets tensors of different shapes on the ranks of a group", op)
            made = _CALLS[type(op)](op, arrays, self._mesh)
            for rank, array in zip(group, made, strict=True):
                results[rank] = np.asarray(array)
        self._check(op, op.output, results)
        return results

    def _compute(self, op: Operation) -> list[Sequence[Array]]:
        """The results of an operation that sends nothing, a row a rank."""
        if (kernel := rank_kernel_of(op)) is None:
            raise IRError("is not simulated", op)
        operands = [self._values[operand] for operand in op.operands]
        is_tensor = [rank_of(operand.type) is not None for operand in op.operands]
        ruled = rule_of(op) is not None
        rows: list[Sequence[Array]] = []
        try:
            for rank in range(self._mesh.ranks):
                arrays = [values[rank] for values in operands]
                shapes = tuple(
                    array.shape if tensor else None
                    for array, tensor in zip(arrays, is_tensor, strict=True)
                )
                sizes = [int(size) for size in arrays[1:]] if isinstance(op, SplatOp) else []
                made = simulated_shapes(op, shapes, sizes) if ruled else [None] * len(op.results)
                here = tuple(map(_region, shapes)), tuple(map(_region, made))
                site = Site(self._mesh, rank, self._numbers, shapes, *here, 0)
                with np.errstate(all="ignore"):
                    rows.append([np.asarray(array) for array in kernel(op, site, arrays)])
        except (ArithmeticRefused, Unsupported) as error:
            raise IRError(str(error), op) from None
        for index, result in enumerate(op.results):
            self._check(op, result, [row[index] for row in rows])
        return rows

    def _check(self, op: Operation, value: SSAValue, arrays: Arrays) -> None:
        """Raise `IRError` unless the arrays of all ranks have the type of a value."""
        sizes, dtype = sizes_of(value.type), self._numbers.dtype(value.type)
        for rank, array in enumerate(arrays):
            fits = len(sizes) == array.ndim and all(
                size in (DYNAMIC_INDEX, extent)
                for size, extent in zip(sizes, array.shape, strict=True)
            )
            if not fits or array.dtype != dtype:
                raise IRError(f"gives {describe(array)} on rank {rank}, not {value.type}", op)


def _region(shape: OpenShape | None) -> Region | None:
    """A whole tensor of this shape."""
    return None if shape is None else tuple((0, size or 0) for size in shape)


def _layout(marks: Mapping[str, Attribute]) -> Dist:
    layout = marks.get(LAYOUT)
    return layout.data if isinstance(layout, DistAttr) else REPLICATED


# Calls: from the arrays of a group to what each of its ranks gets


def _reduced(op: nccl.AllReduceOp | nccl.ReduceOp | nccl.ReduceScatterOp, arrays: Arrays) -> Array:
    dtype = arrays[0].dtype
    return collectives.reduce_ranks(arrays, op.kind.data, dtype, dtype, dtype)


def _all_reduce(op: nccl.AllReduceOp, arrays: Arrays, mesh: Mesh) -> Arrays:
    return [_reduced(op, arrays)] * len(arrays)


def _reduce(op: nccl.ReduceOp, arrays: Arrays, mesh: Mesh) -> Arrays:
    total, root = _reduced(op, arrays), _root(op, mesh)
    nothing = undefined(total.shape, total.dtype)
    return [total if place == root else nothing for place in range(len(arrays))]


def _reduce_scatter(op: nccl.ReduceScatterOp, arrays: Arrays, mesh: Mesh) -> Arrays:
    _require_blocks(op, arrays)
    return list(_reduced(op, arrays))


def _broadcast(op: nccl.BroadcastOp, arrays: Arrays, mesh: Mesh) -> Arrays:
    return [arrays[_root(op, mesh)]] * len(arrays)


def _all_gather(op: nccl.AllGatherOp, arrays: Arrays, mesh: Mesh) -> Arrays:
    return [np.stack(arrays)] * len(arrays)


def _all_to_all(op: nccl.AllToAllOp, arrays: Arrays, mesh: Mesh) -> Arrays:
    _require_blocks(op, arrays)
    return [np.stack([array[place] for array in arrays]) for place in range(len(arrays))]


def _permute(op: nccl.PermuteOp, arrays: Arrays, mesh: Mesh) -> Arrays:
    if op.shift is not None:
        return collectives.shift(arrays, op.shift.value.data)
    return collectives.permute(arrays, {to: source for source, to in op.routes})


def _root(op: nccl.ReduceOp | nccl.BroadcastOp, mesh: Mesh) -> int:
    place = 0
    for axis, root in zip(op.axes.data, numbers(op.roots), strict=True):
        place = place * mesh.shape[axis] + root
    return place


def _require_blocks(op: nccl.CallOp, arrays: Arrays) -> None:
    if arrays[0].shape[0] != len(arrays):
        raise IRError(f"has {arrays[0].shape[0]} blocks for {len(arrays)} ranks", op)


_CALLS: dict[type[Operation], Callable[[Any, Arrays, Mesh], Arrays]] = {
    nccl.AllReduceOp: _all_reduce,
    nccl.ReduceOp: _reduce,
    nccl.ReduceScatterOp: _reduce_scatter,
    nccl.BroadcastOp: _broadcast,
    nccl.AllGatherOp: _all_gather,
    nccl.AllToAllOp: _all_to_all,
    nccl.PermuteOp: _permute,
}
