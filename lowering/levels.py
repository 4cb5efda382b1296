"""What may stand at each level below the distributed one (design, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from coconet_ir.analysis.rules import rank_of
from coconet_ir.analysis.verifier import (
    LEVEL,
    RESLICED,
    SCATTERED,
    STATE,
    check_attributes,
    check_prefixed,
    check_updates,
    is_device_code,
    level_of,
    the_mesh,
    unknown_axis,
)
from coconet_ir.diagnostics import IRError, op_name
from coconet_ir.dialects import nccl
from coconet_ir.dialects.attributes import DistAttr, as_tensor
from coconet_ir.dialects.layout import MeshOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.lowering.buffers.allowed import check_buffers, is_number_tensor_or_buffer
from coconet_ir.lowering.device.allowed import (
    check_device,
    check_device_code,
    check_device_launches,
)
from coconet_ir.lowering.kernels.allowed import check_kernels, check_launches
from coconet_ir.schedule.selection import argument_names

RANK = "rank"
"""The level of one rank's program, on tensors without layouts."""

BUFFER = "buffer"
"""The level of one rank's program on buffers, with tensors inside of kernels alone."""

KERNEL = "kernel"
"""The level of kernels in a `gpu.module`, and their launches on the host."""

DEVICE = "device"
"""The level of kernels in `llvm` and `nvvm`, and their launches on the host."""

LAYOUT = "coconet.layout"
"""Marks an argument or result with the layout of the tensor of which it is one rank's part."""

GLOBAL = "coconet.global"
"""Marks such an argument or result with the type of the whole tensor, where it cuts dimensions of static size."""

SIZE = "coconet.size"
"""Marks an index argument with the dimension whose global size it is: "w.0", dimension 0 of %w."""


RESULT = "coconet.result"
"""Marks a buffer among the arguments with the number of the result that is stored into it."""


LEFT_BY = {
    RANK: "coconet-lower-to-ranks",
    BUFFER: "coconet-bufferize",
    KERNEL: "coconet-outline-kernels",
    DEVICE: "coconet-lower-kernels",
}
"""The passes that lead to each level, in the order of the levels."""


def require_level(module: ModuleOp, level: str | None, reader: str) -> None:
    """Raise `IRError` unless a module is at the level, None for the distributed one, that the pass `reader` reads."""
    found = level_of(module)
    levels = (None, *map(StringAttr, LEFT_BY))
    wanted = None if level is None else StringAttr(level)
    if found == wanted:
        return
    at = "distributed" if found is None else f"at level {found}"
    reads = "the distributed level" if level is None else f"level {wanted}"
    if level is None or found in levels[levels.index(wanted) :]:
        advice = "it is lowered further already"
    else:
        advice = f"run {LEFT_BY[level]} first"
    raise IRError(f"is {at}, and {reader} reads {reads}: {advice}", module)


@dataclass(frozen=True)
class Level:
    """What may stand at a level: operations by name, `dialect.*` for all of a dialect, and types."""

    operations: frozenset[str]
    is_type: Callable[[Attribute], bool]
    types: str
    """The types in words."""
    argument_marks: tuple[str, ...]
    result_marks: tuple[str, ...]
    check: Callable[[FuncOp], None]
    """Raises `IRError` for what else is wrong in a function."""

    def allows(self, op: Operation) -> bool:
        """Whether the operation may stand there."""
        return op.name in self.operations or f"{op.name.split('.')[0]}.*" in self.operations


def verify_level(module: ModuleOp) -> None:
    """Check a module, whose operations and dominance are checked, at the level that it names.

    Raises `IRError` at the first thing wrong.
    """
    name = level_of(module)
    if not isinstance(name, StringAttr) or name.data not in LEVELS:
        known = ", ".join(LEVELS)
        raise IRError(
            f"{LEVEL} = {name} is no level of this version; there are: {known} (a distributed program has none)",
            module,
        )
    if name.data == DEVICE and is_device_code(module):
        check_device_code(module)
        return
    the_mesh(module)
    if (error := unknown_axis(module)) is not None:
        raise error
    for op in module.ops:
        if isinstance(op, FuncOp):
            _check_function(op, LEVELS[name.data], name.data)
        elif name.data == KERNEL and isinstance(op, gpu.ModuleOp):
            check_kernels(op)
        elif name.data == DEVICE and isinstance(op, gpu.ModuleOp):
            check_device(op)
        elif not isinstance(op, MeshOp):
            raise _misplaced(op, name.data)


