"""The two ends of a run: the mesh and the inputs that a function is bound to, and what comes out.

Outside a program a tensor is one array: its global elements, with one leading dimension for each axis
on which it is local (results: or partial), in mesh order. A tensor on a root is that rank's array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation

from coconet_ir.analysis.dist import Dist, Root
from coconet_ir.analysis.rules import is_uninferred, rank_of
from coconet_ir.analysis.verifier import require_distributed
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import coll, nccl
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.layout import MeshOp, RelaxOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.elements import I1, Array, DType, element_name, is_float, round_to
from coconet_ir.sim.kernels import Numbers, Unsupported, undefined
from coconet_ir.sim.mesh import Mesh, Shape, extents, slices
from coconet_ir.sim.sizes import Sizes

MAX_RANKS = 4096
"""Most ranks of a mesh; more is taken for a mistake."""

_ROOTED = (coll.ReduceOp, coll.BroadcastOp, RelaxOp, nccl.ReduceOp, nccl.BroadcastOp)

Input = npt.ArrayLike
"""An array, or a number for a scalar."""


@dataclass(frozen=True)
class Value:
    """A value of the program on the ranks of this process: one array a rank, in increasing order."""

    type: Attribute
    shape: Shape | None
    """The global shape; None for a scalar."""
    arrays: tuple[Array, ...]
    argument: str | None = None
    """The name of the argument that it is, if it is one."""

    @property
    def dist(self) -> Dist:
        """How it lies over the ranks."""
        return dist_of(self.type)


def the_function(module: ModuleOp, name: str | None) -> FuncOp:
    """The function to run: the only one, or that named `name`. Raises `IRError`."""
    found = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    chosen = [op for op in found if name is None or op.sym_name.data == name]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(op.sym_name.data for op in found) or "none"
    if not chosen:
        wanted = "no function to run" if name is None else f"no function named '{name}'"
        raise IRError(f"the module has {wanted}; there are: {names}")
    raise IRError(f"the module has several functions; choose one: {names}")


def bind_mesh(func: FuncOp, given: Mapping[str, int]) -> Mesh:
    """The mesh of the function's module with the sizes in `given` in place of its own.

    Raises `IRError` for an axis that the mesh lacks, a size below 1, more than `MAX_RANKS` ranks, and
    for a root or a pair of the function outside its axis.
    """
    top: Operation = func
    while (parent := top.parent_op()) is not None:
        top = parent
    meshes = [op for op in top.walk() if isinstance(op, MeshOp)]
    declared = meshes[0].shape if meshes else {}
    for axis, size in given.items():
        if axis not in declared:
            known = ", ".join(declared) or "none"
            raise IRError(f"the program's mesh has no axis '{axis}'; there are: {known}")
        if size < 1:
            raise IRError(f"axis '{axis}' must have at least 1 rank, not {size}")
    mesh = Mesh(tuple(declared), tuple({**declared, **given}.values()))
    if mesh.ranks > MAX_RANKS:
        raise IRError(
            f"a mesh of {mesh.ranks} ranks is more than the {MAX_RANKS} that are simulated"
        )
    _check_coordinates(func, mesh)
    return mesh


def _check_coordinates(func: FuncOp, mesh: Mesh) -> None:
    def check(op: Operation, word: str, axis: str, coordinate: int) -> None:
        if coordinate >= mesh.shape[axis]:
            raise IRError(
                f"{word} {coordinate} is out of range: axis '{axis}' has {mesh.shape[axis]} rank(s)",
                op,
            )

    for arg in func.body.block.args:
        for axis, root in _roots(arg.type):
            check(func, "root", axis, root)
    for op in func.walk():
        if isinstance(op, _ROOTED) and op.roots is not None:
            for axis, root in zip(op.axes.data, numbers(op.roots), strict=True):
                check(op, "root", axis, root)
        if isinstance(op, coll.PermuteOp | nccl.PermuteOp):
            for end in (end for pair in op.routes for end in pair):
                check(op, "coordinate", op.axes.data[0], end)
        for result in op.results:
            for axis, root in _roots(result.type):
                check(op, "root", axis, root)


def _roots(type: Attribute) -> Iterator[tuple[str, int]]:
    for axis, state in dist_of(type).states:
        if isinstance(state, Root):
            yield axis, state.coordinate


def bind_inputs(
    func: FuncOp, mesh: Mesh, inputs: Mapping[str, Input], numbers: Numbers, ranks: Sequence[int]
) -> list[Value]:
    """The arguments as values on `ranks`, in order.

    Raises `IRError` for a function below the distributed level, and an input that is missing or unknown, or does not
    fit its argument or another.
    """
    module = func.parent_op()
    if isinstance(module, ModuleOp):
        require_distributed(module)
    if is_uninferred(func):
        raise IRError("is not inferred yet: run coconet-infer first", func)
    arguments = argument_names(func)
    for name in inputs:
        if name not in arguments:
            known = ", ".join(arguments) or "none"
            raise IRError(f"has no argument '{name}'; there are: {known}", func)
    if missing := [name for name in arguments if name not in inputs]:
        raise IRError(f"has no input for argument(s) {', '.join(missing)}", func)
    arrays = {
        name: typed(name, inputs[name], _dtype(func, arg, numbers), func)
        for name, arg in arguments.items()
    }
    sizes = Sizes(func)
    for name, arg in arguments.items():
        if rank_of(arg.type) is not None:
            sizes.give(name, global_shape(func, name, arg.type, arrays[name], mesh))
        elif arrays[name].ndim:
            raise IRError(
                f"takes %{name} as a scalar, but its input has {arrays[name].ndim} dimension(s)",
                func,
            )
    return [
        distribute(arg.type, name, arrays[name], mesh, ranks) for name, arg in arguments.items()
    ]


def _dtype(func: FuncOp, arg: BlockArgument, numbers: Numbers) -> DType:
    try:
        return numbers.dtype(arg.type)
    except Unsupported as error:
        raise IRError(str(error), func) from None


def typed(name: str, given: Input, dtype: DType, func: FuncOp) -> Array:
    """The input in its element type; a Python number is rounded to it, an array must fit exactly."""
    if isinstance(given, int | float):
        return _number(name, given, dtype, func)
    array = np.asarray(given)
    if array.dtype == dtype:
        return array
    if array.dtype.type is np.void and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)  # how .npz keeps types that NumPy does not know
    if array.dtype.kind not in "fiub" and not is_float(array.dtype):
        raise IRError(f"is given {array.dtype} elements for %{name}, not numbers", func)
    have, want = element_name(array.dtype), element_name(dtype)
    source_is_float = is_float(array.dtype)
    if source_is_float != is_float(dtype):
        raise IRError(f"is given {have} for %{name}, but {want} is needed", func)
    with np.errstate(all="ignore"):
        if is_float(dtype):
            cast = round_to(array, dtype)
            fits = np.array_equal(cast.astype(np.float64), array.astype(np.float64), equal_nan=True)
        else:
            cast = array.astype(dtype)
            fits = np.array_equal(cast, array)
    if not fits:
        raise IRError(
            f"is given {have} for %{name} with values that {want} does not hold: convert them first",
            func,
        )
    return np.asarray(cast)


def _number(name: str, given: float, dtype: DType, func: FuncOp) -> Array:
    """A Python number in an element type, rounded if that is a float, but not to infinity."""
    want = element_name(dtype)
    beyond = IRError(f"is given a number for %{name} that is out of range for {want}", func)
    if not is_float(dtype):
        if isinstance(given, float):
            raise IRError(f"is given f64 for %{name}, but {want} is needed", func)
        least, most = (0, 1) if dtype == I1 else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not least <= given <= most:
            raise beyond
        return np.asarray(given, dtype)
    try:
        wide = np.asarray(float(given))
    except OverflowError:
        raise beyond from None
    with np.errstate(all="ignore"):
        cast = np.asarray(round_to(wide, dtype))
        back = cast.astype(np.float64)
    if not np.isfinite(back) and not np.array_equal(back, wide, equal_nan=True):
        raise beyond
    return cast


def global_shape(func: FuncOp, name: str, type: Attribute, array: Array, mesh: Mesh) -> Shape:
    """The shape of an argument without the leading dimensions, which must be the sizes of their axes."""
    axes = mesh.leading_axes(dist_of(type))
    rank = rank_of(type) or 0
    front = tuple(mesh.shape[axis] for axis in axes)
    if array.ndim != len(axes) + rank or array.shape[: len(axes)] != front:
        text = "x".join([*map(str, front), *["?"] * rank]) or "no dimensions"
        why = f" ({', '.join(f'{a} = {mesh.shape[a]}' for a in axes)} in front)" if axes else ""
        have = "x".join(map(str, array.shape)) or "no dimensions"
        raise IRError(f"needs {text} for %{name}{why}, but is given {have}", func)
    return array.shape[len(axes) :]


def distribute(type: Attribute, name: str, array: Array, mesh: Mesh, ranks: Sequence[int]) -> Value:
    """The argument `name` of this distributed type, from its one array, on `ranks`."""
    if rank_of(type) is None:
        return Value(type, None, (read_only(array),) * len(ranks), name)
    dist = dist_of(type)
    axes = mesh.leading_axes(dist)
    shape = array.shape[len(axes) :]
    regions, defined = mesh.regions(dist, shape), mesh.defined(dist)
    blocks: dict[tuple[Any, ...], Array] = {}
    for rank in ranks:
        place = tuple(mesh.coordinates[rank][axis] for axis in axes)
        key = (place, regions[rank], defined[rank])
        if key not in blocks:
            block = array[place][slices(regions[rank])]
            whole = block if defined[rank] else undefined(extents(regions[rank]), array.dtype)
            blocks[key] = read_only(np.ascontiguousarray(whole).reshape(whole.shape))
    held = [
        blocks[tuple(mesh.coordinates[r][a] for a in axes), regions[r], defined[r]] for r in ranks
    ]
    return Value(type, shape, tuple(held), name)


def read_only(array: Array) -> Array:
    """A view that nobody can write through: values of a program do not change."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def assemble(value: Value, arrays: Sequence[Array], mesh: Mesh) -> Array:
    """The one array that a value is outside the program, from the arrays of all ranks."""
    if value.shape is None:
        return arrays[0].copy()
    axes = mesh.leading_axes(value.dist)
    front = tuple(mesh.shape[axis] for axis in axes)
    whole = np.empty((*front, *value.shape), arrays[0].dtype)
    regions, defined = mesh.regions(value.dist, value.shape), mesh.defined(value.dist)
    filled: set[tuple[Any, ...]] = set()
    for rank in range(mesh.ranks):
        place = tuple(mesh.coordinates[rank][axis] for axis in axes)
        if defined[rank] and (place, regions[rank]) not in filled:
            whole[(*place, *slices(regions[rank]))] = arrays[rank]
            filled.add((place, regions[rank]))
    return whole
