"""What each operation that sends nothing computes on one rank: operation class -> function of arrays.

A kernel gets the arrays of one rank and a `Site` that knows which parts of the global tensors they
are. Its results have the extents of their regions; where a size follows from the data alone (a
convolution), the array says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from coconet_ir.dialects import comp, layout
from coconet_ir.dialects.arith import (
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    AddUIExtendedOp,
    CmpfOp,
    CmpiOp,
)
from coconet_ir.dialects.elements import element_of
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.sim import integers, philox, reductions, segments
from coconet_ir.sim.elements import (
    ELEMENTS,
    F64,
    I1,
    Array,
    DType,
    default_accumulate,
    is_float,
    poison,
)
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.mesh import Mesh, Region, Shape, extents, slices
from coconet_ir.sim.pointwise import POINTWISE, pointwise

Arrays = tuple[Array, ...]
OperationT = TypeVar("OperationT", bound=Operation)


class Unsupported(Exception):
    """Something that the simulator has no meaning for; the message says what."""


@dataclass(frozen=True)
class Numbers:
    """Which NumPy type stands for an element type; with `exact`, f64 stands for every float."""

    exact: bool = False

    def dtype(self, type: Attribute) -> DType:
        """The type of the elements of a tensor or of a scalar. Raises `Unsupported`."""
        if (found := _element_dtype(element := element_of(type))) is None:
            raise Unsupported(f"has elements of type {element}, which are not simulated")
        return F64 if self.exact and is_float(found) else found

    def accumulate(self, type: Attribute, given: Attribute | None) -> DType:
        """The accumulate type of a reduction of `type` whose property is `given`."""
        return default_accumulate(self.dtype(type)) if given is None else self.dtype(given)


@lru_cache(maxsize=256)
def _element_dtype(element: Attribute) -> DType | None:
    return ELEMENTS.get(str(element))


@dataclass(frozen=True)
class Site:
    """Where one rank's arrays lie in the global tensors.

    Regions and shapes have one entry a value, None for a scalar and for a result whose size only
    the kernel knows. `coordinate` is that of the axes on which the operands are local, as one
    number in mesh order.
    """

    mesh: Mesh
    rank: int
    numbers: Numbers
    operand_shapes: tuple[Shape | None, ...]
    operands: tuple[Region | None, ...]
    results: tuple[Region | None, ...]
    coordinate: int

    def result(self) -> Region:
        """The region of the first result, which is a tensor of known size."""
        region = self.results[0]
        if region is None:
            raise Unsupported("has a result of unknown size")
        return region

    def operand(self, index: int) -> tuple[Region, Shape]:
        """The region and the global shape of an operand that is a tensor."""
        region, shape = self.operands[index], self.operand_shapes[index]
        if region is None or shape is None:
            raise Unsupported(f"has no tensor as operand {index}")
        return region, shape


Kernel = Callable[[Any, Site, Sequence[Array]], Arrays]

_kernels: dict[type[Operation], Kernel] = {}


def kernel_of(op: Operation) -> Kernel | None:
    """The function that computes an operation on one rank, or None when it has none."""
    if (found := _kernels.get(type(op))) is not None:
        return found
    return _pointwise if op.name in POINTWISE else None


def kernel(
    op: type[OperationT],
) -> Callable[[Callable[[OperationT, Site, Sequence[Array]], Arrays]], Kernel]:
    """Make the decorated function the one that computes operations of class `op` on one rank.

    It gets the operation, a `Site` and the arrays of the operands, which it must not write to, and returns
    one array a result, of the result's element type. NumPy's floating-point warnings are off while it runs.
    """

    def register(function: Kernel) -> Kernel:
        _kernels[op] = function
        return function

    return register


def _pointwise(op: Operation, site: Site, arrays: Sequence[Array]) -> Arrays:
    dtypes = {site.numbers.dtype(value.type) for value in (*op.operands, *op.results)}
    if op.name == "arith.bitcast" and site.numbers.exact and F64 in dtypes:
        raise Unsupported("has no meaning in the exact mode, where all floats are f64")
    return (pointwise(op.name, arrays, site.numbers.dtype(op.results[0].type)),)


@kernel(CmpiOp)
def _cmpi(op: CmpiOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (pointwise(f"arith.cmpi.{INTEGER_PREDICATES[op.predicate.value.data]}", arrays, I1),)


@kernel(CmpfOp)
def _cmpf(op: CmpfOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (pointwise(f"arith.cmpf.{FLOAT_PREDICATES[op.predicate.value.data]}", arrays, I1),)


def _add_extended(op: Operation, site: Site, arrays: Sequence[Array]) -> Arrays:
    total = pointwise("arith.addi", arrays, arrays[0].dtype)
    return total, pointwise("arith.cmpi.ult", (total, arrays[0]), I1)


def _multiply_extended(high: integers.Function) -> Kernel:
    def call(op: Operation, site: Site, arrays: Sequence[Array]) -> Arrays:
        low = pointwise("arith.muli", arrays, arrays[0].dtype)
        with np.errstate(all="ignore"):
            return low, high(*arrays)

    return call


_kernels[AddUIExtendedOp] = _add_extended
_kernels[arith.MulUIExtendedOp] = _multiply_extended(
    integers.unsigned_operation(integers.high_product)
)
_kernels[arith.MulSIExtendedOp] = _multiply_extended(
    integers.signed_operation(integers.signed_high_product)
)


@kernel(arith.ConstantOp)
def _constant(op: arith.ConstantOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    dtype = site.numbers.dtype(op.result.type)
    match op.value:
        case IntegerAttr() | FloatAttr():
            value = np.array(op.value.value.data)
        case DenseIntOrFPElementsAttr():
            elements: Sequence[Any] = op.value.get_values()
            shape = op.value.get_shape()
            if len(elements) == 1:
                whole = np.broadcast_to(_element(elements[0], dtype), shape)
            else:
                whole = _element(elements, dtype).reshape(shape)
            return (whole[slices(site.result())],)
        case _:
            raise Unsupported(f"has a value written as {op.value.name}, which is not simulated")
    return (_element(value, dtype),)


def _element(value: Any, dtype: DType) -> Array:
    """Python numbers, which the parser rounded to their type, as an array."""
    if is_float(dtype):
        with np.errstate(all="ignore"):
            return np.asarray(value, np.float64).astype(dtype)
    found = np.asarray(value, np.int64)
    return integers.to_bit(found) if dtype == I1 else found.astype(dtype)


@kernel(tensor.SplatOp)
def _splat(op: tensor.SplatOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (np.broadcast_to(arrays[0], extents(site.result())),)


@kernel(tensor.DimOp)
def _dim(op: tensor.DimOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    _, shape = site.operand(0)
    index = int(arrays[1])
    if not 0 <= index < len(shape):
        raise ArithmeticRefused(
            f"asks for dimension {index} of a tensor of {len(shape)} dimension(s)"
        )
    return (np.asarray(shape[index], np.int64),)


@kernel(ExtractOp)
def _extract(op: ExtractOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    index = tuple(int(i) for i in arrays[1:])
    for dim, (place, size) in enumerate(zip(index, arrays[0].shape, strict=True)):
        if not 0 <= place < size:
            raise ArithmeticRefused(
                f"takes index {place} of dimension {dim}, which has {size} element(s)"
            )
    return (np.asarray(arrays[0][index]),)


@kernel(layout.AxisSizeOp)
def _axis_size(op: layout.AxisSizeOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    count = math.prod(site.mesh.shape[axis] for axis in op.axes.data)
    return (np.asarray(count, np.int64),)


@kernel(layout.SliceOp)
def _slice(op: layout.SliceOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    region, _ = site.operand(0)
    inner = tuple((a - b, c - b) for (a, c), (b, _) in zip(site.result(), region, strict=True))
    return (arrays[0][slices(inner)],)


@kernel(layout.RelaxOp)
def _relax(op: layout.RelaxOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (arrays[0],)


@kernel(comp.MatmulOp)
def _matmul(op: comp.MatmulOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    accumulate = site.numbers.accumulate(op.lhs.type, op.accumulate)
    result = site.numbers.dtype(op.output.type)
    return (reductions.matmul(arrays[0], arrays[1], accumulate, result),)


@kernel(comp.Conv2dOp)
def _conv2d(op: comp.Conv2dOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    accumulate = site.numbers.accumulate(op.lhs.type, op.accumulate)
    result = site.numbers.dtype(op.output.type)
    return (reductions.conv2d(arrays[0], arrays[1], op.steps, op.pads, accumulate, result),)


@kernel(comp.ReduceOp)
def _reduce(op: comp.ReduceOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    accumulate = site.numbers.accumulate(op.input.type, op.accumulate)
    result = site.numbers.dtype(op.output.type)
    return (reductions.reduce(arrays[0], op.kind.data, op.reduced, accumulate, result),)


@kernel(comp.DropoutOp)
def _dropout(op: comp.DropoutOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    region, shape = site.operand(0)
    dropped = philox.dropout(
        arrays[0],
        op.p.value.data,
        int(arrays[1]),
        op.id.value.data,
        start=[start for start, _ in region],
        shape=shape,
        coordinate=site.coordinate,
    )
    return (dropped,)


@kernel(comp.ScaleOp)
def _scale(op: comp.ScaleOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    dtype = arrays[0].dtype
    return (pointwise("arith.mulf" if is_float(dtype) else "arith.muli", arrays, dtype),)


@kernel(comp.BroadcastOp)
def _broadcast(op: comp.BroadcastOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    dims, shape = numbers(op.dims), extents(site.result())
    source = arrays[0].transpose(np.argsort(dims))
    spread = [shape[dim] if dim in dims else 1 for dim in range(len(shape))]
    return (np.broadcast_to(source.reshape(spread), shape),)


@kernel(ReshapeOp)
def _reshape(op: ReshapeOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (arrays[0].reshape(extents(site.result())),)


@kernel(comp.TransposeOp)
def _transpose(op: comp.TransposeOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (arrays[0].transpose(numbers(op.permutation)),)


@kernel(comp.UpdateOp)
def _update(op: comp.UpdateOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    return (arrays[1],)


@kernel(comp.SegmentReduceOp)
def _segment_reduce(op: comp.SegmentReduceOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    region, shape = site.operand(0)
    segments.check_offsets(arrays[1], shape[0])
    accumulate = site.numbers.accumulate(op.input.type, op.accumulate)
    result = site.numbers.dtype(op.output.type)
    start, kind = region[0][0], op.kind.data
    return (segments.segment_reduce(arrays[0], arrays[1], kind, start, accumulate, result),)


@kernel(comp.SegmentBroadcastOp)
def _segment_broadcast(op: comp.SegmentBroadcastOp, site: Site, arrays: Sequence[Array]) -> Arrays:
    _, shape = site.operand(2)
    segments.check_offsets(arrays[1], shape[0])
    ((start, stop),) = site.result()
    return (segments.segment_broadcast(arrays[0], arrays[1], start, stop - start),)


def undefined(shape: Shape, dtype: DType) -> Array:
    """The array of a rank that has no value, so that a use of it shows."""
    return np.broadcast_to(poison((), dtype), shape)