def _misplaced(op: Operation, level: str) -> IRError:
    return IRError(f"cannot stand at level '{level}'", op)


def _check_function(func: FuncOp, level: Level, name: str) -> None:
    if len(func.body.blocks) != 1:
        raise IRError("must have a body of one block", func)
    check_attributes(func)
    _check_marks(func, func.arg_attrs, level.argument_marks)
    _check_marks(func, func.res_attrs, level.result_marks)
    for type in (*func.function_type.inputs, *func.function_type.outputs):
        _check_type(type, level, func)
    for op in _inside(func):
        if not level.allows(op):
            raise _misplaced(op, name)
        for result in op.results:
            _check_type(result.type, level, op)
        if op.attributes:
            check_attributes(op)
    level.check(func)


def _inside(func: FuncOp) -> Iterator[Operation]:
    ops = func.walk()
    next(ops)
    return ops


def _check_type(type: Attribute, level: Level, op: Operation) -> None:
    if not level.is_type(type):
        raise IRError(f"has the type {type}: here are {level.types}", op)


def _check_marks(
    func: FuncOp, attributes: ArrayAttr[DictionaryAttr] | None, known: tuple[str, ...]
) -> None:
    for entry in attributes or ():
        check_prefixed(entry.data, known, func)


# The level of ranks


def _is_plain(type: Attribute) -> bool:
    """Whether this is a number, or a tensor of numbers without a layout."""
    tensor = as_tensor(type)
    if tensor is not None and not isinstance(tensor.encoding, NoneAttr):
        return False
    element = type if tensor is None else tensor.element_type
    return isinstance(element, AnyFloat | IntegerType | IndexType)


def _check_ranks(func: FuncOp) -> None:
    order = list(_inside(func))
    check_updates(func, order)
    for op in order:
        if isinstance(op, FusedOp):
            _check_kernel(op)
    _check_layouts(func, func.arg_attrs, func.function_type.inputs)
    _check_layouts(func, func.res_attrs, func.function_type.outputs)
    _check_sizes(func)


def _check_kernel(fused: FusedOp) -> None:
    for op in fused.body.block.ops:
        if op.regions or isinstance(op, nccl.CallOp):
            raise IRError(f"holds '{op_name(op)}', which is no part of a kernel", fused)


def _check_layouts(
    func: FuncOp, marks: ArrayAttr[DictionaryAttr] | None, types: Iterable[Attribute]
) -> None:
    for entry, type in zip(marks or (), types, strict=False):
        layout, tensor = entry.data.get(LAYOUT), as_tensor(type)
        whole = entry.data.get(GLOBAL)
        if layout is None:
            if whole is not None:
                raise IRError(
                    f"has {GLOBAL} = {whole} without {LAYOUT}, which says how it is cut", func
                )
            continue
        if tensor is None or not isinstance(layout, DistAttr):
            raise IRError(
                f"has {LAYOUT} = {layout} on a {type}: it takes #layout.dist<…> of a tensor", func
            )
        sizes = tensor.get_shape()
        if (problem := layout.verify_rank(len(sizes))) is not None:
            raise IRError(f"has {LAYOUT} = {layout.data}: {problem}", func)
        for cut in layout.data.cuts:
            if sizes[cut.dim] != DYNAMIC_INDEX:
                raise IRError(
                    f"has {LAYOUT} = {layout.data} on a {type}: a dimension that is cut has no static size",
                    func,
                )

        _check_whole(func, whole, layout, tensor)


def _check_whole(
    func: FuncOp, whole: Attribute | None, layout: DistAttr, tensor: TensorType[Attribute]
) -> None:
    """Raise `IRError` unless a tensor is what a rank has of the whole one."""
    if whole is None:
        return
    cut = layout.data.by_dim
    type = as_tensor(whole)
    sizes = () if type is None else type.get_shape()
    open = [DYNAMIC_INDEX if dim in cut else size for dim, size in enumerate(sizes)]
    if type is None or TensorType(type.element_type, open, type.encoding) != tensor:
        raise IRError(
            f"has {GLOBAL} = {whole} on a {tensor}: it takes the type of the whole tensor, without layout",
            func,
        )


