"""What operations that send nothing are on one rank: mostly the same operation on its parts of the tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects import tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.analysis.dist import REPLICATED
from coconet_ir.analysis.dist import Local as LocalState
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import comp, layout
from coconet_ir.dialects.attributes import as_tensor, dist_of, sizes_of
from coconet_ir.dialects.blocks import (
    DropoutBlockOp,
    SegmentBroadcastBlockOp,
    SegmentReduceBlockOp,
)
from coconet_ir.dialects.custom import CustomOp, YieldOp
from coconet_ir.dialects.decompositions import decompose
from coconet_ir.dialects.elements import element_of, is_float
from coconet_ir.dialects.reshape import ReshapeOp
from coconet_ir.dialects.syntax import numbers
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.lowering.ranks.geometry import known
from coconet_ir.lowering.ranks.program import Local, RankProgram, local_type

Results = Sequence[SSAValue | Local]
"""What the results of an operation are; a `Local` where its rule does not say the sizes."""

_ALIKE = (
    comp.MatmulOp,
    comp.ReduceOp,
    comp.ScaleOp,
    comp.TransposeOp,
    comp.UpdateOp,
)
"""Operations of `comp` that are the same on one rank's parts."""


def compute(program: RankProgram, op: Operation) -> None:
    """Lower an operation that sends nothing. Raises `IRError` for one that has no form on one rank."""
    if (steps := decompose(op)) is not None:
        _decomposed(program, op, steps)
        return
    with program.lowering(op):
        program.define(op, _lower_to(op)(program, op))


def _lower_to(op: Operation) -> Callable[[RankProgram, Any], Results]:
    if (found := _LOWERED.get(type(op))) is not None:
        return found
    dialect = op.name.split(".")[0]
    if op.regions or not (dialect in ("arith", "math") or isinstance(op, _ALIKE)):
        raise IRError("is not lowered yet: it has neither a kernel nor a call of a library", op)
    if all(as_tensor(value.type) is None for value in (*op.operands, *op.results)):
        return _scalar
    return _alike


def _decomposed(program: RankProgram, op: Operation, steps: Sequence[Operation]) -> None:
    """The operations that an operation is defined by, which stand nowhere."""
    try:
        with program.lowering(op):
            for step in steps:
                compute(program, step)
            last = program.tensors[steps[-1].results[0]]
            if last.value.name_hint is None:
                last.value.name_hint = op.results[0].name_hint
            program.tensors[op.results[0]] = last
    finally:
        for step in reversed(steps):
            step.drop_all_references()


