"""Inputs of a run: made from a seed, or read from and written to `.npz` files.

A file holds each array under its name: arguments by theirs, results as `result0`, `result1`, …, laid out
as `binding` says. Element types that NumPy lacks (bf16, f8) are kept as raw bytes of the same width.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.comp import SegmentBroadcastOp, SegmentReduceOp
from coconet_ir.files import output_file
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.binding import Input
from coconet_ir.sim.elements import I1, Array, is_float, numpy_knows, round_to
from coconet_ir.sim.kernels import Numbers, Unsupported
from coconet_ir.sim.mesh import Mesh
from coconet_ir.sim.sizes import Sizes

DEFAULT_SIZE = 10
"""The size of the first dimension that nothing fixes; each further one is larger by 1."""

MAX_INTEGER = 100
"""Generated integers are at least 0 and below this."""


def generate(
    func: FuncOp,
    mesh: Mesh,
    given: Mapping[str, Input],
    shapes: Mapping[str, Sequence[int | None]],
    seed: int,
) -> dict[str, Input]:
    """An input for every argument: those `given`, the others at random.

    Sizes come from `given` and `shapes` (None leaves a dimension open) and from what the program ties
    to them; open ones are `DEFAULT_SIZE`, `DEFAULT_SIZE` + 1 and so on. Floats are uniform in [0, 1),
    rounded to their type, integers uniform in [0, `MAX_INTEGER`); offsets of segments bound random
    segments. An argument's numbers depend on `seed`, its name and its shape alone; local arguments
    have others on every rank.

    Raises `IRError` for names that the function lacks and for sizes that do not fit together.
    """
    arguments = argument_names(func)
    for name in (*given, *shapes):
        if name not in arguments:
            known = ", ".join(arguments) or "none"
            raise IRError(f"has no argument '{name}'; there are: {known}", func)
    sizes = Sizes(func)
    for name, shape in shapes.items():
        sizes.give(name, shape)
    for name, array in given.items():
        shape = np.shape(array)
        front = len(mesh.leading_axes(dist_of(arguments[name].type)))
        if len(shape) > front:
            sizes.give(name, shape[front:])
    sizes.complete(DEFAULT_SIZE)
    made = {
        name: _random(func, name, arg, mesh, sizes, seed)
        for name, arg in arguments.items()
        if name not in given
    }
    return {name: given[name] if name in given else made[name] for name in arguments}


def _random(
    func: FuncOp, name: str, arg: BlockArgument, mesh: Mesh, sizes: Sizes, seed: int
) -> Array:
    try:
        dtype = Numbers().dtype(arg.type)
    except Unsupported as error:
        raise IRError(str(error), func) from None
    front = [mesh.shape[axis] for axis in mesh.leading_axes(dist_of(arg.type))]
    shape = (*front, *sizes.shape(name))
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if is_float(dtype):
        return np.asarray(round_to(np.asarray(rng.random(shape)), dtype))
    if dtype == I1:
        return np.asarray(rng.random(shape) < 0.5)
    if (end := _end_of_segments(arg, sizes)) is not None and shape[-1] > 0:
        inner = np.sort(rng.integers(0, end + 1, (*shape[:-1], max(0, shape[-1] - 2))))
        ends = np.zeros((*shape[:-1], 1), np.int64)
        whole = np.concatenate([ends, inner, ends + end], axis=-1)
        return whole[..., : shape[-1]]
    integers: Array = rng.integers(0, MAX_INTEGER, shape, np.int64)
    return integers.astype(dtype)


def _end_of_segments(arg: BlockArgument, sizes: Sizes) -> int | None:
    """The size of the flat dimension, if the argument is used as offsets of segments in it."""
    for use in arg.uses:
        op = use.operation
        if isinstance(op, SegmentReduceOp) and op.offsets is arg:
            return sizes.size_of((op.input, 0))
        if isinstance(op, SegmentBroadcastOp) and op.offsets is arg:
            return sizes.size_of((op.like, 0))
    return None


def load(path: str) -> dict[str, Array]:
    """The arrays of an `.npz` file by name. Raises `IRError` when it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            loaded: Any = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise IRError(f"'{path}' holds one array; an .npz file with named arrays is needed")
            with loaded as archive:
                arrays: dict[str, Array] = {name: archive[name] for name in archive.files}
                return arrays
    except OSError as error:
        raise IRError(f"cannot read '{path}': {error.strerror or error}") from None
    except (ValueError, EOFError, BadZipFile, zlib.error):
        raise IRError(f"'{path}' is no .npz file of plain arrays") from None


def _raw(array: Array) -> Array:
    """The array as NumPy's format can keep it."""
    if numpy_knows(array.dtype):
        return array
    return np.array(array, order="C").view(f"V{array.dtype.itemsize}")


def save(path: str, arrays: Mapping[str, Array]) -> None:
    """Write an `.npz` file in one step. Raises `IRError` when it cannot be written."""
    with output_file(path) as output, ZipFile(output, "w") as file:
        for name, array in arrays.items():  # numpy.savez cannot take every name
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, _raw(array), allow_pickle=False)