def _check_sizes(func: FuncOp) -> None:
    places = {
        f"{name}.{dim}"
        for name, arg in argument_names(func).items()
        for dim in range(rank_of(arg.type) or 0)
    }
    for entry, type in zip(func.arg_attrs or (), func.function_type.inputs, strict=False):
        if (size := entry.data.get(SIZE)) is None:
            continue
        if not isinstance(type, IndexType) or not isinstance(size, StringAttr):
            raise IRError(
                f'has {SIZE} = {size} on a {type}: it takes "name.dimension" of an index', func
            )
        if size.data not in places:
            raise IRError(
                f"has {SIZE} = {size}, but no such dimension; there are: {', '.join(sorted(places)) or 'none'}",
                func,
            )


# The level of kernels


def _is_on_host(type: Attribute) -> bool:
    """Whether this is a number, a buffer of numbers, or the token of a launch."""
    if type.__class__ is MemRefType:
        type = cast(MemRefType[Attribute], type).element_type
    return isinstance(type, AnyFloat | IntegerType | IndexType | gpu.AsyncTokenType)


LEVELS = {
    RANK: Level(
        operations=frozenset(
            (
                *(
                    "func.func",
                    "func.return",
                    "arith.*",
                    "math.*",
                    "nccl.*",
                    "coll.fused",
                    "coll.yield",
                ),
                *(
                    "tensor.splat",
                    "tensor.extract",
                    "tensor.extract_slice",
                    "tensor.empty",
                    "tensor.cast",
                ),
                *("layout.axis_size", "layout.coordinate"),
                *("comp.matmul", "comp.reduce", "comp.scale", "comp.broadcast", "comp.reshape"),
                *(
                    "comp.transpose",
                    "comp.update",
                    "comp.dropout_block",
                    "comp.segment_reduce_block",
                ),
                "comp.segment_broadcast_block",
            )
        ),
        is_type=_is_plain,
        types="numbers, and tensors of these without layouts",
        argument_marks=(STATE, SCATTERED, RESLICED, LAYOUT, GLOBAL, SIZE),
        result_marks=(LAYOUT, GLOBAL),
        check=_check_ranks,
    ),
    BUFFER: Level(
        operations=frozenset(
            (
                *("func.func", "func.return", "arith.*", "math.*", "memref.*", "nccl.*"),
                *("coll.fused", "coll.yield", "layout.axis_size", "layout.coordinate"),
                *("comp.matmul_into", "comp.reduce", "comp.scale", "comp.broadcast"),
                *("comp.reshape", "comp.transpose", "comp.dropout_block"),
                *("comp.segment_reduce_block", "comp.segment_broadcast_block"),
                *("tensor.splat", "tensor.extract", "tensor.extract_slice", "tensor.empty"),
                *("tensor.cast", "tensor.dim", "bufferization.to_tensor"),
                "bufferization.materialize_in_destination",
            )
        ),
        is_type=is_number_tensor_or_buffer,
        types="numbers, and tensors and dense buffers of these",
        argument_marks=(STATE, SCATTERED, RESLICED, LAYOUT, GLOBAL, SIZE, RESULT),
        result_marks=(),
        check=check_buffers,
    ),
    KERNEL: Level(
        operations=frozenset(
            (
                *("func.func", "func.return", "arith.*", "math.*", "memref.*", "nccl.*"),
                *("gpu.launch_func", "comp.matmul_into", "layout.axis_size", "layout.coordinate"),
            )
        ),
        is_type=_is_on_host,
        types="numbers, buffers of these, and tokens",
        argument_marks=(STATE, SCATTERED, RESLICED, LAYOUT, GLOBAL, SIZE, RESULT),
        result_marks=(LAYOUT, GLOBAL),
        check=check_launches,
    ),
}
LEVELS[DEVICE] = replace(LEVELS[KERNEL], check=check_device_launches)
"""The levels by name."""