def _copy(op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
    return op.create(
        operands=operands,
        result_types=types,
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
    )


def _alike(program: RankProgram, op: Operation) -> Results:
    """The same operation on one rank's parts."""
    operands = [program.value(operand) for operand in op.operands]
    copy = _copy(op, operands, [local_type(result.type) for result in op.results])
    program.emit(copy)
    return copy.results


def _scalar(program: RankProgram, op: Operation) -> Results:
    operands = [program.scalars[operand] for operand in op.operands]
    copy = _copy(op, operands, op.result_types)
    program.emit_scalar(copy)
    return copy.results


def _constant(program: RankProgram, op: ConstantOp) -> Results:
    if as_tensor(op.result.type) is None:
        return _scalar(program, op)
    if not isinstance(value := op.value, DenseIntOrFPElementsAttr):
        raise IRError(f"has a value written as {value.name}: write dense<…>", op)
    type, whole = (
        local_type(op.result.type),
        TensorType(element_of(op.result.type), sizes_of(op.result.type)),
    )
    if type == whole:
        return [_dense(program, value, whole)]
    tensor = Local(op.result, sizes_of(op.result.type), dist_of(op.result.type))
    if value.is_splat():
        number = ConstantOp(_number(value.get_values()[0], whole.element_type))
        program.emit_scalar(number)
        return [program.splat(number.result, type, program.extents(tensor))]
    region = program.region(tensor)
    starts, extents = [part.start for part in region], [part.extent for part in region]
    return [program.slice(_dense(program, value, whole), starts, extents, type)]


def _dense(
    program: RankProgram, value: DenseIntOrFPElementsAttr, type: TensorType[Any]
) -> SSAValue:
    return program.emit(ConstantOp(DenseIntOrFPElementsAttr(type, value.data)))


def _number(value: Any, element: Attribute) -> IntegerAttr | FloatAttr:
    """A Python number as an attribute of an element type."""
    if is_float(element):
        return FloatAttr(value, cast(Any, element))
    return IntegerAttr(value, cast(IntegerType | IndexType, element))


def _splat(program: RankProgram, op: tensor.SplatOp) -> Results:
    for size in op.dynamicSizes:
        if program.scalars[size] in program.from_data:
            raise IRError(
                "takes a size from the data of a tensor, which is not known where memory is set aside",
                op,
            )
    made = program.made(op, op.result)
    type = cast(TensorType[Attribute], local_type(op.result.type))
    open_sizes = program.open_sizes(type, program.extents(made))
    splat = tensor.SplatOp(program.value(op.input), open_sizes, type)
    return [replace(made, value=program.emit(splat))]


def _dim(program: RankProgram, op: tensor.DimOp) -> Results:
    """The global size, which the host knows."""
    index, sizes = known(program.scalars[op.index]), program.tensors[op.source].sizes
    if not isinstance(index, int):
        raise IRError("asks for a dimension that is not constant: name it by an arith.constant", op)
    if not 0 <= index < len(sizes):
        raise IRError(f"asks for dimension {index} of a tensor of {len(sizes)} dimension(s)", op)
    return [program.arithmetic.value(sizes[index])]


def _extract(program: RankProgram, op: ExtractOp | tensor.ExtractOp) -> Results:
    operands = [program.value(operand) for operand in op.operands]
    element = program.emit(ExtractOp(*operands))
    program.from_data.add(element)
    return [element]


def _slice(program: RankProgram, op: layout.SliceOp) -> Results:
    """The part of what this rank has already."""
    before = program.tensors[op.input]
    after = Local(before.value, before.sizes, dist_of(op.output.type))
    parts = zip(program.region(before), program.region(after), strict=True)
    starts = [program.arithmetic.subtract(new.start, old.start) for old, new in parts]
    type = local_type(op.output.type)
    return [program.slice(before.value, starts, program.extents(after), type)]


def _relax(program: RankProgram, op: layout.RelaxOp) -> Results:
    return [program.value(op.input)]


def _broadcast(program: RankProgram, op: comp.BroadcastOp) -> Results:
    type, dims = local_type(op.output.type), numbers(op.dims)
    made = program.made(op, op.output)
    new = [size for dim, size in enumerate(sizes_of(type)) if dim not in dims]
    like = program.shape(type, program.extents(made)) if DYNAMIC_INDEX in new else None
    spread = comp.BroadcastOp(program.value(op.input), dims, type=type, like=like)
    return [replace(made, value=program.emit(spread))]


def _reshape(program: RankProgram, op: ReshapeOp) -> Results:
    made = program.made(op, op.output)
    if 0 in made.sizes:  # the sizes of factors do not follow from nothing
        type = local_type(op.output.type)
        return [replace(made, value=program.shape(type, program.extents(made)))]
    return _alike(program, op)


def _dropout(program: RankProgram, op: comp.DropoutOp) -> Results:
    input, value = program.tensors[op.input], program.arithmetic.value
    states = dict(input.dist.states)
    own = tuple(a for a in program.mesh_axes if isinstance(states.get(a), LocalState))
    block = DropoutBlockOp(
        input.value,
        program.value(op.seed),
        [value(part.start) for part in program.region(input)],
        [value(size) for size in input.sizes],
        program.arithmetic.coordinate(own) if own else value(0),
        op.p,
        op.id,
    )
    return [program.emit(block)]


def _segment_reduce(program: RankProgram, op: comp.SegmentReduceOp) -> Results:
    input, offsets = program.tensors[op.input], program.tensors[op.offsets]
    block = SegmentReduceBlockOp(
        input.value,
        offsets.value,
        program.arithmetic.value(program.region(input)[0].start),
        op.kind.data,
        op.accumulate,
        local_type(op.output.type),
    )
    (static,) = sizes_of(op.output.type)
    unknown = static == DYNAMIC_INDEX
    segments = program.arithmetic.subtract(offsets.sizes[0], 1) if unknown else static
    return [Local(program.emit(block), (segments,), dist_of(op.output.type))]


def _segment_broadcast(program: RankProgram, op: comp.SegmentBroadcastOp) -> Results:
    type, sizes = local_type(op.output.type), program.tensors[op.like].sizes
    made = Local(op.output, sizes, dist_of(op.output.type))
    block = SegmentBroadcastBlockOp(
        program.value(op.input),
        program.value(op.offsets),
        program.arithmetic.value(program.region(made)[0].start),
        program.open_sizes(type, program.extents(made)),
        type,
    )
    return [program.emit(block)]


def _custom(program: RankProgram, op: CustomOp) -> Results:
    """The body of its definition, to which this rank's parts are the whole tensors."""
    if (define := op.definition) is None:
        raise IRError(
            f"applies @{op.callee.root_reference.data}, which Python declares: only what comp.define gives a body "
            "can be compiled",
            op,
        )
    block = define.body.block
    for arg, operand in zip(block.args, op.inputs, strict=True):
        if (given := program.tensors.get(operand)) is None:
            program.scalars[arg] = program.scalars[operand]
        else:
            value = _cast(program, given.value, arg.type)
            program.tensors[arg] = Local(value, tuple(program.extents(given)), REPLICATED)
    for step in block.ops:
        if not isinstance(step, YieldOp):
            compute(program, step)
            continue
        return [
            _result_of_body(program, op, index, value) for index, value in enumerate(step.arguments)
        ]
    return []


def _result_of_body(
    program: RankProgram, op: CustomOp, index: int, inner: SSAValue
) -> SSAValue | Local:
    """What the body computes, as a result of the operation: sizes that the rule does not know are the body's."""
    result = op.results[index]
    if (made := program.tensors.get(inner)) is None:
        return program.scalars[inner]
    value = _cast(program, made.value, local_type(result.type))
    return Local(value, program.sizes(op, index, made.sizes), dist_of(result.type))


def _cast(program: RankProgram, value: SSAValue, type: Attribute) -> SSAValue:
    """The tensor in a type that knows other of its sizes."""
    if value.type == type:
        return value
    return program.emit(tensor.CastOp(value, cast(TensorType[Attribute], type)), "cast")


_LOWERED: dict[type[Operation], Callable[[RankProgram, Any], Results]] = {
    ConstantOp: _constant,
    tensor.SplatOp: _splat,
    tensor.DimOp: _dim,
    tensor.ExtractOp: _extract,
    ExtractOp: _extract,
    layout.AxisSizeOp: _scalar,
    layout.SliceOp: _slice,
    layout.RelaxOp: _relax,
    comp.BroadcastOp: _broadcast,
    ReshapeOp: _reshape,
    comp.DropoutOp: _dropout,
    comp.SegmentReduceOp: _segment_reduce,
    comp.SegmentBroadcastOp: _segment_broadcast,
    CustomOp: _custom,
}
